package e2e

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A terminal is not closed, and not typed into, from where its processes cannot
// be seen: another pid namespace, another host.
func TestTerminalElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  []string
		away string
		says string
	}{
		"namespace": {nil, `unshare --pid --fork --mount-proc `, "in another pid namespace on "},
		"host":      {[]string{"TEAMS_SHARED=1"}, `unshare --uts sh -c 'hostname elsewhere && exec "$@"' sh `, "runs on "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := exec.Command("sh", "-c", c.away+"true").CombinedOutput(); err != nil {
				t.Skipf("no namespace: %v %s", err, out)
			}
			s := newSite(t).with(append(c.env, "SHELL=/bin/sh", "PS1=$ ")...)
			id := s.ok("term", "open", "--name", "dev", "-q")
			defer s.run("term", "close", id)
			for _, args := range []string{"close dev", "send dev x", "signal " + id + " ctrl+c", "close " + id} {
				r := s.sh(c.away + "teams term " + args)
				if r.code != 4 || !strings.Contains(r.err, c.says) || !strings.Contains(r.err, "it there") {
					t.Errorf("%s: %v", args, r)
				}
			}
			if out := s.ok("term", "list"); !strings.Contains(out, "open") || strings.Contains(out, "closed") {
				t.Errorf("%s", out)
			}
			if r := s.sh(c.away + "teams term read " + id); r.code != 0 {
				t.Errorf("reading: %v", r)
			}
			s.ok("term", "send", id, "echo he''re")
			eventually(t, "it goes on", func() bool { return strings.Contains(s.ok("term", "read", id), "here") })
			begin := time.Now()
			s.ok("term", "close", id)
			if r := s.exits(4, "term", "send", id, "x"); !strings.Contains(r.err, "closed") || time.Since(begin) > 20*time.Second {
				t.Error(r)
			}
		})
	}
}
