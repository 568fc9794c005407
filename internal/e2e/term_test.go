package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestTerminals uses terminals as a leader does, one command after the other.
func TestTerminals(t *testing.T) {
	t.Parallel()
	s := newSite(t).with("SHELL=/bin/sh", "PS1=$ ")
	id := s.ok("term", "open", "--name", "dev", "-q")
	defer s.run("term", "close", id)
	if id != "term-1" {
		t.Fatal(id)
	}
	read := func(want string) string {
		t.Helper()
		all := ""
		for end := time.Now().Add(20 * time.Second); !strings.Contains(all, want); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%q does not come: %q", want, all)
			}
			e, _ := s.json("term", "read", "dev")
			var d struct{ Text, Mode string }
			if err := json.Unmarshal(e.Data, &d); err != nil || !e.OK {
				t.Fatal(err)
			}
			all += d.Text
		}
		return all
	}
	read("$ ")
	if out := s.ok("term", "read", id); out != "no new output" {
		t.Errorf("%q", out)
	}
	s.ok("term", "send", id, "X=kept; cd /")
	s.ok("term", "send", "dev", `echo "<$X $PWD>"`)
	read("<kept />\n$ ")
	if r := s.runIn("for i in 1 2 3; do\necho n$i\ndone\n", "term", "send", id, "-"); r.code != 0 {
		t.Fatal(r)
	}
	read("n1\nn2\nn3\n$ ")
	s.ok("term", "send", id, "sleep 1000")
	s.ok("term", "signal", id, "ctrl+c")
	read("$ ")
	s.exits(64, "term", "signal", id, "ctrl+q")
	s.exits(5, "--as", "ann", "term", "send", id, "x")
	s.exits(4, "term", "open", "--name", "dev")
	if out := s.ok("term", "list"); !strings.Contains(out, "open") || !strings.Contains(out, "dev") {
		t.Errorf("%s", out)
	}
	s.ok("term", "send", id, "sleep 2000 & nohup sleep 3000 >/dev/null 2>&1 &")
	if out := s.ok("term", "close", "dev"); !strings.Contains(out, "closed term-1") {
		t.Errorf("%q", out)
	}
	if left := s.endAll(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	s.exits(4, "term", "send", id, "x")
	if out := s.ok("term", "list"); !strings.Contains(out, "closed") {
		t.Errorf("%s", out)
	}
}
