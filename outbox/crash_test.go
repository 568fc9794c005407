package outbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

// TestDrainKilled kills a drain before each of its system calls. The next drain
// finishes it; nothing is lost or doubled.
func TestDrainKilled(t *testing.T) {
	steps := 0
	for n := 1; ; n++ {
		o, leader := mixed(t)
		ok := killed(t, o, n, "drain", "")
		// At every moment each report is in one place at least.
		for _, id := range []string{"0", "1", "2", "3", "4"} {
			here, there := 0, 0
			for _, path := range []string{o.waiting(id), o.rejected(id)} {
				if _, err := os.Lstat(path); err == nil {
					here++
				}
			}
			if is, _, err := leader.Has(id); err != nil {
				t.Error(err)
			} else if is {
				there++
			}
			if here+there == 0 || there > 0 && here > 0 && id != "0" {
				t.Errorf("step %d: report %s is in %d places here, %d there", n, id, here, there)
			}
		}
		d := drain(t, o, leader)
		want(t, o, leader, "", "2 3", "0 1 4", "")
		if !ok {
			if len(d.Delivered)+len(d.Rejected)+len(d.Dropped) > 0 {
				t.Errorf("left to do: %+v", d)
			}
			break
		}
		steps = n
	}
	if steps < 20 {
		t.Errorf("there were %d steps only", steps)
	}
}

// TestSendKilled: a report is sent whole or not at all.
func TestSendKilled(t *testing.T) {
	for n := 1; ; n++ {
		o, leader := newPair(t)
		ok := killed(t, o, n, "send", "1")
		d := drain(t, o, leader)
		if len(d.Rejected)+len(d.Dropped) > 0 {
			t.Errorf("step %d: %+v", n, d)
		}
		if list, problems, err := leader.List(false); len(list) > 1 || len(problems) > 0 || err != nil || len(list) == 1 && list[0].Size != 8 {
			t.Errorf("step %d: %v %v %v", n, list, problems, err)
		}
		if !ok {
			want(t, o, leader, "", "", "1", "")
			break
		}
	}
}

// TestDrainFaults lets every system call of a drain fail in turn: nothing is
// lost or doubled, and the next drain finishes it.
func TestDrainFaults(t *testing.T) {
	faults := []error{syscall.EIO, syscall.ENOSPC}
	for i := range faults {
		if i > 0 && !*long {
			break
		}
		for n := 1; ; n++ {
			fault := faults[(i+n)%len(faults)]
			o, leader := mixed(t)
			left, call := n, ""
			restore := fsx.SetFault(func(op fsx.Op, path string) error {
				if left--; left == 0 {
					call = string(op) + " " + filepath.Base(path)
					return fault
				}
				return nil
			})
			d, err := o.Drain(leader, judge)
			restore()
			if call == "" {
				if err != nil || len(d.Problems) > 0 {
					t.Errorf("without a fault: %v %v", err, d.Problems)
				}
				break
			}
			all := errors.Join(append(d.Problems, err)...)
			if all == nil && !strings.HasPrefix(call, "unlink .") {
				t.Errorf("%v at %s: no error", fault, call)
			}
			if all != nil && (!errors.Is(all, fault) || !strings.Contains(all.Error(), o.root)) {
				t.Errorf("%v at %s: %v", fault, call, all)
			}
			if len(d.Problems) > 1 {
				t.Errorf("%v at %s spoils more than one: %v", fault, call, d.Problems)
			}
			drain(t, o, leader)
			want(t, o, leader, "", "2 3", "0 1 4", "")
		}
	}
}

// TestDrainAgainst runs another drain, a withdrawal, or the leader's reception,
// at every step of a drain.
func TestDrainAgainst(t *testing.T) {
	for _, c := range []struct {
		name  string
		other func(t *testing.T, o *Outbox, leader *inbox.Box)
	}{
		{"drain", func(t *testing.T, o *Outbox, leader *inbox.Box) { drain(t, o, leader) }},
		{"withdraw", func(t *testing.T, o *Outbox, leader *inbox.Box) {
			for _, id := range []string{"1", "2", "3"} {
				ok, err := o.Withdraw(id)
				if err != nil {
					t.Error(err)
				}
				if there, _, err := leader.Has(id); ok && there || err != nil {
					t.Errorf("%s was withdrawn, and is there: %v", id, err)
				}
				if ok {
					os.WriteFile(filepath.Join(o.root, "withdrawn-"+id), nil, 0o600)
				}
			}
		}},
		{"receive", func(t *testing.T, o *Outbox, leader *inbox.Box) {
			_, problems, err := leader.Receive(inbox.Receiving{Show: func(m *inbox.Message) error { return nil }})
			if err = errors.Join(append(problems, err)...); err != nil {
				t.Error(err)
			}
		}},
	} {
		for n := 1; ; n++ {
			o, leader := quickPair(t)
			put(t, filepath.Join(o.dir, "new"), report("1", "ann", "life"), report("2", "ann", "past"), report("3", "ann", "life"))
			more := step(n, func() { drain(t, o, leader) }, func() { c.other(t, o, leader) })
			drain(t, o, leader)
			waiting, err := o.IDs()
			if len(waiting) > 0 || err != nil {
				t.Errorf("%s, step %d: %q wait, %v", c.name, n, waiting, err)
			}
			rejected, err := o.Rejected()
			if err != nil {
				t.Error(err)
			}
			for _, id := range []string{"1", "2", "3"} {
				_, werr := os.Lstat(filepath.Join(o.root, "withdrawn-"+id))
				there, _, err := leader.Has(id)
				if err != nil {
					t.Error(err)
				}
				places := 0
				for _, is := range []bool{there, slices.Contains(rejected, id), werr == nil} {
					if is {
						places++
					}
				}
				// A stale one may be withdrawn after it was written to rejected/.
				if places != 1 && (id != "2" || places == 0 || there) {
					t.Errorf("%s, step %d: %s: delivered %v, rejected %q, withdrawn %v", c.name, n, id, there, rejected, werr == nil)
				}
			}
			if !more {
				break
			}
		}
	}
}

// TestDrainWithoutNoReplace: on a file system that cannot rename without
// replacing a report still goes to one place.
func TestDrainWithoutNoReplace(t *testing.T) {
	o, leader := newPair(t)
	defer fsx.SetFault(func(op fsx.Op, path string) error {
		if op == fsx.OpRename && strings.HasPrefix(path, o.dir) {
			return syscall.EINVAL
		}
		return nil
	})()
	send(t, o, report("1", "ann", "life"), report("2", "ann", "past"), report("3", "ann", "life"))
	drain(t, o, leader)
	want(t, o, leader, "", "2", "1 3", "")
}

// TestDrainStorm: a sender and four drains, one of them killed again and again:
// every report is delivered or rejected exactly once.
func TestDrainStorm(t *testing.T) {
	o, leader := newPair(t)
	n := 300
	if *long {
		n = 4000
	}
	var senders []*peer
	for i := range 2 {
		senders = append(senders, start(t, "send", o.root, strconv.Itoa(i*n/2), strconv.Itoa((i+1)*n/2)))
	}
	var drains []*peer
	for range 4 {
		drains = append(drains, start(t, "drain", o.root))
	}
	stop := make(chan struct{})
	var killing sync.WaitGroup
	kills := 0
	killing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			p := start(t, "drain", o.root)
			time.Sleep(time.Duration(10+kills%7*5) * time.Millisecond)
			p.Process.Kill()
			p.end()
			kills++
		}
	})
	// The leader reads meanwhile: what is read counts as delivered too.
	shown := map[string]int{}
	receive := func() int {
		k, problems, err := leader.Receive(inbox.Receiving{Show: func(m *inbox.Message) error { shown[m.ID]++; return nil }})
		if err = errors.Join(append(problems, err)...); err != nil {
			t.Error(err)
		}
		return k
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for _, p := range senders {
			p.finish(t)
		}
	}()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-time.After(5 * time.Millisecond):
		}
		receive()
	}
	close(stop)
	killing.Wait()
	told := map[string]int{}
	for _, p := range drains {
		for _, line := range p.finish(t) {
			told[line]++
		}
	}
	drain(t, o, leader)
	receive()
	for line, times := range told {
		if times > 1 {
			t.Errorf("%q was told by %d drains", line, times)
		}
		if strings.HasPrefix(line, "dropped") {
			t.Errorf("%q", line)
		}
	}
	var stale []string
	for i := range n {
		id := fmt.Sprintf("%06d", i)
		if i%5 == 4 {
			stale = append(stale, id)
			if shown[id] != 0 {
				t.Errorf("%s reached the leader", id)
			}
		} else if shown[id] != 1 {
			t.Errorf("%s was shown %d times", id, shown[id])
		}
	}
	rejected, err := o.Rejected()
	if !slices.Equal(rejected, stale) || err != nil {
		t.Errorf("rejected: %d, want %d: %v", len(rejected), len(stale), err)
	}
	if ids, err := o.IDs(); len(ids) > 0 || err != nil {
		t.Errorf("left: %q %v", ids, err)
	}
	t.Logf("%d reports, %d drains killed", n, kills)
}

func BenchmarkDrain(b *testing.B) {
	for _, n := range []int{0, 1, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			o, leader := newPair(b)
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				for j := range n {
					send(b, o, report(fmt.Sprintf("%d-%d", i, j), "ann", "life"))
				}
				b.StartTimer()
				drain(b, o, leader)
			}
		})
	}
}
