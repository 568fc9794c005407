package e2e

import (
	"strings"
	"testing"
)

// hintOf is the hint that a command which fails prints.
func hintOf(t *testing.T, r result) string {
	t.Helper()
	_, hint, ok := strings.Cut(r.err, "\nhint: ")
	if r.code == 0 || !ok {
		t.Fatalf("no hint: %s", r)
	}
	return strings.TrimSpace(hint)
}

// TestHintsKeepTheName follows hints as they are printed to somebody whose name
// is not in the environment, and to the leader, who has none.
func TestHintsKeepTheName(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 4 {
		s.add("work", "--verify", "test -e ok")
	}
	s.add("assigned", "--assignee", "bob")
	follow := func(want string, r result) {
		t.Helper()
		hint := hintOf(t, r)
		if _, then, ok := strings.Cut(hint, ", then "); ok {
			hint = then
		}
		if hint != want {
			t.Errorf("hint %q, want %q", hint, want)
		}
		if r := s.sh(hint); r.code != 0 {
			t.Errorf("the hint %q: %s", hint, r)
		}
	}
	follow("teams claim t_1 --as ann", s.run("submit", "t_1", "--as", "ann"))
	failed := s.run("submit", "--as", "ann")
	s.sh("touch ok")
	follow("teams submit t_1 --as ann", failed)
	follow("teams claim --as ann", s.run("submit", "--as", "ann"))
	s.ok("release", "t_2")
	follow("teams claim t_2 --as ann", s.run("submit", "t_2", "--as", "ann"))
	if hint := hintOf(t, s.run("claim", "--as", "ann")); !strings.HasPrefix(hint, "teams submit t_2 --as ann or teams release t_2 --as ann first") {
		t.Errorf("at the limit: %q", hint)
	}
	if e, _ := s.json("claim", "--as", "ann"); !strings.Contains(e.Error.Hint, "teams submit t_2 --as ann") {
		t.Errorf("in JSON: %+v", e.Error)
	}

	// The leader holds nothing, and claims for nobody.
	follow("teams task why t_3", s.run("release", "t_3"))
	follow("teams task why t_5 --as ann", s.run("submit", "t_5", "--as", "ann"))
	why := strings.TrimSpace(s.ok("task", "why", "t_3"))
	why = strings.TrimSpace(why[strings.LastIndex(why, "\n")+1:])
	if r := s.sh(why); r.code != 0 || why != "teams claim t_3 --as w1" {
		t.Errorf("the leader is told %q: %s", why, r)
	}
	if why := s.ok("task", "why", "t_4", "--as", "cid"); !strings.HasSuffix(why, "teams claim t_4 --as cid") {
		t.Errorf("cid is told %q", why)
	}
	if _, why := s.with("TEAMS_NAME=").reasons("t_3"); why[0].Hint != "teams release t_3" {
		t.Errorf("%+v", why)
	}
	if why := s.ok("task", "why", "t_3", "--as", "cid"); !strings.HasSuffix(why, "teams release t_3") {
		t.Errorf("only the leader gives back what another holds: %q", why)
	}

	// The other global flags come along, too.
	elsewhere := s.with("TEAMS_ROOT=").at(t.TempDir())
	hint := hintOf(t, elsewhere.run("submit", "t_4", "--as", "cid", "--root", s.root, "-C", s.project))
	if r := elsewhere.sh(hint); r.code != 0 || s.show("t_4").ClaimedBy != "cid" {
		t.Errorf("the hint %q: %s", hint, r)
	}
}

// TestHintOfHerdrSwitchedOff repeats the whole command line.
func TestHintOfHerdrSwitchedOff(t *testing.T) {
	t.Parallel()
	s := newSite(t).with("TEAMS_HERDR=0")
	if hint := hintOf(t, s.run("herdr", "notify", "it's done", "--body", "x y")); hint != `TEAMS_HERDR=auto teams herdr notify 'it'\''s done' --body 'x y'` {
		t.Errorf("%s", hint)
	}
}
