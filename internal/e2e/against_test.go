package e2e

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"
)

// TestSubmitAgainst lets a submission and something that ends its claim happen
// at the same time, in processes. Whatever comes first: the submitter is told
// that its work counts exactly when it does.
func TestSubmitAgainst(t *testing.T) {
	t.Parallel()
	rounds := 12
	if *long {
		rounds = 200
	}
	for _, rival := range []string{"cancel", "release", "leave", "takeover", "lease", "death", "reassign"} {
		t.Run(rival, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			won := 0
			for n := range rounds {
				if s.against(rival, n) {
					won++
				}
			}
			t.Logf("%d rounds, %d submissions were first", rounds, won)
			s.healthy()
			s.noProcess()
		})
	}
}

// against is one round, and reports whether the submission counted.
func (s *site) against(rival string, n int) bool {
	t := s.t
	t.Helper()
	name := fmt.Sprintf("ann%d", n)
	join := []string{"join", name, "-q"}
	var holder *exec.Cmd
	if rival == "death" {
		holder = s.command("sleep", "60")
		if err := holder.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = holder.Process.Kill(); _ = holder.Wait() }()
		join = append(join, "--pid", fmt.Sprint(holder.Process.Pid))
	}
	s.ok(join...)
	me := s.life(name, s.spawn(name))
	gate := []string{}
	if n%3 == 0 {
		gate = []string{"--verify", "sleep 0.01"}
	}
	id := s.add("round", gate...)
	claim := []string{"claim", id}
	if rival == "lease" {
		claim = append(claim, "--lease", fmt.Sprintf("%dms", 1+rand.IntN(35)))
	}
	me.ok(claim...)
	token := s.show(id).Claim.Token
	var other []string
	switch rival {
	case "cancel":
		other = []string{"task", "cancel", id}
	case "release":
		other = []string{"release", id}
	case "leave":
		other = []string{"leave", "--as", name}
	case "takeover":
		other = []string{"join", name, "--takeover", "-q"}
	case "reassign":
		other = []string{"task", "edit", id, "--assignee", "bob"}
	case "lease", "death":
		other = []string{"tick"}
	}
	if rival == "death" {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	}
	var submit, end *proc
	first, second := func() { submit = me.start("submit", id, "--result", "it") }, func() { end = s.start(other...) }
	if n%2 == 0 {
		first, second = second, first
	}
	first()
	time.Sleep(rand.N(8 * time.Millisecond))
	second()
	r, o := submit.wait(), end.wait()
	if o.code != 0 && !(o.code == 4 && (rival == "cancel" || rival == "release")) {
		t.Fatalf("%s: %s", rival, o)
	}
	counted := 0
	for _, e := range s.history(id) {
		if e.Event == "completed" && e.Token == token {
			counted++
		}
	}
	switch {
	case r.code == 0 && counted == 1:
	case (r.code == 4 || r.code == 5) && counted == 0:
	default:
		t.Fatalf("%s: counted %d times, and the submitter was told: %s\nrival: %s\n%+v", rival, counted, r, o, s.history(id))
	}
	s.ok("tick")
	got := s.show(id)
	switch {
	case counted == 1 && got.State != "completed",
		counted == 0 && rival == "cancel" && got.State != "cancelled",
		counted == 0 && rival != "cancel" && got.State != "ready":
		// A lease may not have been over when the only tick ran.
		if !(rival == "lease" && got.State == "claimed") {
			t.Fatalf("%s: counted %d times, and the task is %+v", rival, counted, got)
		}
	}
	if len(s.gates()) > 0 {
		t.Fatalf("%s: %v", rival, s.gates())
	}
	for _, dir := range []string{"claims", "submissions"} {
		if exists(s.board(dir, id+".json")) {
			t.Fatalf("%s: %s/%s.json is left", rival, dir, id)
		}
	}
	return counted == 1
}
