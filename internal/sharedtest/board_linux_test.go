package sharedtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestClaimersOnBothHosts has 8 claimers on each host race for one task, round
// after round: one is told that it has it, the others that somebody has.
func TestClaimersOnBothHosts(t *testing.T) {
	a, b := twoHosts(t)
	const each = 8
	rounds := size(12, 500)
	a.addTasks(rounds, "")
	type claimer struct {
		*host
		who string
	}
	var all []claimer
	for i := range each {
		for _, h := range []*host{a, b} {
			who := fmt.Sprintf("%s%d", h.name[4:], i+1)
			h.ok("join", who, "-q")
			all = append(all, claimer{h.as(who), who})
		}
	}
	wonBy := map[string]int{}
	for round := range rounds {
		id := fmt.Sprintf("t_%d", round+1)
		procs := make([]*proc, len(all))
		for _, k := range rand.Perm(len(all)) {
			procs[k] = all[k].start("claim", id, "--max", "1000", "-q")
		}
		var winner string
		for k, p := range procs {
			switch r := p.wait(); r.code {
			case 0:
				if winner != "" {
					t.Fatalf("%s was told to %s and to %s", id, winner, all[k].who)
				}
				winner = all[k].who
			case 4:
			default:
				t.Fatalf("%s claims %s: %s", all[k].who, id, r)
			}
		}
		if winner == "" {
			t.Fatalf("%s was told to nobody", id)
		}
		wonBy[winner[:1]]++
		for _, h := range []*host{a, b} {
			var d struct {
				Task struct{ ClaimedBy, State string }
			}
			if h.data(&d, "task", "show", id); d.Task.ClaimedBy != winner {
				t.Fatalf("%s shows %s as %s of %s, %s was told", h.name, id, d.Task.State, d.Task.ClaimedBy, winner)
			}
		}
	}
	t.Logf("%d rounds, won by host: %v", rounds, wonBy)
}

// TestStormOnBothHosts has 8 work loops and a tick loop on each host, all of
// which are killed again and again, on one board: every task is completed
// exactly once.
func TestStormOnBothHosts(t *testing.T) {
	a, b := twoHosts(t)
	tasks := size(32, 500)
	a.addTasks(tasks, "")
	var wg sync.WaitGroup
	var kills atomic.Int64
	stop := make(chan struct{})
	stopping := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	for _, h := range []*host{a, b} {
		for i := range 8 {
			wg.Go(func() {
				for !stopping() {
					p := h.start("work", "--lock-timeout", "1m", "--as", fmt.Sprintf("%s%d", h.name[4:], i+1), "--lease", "8s", "-q", "--", "sleep", "0.02")
					if rand.N(3) > 0 && !p.ended(rand.N(3*time.Second)) {
						p.kill()
						kills.Add(1)
						continue
					}
					if r := p.wait(); r.code == 0 {
						return // drained
					} else if r.code == 4 {
						time.Sleep(200 * time.Millisecond) // its last child has not ended yet
					} else if !stopping() {
						t.Errorf("work on %s: %s", h.name, r)
						return
					}
				}
			})
		}
		wg.Go(func() {
			for n := 0; !stopping(); n++ {
				p := h.start("tick", "--lock-timeout", "1m", "-q")
				if n%4 == 3 && !p.ended(rand.N(60*time.Millisecond)) {
					p.kill()
				} else if r := p.wait(); r.code != 0 {
					t.Errorf("tick on %s: %s", h.name, r)
				}
				time.Sleep(300 * time.Millisecond)
			}
		})
	}
	left := 0
	for end := time.Now().Add(time.Duration(tasks) * 2 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		c := a.counts()
		if left = tasks - c["completed"] - c["failed"]; left == 0 || time.Now().After(end) {
			break
		}
	}
	close(stop)
	wg.Wait()
	if left > 0 {
		t.Errorf("%d tasks are left", left)
	}
	b.allOnce(tasks)
	t.Logf("%d tasks, %d work loops killed", tasks, kills.Load())
}

// TestFrozenHost freezes what runs on one host for longer than its leases last:
// the other takes its tasks over, and what it hands in afterwards is refused.
func TestFrozenHost(t *testing.T) {
	t.Parallel()
	a, b := twoHosts(t)
	const tasks = 4
	a.addTasks(tasks, "")
	// Two shells that do not renew, and a loop that does.
	a.ok("claim", "t_1", "--lease", "3s", "--as", "ann", "-q")
	a.ok("claim", "t_2", "--lease", "3s", "--as", "amy", "-q")
	loop := a.start("work", "--as", "aw", "--lease", "3s", "--max-tasks", "1", "--", "sleep", "1")
	eventually(t, "the loop has a task", func() bool { return a.counts()["claimed"] == 3 })
	late := a.as("ann").start("submit", "t_1", "--result", "early")
	if r := late.wait(); r.code != 0 {
		t.Fatal(r)
	}
	loop.signalAll(stopSignal)
	taken := b.start("work", "--as", "bw", "--max-tasks", "3", "--wait", "--", "sh", "-c", "echo by b")
	eventually(t, "the other host has taken the tasks over", func() bool {
		b.run("tick", "-q")
		return b.counts()["completed"] == tasks
	})
	if r := taken.wait(); r.code != 0 {
		t.Fatal(r)
	}
	loop.signalAll(contSignal)
	if r := loop.wait(); r.code != 0 || !strings.Contains(r.err, "lost") {
		t.Errorf("the loop that was frozen: %s", r)
	}
	if r := a.as("amy").run("submit", "t_2", "--result", "late"); r.code != 4 || !strings.Contains(r.err, "lease") {
		t.Errorf("a submission after the lease: %s", r)
	}
	a.allOnce(tasks)
	for _, e := range b.history() {
		if e.Event == "completed" && e.Task != "t_1" && e.Worker != "bw" {
			t.Errorf("%s was completed by %s", e.Task, e.Worker)
		}
	}
}

// TestStoppedFileSystem stops the servers under load: nothing is answered
// wrongly, and afterwards work goes on.
func TestStoppedFileSystem(t *testing.T) {
	needVolume(t)
	a, b := twoHosts(t)
	pause := time.Duration(size(3, 20)) * time.Second
	if *stopped > 0 {
		pause = *stopped
	}
	tasks := size(24, 200)
	a.addTasks(tasks, "")
	for _, who := range []string{"a1", "a2", "b1", "b2"} {
		a.ok("join", who, "-q")
	}
	var mu sync.Mutex
	told := map[string]string{} // task: who was told that it is completed
	sent := map[string]bool{}
	var refused atomic.Int64
	var wg sync.WaitGroup
	for _, k := range []struct {
		*host
		who string
	}{{a, "a1"}, {a, "a2"}, {b, "b1"}, {b, "b2"}} {
		h := k.as(k.who)
		check := func(r result, allowed ...int) bool {
			if r.code == 0 {
				return true
			}
			for _, code := range allowed {
				if r.code == code {
					return false
				}
			}
			refused.Add(1)
			if r.code == -2 || !strings.Contains(r.err, h.root) {
				t.Errorf("%s: %v", k.who, r)
			}
			return false
		}
		wg.Go(func() {
			for range 20 * tasks {
				r := h.run("claim", "-q")
				if r.code == 3 {
					return
				}
				if !check(r, 2, 4) {
					if r.code == 4 { // an answer that was lost: it is held all the same
						if held := lines(h.run("claim", "--mine", "-q").out); len(held) > 0 {
							r.out = held[0]
						}
					}
				}
				id := strings.TrimSpace(r.out)
				if id == "" {
					continue
				}
				if check(h.run("submit", id, "--result", k.who, "-q"), 4) {
					mu.Lock()
					if had := told[id]; had != "" {
						t.Errorf("%s was completed by %s and by %s", id, had, k.who)
					}
					told[id] = k.who
					mu.Unlock()
				}
				r = h.run("send", "leader", "did "+id, "-q")
				if check(r) {
					mu.Lock()
					sent[strings.TrimSpace(r.out)] = true
					mu.Unlock()
				}
			}
		})
	}
	time.Sleep(time.Second)
	if err := volume.Freeze(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(pause)
	if err := volume.Thaw(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	b.allOnce(tasks)
	for id, who := range told {
		var d struct {
			Task struct{ ClaimedBy, Status string }
		}
		if a.data(&d, "task", "show", id); d.Task.Status != "completed" || d.Task.ClaimedBy != who {
			t.Errorf("%s: %+v, %s was told", id, d.Task, who)
		}
	}
	got := map[string]bool{}
	var d struct{ Messages []struct{ ID string } }
	b.data(&d, "recv", "--max", "10000")
	for _, m := range d.Messages {
		got[m.ID] = true
	}
	for id := range sent {
		if !got[id] {
			t.Errorf("message %s was sent and is lost", id)
		}
	}
	t.Logf("stopped for %v: %d tasks, %d messages, %d commands with an error", pause, len(told), len(sent), refused.Load())
}

// A gate runs on the host of the claim, whoever looks after the board.
func TestGateStaysOnItsHost(t *testing.T) {
	t.Parallel()
	a, b := twoHosts(t)
	mark := filepath.Join(a.project, "ran-on")
	a.addTasks(2, "hostname >> "+mark)
	a.ok("claim", "t_1", "--as", "ann", "-q")
	a.ok("submit", "t_1", "--as", "ann", "--no-wait")
	if out := b.ok("tick"); !strings.Contains(out, "hosta") {
		t.Errorf("tick elsewhere says %q", out)
	}
	if out := b.ok("task", "why", "t_1"); !strings.Contains(out, "its gate runs on host hosta") {
		t.Errorf("why: %s", out)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Fatal("the gate ran on the other host")
	}
	// A harness there keeps nobody here from deciding.
	harness := b.start("harness", "-q")
	defer func() {
		_ = harness.cmd.Process.Signal(os.Interrupt)
		harness.wait()
	}()
	eventually(t, "the harness runs", func() bool {
		var s struct{ Running bool }
		a.data(&s, "harness", "status")
		return s.Running
	})
	a.ok("tick")
	a.ok("claim", "t_2", "--as", "ann", "-q")
	a.ok("submit", "t_2", "--as", "ann")
	data, err := os.ReadFile(mark)
	if err != nil || string(data) != "hosta\nhosta\n" {
		t.Errorf("the gates ran on %q, %v", data, err)
	}
	b.allOnce(2)
}

// What a host is told of the other's processes.
func TestLivenessElsewhere(t *testing.T) {
	t.Parallel()
	a, b := twoHosts(t)
	life := func(h *host, name string) string {
		out := h.ok("status", name)
		_, rest, _ := strings.Cut(out, "life: ")
		word, _, _ := strings.Cut(rest, "\n")
		return word
	}
	a.addTasks(1, "")
	a.ok("claim", "t_1", "--as", "ann", "-q") // keeps the loops waiting
	// Nobody on b has seen a lock of a: a free one proves nothing.
	p := a.start("work", "--as", "aw", "--wait", "--", "true")
	eventually(t, "it waits", func() bool { return strings.Contains(a.ok("list"), "@aw") })
	if l := life(b, "aw"); l != "alive" {
		t.Errorf("with its lock held: %s", l)
	}
	p.kill()
	if l := life(b, "aw"); l != "unknown" {
		t.Errorf("dead, never seen to hold a lock: %s", l)
	}
	if l := life(a, "aw"); l != "dead" {
		t.Errorf("dead on its own host: %s", l)
	}
	// One that was there while b looked.
	p = a.start("work", "--as", "ax", "--wait", "--", "true")
	eventually(t, "its host is present", func() bool { return strings.Contains(b.ok("where"), "present") })
	w := b.start("work", "--as", "bx", "--wait", "--", "true")
	eventually(t, "b has seen the lock", func() bool {
		files, _ := filepath.Glob(filepath.Join(b.root, "teammate", "*", "hosts", "hostb.json"))
		if len(files) != 1 {
			return false
		}
		data, err := os.ReadFile(files[0])
		var rec struct{ Sees map[string]string }
		return err == nil && json.Unmarshal(data, &rec) == nil && rec.Sees["hosta"] != ""
	})
	p.kill()
	eventually(t, "it is known to be dead", func() bool { return life(b, "ax") == "dead" })
	_ = w.cmd.Process.Signal(os.Interrupt)
	w.wait()
	for _, line := range lines(b.ok("list")) {
		if strings.HasPrefix(line, "@ann") && !strings.Contains(line, "hosta") {
			t.Errorf("the list does not name the host: %s", line)
		}
	}
}
