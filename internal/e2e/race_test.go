package e2e

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestEightClaimers lets 8 processes race for one task, round after round: one
// is told that it has the task, the others that they lost, and no process ends
// in any other way.
func TestEightClaimers(t *testing.T) {
	const workers = 8
	rounds := 40
	if *long {
		rounds = 200
	}
	s := newSite(t)
	var batch strings.Builder
	for i := range rounds {
		fmt.Fprintf(&batch, "{\"subject\":\"round %d\"}\n", i+1)
	}
	if r := s.runIn(batch.String(), "task", "add", "--batch", "-", "-q"); r.code != 0 {
		t.Fatal(r)
	}
	for w := range workers {
		s.ok("join", fmt.Sprintf("w%d", w+1), "-q")
	}
	begin := time.Now()
	told := map[string]string{} // task: the worker that was told it has it
	for round := range rounds {
		id := fmt.Sprintf("t_%d", round+1)
		// All of them wait for the end of one pipe, so they set off together.
		gun, trigger, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		var procs []*proc
		for w := range workers {
			as := s.as(fmt.Sprintf("w%d", w+1))
			cmd := as.command("/bin/sh", "-c", `read -r _; exec teams claim "$1" --max 1000 </dev/null`, "sh", id)
			cmd.Stdin = gun
			procs = append(procs, start(t, cmd))
		}
		gun.Close()
		if _, err := io.WriteString(trigger, ""); err != nil {
			t.Fatal(err)
		}
		trigger.Close()
		for w, p := range procs {
			switch r := p.wait(); r.code {
			case 0:
				if told[id] != "" {
					t.Fatalf("%s: told to %s and to w%d", id, told[id], w+1)
				}
				told[id] = fmt.Sprintf("w%d", w+1)
			case 4:
				if !strings.Contains(r.err, id+" is claimed by w") {
					t.Fatalf("%s: a loser is not told to whom: %s", id, r)
				}
			default:
				t.Fatalf("%s: w%d: %s", id, w+1, r)
			}
		}
		if told[id] == "" {
			t.Fatalf("%s: told to nobody", id)
		}
	}
	t.Logf("%d rounds of %d processes in %v", rounds, workers, time.Since(begin).Round(time.Millisecond))

	events := s.history()
	for id, name := range told {
		if n := count(events, "claimed", id); n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
		if got := s.show(id); got.State != "claimed" || got.ClaimedBy != name {
			t.Errorf("%s is %s by %s, but %s was told", id, got.State, got.ClaimedBy, name)
		}
	}
	s.healthy()
}

// TestOneWorkerClaims lets a worker claim several times at once, as an agent does
// that runs its commands beside each other: it never holds more than it may.
func TestOneWorkerClaims(t *testing.T) {
	t.Parallel()
	const claims = 4
	rounds := 15
	if *long {
		rounds = 100
	}
	s := newSite(t)
	s.fill(claims)
	s.ok("join", "ann", "-q")
	ann := s.as("ann")
	for round := range rounds {
		limit := 1 + round%2
		var procs []*proc
		for range claims {
			procs = append(procs, ann.start("claim", "-q", "--max", fmt.Sprint(limit)))
		}
		var told []string
		for _, p := range procs {
			switch r := p.wait(); r.code {
			case 0:
				told = append(told, strings.TrimSpace(r.out))
			case 4:
				if !strings.Contains(r.err, "ann already holds t_") {
					t.Errorf("%s", r)
				}
			default:
				t.Errorf("%s", r)
			}
		}
		held := strings.Fields(ann.ok("claim", "--mine", "-q"))
		if len(told) != limit || len(held) != limit {
			t.Fatalf("round %d: it may hold %d, was told %q and holds %q", round+1, limit, told, held)
		}
		for _, id := range held {
			ann.ok("release", id, "-q")
		}
	}
	s.healthy()
}
