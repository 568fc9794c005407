package fsboard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// The two actors of an interleaving see one board by two paths, so that each
// system call tells whose it is.

// stage runs two actors, each of whose steps is known: the one is stopped
// before its nth, and goes on when the other is done, or waits for a lock that
// the first holds.
type stage struct {
	first, second *actor
}

type actor struct {
	dir    string // by which it sees the board
	stopAt int    // the step before which it stops, 0 never
	yields bool   // it stops where it would wait for a lock

	mu     sync.Mutex
	steps  int
	last   string
	stop   chan struct{} // it has stopped
	resume chan struct{}
	done   chan struct{}
}

// isStep reports whether an actor may be stopped before a call: where another
// one could make a difference to it.
func isStep(op fsx.Op) bool {
	switch op {
	case fsx.OpOpen, fsx.OpLink, fsx.OpRename, fsx.OpUnlink, fsx.OpFlock:
		return true
	}
	return false
}

func (s *stage) hook(op fsx.Op, path string) error {
	a := s.first
	if !strings.HasPrefix(path, a.dir) {
		a = s.second
	}
	if !isStep(op) || !strings.HasPrefix(path, a.dir) {
		return nil
	}
	a.mu.Lock()
	a.steps++
	stops := a.steps == a.stopAt
	if stops {
		a.last = fmt.Sprint(op, " ", path[strings.LastIndexByte(path, '/')+1:])
	}
	if a.yields && op == fsx.OpFlock && held(path) {
		a.yields, stops = false, true
	}
	a.mu.Unlock()
	if stops {
		a.stop <- struct{}{}
		<-a.resume
	}
	return nil
}

// held looks at a lock without asking the seam.
func held(path string) bool {
	fd, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	return syscall.Flock(fd, syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

func (a *actor) start(f func()) {
	a.stop, a.resume, a.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(a.done)
		f()
	}()
}

// interleave runs the actor at b up to its nth step, then the one at other to
// its mth step (0: to its end) or until it waits for a lock, then both to their
// ends. It returns the step, "" when the first has fewer.
func interleave(n, m int, b *Board, first func(), other *Board, second func()) string {
	x, y := &actor{dir: b.o.Dir, stopAt: n}, &actor{dir: other.o.Dir, stopAt: m, yields: true}
	restore := fsx.SetFault((&stage{x, y}).hook)
	defer restore()
	x.start(first)
	select {
	case <-x.done:
		restore()
		second()
		return ""
	case <-x.stop:
	}
	y.start(second)
	select {
	case <-y.done:
		close(x.resume)
		<-x.done
	case <-y.stop:
		y.mu.Lock()
		waits := !y.yields
		y.mu.Unlock()
		close(x.resume)
		if !waits { // it stands still until the first is done, unless that one needs it
			select {
			case <-x.done:
			case <-time.After(20 * time.Millisecond):
			}
		}
		y.mu.Lock()
		y.yields, y.stopAt = false, 0
		y.mu.Unlock()
		close(y.resume)
		<-x.done
		<-y.done
	}
	return x.last
}

// copies makes copies of one board, which build makes once. The second Board
// sees the same copy by another path.
type copies struct {
	o    Options
	base *Board
}

func newCopies(t testing.TB, o Options, build func(b *Board)) *copies {
	t.Helper()
	b := openTest(t, o)
	build(b)
	return &copies{o: b.o, base: b}
}

func (c *copies) next(t testing.TB, o Options) (b, other *Board) {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(filepath.Dir(c.o.Dir)), "copy")
	if err != nil {
		t.Fatal(err)
	}
	o.Root = filepath.Join(dir, "a")
	o.Dir = filepath.Join(o.Root, "board")
	if err := os.CopyFS(o.Dir, os.DirFS(c.base.o.Dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(dir, "z")); err != nil {
		t.Fatal(err)
	}
	b = openTest(t, o)
	o.Root = filepath.Join(dir, "z")
	o.Dir = filepath.Join(o.Root, "board")
	return b, openTest(t, o)
}

// teller keeps what workers were told.
type teller struct {
	t  testing.TB
	mu sync.Mutex

	claims      []*TaskView
	submissions map[string]string // task by accepted submission
	over        map[string]bool   // workers whose life ended
	refused     map[string]string // by event and worker: who was told that it has lost
}

// ends says that a worker's life is over: what it was told binds nobody now.
func (r *teller) ends(worker string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over == nil {
		r.over = map[string]bool{}
	}
	r.over[worker] = true
}

func (r *teller) claim(b *Board, id, worker string) {
	v, err := b.Claim(context.Background(), request(id, worker))
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.claims = append(r.claims, v)
		return
	}
	if errs.CodeOf(err) != errs.StaleClaim { // won, and over again
		r.refuse(EventClaimed+" "+worker, err)
	}
	switch errs.CodeOf(err) {
	case errs.AlreadyClaimed, errs.TaskEnded, errs.Blocked, errs.WrongAssignee, errs.WrongRole, errs.NothingClaimable, errs.BoardDrained, errs.NotFound, errs.StaleIdentity,
		errs.AlreadyHolding, errs.StaleClaim:
	default:
		r.t.Errorf("claim %s by %s: %v (%s)", id, worker, err, errs.CodeOf(err))
	}
}

func (r *teller) submit(b *Board, s SubmitRequest) *SubmitResult {
	res, err := b.Submit(context.Background(), s)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		if r.submissions == nil {
			r.submissions = map[string]string{}
		}
		r.submissions[res.Submission] = s.ID
		return res
	}
	r.refuse(EventCompleted+" "+s.Worker, err)
	switch errs.CodeOf(err) {
	case errs.NotHolder, errs.StaleClaim, errs.TaskEnded, errs.StaleIdentity:
	default:
		r.t.Errorf("submit %s by %s: %v (%s)", s.ID, s.Worker, err, errs.CodeOf(err))
	}
	return nil
}

func (r *teller) refuse(what string, err error) {
	if r.refused == nil {
		r.refused = map[string]string{}
	}
	r.refused[what] = err.Error()
}

// check folds what is left, decides what waits, and looks whether everybody was
// told the truth.
func (r *teller) check(b *Board, when string) {
	t := r.t
	t.Helper()
	failed := t.Failed()
	ctx := context.Background()
	b = again(t, b)
	b.o.HarnessLive = func() bool { return false }
	mustFold(t, b)
	ids, err := b.Waiting()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := b.Decide(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	mustFold(t, b)
	wantSound(t, b)
	events := history(t, b)
	epochs := map[string]string{}
	for _, v := range r.claims {
		key := fmt.Sprint(v.ID, " ", v.Epoch)
		if other := epochs[key]; other != "" {
			t.Errorf("%s: two were told that they hold %s: %s and %s", when, key, other, v.Claim.Token)
		}
		epochs[key] = v.Claim.Token
		if !r.over[v.ClaimedBy] && !hasEvent(events, v.ID, func(e *Event) bool { return e.Event == EventClaimed && e.Token == v.Claim.Token }) {
			t.Errorf("%s: the claim of %s by %s, of epoch %d, was told and is lost", when, v.ID, v.ClaimedBy, v.Epoch)
		}
	}
	for sub, id := range r.submissions {
		decided := hasEvent(events, id, func(e *Event) bool {
			return e.Submission == sub && (e.Event == EventCompleted || e.Event == EventFailed || e.Event == EventGateFailed)
		})
		cancelled := hasEvent(events, id, func(e *Event) bool { return e.Event == EventCancelled })
		if !decided && !cancelled {
			t.Errorf("%s: submission %s for %s was accepted and never counted", when, sub, id)
		}
	}
	told := map[string]bool{}
	for _, v := range r.claims {
		told[EventClaimed+" "+v.ClaimedBy] = true
	}
	for sub := range r.submissions {
		for i := range events {
			if events[i].Submission == sub {
				told[events[i].Event+" "+events[i].Worker] = true
			}
		}
	}
	list, err := b.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list { // what was ended by somebody else is over
		for _, what := range []string{EventClaimed + " " + v.ClaimedBy, EventCompleted + " " + v.ClaimedBy} {
			if why := r.refused[what]; why != "" && !told[what] && strings.HasPrefix(what, string(v.Status)+" ") {
				t.Errorf("%s: %s is %s, who was told that it lost: %s", when, v.ID, what, why)
			}
		}
	}
	for _, dir := range []string{"claims", "submissions"} {
		if names, err := fsx.List(b.path(dir)); err != nil || len(names) != 0 {
			t.Errorf("%s: %s has %v, %v", when, dir, names, err)
		}
	}
	if !failed && t.Failed() {
		for _, e := range events {
			t.Logf("%d.%d %s %s epoch %d %s token %s by %s: %s", e.Rev, e.N, e.Event, e.Task, e.Epoch, e.Worker, e.Token, e.By, e.Reason)
		}
	}
}

func hasEvent(events []Event, id string, is func(*Event) bool) bool {
	for i := range events {
		if events[i].Task == id && is(&events[i]) {
			return true
		}
	}
	return false
}

// everyStep runs a scene once for each step of its first actor.
func everyStep(t *testing.T, total *int, scene func(t testing.TB, n int) (step string)) {
	t.Helper()
	steps := 0
	for n := 1; ; n += stride {
		step := scene(t, n)
		if t.Failed() {
			t.Fatalf("at step %d, %s", n, step)
		}
		if step == "" {
			break
		}
		steps = n
	}
	*total += steps
}

// anyError runs f, whose refusal is as good as its success.
func anyError(f func() error) func() {
	return func() { _ = f() }
}
