package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stuck is a teams whose output nobody reads on: it has printed its beginning
// and hangs in the middle of it.
type stuck struct {
	*proc
	pipe io.ReadCloser
	head string // what it has printed
}

func (s *site) stuck(args ...string) *stuck {
	s.t.Helper()
	cmd := s.command(teamsBin, args...)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	p := start(s.t, cmd)
	head := make([]byte, 200)
	if _, err := io.ReadFull(pipe, head); err != nil {
		s.t.Fatal(err)
	}
	return &stuck{p, pipe, string(head)}
}

// TestReceiverKilled kills a receiver in the middle of its output, when the
// pipe is full, so before the mark: the message is printed again, with its id.
func TestReceiverKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "bob", "-q")
	bob := s.as("bob")
	body := strings.Repeat("a long line of text\n", 20_000)
	for _, verb := range [][]string{{"recv"}, {"recv", "--json"}, {"recv", "--format", "agent"}, {"recv", "--wait"}, {"follow"}, {"read", "ID"}, {"read", "ID", "--raw"}} {
		r := s.runIn(body, "send", "bob", "-", "-q")
		id := strings.TrimSpace(r.out)
		if r.code != 0 || id == "" {
			t.Fatal(r)
		}
		for round := range 2 {
			args := strings.Split(strings.ReplaceAll(strings.Join(verb, " "), "ID", id), " ")
			p := bob.stuck(args...)
			if !strings.Contains(p.head, id) && verb[len(verb)-1] != "--raw" {
				t.Errorf("%q: round %d: it begins with %q", args, round, p.head)
			}
			if p.ended(50 * time.Millisecond) {
				t.Errorf("%q: it ended: %s", args, p.wait())
			}
			if _, err := os.Stat(s.team("bob", "inbox", "new", id+".md")); err != nil {
				t.Errorf("%q: round %d: marked before it was printed: %v", args, round, err)
			}
			p.kill()
			p.pipe.Close()
		}
		got := bob.recv()
		if len(got) != 1 || got[0].ID != id || got[0].Body != body {
			t.Errorf("%q: %d messages after the kills", verb, len(got))
		}
		if got := bob.recv(); len(got) > 0 {
			t.Errorf("%q: printed again after all: %q", verb, lines(got))
		}
	}
	s.healthy()
}

// TestReceiverKilledAtRandom kills receivers at any moment. Nothing is lost,
// and a kill lets one message be printed twice at most.
func TestReceiverKilledAtRandom(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "bob", "-q")
	bob := s.as("bob")
	total := 400
	if *long {
		total = 5000
	}
	s.sendMany("ann", "bob", total)
	printed := map[string]int{}
	kills, out := 0, filepath.Join(s.base, "out")
	for files(t, s.team("bob", "inbox", "new")) > 0 {
		f, err := os.Create(out)
		if err != nil {
			t.Fatal(err)
		}
		cmd := bob.command(teamsBin, "recv", "-q")
		cmd.Stdout = f
		p := start(t, cmd)
		if !p.ended(time.Duration(2_000+rand.IntN(10_000)) * time.Microsecond) {
			p.kill()
			kills++
		}
		if r := p.wait(); r.code != 0 && r.code != 137 {
			t.Fatal(r)
		}
		f.Close()
		for _, id := range strings.Fields(read(t, out)) {
			printed[id]++
		}
	}
	twice := 0
	for _, m := range s.mail("sent", "--as", "ann").Messages {
		if printed[m.ID] == 0 {
			t.Errorf("%s was never printed", m.ID)
		}
		twice += max(printed[m.ID]-1, 0)
	}
	if len(printed) != total || twice > kills {
		t.Errorf("%d printed of %d, %d of them again with %d kills", len(printed), total, twice, kills)
	}
	t.Logf("%d messages, %d kills, %d printed twice", total, kills, twice)
	s.healthy()
}

// TestSenderKilled kills senders at any moment: a message is there whole or not
// at all, and one that was acknowledged is there.
func TestSenderKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "bob", "-q")
	s.ok("join", "ann", "-q")
	rounds := 40
	if *long {
		rounds = 1000
	}
	ann, bob := s.as("ann"), s.as("bob")
	told, kills := map[string]bool{}, 0
	sum := func(body string) string { h := sha256.Sum256([]byte(body)); return hex.EncodeToString(h[:]) }
	for n := range rounds {
		to := []string{"bob", "leader"}[n%2]
		body := fmt.Sprintf("%d\n%s", n, strings.Repeat(string(rune('a'+n%26)), 300_000))
		file := filepath.Join(s.base, "body")
		write(t, file, sum(body)+"\n"+body)
		p := ann.start("send", to, "@"+file)
		if !p.ended(time.Duration(rand.IntN(30_000)) * time.Microsecond) {
			p.kill()
			kills++
		}
		r := p.wait()
		if r.code == 0 {
			told[sum(body)] = true
		}
	}
	got := map[string]bool{}
	for _, m := range append(bob.recv(), s.recv()...) {
		head, body, _ := strings.Cut(m.Body, "\n")
		if head != sum(body) {
			t.Errorf("%s from %s is not whole", m.ID, m.From)
		}
		got[head] = true
	}
	for head := range told {
		if !got[head] {
			t.Errorf("%s was acknowledged and is not there", head)
		}
	}
	t.Logf("%d rounds, %d kills, %d acknowledged, %d arrived", rounds, kills, len(told), len(got))
	s.healthy()
}

// TestStoppedReader leaves a reader open that does not read on, as less does:
// nobody else waits for it.
func TestStoppedReader(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"ann", "bob"} {
		s.ok("join", name, "-q")
	}
	ann, bob := s.as("ann"), s.as("bob")
	s.add("one")
	s.add("two", "--verify", "exit 1")
	s.add("three")
	big := filepath.Join(s.base, "big")
	write(t, big, strings.Repeat("a long line of text\n", 20_000))
	first := ann.send("bob", "@"+big)
	reports := ann.send("leader", "@"+big)
	readers := []*stuck{bob.stuck("recv"), s.stuck("recv")}
	defer func() {
		for _, p := range readers {
			p.kill()
			p.pipe.Close()
		}
	}()
	end := time.Now()
	if *long {
		end = end.Add(time.Minute)
	}
	for round := 0; ; round++ {
		begin := time.Now()
		bob.ok("claim", "t_1", "-q")
		bob.ok("submit", "t_1", "-q")
		s.ok("task", "reopen", "t_1", "-q")
		ann.ok("claim", "t_2")
		ann.fails(1, "gate_failed", "submit")
		ann.ok("release", "t_2", "-q")
		s.ok("tick")
		s.ok("task", "list", "--mine")
		s.send("all", "to everybody")
		ann.send("bob", "another")
		ann.send("leader", "another report")
		// The message that is being printed is still there, and skipped.
		wantLines(t, "bob", bob.recv(), "leader to everybody", "ann another")
		wantLines(t, "leader", s.recv(), "ann another report")
		if got := bob.mail("inbox"); got.Total != 1 || got.Messages[0].ID != first {
			t.Errorf("bob's inbox: %+v", got)
		}
		bob.fails(75, "busy", "read", first)
		bob.ok("read", first, "--peek", "-q")
		if got := ann.mail("sent", "--unread"); got.Total != 2 || got.Messages[0].ID != first || got.Messages[1].ID != reports {
			t.Errorf("ann's unread: %+v", got)
		}
		ann.recv()
		if took := time.Since(begin); took > 20*time.Second {
			t.Fatalf("round %d took %v", round, took)
		}
		if time.Now().After(end) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	// Not even the end of the reader's own life waits for it.
	bob.ok("leave", "-q")
	s.healthy()
	s.ok("join", "bob", "-q")
	s.send("bob", "for the second")
	wantLines(t, "the second bob", s.as("bob").recv(), "leader for the second")
	for _, p := range readers {
		if p.ended(0) {
			t.Errorf("a reader ended: %s", p.wait())
		}
		p.signal(syscall.SIGKILL)
	}
}
