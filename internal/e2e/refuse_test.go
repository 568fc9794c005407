package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// TestClaimRefusesFlags refuses flags that would do nothing, or not what they say.
func TestClaimRefusesFlags(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("one")
	ann := s.as("ann")
	ann.fails(64, "usage", "claim", "--max", "0")
	ann.fails(64, "usage", "claim", "--max=-1")
	e := ann.fails(64, "usage", "claim", "--timeout", "90s")
	if e.Error.Hint != "teams claim --wait --timeout 1m30s" {
		t.Errorf("hint %q", e.Error.Hint)
	}
	ann.fails(64, "usage", "claim", "--mine", "--timeout", "1s")
	ann.ok("claim", "--wait", "--timeout", "5s")
	ann.fails(4, "already_holding", "claim")
	ann.fails(4, "already_holding", "claim", "--max", "1")
}

// TestClaimWaitHoldsItsLimit also where a lock is what it waits for, and says
// that it was the limit.
func TestClaimWaitHoldsItsLimit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("one")
	ann := s.as("ann")
	ann.ok("join", "ann")
	lock, err := fsx.Acquire(context.Background(), s.team("ann", "claim.lock"), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	began := time.Now()
	for _, args := range [][]string{{"claim"}, {"claim", "t_1"}} {
		e := ann.fails(124, "timed_out", append(args, "--wait", "--timeout", "300ms")...)
		if !strings.HasPrefix(e.Error.Message, "the time limit passed while waiting for") {
			t.Errorf("%v: %+v", args, e.Error)
		}
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("it took %v", took)
	}
	ann.fails(75, "busy", "claim", "--lock-timeout", "100ms")
}

// TestCorruptBoardIsToldOnce by a verb that publishes notices at its end.
func TestCorruptBoardIsToldOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("one")
	ann := s.as("ann")
	ann.ok("join", "ann")
	if err := os.WriteFile(s.board("board.json"), []byte("no board\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"claim", "submit"} {
		r := ann.run(verb, "t_1")
		if r.code != 1 || strings.Count(r.err, "board.json") != 1 || strings.Contains(r.err, "notices") {
			t.Errorf("%s: %s", verb, r)
		}
	}
}

// TestRefusedArguments names what is wrong before what is missing elsewhere, and
// what would help.
func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("one")
	if r := s.run("herdr", "notify", "T", "--position", "foo"); r.code != 64 || !strings.Contains(r.err, "--position must be one of top-left, top-right,") {
		t.Errorf("%s", r)
	}
	for _, pattern := range []string{"(", "a)", "[a", `a\`} {
		if e := s.fails(64, "usage", "herdr", "wait-output", "x", "--regex", pattern); !strings.Contains(e.Error.Message, "regular expression") {
			t.Errorf("%s: %+v", pattern, e.Error)
		}
	}
	for _, pattern := range []string{"[[a](]", `(?x) a # b`, "a{,3}", "a**"} { // herdr's to judge
		s.fails(3, "not_found", "herdr", "wait-output", "x", "--regex", pattern)
	}
	dir := filepath.Join(s.base, "new dir")
	r := s.run("export", "--out", filepath.Join(dir, "x"))
	if r.code != 1 || !strings.Contains(r.err, "teams: cannot write "+dir+"/x, no such file or directory") {
		t.Errorf("%s", r)
	}
	if r := s.sh(hintOf(t, r)); r.code != 0 {
		t.Errorf("the hint: %s", r)
	}
	s.ok("export", "--out", filepath.Join(dir, "x"))
}

// TestEnvOfStopped warns of exports with which every verb is refused.
func TestEnvOfStopped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "bob")
	if r := s.run("env", "bob"); r.code != 0 || r.err != "" {
		t.Errorf("%s", r)
	}
	s.ok("leave", "--as", "bob")
	r := s.run("env", "bob")
	if r.code != 0 || !strings.Contains(r.out, "export TEAMS_NAME='bob'") || !strings.Contains(r.err, "bob has stopped") {
		t.Errorf("%s", r)
	}
	if r := s.sh(`eval "$(teams env bob 2>/dev/null)"; teams inbox && teams claim`); r.code != 5 {
		t.Errorf("nothing to warn of: %s", r)
	}
}

// TestHarnessStatusNamesNoDeadProcess: its number may be anybody's.
func TestHarnessStatusNamesNoDeadProcess(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("one")
	status := func(args ...string) (d map[string]any) {
		t.Helper()
		e, _ := s.json(args...)
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	h := s.start("harness", "-q")
	eventually(t, "the harness", func() bool {
		d := status("harness", "status")
		return d["running"] == true && d["pid"] == float64(h.pid())
	})
	h.kill()
	h.wait()
	for _, key := range []string{"pid", "since", "process"} {
		if v, ok := status("harness", "status")[key]; !ok || v != nil {
			t.Errorf("%s is %v", key, v)
		}
	}
}
