package team

import (
	"fmt"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/todo"
)

// Whose list it is, who writes it, and who is told.
func TestTodo(t *testing.T) {
	leader, ctx := newTeam(t), t.Context()
	var told []string
	leader.OnTodo = func(name, title string) { told = append(told, name+": "+title) }
	ann := leader.as("ann", "")
	owner := must(ann.TodoOwner())(t)
	if owner != "ann" || must(leader.TodoOwner())(t) != LeaderName {
		t.Error(owner)
	}
	if _, err := leader.as("ann", "no such life").TodoOwner(); errs.CodeOf(err) != errs.StaleIdentity {
		t.Error(err)
	}
	wantNothing(t, leader.TeamDir())
	items := must(todo.Parse("- [>] a\n- [>] b\n"))(t)
	if ch := must(ann.TodoWrite(ctx, "ann", items))(t); ch.Items[1].Status != todo.Pending {
		t.Errorf("a teammate has two in progress: %+v", ch.Items)
	}
	if ch := must(leader.TodoWrite(ctx, LeaderName, items))(t); ch.Items[1].Status != todo.InProgress {
		t.Errorf("%+v", ch.Items)
	}
	// A person marks it, and the teammate's next list does not undo it; what a
	// model of Pi marks for the leader can be undone.
	must(leader.TodoEdit(ctx, "ann", todo.OpDone, "a"))(t)
	pi := *leader
	pi.envPi = true
	must(pi.TodoEdit(ctx, "ann", todo.OpDone, "b"))(t)
	ch := must(ann.TodoWrite(ctx, "ann", items))(t)
	if ch.Items[0].Status != todo.Completed || ch.Items[0].DoneBy != todo.Human || ch.Items[1].Status != todo.InProgress {
		t.Errorf("%+v", ch.Items)
	}
	must(ann.TodoRewind(ctx, "ann", "s_1"))(t)
	names := must(leader.TodoNames())(t)
	if fmt.Sprint(names) != "[ann leader]" {
		t.Error(names)
	}
	want := "[ann: ▶1 ○1 ■0 ✓0 (0/2) · a leader: ▶2 ○0 ■0 ✓0 (0/2) · a ann: ▶0 ○1 ■0 ✓1 (1/2)"
	if got := fmt.Sprint(told); len(got) < len(want) || got[:len(want)] != want {
		t.Error(got)
	}
	if list := must(leader.Todo("bob"))(t); list.Items == nil || len(list.Items) != 0 {
		t.Errorf("%+v", list)
	}
}
