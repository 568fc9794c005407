package team

import (
	"fmt"
	"slices"
	"testing"

	"github.com/seed6990a682/teams/fsboard"
)

// The end of a session, killed at each step: the leader's unread mail is found by
// whoever asks for it next, and so it is when the end is asked for again. At the
// end no task is held by anybody of the session.
func TestEndSessionKilledAtEachStep(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("again %v", again), func(t *testing.T) {
			eachStep(t, func(t *testing.T, n int64) bool {
				if !*long && n > 12 && n%3 != 0 {
					return true
				}
				team, ctx := newTeam(t), t.Context()
				b := must(team.Board(BoardOptions{}))(t)
				must(b.Add(ctx, fsboard.NewTask{Subject: "one"}, fsboard.NewTask{Subject: "two"}))(t)
				ann, bob := team.bare(t, "ann"), team.bare(t, "bob")
				for _, who := range []Identity{ann, bob} {
					must(b.Claim(ctx, fsboard.ClaimRequest{Worker: who.Name, SpawnID: who.SpawnID}))(t)
				}
				team.send(t, ann, LeaderName, "the first report")
				if _, _, err := team.DrainReports(ctx); err != nil {
					t.Fatal(err)
				}
				team.send(t, bob, LeaderName, "the second report")
				// bob has left, and the process that did so was killed before it gave
				// back what bob held.
				must(team.Leave(ctx, "bob", "", nil))(t)

				died := diesAt(n, func() { _, _ = team.EndSession(background(), b, true) })
				if again {
					if exists := must(team.Exists())(t); exists && fileExists(team.TeamDir()) {
						must(team.EndSession(ctx, b, true))(t)
					}
					for _, task := range must(b.Tasks())(t) {
						if task.State != fsboard.StateReady {
							t.Errorf("%s is %s, held by %s", task.ID, task.State, task.ClaimedBy)
						}
					}
				}
				got := team.recv(t, theLeader)
				for _, want := range []string{"ann the first report", "bob the second report"} {
					if k := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != want })); k != 1 {
						t.Errorf("the leader has %q, %d times %q", got, k, want)
					}
				}
				return died
			})
		})
	}
}
