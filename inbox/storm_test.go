package inbox

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestStorm: 16 senders, one mailbox, 2 receivers: every message is printed
// exactly once, and each receiver prints those of one sender in their order.
func TestStorm(t *testing.T) {
	b := newBox(t)
	senders, each := 16, 50
	if *long {
		each = 500
	}
	receivers := []*peer{start(t, "receive", b.root), start(t, "receive", b.root)}
	var mu sync.Mutex
	outputs := make([][]string, len(receivers))
	var reading sync.WaitGroup
	for i, p := range receivers {
		reading.Go(func() {
			for {
				line, err := p.out.ReadString('\n')
				if err != nil {
					return
				}
				mu.Lock()
				outputs[i] = append(outputs[i], strings.TrimSpace(line))
				mu.Unlock()
			}
		})
	}
	var peers []*peer
	for i := range senders {
		peers = append(peers, start(t, "send", b.root, fmt.Sprintf("s%02d", i), strconv.Itoa(each)))
	}
	for _, p := range peers {
		p.finish(t)
	}
	for _, p := range receivers {
		p.in.Close()
		timer := time.AfterFunc(patience, func() { p.Process.Kill() })
		defer timer.Stop()
	}
	reading.Wait()
	for _, p := range receivers {
		if err := p.Wait(); err != nil {
			t.Errorf("receiver: %v: %s", err, p.errs.String())
		}
	}
	printed := map[string]int{}
	for i, lines := range outputs {
		last := map[string]int{}
		for _, line := range lines {
			f := strings.Fields(line) // id, sender, number
			if len(f) != 3 || IDSender(f[0]) != f[1] {
				t.Fatalf("printed %q", line)
			}
			n, _ := strconv.Atoi(f[2])
			if have, ok := last[f[1]]; ok && n <= have {
				t.Errorf("receiver %d: %d of %s after %d", i, n, f[1], have)
			}
			last[f[1]] = n
			printed[f[1]+" "+f[2]]++
		}
		t.Logf("receiver %d printed %d", i, len(lines))
	}
	for i := range senders {
		for n := range each {
			if key := fmt.Sprintf("s%02d %d", i, n); printed[key] != 1 {
				t.Errorf("%s was printed %d times", key, printed[key])
			}
		}
	}
	if unread, err := b.IDs(false); len(unread) > 0 || err != nil {
		t.Errorf("unread: %d %v", len(unread), err)
	}
	if read, err := b.IDs(true); len(read) != senders*each || err != nil {
		t.Errorf("read: %d %v", len(read), err)
	}
}

// TestKillStorm kills senders and receivers at random: every message that was
// sent is whole and printed at least once, and read in the end.
func TestKillStorm(t *testing.T) {
	b := newBox(t)
	rounds := 15
	if *long {
		rounds = 300
	}
	printed := map[string]bool{}
	for round := range rounds {
		sender := start(t, "send", b.root, "s", "1000000")
		receiver := start(t, "receive", b.root)
		time.Sleep(time.Duration(20+rand.IntN(40)) * time.Millisecond)
		victims := []*peer{sender, receiver}
		if round%2 == 1 {
			slices.Reverse(victims)
		}
		for _, p := range victims {
			p.Process.Kill()
			lines, _ := p.end()
			for _, line := range lines {
				id, _, _ := strings.Cut(line, " ")
				printed[id] = true
			}
		}
	}
	ids, problems := receive(t, b, Receiving{})
	wantNone(t, problems)
	for _, id := range ids {
		printed[id] = true
	}
	read, err := b.IDs(true)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range read {
		// A line cut off by the kill is printed again, unless only its end is
		// missing; the pipe takes such a short one whole.
		if !printed[id] {
			t.Errorf("%s is read and was never printed", id)
		}
		if m, err := b.Get(id); err != nil || !strings.HasPrefix(string(m.Body), "s ") || m.From != "s" {
			t.Errorf("%s: %v %v", id, m, err)
		}
	}
	if len(read) < rounds {
		t.Errorf("%d messages only", len(read))
	}
	want(t, b, "", strings.Join(read, " "))
}

// TestFlipStorm: eight processes mark one message and make it unread again; it
// is never lost, never double, and nobody is told that it does not exist.
func TestFlipStorm(t *testing.T) {
	b := newBox(t)
	publish(t, b, "m", "n")
	n := 60
	if *long {
		n = 3000
	}
	var peers []*peer
	for range 8 {
		peers = append(peers, start(t, "flip", b.root, "m", strconv.Itoa(n)))
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			list, problems, err := b.List(true)
			// A look may miss what is moved all the time, but nothing else.
			if n := len(list); n < 1 || n > 2 || list[n-1].ID != "n" || n == 2 && list[0].ID != "m" || len(problems) > 0 || err != nil {
				t.Errorf("list: %v %v %v", list, problems, err)
			}
			if m, err := b.Get("m"); err != nil || string(m.Body) != "m" {
				t.Errorf("get: %v %v", m, err)
			}
		}
	})
	for _, p := range peers {
		p.finish(t)
	}
	close(done)
	watching.Wait()
	unread, read := places(t, b, "m")
	if unread == read {
		t.Errorf("unread %v, read %v", unread, read)
	}
}

// TestWithdrawStorm: senders take back what receivers are showing; each message
// is withdrawn or shown, never both.
func TestWithdrawStorm(t *testing.T) {
	b := newBox(t)
	n := 100
	if *long {
		n = 5000
	}
	var shown, withdrawn sync.Map
	var work sync.WaitGroup
	ids := make(chan string, 4)
	work.Go(func() {
		defer close(ids)
		for i := range n {
			id := fmt.Sprintf("%06d", i)
			publish(t, b, id)
			ids <- id
		}
	})
	for range 2 {
		work.Go(func() {
			for id := range ids {
				ok, err := b.Withdraw(id)
				if err != nil {
					t.Error(err)
				}
				if ok {
					withdrawn.Store(id, true)
				}
			}
		})
	}
	stop := make(chan struct{})
	var receiving sync.WaitGroup
	for range 2 {
		receiving.Go(func() {
			for {
				ended := false
				select {
				case <-stop:
					ended = true
				default:
				}
				k, problems, err := b.Receive(Receiving{Show: func(m *Message) error {
					if _, twice := shown.Swap(m.ID, true); twice {
						t.Errorf("%s was shown twice", m.ID)
					}
					return nil
				}})
				if len(problems) > 0 || err != nil {
					t.Errorf("receive: %v %v", problems, err)
				}
				if ended && k == 0 {
					return
				}
			}
		})
	}
	work.Wait()
	close(stop)
	receiving.Wait()
	both := [2]int{}
	for i := range n {
		id := fmt.Sprintf("%06d", i)
		_, s := shown.Load(id)
		_, w := withdrawn.Load(id)
		if s == w {
			t.Errorf("%s: shown %v, withdrawn %v", id, s, w)
		}
		if s {
			both[0]++
		} else {
			both[1]++
		}
	}
	t.Logf("%d shown, %d withdrawn", both[0], both[1])
}
