package sharedtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// finding is one of doctor's.
type finding struct{ Code, Severity, Path, Message string }

func (h *host) doctor() (list []finding) {
	h.t.Helper()
	var d struct{ Findings []finding }
	h.data(&d, "doctor")
	return d.Findings
}

// TestToldThatItIsShared goes through what a user is told.
func TestToldThatItIsShared(t *testing.T) {
	t.Parallel()
	a, b := twoHosts(t)
	a.addTasks(3, "")
	r := a.exits(0, "claim", "t_1", "--as", "ann")
	if !strings.Contains(r.err, "t_1 has a lease of 10m") {
		t.Errorf("claim: %s", r)
	}
	if r := a.exits(0, "claim", "t_2", "--as", "amy", "--lease", "1h"); strings.Contains(r.err, "lease") {
		t.Errorf("claim with a lease: %s", r)
	}
	if r := a.exits(0, "claim", "t_3", "--as", "abe", "-q"); r.err != "" {
		t.Errorf("claim -q: %s", r)
	}
	b.ok("task", "add", "one more", "-q")
	if r := b.exits(0, "work", "--as", "bw", "--once", "--", "true"); strings.Count(r.err, "looked at every 100ms") != 1 || !strings.Contains(r.err, "a lease of 10m") {
		t.Errorf("work: %s", r)
	}
	var d struct {
		Shared struct {
			Shared bool
			Source string
			Hosts  []struct {
				Host       string
				Here, Gone bool
			}
			Unsupported []string
		}
	}
	b.data(&d, "where")
	s := d.Shared
	if !s.Shared || len(s.Hosts) != 2 || len(s.Unsupported) == 0 || s.Hosts[0].Host != "hosta" || s.Hosts[0].Here || s.Hosts[0].Gone || !s.Hosts[1].Here {
		t.Errorf("where: %+v", s)
	}
	if volume != nil && s.Source != "session.json" {
		t.Errorf("the first host did not note that the session is shared: %s", s.Source)
	}
	if out := b.ok("where"); !strings.Contains(out, "hosta") || !strings.Contains(out, "not supported: ") {
		t.Errorf("where: %s", out)
	}
	var probe string
	for _, f := range b.doctor() {
		if f.Severity == "error" {
			t.Errorf("doctor: %+v", f)
		}
		if f.Code == "probe" {
			probe = f.Message
		}
	}
	if !strings.Contains(probe, "locks exclude other processes") {
		t.Errorf("doctor has no probe: %q", probe)
	}
	t.Log(probe)
	if left, err := filepath.Glob(filepath.Join(b.root, ".probe-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	if out := b.ok("status"); !strings.Contains(out, "hosta") {
		t.Errorf("status: %s", out)
	}
	// A host for which it counts as local is told by doctor.
	if r := b.with("TEAMS_SHARED=0").run("doctor"); r.code != 1 || !strings.Contains(r.out, "shared_elsewhere") {
		t.Errorf("doctor of a host that does not know: %s", r)
	}
}

// TestSessionEndsElsewhere ends a session on one host and uses it on the other
// at once: nothing that was told to the leader is lost.
func TestSessionEndsElsewhere(t *testing.T) {
	t.Parallel()
	a, b := twoHosts(t)
	a.addTasks(1, "")
	a.ok("join", "ann", "-q")
	a.as("ann").ok("send", "leader", "unread one", "-q")
	end := a.start("session", "end", "--now")
	late := b.as("ann").start("send", "leader", "on the way", "-q")
	if r := end.wait(); r.code != 0 {
		t.Fatal(r)
	}
	sent := late.wait()
	out := b.ok("recv")
	if !strings.Contains(out, "unread one") {
		t.Errorf("recv: %s", out)
	}
	if sent.code == 0 && !strings.Contains(out, "on the way") {
		t.Errorf("a message that was sent is lost: %s\n%s", sent, out)
	}
	if left, _ := os.ReadDir(filepath.Join(a.root, "teammate")); len(left) != 1 {
		t.Errorf("sessions: %v", left)
	}
}
