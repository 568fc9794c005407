package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

// finish lets the team finish what is open: nothing is killed any more, and
// there is room on the disk.
func (w *world) finish(ctx context.Context) {
	w.say("%6.1f s  the storm is over, what is open is finished", time.Since(w.begun).Seconds())
	ctx, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	w.mu.Lock()
	var untold []string
	for key, id := range w.keys {
		if id == "" {
			untold = append(untold, key)
		}
	}
	w.mu.Unlock()
	sort.Strings(untold)
	for _, key := range untold { // each again, as whoever adds would do
		var i int
		fmt.Sscanf(key, "k%d", &i)
		w.add(ctx, i, []string{"task", "add", "-q", fmt.Sprintf("work %d", i), "--key", key})
	}
	for _, name := range shells { // what killed claims have won is given back
		mine := w.teams(name, "claim", "--mine", "-q")
		for id := range strings.FieldsSeq(mine.out) {
			w.surprising(w.teams(name, "release", id), "release", 4)
		}
	}
	for _, name := range residents {
		w.surprising(w.teams("", "shutdown", name, "-q"), "shutdown "+name, 3, 4)
	}
	var all sync.WaitGroup
	for _, name := range loops {
		all.Go(func() { w.drain(ctx, name) })
	}
	all.Wait()
	w.surprising(w.teams("", "tick"), "tick")
	for range 2 { // what comes back is told, which is mail again
		for _, name := range append([]string{""}, shells[:]...) {
			for w.recv(name) {
			}
		}
		w.surprising(w.teams("", "tick"), "tick")
	}
	w.surprising(w.teams("", "doctor", "--fix"), "doctor --fix")
}

// drain works until the board is drained. Submissions that wait are decided by
// ticks meanwhile.
func (w *world) drain(ctx context.Context, name string) {
	p, err := w.start("work", "", w.bin, "--as", name, "work", "--", "sh", "-c", `cp "$TEAMS_TASK_FILE" "$(mktemp "$EVIDENCE/task.$TEAMS_TASK.$TEAMS_NAME.XXXXXXXXXX")"`)
	if err != nil {
		w.wrong("work: %v", err)
		return
	}
	for !p.ended(300 * time.Millisecond) {
		w.surprising(w.teams("", "tick"), "tick")
		if ctx.Err() != nil {
			w.wrong("the work is not done: %s", w.teams("", "task", "list", "--state", "ready,claimed,submitted,verifying,waiting,blocked", "--limit", "5"))
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			if !p.ended(20 * time.Second) {
				w.kill(p, "work")
			}
			return
		}
	}
	w.surprising(result{code: p.code(), out: p.out.String(), err: p.err.String()}, "the last work as "+name)
}

// endAll ends, by pid, what is left of the storm, and tells of it.
func (w *world) endAll() {
	for i := 0; ; i++ {
		left := w.processes()
		if len(left) == 0 {
			return
		}
		if i < 100 {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		for _, p := range left {
			w.wrong("still running at the end: %d %s", p.pid, p.line)
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		time.Sleep(100 * time.Millisecond)
		if i > 110 {
			return
		}
	}
}

// report prints what was done and what was found.
func (w *world) report() {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := func(what string, m map[string]int) {
		total := 0
		var parts []string
		for name, n := range m {
			total += n
			parts = append(parts, fmt.Sprintf("%s %d", name, n))
		}
		sort.Strings(parts)
		fmt.Fprintf(w.out, "%s: %d (%s)\n", what, total, strings.Join(parts, ", "))
	}
	list("operations", w.ops)
	list("kills", w.kills)
	list("noted", w.noted)
	fmt.Fprintf(w.out, "told: %d tasks, %d claims, %d messages; %d messages shown\n", len(w.keys), len(w.claims), len(w.sent), len(w.shown))
	fmt.Fprintf(w.out, "violations: %d\n", len(w.violations))
	for _, v := range w.violations {
		fmt.Fprintln(w.out, v)
	}
	fmt.Fprintf(w.out, "seed %d, %s\n", w.seed, time.Since(w.begun).Round(time.Second))
}

// json makes a call and reads the data that it prints.
func (w *world) json(data any, args ...string) bool {
	r := w.teams("", append([]string{"--json"}, args...)...)
	e := struct{ Data any }{data}
	if err := json.Unmarshal([]byte(r.out), &e); err != nil {
		w.wrong("%s: %v: %s", strings.Join(args, " "), err, r)
		return false
	}
	return true
}

// sessionDir is a directory of the session below a directory of the root.
func (w *world) sessionDir(top string) string {
	dirs, _ := filepath.Glob(filepath.Join(w.root, top, "[a-z]*"))
	if len(dirs) != 1 {
		w.wrong("%s has %q", top, dirs)
		return ""
	}
	return dirs[0]
}
