package sharedtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const stopSignal, contSignal = syscall.SIGSTOP, syscall.SIGCONT

// TestMailBetweenHosts has four senders on each host write to one mailbox that is
// read on both at once, and to the leader: each message is printed exactly once.
func TestMailBetweenHosts(t *testing.T) {
	a, b := twoHosts(t)
	each := size(10, 250)
	a.ok("join", "bob", "-q")
	var mu sync.Mutex
	printed := map[string]int{}
	want := map[string]string{}
	var senders, receivers sync.WaitGroup
	done := make(chan struct{})
	for _, h := range []*host{a, b} {
		for i := range 4 {
			who := fmt.Sprintf("%s%d", h.name[4:], i+1)
			h.ok("join", who, "-q")
			senders.Go(func() {
				for n := range each {
					text := fmt.Sprintf("%s says %d", who, n)
					to := "bob"
					if n%4 == 3 {
						to = "leader"
					}
					r := h.as(who).run("send", to, text, "-q")
					if r.code != 0 {
						t.Errorf("%s: %s", who, r)
						return
					}
					mu.Lock()
					want[strings.TrimSpace(r.out)] = text
					mu.Unlock()
				}
			})
		}
		for _, who := range []string{"bob", ""} {
			receivers.Go(func() {
				reader := h
				if who != "" {
					reader = h.as(who)
				}
				for last := false; ; {
					r := reader.run("recv", "--wait", "--timeout", "2s", "--json")
					if r.code == 124 {
						if last {
							return
						}
						select {
						case <-done:
							last = true
						default:
						}
						continue
					}
					var e struct {
						Data struct{ Messages []struct{ ID, Title string } }
					}
					if err := json.Unmarshal([]byte(r.out), &e); r.code != 0 || err != nil {
						t.Errorf("recv on %s: %s", h.name, r)
						return
					}
					mu.Lock()
					for _, m := range e.Data.Messages {
						printed[m.ID]++
					}
					mu.Unlock()
				}
			})
		}
	}
	senders.Wait()
	close(done)
	receivers.Wait()
	for id, text := range want {
		if printed[id] != 1 {
			t.Errorf("%q was printed %d times", text, printed[id])
		}
	}
	if len(printed) != len(want) || len(want) != 8*each {
		t.Errorf("%d sent, %d printed", len(want), len(printed))
	}
	t.Logf("%d messages", len(want))
}

// TestWaitForMailFromElsewhere: recv --wait says once that it looks, and has what
// the other host sent within two of its looks.
func TestWaitForMailFromElsewhere(t *testing.T) {
	t.Parallel()
	a, b := twoHosts(t)
	a.ok("join", "ann", "-q")
	b.ok("join", "bob", "-q")
	const poll = 500 * time.Millisecond
	var worst time.Duration
	for n := range 3 {
		p := b.as("bob").with("TEAMS_POLL="+poll.String()).start("recv", "--wait", "--timeout", "30s")
		time.Sleep(time.Second)
		a.as("ann").ok("send", "bob", fmt.Sprintf("number %d", n), "-q")
		sent := time.Now()
		r := p.wait()
		took := time.Since(sent)
		if r.code != 0 || !strings.Contains(r.out, fmt.Sprintf("number %d", n)) || strings.Count(r.err, "looked at every 500ms") != 1 {
			t.Errorf("%s", r)
		}
		worst = max(worst, took)
	}
	t.Logf("at most %v after the send, looking every %v", worst.Round(time.Millisecond), poll)
	if worst > 2*poll+5*time.Second { // a busy machine, and the process has to end
		t.Errorf("it took %v", worst)
	}
}
