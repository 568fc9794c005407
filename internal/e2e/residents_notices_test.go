package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// offers are the notices of claimable tasks in a mailbox.
func (s *site) offers(name string) []message {
	return s.mailOf(name, func(m message) bool { return m.Event == "claimable" })
}

// ids lists the tasks that a notice of claimable tasks names.
func offered(m message) (ids []string) {
	for line := range strings.Lines(m.Body) {
		if rest, ok := strings.CutPrefix(line, "- t_"); ok {
			ids = append(ids, "t_"+strings.Fields(rest)[0])
		}
	}
	return ids
}

// TestOffers tells idle teammates of claimable tasks: of each in each epoch once,
// at most ten new ones in a notice, and notices at least 2 s apart.
func TestOffers(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	for i := range 12 {
		s.add(fmt.Sprintf("task %d", i))
	}
	s.add("not for bot", "--assignee", "ann")
	// Its wakes fail, so the notices stay unread and are told apart from new ones.
	got := filepath.Join(s.base, "got")
	s.spawnExec("bot", "", "cat >> "+got)
	s.ok("tick")
	first := s.offers("bot")
	if len(first) != 1 || len(offered(first[0])) != 10 {
		t.Fatalf("told of %q", lines(first))
	}
	begin := time.Now()
	s.ok("tick")
	if n := len(s.offers("bot")); n != 1 {
		t.Errorf("%d notices within 2 s", n)
	}
	eventually(t, "it is told of the rest", func() bool { time.Sleep(100 * time.Millisecond); s.ok("tick"); return len(s.offers("bot")) == 2 })
	if d := time.Since(begin); d < 1800*time.Millisecond {
		t.Errorf("the second notice came after %v", d)
	}
	s.idle("bot", 2)
	var all []string
	for _, m := range s.offers("bot") {
		all = append(all, offered(m)...)
	}
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != 12 || len(all) != 12 || slices.Contains(all, "t_13") {
		t.Errorf("told of %q", all)
	}
	time.Sleep(2100 * time.Millisecond)
	s.ok("tick")
	if n := len(s.offers("bot")); n != 2 {
		t.Errorf("%d notices about the same tasks", n)
	}
	// A new epoch of one is news.
	s.ok("join", "cid", "-q")
	s.ok("claim", "t_3", "--as", "cid")
	s.ok("release", "t_3", "--as", "cid")
	s.ok("tick")
	list := s.offers("bot")
	if len(list) != 3 || !slices.Equal(offered(list[2]), []string{"t_3"}) {
		t.Errorf("told of %q", lines(list))
	}
}

// TestOffersCoalesce has a teammate that cannot read: the notices of claimable
// tasks become one, which names all that are still free. A teammate that has
// other mail, holds a task or works is told of none.
func TestOffersCoalesce(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.add("one")
	s.spawnExec("bot", "", "exit 1")
	s.ok("tick")
	s.add("two")
	unread := func() (out []message) {
		return s.mailOf("bot", func(m message) bool { return m.Event == "claimable" && !m.Read })
	}
	eventually(t, "it is told of the second", func() bool {
		time.Sleep(100 * time.Millisecond)
		s.ok("tick")
		list := unread()
		return len(list) == 1 && len(offered(list[0])) == 2
	})
	if ids := offered(unread()[0]); !slices.Contains(ids, "t_1") || !slices.Contains(ids, "t_2") {
		t.Errorf("told of %q", ids)
	}
	s.spawnExec("busy", "do it", "touch "+filepath.Join(s.base, "b")+"; "+s.until("on"))
	s.spawnExec("holder", "do it", "cat > /dev/null; teams claim t_2 -q; touch "+filepath.Join(s.base, "h"))
	eventually(t, "they are at it", func() bool { return exists(filepath.Join(s.base, "b")) && exists(filepath.Join(s.base, "h")) })
	s.add("three")
	s.idle("holder", 2) // it was asked for its report
	s.ok("tick")
	s.ok("tick")
	for _, name := range []string{"busy", "holder"} {
		if list := s.offers(name); len(list) > 0 {
			t.Errorf("%s was told: %q", name, lines(list))
		}
	}
	s.goOn("on")
}

// TestHooks runs a command for what reaches the leader: each message once, one at
// a time; one that fails is a problem that is told, and loses nothing.
func TestHooks(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"harness", "tick"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			s := newTeam(t)
			s.ok("join", "ann", "-q")
			dir := filepath.Join(s.base, "hooks")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			// It fails when another one runs at the same time.
			hook := "mkdir " + dir + "/busy || exit 9; sleep 0.05; cat > " + dir + "/$$.tmp; mv " + dir + "/$$.tmp " + dir + "/$$.%s; rmdir " + dir + "/busy"
			flags := []string{"--on-report", fmt.Sprintf(hook, "report"), "--on-notice", "cat >> " + dir + "/notices; exit 3"}
			pass := func() { time.Sleep(50 * time.Millisecond) }
			if by == "harness" {
				s.runHarness(flags...)
			} else {
				pass = func() { s.run(append([]string{"tick"}, flags...)...) }
			}
			for i := range 4 {
				s.as("ann").ok("send", "leader", "-q", fmt.Sprintf("report %d", i))
			}
			s.add("task")
			s.ok("claim", "t_1", "--as", "ann")
			s.ok("release", "t_1", "--as", "ann")
			called := func() []string {
				list, _ := filepath.Glob(filepath.Join(dir, "*.report"))
				return list
			}
			eventually(t, "the reports were handed over", func() bool { pass(); return len(called()) >= 4 })
			for range 3 {
				pass()
			}
			var text string
			for _, f := range called() {
				text += read(t, f)
			}
			for i := range 4 {
				if n := strings.Count(text, fmt.Sprintf("report %d", i)); n == 0 || len(called()) != 4 {
					t.Errorf("report %d was handed over %d times, %d calls", i, n, len(called()))
				}
			}
			if n := len(s.mailOf("leader", func(m message) bool { return m.From == "ann" && !m.Read })); n != 4 {
				t.Errorf("%d reports are unread", n)
			}
			if n := len(s.mailOf("leader", func(m message) bool { return m.Kind == "notice" })); n == 0 {
				return // nothing that the leader is told
			}
			if by == "tick" {
				r := s.run(append([]string{"tick", "-q"}, flags...)...)
				if r.code != 1 || !strings.Contains(r.err, "the hook for") || !strings.Contains(r.err, "exit status 3") {
					t.Errorf("the failing hook: %s", r)
				}
				return
			}
			eventually(t, "its status tells of the failing hook", func() bool {
				r := s.run("harness", "status")
				return strings.Contains(r.out, "problem: hooks: the hook for") && strings.Contains(r.out, "exit status 3")
			})
		})
	}
}

// TestWatch is told once of tasks that end close together, in the order asked.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	for i := range 5 {
		s.add(fmt.Sprintf("task %d", i+1))
	}
	s.ok("join", "ann", "-q")
	finish := func(id string, flags ...string) {
		t.Helper()
		s.ok("claim", id, "--as", "ann")
		s.ok(append([]string{"submit", id, "--as", "ann"}, flags...)...)
	}
	finish("t_5", "--result", "long ago")
	if out := s.ok("watch", "t_4", "t_5", "t_2", "t_4", "t_3"); !strings.Contains(out, "t_5") {
		t.Errorf("what has ended already: %s", out)
	}
	// The harness comes after both, so that no slow machine draws them apart.
	finish("t_2", "--result", "two is done")
	finish("t_4", "--result", "four is done")
	s.runHarness()
	list := s.toldOf("settled", 1)
	two, four := strings.Index(list[0].Body, "t_2 completed"), strings.Index(list[0].Body, "t_4 completed")
	if two < 0 || four < 0 || four > two || strings.Contains(list[0].Body, "t_5") || !strings.Contains(list[0].Body, "four is done") {
		t.Errorf("the notice:\n%s", list[0].Body)
	}
	s.ok("task", "cancel", "t_3")
	list = s.toldOf("settled", 2)
	if !strings.Contains(list[1].Body, "t_3 cancelled") || strings.Contains(list[1].Body, "t_2") {
		t.Errorf("the second notice:\n%s", list[1].Body)
	}
	eventually(t, "no registration is left", func() bool { return files(t, s.team("watches")) == 0 })
	s.toldOf("settled", 2)
}

// TestWatchClockStep sets the clock back right after a watched task has ended: it
// is told of all the same.
func TestWatchClockStep(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	clock := filepath.Join(s.base, "clock")
	write(t, clock, "24h")
	s = s.clocked(clock)
	s.add("one")
	s.add("two")
	s.ok("join", "ann", "-q")
	s.ok("watch", "t_1", "t_2")
	s.ok("claim", "t_1", "--as", "ann")
	s.ok("submit", "t_1", "--as", "ann")
	write(t, clock, "-24h")
	s.runHarness()
	s.toldOf("settled", 1)
}
