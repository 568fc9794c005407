package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// storm is many processes on one board, some of which are killed.
type storm struct {
	*site
	tasks   int
	begin   time.Time
	stop    chan struct{}
	wg      sync.WaitGroup
	started atomic.Int64
	killed  atomic.Int64
	looks   atomic.Int64

	mu    sync.Mutex
	told  map[string]string // task and epoch: the token that was told
	fails []string
}

func newStorm(t *testing.T, tasks int) *storm {
	return &storm{site: newSite(t), tasks: tasks, begin: time.Now(), stop: make(chan struct{}), told: map[string]string{}}
}

func (st *storm) fail(format string, args ...any) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.fails) < 20 {
		st.fails = append(st.fails, fmt.Sprintf(format, args...))
	}
}

// tell records that somebody was told it holds a task.
func (st *storm) tell(who, id string, epoch int64, token string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	key := fmt.Sprintf("%s epoch %d", id, epoch)
	if had := st.told[key]; had != "" && had != token {
		st.fails = append(st.fails, fmt.Sprintf("%s was told to two: tokens %s and %s (%s)", key, had, token, who))
	}
	st.told[key] = token
}

func (st *storm) stopping() bool {
	select {
	case <-st.stop:
		return true
	default:
		return false
	}
}

// strike runs teams and, when it is the turn of this process, kills it after a
// random part of limit. It reports whether it was killed.
func (st *storm) strike(s *site, limit time.Duration, args ...string) (result, bool) {
	n := st.started.Add(1)
	p := s.start(args...)
	if n%3 != 0 {
		return p.wait(), false
	}
	if p.ended(rand.N(limit)) {
		return p.wait(), false
	}
	p.kill()
	st.killed.Add(1)
	return p.wait(), true
}

// addAll adds the tasks: every fifth has a gate, every seventh waits for an
// earlier one.
func (st *storm) addAll() {
	var batch strings.Builder
	for i := range st.tasks {
		row := map[string]any{"subject": fmt.Sprintf("work %d", i), "key": fmt.Sprintf("k%d", i)}
		if i%5 == 0 {
			row["verify"] = `test -n "$TEAMS_GATE" && test "$TEAMS_TASK" = t_` + fmt.Sprint(i+1)
		}
		if i%7 == 6 {
			row["dependsOn"] = []string{fmt.Sprintf("k%d", i-5)}
		}
		line, _ := json.Marshal(row)
		batch.Write(append(line, '\n'))
	}
	if r := st.runIn(batch.String(), "task", "add", "--batch", "-", "-q"); r.code != 0 {
		st.t.Fatal(r)
	}
}

// ticks runs tick after tick until the storm stops.
func (st *storm) ticks() {
	st.wg.Go(func() {
		for !st.stopping() {
			if r, killed := st.strike(st.site, 40*time.Millisecond, "tick"); !killed && r.code != 0 {
				st.fail("tick: %s", r)
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// reader looks at the snapshot all the time: it is whole at every instant.
func (st *storm) reader() {
	path := st.board("board.json")
	st.wg.Go(func() {
		for !st.stopping() {
			data, err := os.ReadFile(path)
			var head struct{ Format int }
			switch {
			case err != nil:
				st.fail("reader: %v", err)
			case !json.Valid(data):
				st.fail("reader: the snapshot is no JSON: %s", clip(string(data)))
			case json.Unmarshal(data, &head) != nil || head.Format != 1:
				st.fail("reader: the snapshot has format %d", head.Format)
			}
			st.looks.Add(1)
			time.Sleep(2 * time.Millisecond)
		}
	})
}

// open counts the tasks that have not ended.
func (st *storm) open() int {
	var b struct{ Tasks map[string]task }
	if err := json.Unmarshal([]byte(read(st.t, st.board("board.json"))), &b); err != nil {
		st.t.Fatal(err)
	}
	n := 0
	for _, t := range b.Tasks {
		if t.Status == "pending" || t.Status == "claimed" {
			n++
		}
	}
	return n
}

// finish waits until all is done, then checks the promises.
func (st *storm) finish(limit time.Duration) {
	t := st.t
	for st.open() > 0 {
		if time.Since(st.begin) > limit {
			close(st.stop)
			st.wg.Wait()
			t.Fatalf("%d of %d tasks are open after %v\n%s\n%s", st.open(), st.tasks, limit, clip(st.run("task", "list", "--state", "ready,claimed,submitted,verifying,waiting,blocked").out), strings.Join(st.fails, "\n"))
		}
		time.Sleep(50 * time.Millisecond)
	}
	took := time.Since(st.begin)
	close(st.stop)
	st.wg.Wait()
	st.ok("tick") // what the killed left
	t.Logf("%d tasks, %d processes of which %d were killed, %d looks, %d claims told, in %v", st.tasks, st.started.Load(), st.killed.Load(), st.looks.Load(), len(st.told), took.Round(time.Millisecond))
	for _, f := range st.fails {
		t.Error(f)
	}
	events := st.history()
	for i := range st.tasks {
		id := fmt.Sprintf("t_%d", i+1)
		if n := count(events, "completed", id); n != 1 {
			t.Errorf("%s was completed %d times", id, n)
		}
	}
	st.checkHistory(events)
	var v struct{ Total int }
	e, _ := st.json("task", "list", "--state", "completed")
	if json.Unmarshal(e.Data, &v) != nil || v.Total != st.tasks {
		t.Errorf("%d of %d tasks are completed", v.Total, st.tasks)
	}
	st.healthy()
	for _, dir := range []string{"claims", "submissions", "rejected"} {
		for name := range tree(t, st.board(dir)) {
			if name != "." {
				t.Errorf("%s/%s is left", dir, name)
			}
		}
	}
	st.noProcess()
}

// checkHistory checks that no event is missing or doubled, and that the claims
// of each epoch have one token.
func (st *storm) checkHistory(events []event) {
	rev, n := int64(0), 0
	for _, e := range events {
		next := e.Rev == rev && e.N == n+1 || e.Rev == rev+1 && e.N == 1
		if !next {
			st.t.Errorf("history jumps from event %d.%d to %d.%d", rev, n, e.Rev, e.N)
		}
		rev, n = e.Rev, e.N
		if e.Event != "claimed" {
			continue
		}
		key := fmt.Sprintf("%s epoch %d", e.Task, e.Epoch)
		if told := st.told[key]; told != "" && told != e.Token {
			st.t.Errorf("%s: token %s was told, %s was granted", key, told, e.Token)
		}
	}
}

// TestWorkStorm has 16 work loops over one board, every third process killed.
func TestWorkStorm(t *testing.T) {
	tasks := 150
	if *long {
		tasks = 500
	}
	st := newStorm(t, tasks)
	evidence := filepath.Join(st.base, "evidence")
	if err := os.Mkdir(evidence, 0o700); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(st.base, "work.sh")
	// What a worker was told it holds is kept for the end.
	write(t, script, `cp "$TEAMS_TASK_FILE" "$EVIDENCE/$TEAMS_TASK.$TEAMS_NAME.$$"
case $TEAMS_TASK in *3) sleep 0.03;; esac
echo "done by $TEAMS_NAME"
`)
	st.addAll()
	st.reader()
	st.ticks()
	st.ticks()
	for w := range 16 {
		st.wg.Go(func() {
			name := []string{}
			if w%2 == 0 {
				name = []string{"--as", fmt.Sprintf("a%d", w)}
			}
			for !st.stopping() {
				args := append(slices.Clone(name), "work", "--max-tasks", "8", "--", "sh", script)
				r, killed := st.strike(st.with("EVIDENCE="+evidence), 400*time.Millisecond, args...)
				// 4: the child of the killed loop still runs, so its name is taken.
				if !killed && r.code != 0 && !(r.code == 4 && strings.Contains(r.err, "is in use")) {
					st.fail("work: %s", r)
				}
				if r.code == 0 && strings.Contains(r.err, "drained") {
					return
				}
			}
		})
	}
	st.finishWork(evidence)
}

func (st *storm) finishWork(evidence string) {
	limit := time.Minute
	if *long {
		limit = 5 * time.Minute
	}
	defer func() {
		if st.t.Failed() {
			st.t.Logf("the last events: %v", st.history()[max(0, len(st.history())-20):])
		}
	}()
	// The evidence is read before the promises are checked.
	for st.open() > 0 && time.Since(st.begin) < limit {
		time.Sleep(50 * time.Millisecond)
	}
	names, err := os.ReadDir(evidence)
	if err != nil {
		st.t.Fatal(err)
	}
	for _, n := range names {
		data, err := os.ReadFile(filepath.Join(evidence, n.Name()))
		if err != nil {
			st.t.Fatal(err)
		}
		var v task
		if json.Unmarshal(data, &v) != nil || v.Claim == nil {
			st.fail("the task file was not whole: %s", clip(string(data)))
			continue
		}
		st.tell(n.Name(), v.ID, v.Epoch, v.Claim.Token)
	}
	st.finish(limit)
}

// TestShellStorm has shells that claim and submit with a process each.
func TestShellStorm(t *testing.T) {
	tasks, workers := 100, 16
	if *long {
		tasks, workers = 2000, 32
	}
	st := newStorm(t, tasks)
	st.addAll()
	st.reader()
	st.ticks()
	for w := range workers {
		name := fmt.Sprintf("s%d", w+1)
		st.ok("join", name, "-q")
		st.wg.Go(func() { st.shell(name) })
	}
	limit := time.Minute
	if *long {
		limit = 10 * time.Minute
	}
	st.finish(limit)
}

// shell is one shell: it claims, finds again what a killed claim won for it,
// and submits until that is acknowledged.
func (st *storm) shell(name string) {
	me := st.as(name)
	for !st.stopping() {
		r, killed := st.strike(me, 30*time.Millisecond, "--json", "claim")
		id := ""
		switch {
		case killed, r.code == 4 && strings.Contains(r.out, "already_holding"):
			mine := me.run("claim", "--mine", "-q")
			if mine.code != 0 {
				st.fail("claim --mine: %s", mine)
			}
			id = strings.TrimSpace(mine.out)
		case r.code == 0:
			var e struct{ Data struct{ Task task } }
			if err := json.Unmarshal([]byte(r.out), &e); err != nil || e.Data.Task.Claim == nil {
				st.fail("claim: %v: %s", err, r)
				continue
			}
			id = e.Data.Task.ID
			st.tell(name, id, e.Data.Task.Epoch, e.Data.Task.Claim.Token)
		case r.code == 3:
			return
		case r.code == 2:
			time.Sleep(20 * time.Millisecond)
		default:
			st.fail("claim: %s", r)
		}
		if id == "" {
			continue
		}
		if strings.Contains(id, "\n") {
			st.fail("%s holds several: %q", name, id)
			continue
		}
		for !st.stopping() {
			r, killed := st.strike(me, 30*time.Millisecond, "submit", id, "--result", "by "+name)
			if killed {
				continue
			}
			if r.code != 0 {
				st.fail("submit %s by %s: %s", id, name, r)
			}
			break
		}
	}
}
