package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHostFullDisk fills the root under a host, in a turn and between two: it
// lives on, and goes on when there is room.
func TestHostFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mountTmpfs("size=512k,mode=700")
	s.roles()
	t.Cleanup(s.quit)
	got := filepath.Join(s.base, "got")
	s.spawnExec("bot", "do it", "cat >> "+got+"; touch "+filepath.Join(s.base, "began")+"; "+s.until("on")+"; yes | head -c 100000; echo")
	r := s.working("bot")
	eventually(t, "it works", func() bool { return exists(filepath.Join(s.base, "began")) })
	empty := s.stuff()
	s.goOn("on")
	eventually(t, "its turn has ended", func() bool { return !alive(r.Child.PID) })
	s.run("tick")
	s.run("tick", "--stall", "1ms")
	time.Sleep(1200 * time.Millisecond)
	if !alive(r.PID) {
		t.Fatal("the host has ended")
	}
	empty()
	// What the full disk kept from being marked is handed over again, and the
	// record says what is.
	s.becomes("bot", "idle", func(r resident) bool { return r.Status == "idle" && r.Child == nil })
	eventually(t, "its mail is read", func() bool { return files(t, s.team("bot", "inbox", "new")) == 0 })
	s.becomes("bot", "idle", func(r resident) bool { return r.Status == "idle" && r.Child == nil })
	s.send("bot", "there is room")
	eventually(t, "it is woken", func() bool { return strings.Contains(read(t, got), "there is room") })
	if now := s.resident("bot"); now.PID != r.PID || !alive(r.PID) {
		t.Errorf("another host: %+v", now)
	}
	s.becomes("bot", "idle", func(r resident) bool { return r.Status == "idle" && r.Child == nil })
	s.ok("tick")
	s.healthy()
	s.ok("shutdown", "bot")
	s.noProcess()
}

// TestSpawnFullDisk refuses a spawn for which there is no room, and leaves
// nothing of it.
func TestSpawnFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mountTmpfs("size=256k,mode=700")
	s.roles()
	t.Cleanup(s.quit)
	s.spawnExec("ann", "", "true")
	s.ok("tick")
	before := all(t, s.team())
	empty := s.stuff()
	for range 2 {
		if r := s.run("spawn", "bot", "worker", "do it", "--", "true"); r.code != 1 || !strings.Contains(r.err, "no space left") {
			t.Errorf("%s", r)
		}
	}
	empty()
	s.ok("tick")
	sameTree(t, "full", before, all(t, s.team()))
	if r := s.resident("bot"); r.Name != "" {
		t.Errorf("it is there: %+v", r)
	}
	s.ok("spawn", "bot", "worker", "do it", "--", "true")
	s.healthy()
}

// TestSessionGone removes the session's directory under a host: it ends what it
// has started, and itself.
func TestSessionGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text string }{{"idle", ""}, {"in a turn", "do it"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newTeam(t)
			s.spawnExec("bot", c.text, "sleep 600")
			if c.text != "" {
				s.working("bot")
			}
			if err := os.Rename(s.team(), filepath.Join(s.base, "away")); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			for len(s.processes()) > 0 && time.Since(begin) < 15*time.Second {
				time.Sleep(10 * time.Millisecond)
			}
			s.noProcess()
			if list, _ := filepath.Glob(filepath.Join(s.root, "teammate", "*")); len(list) > 0 {
				t.Errorf("it made %q", list)
			}
			s.ok("spawn", "bot", "worker", "--", "true")
		})
	}
}
