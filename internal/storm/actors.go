package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The members of the team. Everybody has a goroutine of its own here.
var (
	shells    = [...]string{"s1", "s2", "s3"}
	loops     = [...]string{"w1", "w2"}
	residents = [...]string{"r1", "r2"}
)

// wait pauses; false when ctx has ended.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// rage lets everything happen at once, for as long as the storm lasts.
func (w *world) rage(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, w.length)
	defer cancel()
	var all sync.WaitGroup
	for _, name := range shells {
		// Joined before the storm, so that everybody knows whom to write to.
		if r := w.first(name, "join", name, "-q"); r.code != 0 {
			w.wrong("join %s: %s", name, r)
		}
		all.Go(func() { w.shell(ctx, name) })
		all.Go(func() { w.receiver(ctx, name) })
	}
	for _, name := range loops {
		all.Go(func() { w.loop(ctx, name) })
	}
	for _, name := range residents {
		all.Go(func() { w.supervise(ctx, name) })
	}
	all.Go(func() { w.adder(ctx) })
	all.Go(func() { w.sender(ctx) })
	all.Go(func() { w.receiver(ctx, "") })
	all.Go(func() { w.harness(ctx) })
	all.Go(func() { w.housekeeper(ctx) })
	all.Go(func() { w.killer(ctx) })
	all.Go(func() { w.fillDisk(ctx) })
	all.Go(func() { w.jumpClock(ctx) })
	all.Go(func() { w.reader(ctx) })
	all.Wait()
	w.calm.Store(true)
}

// first is teams without a kill.
func (w *world) first(name string, args ...string) result {
	was := w.calm.Swap(true)
	defer w.calm.Store(was)
	return w.teams(name, args...)
}

// adder adds tasks: every fifth has a gate, every seventh waits for another.
// Each has a key, so that one whose adding was killed is added once.
func (w *world) adder(ctx context.Context) {
	for i := 1; i <= w.tasks && wait(ctx, w.pace); i++ {
		args := []string{"task", "add", "-q", fmt.Sprintf("work %d", i), "--key", fmt.Sprintf("k%d", i)}
		if i%5 == 0 {
			args = append(args, "--verify", `test -n "$TEAMS_GATE"`)
		}
		if i%7 == 0 {
			args = append(args, "--depends-on", "t_1")
		}
		args = append(args, "--tag", [...]string{"shell", "loop", "loop", "shell", "any"}[i%5])
		w.mu.Lock()
		w.keys[fmt.Sprintf("k%d", i)] = ""
		w.mu.Unlock()
		w.add(ctx, i, args)
		for w.open() > 40 && wait(ctx, 200*time.Millisecond) {
		}
	}
}

// add adds one task, again until it is told so.
func (w *world) add(ctx context.Context, i int, args []string) {
	for ctx.Err() == nil {
		r := w.teams("", args...)
		if w.surprising(r, "task add", 64) {
			wait(ctx, 10*time.Millisecond)
			continue
		}
		if r.code == 64 { // t_1 has not come yet
			args = args[:6]
			continue
		}
		id := strings.TrimSpace(r.out)
		w.mu.Lock()
		if had := w.keys[fmt.Sprintf("k%d", i)]; had != "" && had != id {
			w.mu.Unlock()
			w.wrong("key k%d was told as %s and as %s", i, had, id)
			return
		}
		w.keys[fmt.Sprintf("k%d", i)] = id
		w.mu.Unlock()
		return
	}
}

// open counts what waits to be done, by the ready list; no matter when it is not
// to be had.
func (w *world) open() int {
	files, _ := filepath.Glob(filepath.Join(w.root, "tasks", "*", "ready"))
	if len(files) == 0 {
		return 0
	}
	data, _ := os.ReadFile(files[0])
	return strings.Count(string(data), "\n")
}

// tell notes that somebody was told it holds a task.
func (w *world) tell(who string, t task) {
	if t.Claim == nil {
		return
	}
	key := fmt.Sprintf("%s epoch %d", t.ID, t.Epoch)
	w.mu.Lock()
	had, by := w.claims[key], w.holders[key]
	w.claims[key], w.holders[key] = t.Claim.Token, who
	w.mu.Unlock()
	if had != "" && had != t.Claim.Token {
		w.wrong("%s was told to %s and to %s, under %s and %s", key, by, who, had, t.Claim.Token)
	}
}

// shell claims, finds again what a killed claim has won for it, submits until
// that is told, and writes about it.
func (w *world) shell(ctx context.Context, name string) {
	for n := 0; ctx.Err() == nil; n++ {
		if !w.shellTask(ctx, name) {
			w.pause(400 * time.Millisecond)
		}
		switch n % 6 {
		case 0:
			w.send(name, "leader")
		case 1:
			w.send(name, shells[w.random(len(shells))])
		case 2:
			w.send(name, residents[w.random(len(residents))])
		}
		w.pause(100 * time.Millisecond)
	}
}

// shellTask takes one task and sees it through; false when there is none.
func (w *world) shellTask(ctx context.Context, name string) bool {
	args, length := []string{"--json", "claim", "--tag", [...]string{"shell", "any"}[w.random(2)]}, time.Duration(0)
	switch w.random(4) {
	case 0:
		length = leaseKept
	case 1:
		length = leaseLost
	}
	if length > 0 {
		args = append(args, "--lease", length.String())
	}
	began := time.Now()
	r := w.teams(name, args...)
	id := ""
	if r.code == 0 {
		var e struct{ Data struct{ Task task } }
		if err := json.Unmarshal([]byte(r.out), &e); err != nil {
			w.wrong("claim: %v: %s", err, r)
			return true
		}
		w.tell(name, e.Data.Task)
		id = e.Data.Task.ID
		if length > 0 && e.Data.Task.Claim != nil {
			w.lease(e.Data.Task.Claim.Token, began, length)
		}
		if length == leaseLost && w.random(2) == 0 {
			wait(ctx, 2*leaseLost) // meanwhile it is somebody else's
			return true
		}
	} else if w.surprising(r, "claim", 2, 3, 4) || r.code == 4 {
		mine := w.first(name, "claim", "--mine", "-q")
		if w.surprising(mine, "claim --mine") {
			return true
		}
		id, _, _ = strings.Cut(strings.TrimSpace(mine.out), "\n")
	}
	if id == "" {
		return false
	}
	if w.random(12) == 0 {
		w.surprising(w.teams(name, "release", id), "release", 4)
		return true
	}
	for tries := 0; ctx.Err() == nil && tries < 100; tries++ {
		r := w.teams(name, "submit", id, "--result", "by "+name)
		// 1: the disk was full under the gate, which then fails.
		if r.code == 1 && strings.Contains(r.err, "gate") {
			w.note("a gate failed")
			return true
		}
		if !w.surprising(r, "submit by "+name+" of "+id, 4) {
			return true
		}
	}
	return true
}

// loop keeps a work loop running.
func (w *world) loop(ctx context.Context, name string) {
	for ctx.Err() == nil {
		p, err := w.start("work", "", w.bin, "--as", name, "work", "--wait", "--tag", "loop", "--", "sh", filepath.Join(w.dir, "work.sh"))
		if err != nil {
			w.wrong("work: %v", err)
			return
		}
		select {
		case <-p.done:
			r := result{p.code(), p.out.String(), p.err.String(), w.lately()}
			switch {
			case p.killed.Load(), r.code == 4 && strings.Contains(r.err, "in use"): // the child of the killed loop still runs
			default:
				w.surprising(r, "work as "+name)
			}
			wait(ctx, 50*time.Millisecond)
		case <-ctx.Done():
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			if !p.ended(30 * time.Second) {
				w.wrong("work as %s does not end after SIGTERM", name)
				w.kill(p, "work")
			}
		}
	}
}

// lately says whether the disk was full in the last seconds.
func (w *world) lately() bool {
	at := time.Duration(w.fulled.Load())
	return w.full.Load() || at > 0 && time.Since(w.begun)-at < 5*time.Second
}

// supervise spawns a resident again whenever it has ended.
func (w *world) supervise(ctx context.Context, name string) {
	for ctx.Err() == nil {
		r := w.teams("", "spawn", name, "worker", "-q", "--", "sh", filepath.Join(w.dir, "resident.sh"))
		// 4: it lives, or what is left of it.
		if r.code == 1 && strings.Contains(r.err, "the host ended while it was starting") {
			w.note("spawn: the host was killed")
		} else {
			w.surprising(r, "spawn "+name, 4)
		}
		for wait(ctx, 300*time.Millisecond) && w.random(20) > 0 {
			if tm, err := w.record(name); err == nil && tm.Status == "stopped" {
				break
			}
		}
		if w.random(4) == 0 && ctx.Err() == nil {
			w.surprising(w.teams("", "shutdown", name, "--now", "-q"), "shutdown "+name, 3, 4)
		}
	}
}

// harness keeps one running, with pauses in which ticks do its work.
func (w *world) harness(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := w.start("harness", "", w.bin, "harness", "-q", "--herdr", "off")
		if err != nil {
			w.wrong("harness: %v", err)
			return
		}
		select {
		case <-p.done:
			if !p.killed.Load() {
				w.surprising(result{p.code(), p.out.String(), p.err.String(), w.lately()}, "harness")
			}
		case <-ctx.Done():
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			if !p.ended(30 * time.Second) {
				w.wrong("the harness does not end after SIGTERM")
				w.kill(p, "harness")
			}
			return
		}
		for range w.random(6) {
			if !wait(ctx, time.Duration(w.random(int(300*time.Millisecond)))) {
				return
			}
			w.surprising(w.teams("", "tick"), "tick", 3)
		}
	}
}

// housekeeper archives what is old and removes what was read, and has the doctor mend what is safe.
func (w *world) housekeeper(ctx context.Context) {
	for n := 0; wait(ctx, time.Duration(w.random(int(6*time.Second)))); n++ {
		switch n % 3 {
		case 0:
			w.surprising(w.teams("", "gc", "--tasks", "--older-than", "10s"), "gc", 3)
		case 1:
			w.surprising(w.teams("", "doctor", "--fix"), "doctor --fix", 1)
		default:
			w.surprising(w.teams("", "status"), "status")
		}
	}
}

// killer kills long-lived processes: loops, the harness, and the hosts of
// residents. Verbs are killed where they are called.
func (w *world) killer(ctx context.Context) {
	for wait(ctx, 100*time.Millisecond+time.Duration(w.random(int(900*time.Millisecond)))) {
		switch w.random(4) {
		case 0, 1:
			w.mu.Lock()
			var list []*proc
			for p, what := range w.victims {
				if what == "work" || what == "harness" {
					list = append(list, p)
				}
			}
			w.mu.Unlock()
			if len(list) > 0 {
				p := list[w.random(len(list))]
				w.kill(p, w.nameOf(p))
			}
		case 2:
			w.killResident(residents[w.random(len(residents))], false)
		default:
			w.killResident(residents[w.random(len(residents))], true)
		}
	}
}

func (w *world) nameOf(p *proc) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if what := w.victims[p]; what != "" {
		return what
	}
	return "work"
}

// record is what is read of a teammate's record.
type record struct {
	Name, Status, SpawnID string
	PID                   int
	Child                 *struct{ PID int }
}

func (w *world) record(name string) (r record, err error) {
	files, _ := filepath.Glob(filepath.Join(w.root, "teammate", "*", name, "teammate.json"))
	if len(files) != 1 {
		return r, os.ErrNotExist
	}
	data, err := os.ReadFile(files[0])
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, err
}

// killResident kills the host of a resident, or its command. Only what belongs
// to this root is.
func (w *world) killResident(name string, child bool) {
	tm, err := w.record(name)
	if err != nil || tm.Status == "stopped" {
		return
	}
	pid, what := tm.PID, "host"
	if child && tm.Child != nil {
		pid, what = tm.Child.PID, "resident's command"
	}
	if !w.ours(pid) {
		return
	}
	if syscall.Kill(pid, syscall.SIGKILL) == nil {
		w.mu.Lock()
		w.kills[what]++
		w.mu.Unlock()
	}
}

// reader looks at the snapshot all the time: it is whole at every instant.
func (w *world) reader(ctx context.Context) {
	for wait(ctx, 25*time.Millisecond) {
		files, _ := filepath.Glob(filepath.Join(w.root, "tasks", "*", "board.json"))
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				w.wrong("reader: %v", err)
			} else if !json.Valid(data) {
				w.wrong("reader: the snapshot is no JSON: %s", clip(string(data)))
			} else {
				w.seeLeases(data)
			}
		}
	}
}
