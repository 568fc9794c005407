package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestHarnessSessionGone removes the session's directory under a harness: it
// ends by itself with 0, makes nothing anew, and another one can be started.
func TestHarnessSessionGone(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"moved away", "removed"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			id := s.add("one")
			s.ok("join", "ann", "-q")
			p := s.start("harness")
			eventually(t, "the harness runs", func() bool { return s.run("harness", "status").out != "" && exists(s.team("harness.json")) })
			dir := s.team()
			if how == "removed" {
				// While it works: a claim waits to be folded.
				s.as("ann").ok("claim", id, "-q")
				eventually(t, "it is removed, whatever is written there meanwhile", func() bool { return os.RemoveAll(dir) == nil })
			} else if err := os.Rename(dir, filepath.Join(s.base, "away")); err != nil {
				t.Fatal(err)
			}
			if !p.ended(20 * time.Second) {
				t.Fatalf("it goes on: %s", p.out.String())
			}
			if r := p.wait(); r.code != 0 {
				t.Errorf("the harness: %s", r)
			}
			if list, _ := filepath.Glob(filepath.Join(s.root, "teammate", "*")); len(list) > 0 {
				t.Errorf("it made %q", list)
			}
			if got := s.show(id); got.Subject != "one" {
				t.Errorf("the board has %+v", got)
			}
			next := s.start("harness")
			eventually(t, "another one runs", func() bool { return exists(filepath.Join(dir, "harness.json")) })
			s.ok("harness", "stop")
			if r := next.wait(); r.code != 0 {
				t.Errorf("the other harness: %s", r)
			}
		})
	}
}
