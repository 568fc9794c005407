package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// teamOf makes a site with the roles and scripts of the manual of a team.
func teamOf(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	script, err := os.ReadFile(filepath.Join("..", "..", "testdata", "script", "team_manual.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range strings.Split(string(script), "\n-- ")[1:] {
		name, text, ok := strings.Cut(file, " --\n")
		if !ok {
			t.Fatalf("no file: %s", file)
		}
		to := filepath.Join(s.base, name)
		if rest, ok := strings.CutPrefix(name, "app/"); ok {
			to = filepath.Join(s.project, rest)
		} else if rest, ok := strings.CutPrefix(name, "root/"); ok {
			to = filepath.Join(s.root, rest)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { s.run("shutdown", "--all", "--now", "-q"); s.endAll() })
	return s
}

// TestTeam lets the team of the manual work off a board with dependencies, role
// gates and peer mail: with a harness, with a tick once a second as from cron,
// and with a harness that is killed all the time. The end is the same.
func TestTeam(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(s *site, done <-chan struct{}){
		"harness":        harnessBeside,
		"ticks":          ticksBeside,
		"killed harness": killedHarnessBeside,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := teamOf(t)
			for mate, role := range map[string]string{"cody": "coder", "rev": "reviewer", "hera": "herald"} {
				s.ok("spawn", mate, role, "--", filepath.Join(s.base, "bin", role+".sh"))
			}
			const chains = 3
			for i := range chains {
				code := s.add(fmt.Sprintf("write %d", i), "--role", "coder")
				review := s.add(fmt.Sprintf("review %d", i), "--role", "reviewer", "--depends-on", code)
				s.add(fmt.Sprintf("announce %d", i), "--role", "herald", "--depends-on", review)
			}
			done, ended := make(chan struct{}), make(chan struct{})
			go func() { defer close(ended); look(s, done) }()
			r := s.run("wait", "--timeout", "100s", "-q")
			// What the last of them has to say is on its way.
			for range 100 {
				if idle := s.ok("list"); !strings.Contains(idle, "working") {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			close(done)
			<-ended
			if r.code != 0 {
				t.Fatalf("%s\n%s\n%s", r, s.run("list"), s.run("log"))
			}
			s.teamEnd(3 * chains)
		})
	}
}

// teamEnd checks how the work of the team has ended.
func (s *site) teamEnd(tasks int) {
	s.t.Helper()
	completed := map[string]int{}
	for _, e := range s.history() {
		if e.Event == "completed" {
			completed[e.Task]++
		}
	}
	who := []string{"cody", "rev", "hera"}
	for n := 1; n <= tasks; n++ {
		id := fmt.Sprintf("t_%d", n)
		task := s.show(id)
		if want := who[(n-1)%3]; task.State != "completed" || task.ClaimedBy != want || completed[id] != 1 {
			s.t.Errorf("%s is %s, by %s, completed %d times", id, task.State, task.ClaimedBy, completed[id])
		}
	}
	for _, mate := range who {
		if unread := s.as(mate).mail("inbox").Unread; unread > 0 {
			s.t.Errorf("%s has %d unread messages: %s", mate, unread, s.as(mate).run("inbox"))
		}
		reports := 0
		for _, m := range s.mail("inbox", "--all").Messages {
			if m.From == mate && m.Status == "completed" {
				reports++
			}
		}
		if reports == 0 {
			s.t.Errorf("%s has reported nothing", mate)
		}
	}
	s.ok("shutdown", "--all")
	s.ok("tick", "-q")
	s.healthy()
	s.noProcess()
}

func harnessBeside(s *site, done <-chan struct{}) {
	h := s.start("harness", "-q")
	<-done
	h.signal(syscall.SIGTERM)
	if r := h.wait(); r.code != 0 {
		s.t.Errorf("harness: %s", r)
	}
}

func ticksBeside(s *site, done <-chan struct{}) {
	for {
		if r := s.run("tick", "-q"); r.code != 0 {
			s.t.Errorf("tick: %s", r)
		}
		select {
		case <-done:
			return
		case <-time.After(time.Second):
		}
	}
}

func killedHarnessBeside(s *site, done <-chan struct{}) {
	for i := 0; ; i++ {
		h := s.start("harness", "-q")
		life := time.Second
		if i%3 > 0 {
			life = time.Duration(50+i*37%400) * time.Millisecond
		}
		select {
		case <-done:
			h.kill()
			return
		case <-time.After(life):
			h.kill()
		}
	}
}
