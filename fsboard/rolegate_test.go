package fsboard

import (
	"context"
	"slices"
	"testing"
)

// gateRoster finds the gates of roles when it is asked.
type gateRoster struct {
	fakeRoster
	asked []string
}

func (r *gateRoster) RoleGate(agent string) string {
	r.asked = append(r.asked, agent)
	return "gate of " + agent
}

// TestRoleGates: the gate of a role is asked for once, when a claim of a task
// without a gate of its own is granted.
func TestRoleGates(t *testing.T) {
	r := &gateRoster{fakeRoster: fakeRoster{m: map[string]Worker{"ann": {Agent: "coder"}, "bob": {}, "cid": {Agent: "coder", Verify: "known"}}}}
	b := openTest(t, Options{Roster: r})
	mustAdd(t, b, NewTask{Subject: "a"}, NewTask{Subject: "b", Verify: "own"}, NewTask{Subject: "c"}, NewTask{Subject: "d"})
	for _, c := range []struct{ id, worker, gate, source string }{
		{"t_1", "ann", "gate of coder", "agent"}, {"t_2", "dan", "own", "task"}, {"t_3", "bob", "", ""}, {"t_4", "cid", "known", "agent"},
	} {
		g := mustClaim(t, b, c.id, c.worker).Gate
		if g == nil {
			g = &Gate{}
		}
		if g.Command != c.gate || g.Source != c.source {
			t.Errorf("%s by %s: %+v", c.id, c.worker, g)
		}
	}
	if _, err := b.Fold(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Tasks(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.asked, []string{"coder"}) {
		t.Errorf("asked for %q", r.asked)
	}
}
