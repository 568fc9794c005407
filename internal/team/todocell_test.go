package team

import (
	"testing"
	"time"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/herdr/herdrtest"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/todo"
)

// The title of a list stands on the pane of its owner, and nowhere else.
func TestTodoTitleOnPane(t *testing.T) {
	h := herdrtest.New(t)
	_, _, own := h.AddWorkspace()
	_, _, anns := h.AddWorkspace()
	env := map[string]string{herdr.EnvSocket: h.Path, herdr.EnvPane: own}
	getenv := func(name string) string { return env[name] }
	leader, ctx := newTeam(t), t.Context()
	tm := must(leader.Join(ctx, JoinRequest{Name: "ann"}))(t)
	leases := &herdr.Leases{Root: leader.Root, Max: 4}
	lease := must(leases.Acquire(herdr.Lease{Session: leader.Session, Name: "ann", SpawnID: tm.SpawnID, Owner: must(fsx.Self())(t), Socket: h.Path}))(t)
	lease.Pane = anns
	if err := leases.Update(lease); err != nil {
		t.Fatal(err)
	}
	leader.OnTodo = leader.ShowTodo(getenv)
	titles := func() [2]string {
		a, _ := h.Get(own)
		b, _ := h.Get(anns)
		return [2]string{a.Title + "|" + a.Tokens[todoToken], b.Title + "|" + b.Tokens[todoToken]}
	}
	must(leader.TodoWrite(ctx, LeaderName, must(todo.Parse("- [>] lead"))(t)))(t)
	must(leader.TodoWrite(ctx, "ann", must(todo.Parse("- [>] work"))(t)))(t)
	const lead, work = "▶1 ○0 ■0 ✓0 (0/1) · lead", "▶1 ○0 ■0 ✓0 (0/1) · work"
	if got := titles(); got != [2]string{lead + "|" + lead, work + "|" + work} {
		t.Errorf("%q", got)
	}
	// Somebody without a pane has none of another's.
	must(leader.TodoWrite(ctx, "bob", must(todo.Parse("- [>] else"))(t)))(t)
	must(leader.TodoEdit(ctx, LeaderName, todo.OpRemove, "lead"))(t)
	if got := titles(); got != [2]string{"|", work + "|" + work} {
		t.Errorf("%q", got)
	}
	// A herdr that does not answer costs a moment, and the list is written.
	h.Fault("", -1, herdrtest.Silent)
	begin := time.Now()
	must(leader.TodoWrite(ctx, LeaderName, must(todo.Parse("- [>] on"))(t)))(t)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("a silent herdr held the list for %s", took)
	}
	env[herdr.EnvToggle] = "off"
	n := len(h.Requests("pane.report_metadata"))
	must(leader.TodoWrite(ctx, LeaderName, must(todo.Parse("- [>] off"))(t)))(t)
	if len(h.Requests("pane.report_metadata")) != n {
		t.Error("herdr is off, and was called")
	}
}
