package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func background() context.Context { return context.Background() }

// tally collects what receivers print.
type tally struct {
	t    *testing.T
	mu   sync.Mutex
	seen map[string]int    // how often each text was printed
	ids  map[string]string // the text of each id
	n    atomic.Int64
}

// take notes one printing of a message.
func (y *tally) take(id, text string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if was, ok := y.ids[id]; ok && was != text {
		y.t.Errorf("%s is %q and %q", id, was, text)
	}
	y.ids[id] = text
	y.seen[text]++
	y.n.Add(1)
}

// inOrder checks that one printing has the messages of each sender in order.
// Two receivers beside each other may share a sender's messages, each in order.
func (y *tally) inOrder(texts []string, last map[string]int) {
	for _, text := range texts {
		name, digits, _ := strings.Cut(text, " ")
		n, err := strconv.Atoi(digits)
		if err != nil {
			y.t.Errorf("body %q", text)
			continue
		}
		if before, ok := last[name]; ok && n <= before {
			y.t.Errorf("%s: %d after %d", name, n, before)
		}
		last[name] = n
	}
}

var agentText = regexp.MustCompile(`(?s)<agent-message from="[a-z0-9]+" id="([^"]+)">\n(.*?)\n</agent-message>\n`)

// receive is a loop of recv --wait until all are there.
func (y *tally) receive(s *site, total int, format string) {
	last := map[string]int{}
	for y.n.Load() < int64(total) && !y.t.Failed() {
		r := s.run("recv", "--wait", "--timeout", "2s", format)
		if r.code == 124 {
			continue
		}
		if r.code != 0 {
			y.t.Errorf("recv: %s", r)
			return
		}
		var texts []string
		if format == "--json" {
			var e struct{ Data messages }
			if err := json.Unmarshal([]byte(r.out), &e); err != nil {
				y.t.Errorf("recv: %v: %s", err, r)
				return
			}
			for _, m := range e.Data.Messages {
				texts = append(texts, m.Body)
				y.take(m.ID, m.Body)
			}
		} else {
			for _, m := range agentText.FindAllStringSubmatch(r.out, -1) {
				texts = append(texts, m[2])
				y.take(m[1], m[2])
			}
			if strings.Count(r.out, "\n") != 3*len(texts) {
				y.t.Errorf("recv: %d messages in %s", len(texts), r)
			}
		}
		y.inOrder(texts, last)
	}
}

// storm lets senders send so many messages each to one mailbox while two loops
// receive: each is printed exactly once.
func (s *site) storm(senders, each int, send func(s *site, name string) error) {
	t := s.t
	t.Helper()
	s.ok("join", "target", "-q")
	y := &tally{t: t, seen: map[string]int{}, ids: map[string]string{}}
	var wg sync.WaitGroup
	start := time.Now()
	for i := range senders {
		name := fmt.Sprintf("s%d", i)
		s.ok("join", name, "-q")
		wg.Go(func() {
			if err := send(s.as(name), name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for _, format := range []string{"--json", "--format=agent"} {
		wg.Go(func() { y.receive(s.as("target"), senders*each, format) })
	}
	wg.Wait()
	took := time.Since(start)
	for i := range senders {
		for n := range each {
			if text := fmt.Sprintf("s%d %d", i, n); y.seen[text] != 1 {
				t.Errorf("%q was printed %d times", text, y.seen[text])
			}
		}
	}
	if int(y.n.Load()) != senders*each || len(y.ids) != senders*each {
		t.Errorf("%d printed, %d ids", y.n.Load(), len(y.ids))
	}
	if n := files(t, s.team("target", "inbox", "new")); n > 0 {
		t.Errorf("%d are still unread", n)
	}
	t.Logf("%d messages in %v", senders*each, took)
	s.healthy()
}

// TestMailStorm is 16 senders with 500 messages each.
func TestMailStorm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const each = 500
	s.storm(16, each, func(s *site, _ string) error { return s.runSender("target", each) })
}

// TestMailStormOfCommands is the same with a teams send for each message: 20 of
// each sender, 500 with -long.
func TestMailStormOfCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	each := 20
	if *long {
		each = 500
	}
	s.storm(16, each, func(s *site, name string) error {
		for n := range each {
			if r := s.run("send", "target", fmt.Sprintf("%s %d", name, n)); r.code != 0 || !strings.Contains(r.out, "✓ sent ") {
				return fmt.Errorf("message %d: %s", n, r)
			}
		}
		return nil
	})
}
