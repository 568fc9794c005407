package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/pi/pitest"
)

// A revived teammate works in the worktree of its new life, whether the old one
// is still there or not, and what it revived from stays as it was.
func TestPiResumeWorktree(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site, m *pitest.Model) {
		s.git()
		s.ok("spawn", "ann", "tree", "RUN echo zebra; pwd > where")
		for i, end := range []string{"shutdown ann", "shutdown ann", "session end", "session end"} {
			r := s.becomes("ann", "idle after a turn", func(r resident) bool { return r.Status == "idle" && r.Turns > 0 })
			if got := strings.TrimSpace(read(t, filepath.Join(r.Worktree, "where"))); got != r.Worktree {
				t.Fatalf("life %d works in %s, and its worktree is %s", i, got, r.Worktree)
			}
			all := m.Requests()
			if last := all[len(all)-1]; !slices.ContainsFunc(users(last), func(text string) bool { return strings.HasSuffix(text, "RUN echo zebra; pwd > where") }) {
				t.Errorf("life %d: the conversation is gone: %+v", i, last.Messages)
			}
			s.ok(strings.Fields(end)...)
			if i%2 == 0 { // one that was kept
				if err := os.MkdirAll(r.Worktree, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			id := strings.TrimSpace(s.ok("ledger", "-q", "--limit", "1"))
			_, shown := s.json("ledger", "show", id)
			file := sessionFileOf(t, shown.out)
			before := read(t, file)
			empty := s.with("PI_CODING_AGENT_DIR=" + t.TempDir())
			empty.exits(1, "resume", id, "RUN pwd > where")
			s.ok("resume", id, "RUN pwd > where")
			now := s.resident("ann")
			if now.SessionFile == file || now.Worktree == r.Worktree {
				t.Errorf("life %d goes on with %s in %s", i, now.SessionFile, now.Worktree)
			}
			if read(t, file) != before {
				t.Errorf("life %d: the conversation that it was revived from has changed", i)
			}
			if list, _ := filepath.Glob(s.team("ann", "session-*.jsonl")); strings.HasPrefix(end, "session") && len(list) != 1 {
				t.Errorf("life %d: there are %q", i, list)
			}
		}
		s.ok("shutdown", "ann", "--now")
	})
}

// users are the texts of the user messages of a request.
func users(r pitest.Request) (list []string) {
	for _, m := range r.Messages {
		if m.Role == "user" {
			list = append(list, m.Text)
		}
	}
	return list
}

// The first that a pi teammate is told is who it is, whether it begins with
// something to do or with mail, and once; its system prompt does not say it.
func TestPiIsTold(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site, m *pitest.Model) {
		after := func(name string, turns int) pitest.Request {
			s.becomes(name, "idle after a turn", func(r resident) bool { return r.Status == "idle" && r.Turns >= turns })
			all := m.Requests()
			return all[len(all)-1]
		}
		const who = "You are %s, a teammate of role worker.\n\n"
		s.ok("spawn", "ann", "worker", "SAY hello")
		ann := after("ann", 1) // and it may have been asked for its report since
		want := fmt.Sprintf(who, "ann") + "SAY hello"
		if got := users(ann); got[0] != want || strings.Count(strings.Join(got, ""), "You are ann") != 1 {
			t.Errorf("ann was told %q", got)
		}
		if got := read(t, s.team("ann", "kickoff.md")); got != want {
			t.Errorf("kickoff.md has %q", got)
		}
		if got := s.ok("handoff", "ann"); !strings.Contains(got, "## What it was asked to do\n\nSAY hello\n") {
			t.Errorf("handoff: %s", got)
		}
		s.ok("spawn", "bob", "worker")
		s.ok("send", "bob", "SAY one")
		bob := after("bob", 1)
		s.ok("send", "bob", "SAY two")
		got := users(after("bob", 2))
		if !strings.HasPrefix(got[0], fmt.Sprintf(who, "bob")) || !strings.Contains(got[0], "SAY one") || strings.Count(strings.Join(got, ""), "You are bob") != 1 {
			t.Errorf("bob was told %q", got)
		}
		if ann.Messages[0].Role == "user" || ann.Messages[0] != bob.Messages[0] {
			t.Errorf("the system prompts differ: %.200q", []string{ann.Messages[0].Text, bob.Messages[0].Text})
		}
		s.ok("shutdown", "--all")
	})
}

// The leader is told of a silent pi once, and a steer does not make it news
// again.
func TestPiStallSteered(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site, m *pitest.Model) {
		s.ok("spawn", "ann", "worker", "RUN touch "+s.base+"/began; "+s.until("on"))
		s.waitFile("began")
		// What pi says of the beginning may come late, and is news.
		last, since := int64(-1), time.Now()
		eventually(t, "it has said all", func() bool {
			if at := s.resident("ann").LastOutputAt; at != last {
				last, since = at, time.Now()
			}
			return time.Since(since) > 2*time.Second
		})
		stalled := func() int {
			s.ok("tick", "-q", "--stall", "1s")
			return len(s.told("stalled"))
		}
		eventually(t, "it is silent", func() bool { return stalled() == 1 })
		s.ok("send", "ann", "SAY steered")
		for range 15 { // time for pi to take it, for the host to note that, and for silence after it
			time.Sleep(200 * time.Millisecond)
			if n := stalled(); n != 1 {
				t.Fatalf("told %d times", n)
			}
		}
		s.goOn("on")
		s.noMail("ann")
		s.ok("shutdown", "ann", "--now")
	})
}

// sessionFileOf is the session file in the JSON of a row of the ledger.
func sessionFileOf(t *testing.T, out string) string {
	t.Helper()
	_, rest, ok := strings.Cut(out, `"sessionFile":"`)
	file, _, found := strings.Cut(rest, `"`)
	if !ok || !found {
		t.Fatalf("no session file: %s", out)
	}
	return file
}

// A pi that does not answer keeps its host from nothing: an interrupt says that
// the turn goes on, and the teammate is shut down as any other.
func TestPiStoppedIsInterrupted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site, m *pitest.Model) {
		for _, how := range [][]string{{"--now"}, nil} {
			s.ok("spawn", "ann", "worker", "RUN touch "+s.base+"/on; sleep 600")
			s.waitFile("on")
			r := s.working("ann")
			if err := syscall.Kill(r.Child.PID, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			e := s.fails(75, "busy", "interrupt", "ann")
			if !strings.Contains(e.Error.Message, "ann does not end its turn") || e.Error.Hint != "teams shutdown ann --now" {
				t.Errorf("%+v", e.Error)
			}
			if exists(s.team("ann", "interrupt")) {
				t.Error("the request is still there")
			}
			if how != nil {
				began := time.Now()
				s.ok(append([]string{"shutdown", "ann"}, how...)...)
				if took := time.Since(began); took > 25*time.Second {
					t.Errorf("%q took %s", how, took)
				}
			} else {
				// It goes on as if nothing had been.
				if err := syscall.Kill(r.Child.PID, syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
				s.becomes("ann", "idle", func(r resident) bool { return r.Status == "idle" })
				s.ok("send", "ann", "SAY hello")
				s.becomes("ann", "idle after another turn", func(r resident) bool {
					return r.Status == "idle" && strings.Contains(s.run("activity", "ann").out, "hello")
				})
				s.ok("shutdown", "ann")
			}
			s.noProcess()
			if err := os.Remove(filepath.Join(s.base, "on")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Large mail comes to pi in prompts of a size that its host can bear.
func TestPiLargeMail(t *testing.T) {
	t.Parallel()
	s, m := piTeam(t, "fake")
	const n, size = 12, 2<<20 - 1000
	file := filepath.Join(s.base, "large")
	write(t, file, strings.Repeat("0123456789 large\n", size/17))
	s.ok("spawn", "ann", "worker", "RUN "+s.until("on"))
	s.working("ann")
	host := s.resident("ann").PID
	if err := syscall.Kill(host, syscall.SIGSTOP); err != nil { // so that it finds them all at once
		t.Fatal(err)
	}
	for range n {
		s.ok("send", "ann", "@"+file, "-q")
	}
	if err := syscall.Kill(host, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // it hands over what it will while pi is busy
	s.goOn("on")
	s.noMail("ann")
	s.becomes("ann", "idle", func(r resident) bool { return r.Status == "idle" })
	shown := 0
	all := m.Requests()
	for _, msg := range all[len(all)-1].Messages {
		if msg.Role == "user" {
			shown += strings.Count(msg.Text, "9 large\n")
			if len(msg.Text) > 5<<20 {
				t.Errorf("a prompt of %d bytes", len(msg.Text))
			}
		}
	}
	if want := n * (size / 17); shown != want {
		t.Errorf("%d lines were shown, not %d", shown, want)
	}
	peak := peakMemory(host)
	if t.Logf("the host had %d MiB", peak>>20); peak > 110<<20 {
		t.Errorf("the host had %d MiB", peak>>20)
	}
	s.ok("shutdown", "ann")
}
