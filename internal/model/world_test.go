package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/team"
)

var errDead = errors.New("the process is dead")

// caller is somebody who calls the verbs, one life after the other.
type caller struct {
	name  string // team.LeaderName, the harness, or a teammate
	kind  int
	spawn string    // its life, "" before it has joined
	proc  *process  // of a shell that has one
	alive *fsx.Lock // of a worker that hosts itself
	past  []string  // its lives that were replaced
}

// The kinds of callers.
const (
	isLeader = iota
	isHarness
	isShell  // joins with a process
	isBare   // is only named: nobody can prove it dead
	isWorker // holds alive.lock, as a work loop does
)

// life is what is known of one life of a name.
type life struct {
	name     string
	dead     bool // its process was killed
	leaving  bool // it may have left
	replaced bool // somebody may have taken the name since
}

// world is a team on disk and what its callers were told.
type world struct {
	base    string
	wall    time.Time
	boot    time.Duration
	boots   int
	callers []*caller
	held    *fsx.Lock // harness.lock, when a harness runs
	slots   [2]*slot

	mu sync.Mutex // the facts below: verbs may overlap
	facts
}

// slot is where one running verb sees the root, so that each system call tells
// whose it is.
type slot struct {
	w    *world
	root string

	mu       sync.Mutex
	op       *op // the running verb
	calls    int
	dieAt    int // the call at which it dies; 0: never
	faultAt  int // the call that fails; 0: none
	errno    syscall.Errno
	full     bool // from there on every write fails: the disk is full
	pauseAt  int  // the call before which it stops; 0: none
	dead     bool
	faulted  bool
	paused   chan struct{}
	resume   chan struct{}
	resumed  bool
	finished chan struct{}
	other    *slot // whom it lets go on when it meets one of its locks
}

// op is one call of a verb.
type op struct {
	who   *caller
	name  string
	told  []func() // what it has told its caller, when it lives to do so
	shown []string // the messages that it has shown and not marked yet, as far as it is known
	batch bool     // it shows all before it marks any
	loose bool     // it overlaps with another of the same name
}

func newWorld(t testing.TB, base string) *world {
	w := &world{base: base, wall: time.Date(2026, 11, 30, 13, 5, 1, 0, time.UTC), boot: time.Hour, facts: newFacts()}
	for _, dir := range []string{"root", "app/.git"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := range w.slots {
		w.slots[i] = &slot{w: w, root: filepath.Join(base, fmt.Sprint("r", i))}
		if err := os.Symlink("root", w.slots[i].root); err != nil {
			t.Fatal(err)
		}
	}
	w.slots[1].other = w.slots[0]
	for _, c := range []caller{
		{name: team.LeaderName, kind: isLeader}, {name: team.HarnessName, kind: isHarness},
		{name: "ann", kind: isShell}, {name: "bob", kind: isShell}, {name: "eve", kind: isBare}, {name: "w1", kind: isWorker},
	} {
		w.callers = append(w.callers, &c)
	}
	return w
}

// seams puts the clocks and the faults of the world in place.
func (w *world) seams() (restore func()) {
	undo := []func(){
		fsx.SetNow(func() time.Time { return w.wall }),
		fsx.SetBootClock(func() (time.Duration, error) { return w.boot, nil }),
		fsx.SetBootID("boot-0"),
		fsx.SetFault(w.hook),
	}
	return func() {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
}

// end frees what the world holds in this process.
func (w *world) end() {
	for _, c := range w.callers {
		c.gone()
	}
	if w.held != nil {
		w.held.Unlock()
	}
}

// place is the session as seen through a root, with a name and a life in the
// environment.
func (w *world) open(root, name, spawn string) (*team.Team, *fsboard.Board) {
	env := map[string]string{team.EnvRoot: root, team.EnvSession: "s", team.EnvName: name, team.EnvSpawn: spawn}
	p, err := team.Resolve(team.Input{Getenv: func(k string) string { return env[k] }, Cwd: filepath.Join(w.base, "app")})
	if err != nil {
		panic(err)
	}
	t := team.Open(p)
	b, err := t.Board(team.BoardOptions{})
	if err != nil {
		panic(err)
	}
	return t, b
}

// observer is the session as somebody sees it whom nothing ever happens to.
func (w *world) observer() (*team.Team, *fsboard.Board) {
	return w.open(filepath.Join(w.base, "root"), "", "")
}

// hook is asked before each system call of package fsx.
func (w *world) hook(o fsx.Op, path string) error {
	for _, s := range w.slots {
		if strings.HasPrefix(path, s.root+"/") || path == s.root {
			return s.hook(o, path)
		}
	}
	return nil
}

func (s *slot) hook(o fsx.Op, path string) error {
	s.mu.Lock()
	if s.dead {
		s.mu.Unlock()
		return errDead
	}
	s.calls++
	n := s.calls
	switch {
	case n == s.dieAt:
		s.dead = true
		s.mu.Unlock()
		return errDead
	case n == s.faultAt && !s.full, s.full && n >= s.faultAt && (o == fsx.OpWrite || o == fsx.OpLink || o == fsx.OpMkdir):
		s.faulted = true
		s.mu.Unlock()
		return s.errno
	case n == s.pauseAt:
		s.mu.Unlock()
		close(s.paused)
		<-s.resume
		s.mu.Lock()
		dead := s.dead
		s.mu.Unlock()
		if dead {
			return errDead
		}
		return nil
	}
	s.mu.Unlock()
	if first := s.other; first != nil && o == fsx.OpFlock && first.stopped() && isHeld(path) {
		switch filepath.Base(path) {
		case "alive.lock", "harness.lock":
		default: // it would wait for the one that stands still
			first.release()
			select {
			case <-first.finished:
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
	return nil
}

// stopped says whether the verb in the slot stands still.
func (s *slot) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused != nil && !s.resumed && s.pauseAt > 0 && s.calls >= s.pauseAt
}

// release lets the verb in the slot go on, once.
func (s *slot) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resume != nil && !s.resumed {
		s.resumed = true
		close(s.resume)
	}
}

// isHeld looks at a lock without asking the seam.
func isHeld(path string) bool {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	return syscall.Flock(fd, syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// trouble is what happens to a verb on its way.
type trouble struct {
	dieAt, faultAt, pauseAt int
	errno                   syscall.Errno
	full                    bool
	thenDie                 bool // it dies where it was stopped
}

func (s *slot) prepare(o *op, tr trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.op, s.calls, s.dead, s.faulted = o, 0, false, false
	s.dieAt, s.faultAt, s.errno, s.full, s.pauseAt = tr.dieAt, tr.faultAt, tr.errno, tr.full, tr.pauseAt
	s.paused, s.resume, s.finished, s.resumed = make(chan struct{}), make(chan struct{}), make(chan struct{}), false
}

// verb is a call that is ready to be made.
type verb struct {
	who    *caller
	name   string
	life   bool   // it begins or ends a life of its caller
	alone  bool   // it takes what others are just writing for old, as the clock is not that of the files
	before func() // notes what is tried; may be nil
	run    func(c *call) error
}

// call is what a verb works with.
type call struct {
	*op
	w    *world
	ctx  context.Context
	t    *team.Team
	b    *fsboard.Board
	slot *slot
}

// tell notes what the caller is told, if it lives until the verb ends.
func (c *call) tell(f func()) { c.told = append(c.told, f) }

// dead says whether the caller has died by now.
func (c *call) isDead() bool {
	c.slot.mu.Lock()
	defer c.slot.mu.Unlock()
	return c.slot.dead
}

// outcome is how a verb ended.
type outcome struct {
	err    error
	dead   bool
	faulty bool
	panic  any
}

// exec makes a call through a slot. It returns when the verb has ended.
func (w *world) exec(s *slot, v verb, o *op) (out outcome) {
	defer close(s.finished)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		out.dead, out.faulty = s.dead, s.faulted
	}()
	defer func() { out.panic = recover() }()
	env := v.who.name
	if v.who.kind == isLeader || v.who.kind == isHarness {
		env = ""
	}
	t, b := w.open(s.root, env, v.who.spawn)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := &call{op: o, w: w, ctx: ctx, t: t, b: b, slot: s}
	out.err = v.run(c)
	return out
}

// gone ends the process of a caller.
func (c *caller) gone() {
	if c.alive != nil {
		c.alive.Unlock()
		c.alive = nil
	}
	if c.proc != nil {
		c.proc.kill()
		c.proc = nil
	}
}

// die kills a caller. A bare one has no process that anybody knows.
func (w *world) die(c *caller) {
	if c.kind == isHarness && w.held != nil {
		w.held.Unlock()
		w.held = nil
	}
	c.gone()
	if c.kind != isShell && c.kind != isWorker || c.spawn == "" {
		return
	}
	w.life(c.spawn).dead = true
	c.past = append(c.past, c.spawn)
	c.spawn = ""
}

// process is a real process that does nothing but live.
type process struct {
	fsx.Process
	cmd *exec.Cmd
	in  io.Closer // when this is closed it ends, also when the test dies
}

func startProcess() (*process, error) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p, err := fsx.ProcessOf(cmd.Process.Pid)
	if err != nil {
		in.Close()
		_ = cmd.Wait()
		return nil, err
	}
	return &process{Process: p, cmd: cmd, in: in}, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	p.in.Close()
	_ = p.cmd.Wait()
}

// expected says whether an error is one that a verb may give when nothing but
// other callers is in its way.
func expected(err error) bool {
	switch errs.CodeOf(err) {
	case "", errs.NothingClaimable, errs.Blocked, errs.NoMail, errs.NotFound, errs.NoSession, errs.BoardDrained,
		errs.AlreadyClaimed, errs.AlreadyHolding, errs.NotHolder, errs.StaleClaim, errs.TaskEnded, errs.NameTaken,
		errs.Stopped, errs.Conflict, errs.StaleIdentity, errs.WrongAssignee, errs.GateFailed, errs.UnknownDep, errs.Cycle:
		return true
	}
	return false
}
