package team

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// JoinRequest says who wants to become a teammate.
type JoinRequest struct {
	Name  string
	Agent string // its role, "" for none
	Kind  string // "" is KindShell

	// PID is the process whose end is the end of the life; 0 for none. Process
	// is the same for a caller that knows more; it wins.
	PID     int
	Process *fsx.Process

	// Takeover ends the life that has the name, whether it lives or not.
	Takeover bool
}

// check checks a request before anything is created, and looks up its process.
func (r *JoinRequest) check() error {
	if err := CheckName(r.Name); err != nil {
		return err
	}
	if r.Agent != "" {
		if err := fsx.CheckHandle(r.Agent); err != nil {
			return usageIn("agent", err)
		}
	}
	if r.Process != nil || r.PID == 0 {
		return nil
	}
	p, err := fsx.ProcessOf(r.PID)
	switch code := errs.CodeOf(err); {
	case err == nil:
		r.Process = &p
		return nil
	case code == errs.NotFound || code == errs.Usage:
		return errs.New(errs.Usage, "%w", err).WithHint("%s", joinHint)
	}
	return err
}

// Join makes a shell a teammate. A new name is taken by link; one whose life is
// stopped or dead gets a new life. A living one is refused with name_taken,
// unless the request is a takeover or the caller already is that life, which
// is then returned with the role and process of the request.
//
// A name against the rules or a process that does not exist is an error of
// code usage, and nothing was created.
func (t *Team) Join(ctx context.Context, r JoinRequest) (Teammate, error) {
	if r.Kind != "" && r.Kind != KindShell {
		return Teammate{}, errs.New(errs.Internal, "a teammate of kind %s does not join without its lock", r.Kind)
	}
	if err := r.check(); err != nil {
		return Teammate{}, err
	}
	mine := func(tm Teammate) bool {
		return !r.Takeover && t.Name == r.Name && t.SpawnID == tm.SpawnID &&
			tm.Kind == KindShell && tm.Status != StatusStopped
	}
	tm, err := t.take(ctx, taking{
		name:     r.Name,
		takeover: r.Takeover,
		build:    func() Teammate { return t.newShell(r.Name, r.Agent, r.Process) },
		keep:     mine,
	})
	if err != nil || !mine(tm) {
		return tm, err
	}
	return t.Update(ctx, tm.Name, tm.SpawnID, func(tm *Teammate) error {
		if r.Agent != "" {
			tm.Agent = r.Agent
		}
		if r.Process != nil {
			tm.SetProcess(r.Process)
		}
		return nil
	})
}

// JoinHeld makes a process that hosts itself, such as a work loop, a teammate.
// It is [Team.Join] except that the new life's alive.lock is taken before the
// record is visible, so that nobody can find the life without it. The caller
// holds the lock for as long as it lives. The process defaults to the calling
// one.
func (t *Team) JoinHeld(ctx context.Context, r JoinRequest) (Teammate, *fsx.Lock, error) {
	return t.joinHeld(ctx, r, func(path string) (*fsx.Lock, bool, error) {
		return fsx.AcquireTenure(path, tenureWait)
	})
}

func (t *Team) joinHeld(ctx context.Context, r JoinRequest, acquire func(path string) (*fsx.Lock, bool, error)) (Teammate, *fsx.Lock, error) {
	if r.Kind == "" {
		r.Kind = KindWork
	}
	if err := r.check(); err != nil {
		return Teammate{}, nil, err
	}
	if r.Process == nil {
		self, err := fsx.Self()
		if err != nil {
			return Teammate{}, nil, err
		}
		r.Process = &self
	}
	isNew := t.isNewName(r.Name)
	lock, err := t.lockNew(r.Name, func() (*fsx.Lock, error) {
		lock, _, err := acquire(t.AliveLock(r.Name))
		return lock, err
	})
	switch {
	case err != nil && isNew:
		return Teammate{}, nil, errors.Join(err, t.takeBack(r.Name, false))
	case err != nil:
		return Teammate{}, nil, err
	case lock == nil:
		return Teammate{}, nil, t.nameTaken(r.Name)
	}
	tm, err := t.take(ctx, taking{
		name:       r.Name,
		takeover:   r.Takeover,
		lockIsOurs: true,
		build: func() Teammate {
			tm := t.newShell(r.Name, r.Agent, r.Process)
			tm.Kind = r.Kind
			return tm
		},
	})
	if err != nil {
		if isNew {
			err = errors.Join(err, t.takeBack(r.Name, true))
		}
		lock.Unlock()
		return Teammate{}, nil, err
	}
	return tm, lock, nil
}

// FirstFree is [Team.JoinHeld] for the first of prefix1, prefix2, … that is
// free: new, stopped or proven dead. The name of the request is ignored.
func (t *Team) FirstFree(ctx context.Context, prefix string, r JoinRequest) (Teammate, *fsx.Lock, error) {
	r.Name = prefix + "1"
	if err := r.check(); err != nil {
		return Teammate{}, nil, err
	}
	// With the session known to be whole, what is wrong is wrong with a name.
	if _, err := t.EnsureSession(); err != nil {
		return Teammate{}, nil, err
	}
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return Teammate{}, nil, err
		}
		r.Name = prefix + strconv.Itoa(n)
		if err := CheckName(r.Name); err != nil {
			return Teammate{}, nil, err
		}
		// A look first, so that a name in use gets no lock file from us.
		tm, err := t.Read(r.Name)
		switch {
		case err == nil && t.Liveness(tm) != fsx.Dead:
			continue
		case errs.CodeOf(err) == errs.Corrupt:
			continue // spoils only its own name
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return Teammate{}, nil, err
		}
		tm, lock, err := t.joinHeld(ctx, r, acquireUnlessHeld)
		switch errs.CodeOf(err) {
		case errs.NameTaken, errs.Conflict:
			continue // somebody else was first, or it needs a doctor first
		}
		return tm, lock, err
	}
}

// acquireUnlessHeld is [fsx.AcquireTenure] for a caller that has somewhere else
// to go: it does not wait for a lock that another process holds, if only for a
// moment, and is not misled by one that merely tests it.
func acquireUnlessHeld(path string) (*fsx.Lock, bool, error) {
	for end := time.Now().Add(tenureWait); ; time.Sleep(time.Millisecond) {
		lock, ok, err := fsx.TryAcquire(path)
		if ok || err != nil {
			return lock, ok, err
		}
		if held, err := fsx.Held(path); held || err != nil || time.Now().After(end) {
			return nil, false, err
		}
	}
}

// newShell is the record of a new shell.
func (t *Team) newShell(name, agent string, process *fsx.Process) Teammate {
	now := nowMillis()
	tm := Teammate{
		Name: name, Agent: agent, Kind: KindShell,
		SpawnID: fsx.UUID(), Status: StatusIdle, Drained: true,
		Cwd: t.Cwd, CreatedAt: now, UpdatedAt: now,
	}
	tm.SetProcess(process)
	return tm
}

// taking says how [Team.take] gives a name a life.
type taking struct {
	name       string
	takeover   bool            // also from a life that is not over
	lockIsOurs bool            // the caller holds the name's alive.lock
	build      func() Teammate // the record of the new life
	// keep says whether the life that the name has will do as it is; nil: never.
	keep func(tm Teammate) bool
}

// take gives a name a new life, or returns the one it has when that will do.
// Every way of becoming a teammate ends here.
func (t *Team) take(ctx context.Context, k taking) (Teammate, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Teammate{}, err
		}
		cur, err := t.Read(k.name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			tm := k.build()
			err := t.create(ctx, tm)
			if errors.Is(err, fs.ErrExist) {
				continue // somebody else took it; look at who
			}
			return tm, err
		case err != nil:
			return Teammate{}, err
		case k.keep != nil && k.keep(cur):
			return cur, nil
		}
		if err := t.finishDrain(ctx, cur); err != nil {
			return Teammate{}, err
		}
		if err := t.finishDead(ctx, cur, k.lockIsOurs); err != nil {
			return Teammate{}, err
		}
		tm, err := t.succeed(ctx, k)
		if errors.Is(err, errLook) {
			continue
		}
		if err != nil {
			return Teammate{}, err
		}
		err = t.finishDrain(ctx, tm)
		tm.Drained = tm.Drained || err == nil
		return tm, err
	}
}

// errLook says that a record changed between two looks.
var errLook = errors.New("look again")

// succeed replaces the record of a life by that of the next, under the
// teammate's lock.
func (t *Team) succeed(ctx context.Context, k taking) (Teammate, error) {
	lock, err := t.lock(ctx, k.name)
	if errors.Is(err, fs.ErrNotExist) {
		return Teammate{}, errLook // the name was taken back, as by the undoing of a spawn
	}
	if err != nil {
		return Teammate{}, err
	}
	defer lock.Unlock()
	cur, err := t.Read(k.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Teammate{}, errLook
	case err != nil:
		return Teammate{}, err
	}
	life := t.liveness(cur, k.lockIsOurs)
	switch {
	case k.keep != nil && k.keep(cur):
		return cur, nil
	case life != fsx.Dead && !k.takeover, !k.lockIsOurs && cur.Status == StatusStopped && t.isEnding(cur):
		return Teammate{}, t.nameTaken(k.name)
	case cur.Status == StatusStarting && cur.Worktree != "":
		// Its worktree would be forgotten with the record.
		return Teammate{}, errs.New(errs.Conflict, "a spawn of %s did not finish, and left the worktree %s",
			k.name, cur.Worktree).WithHint("teams doctor --fix")
	case !cur.Drained && t.Drain != nil:
		return Teammate{}, errLook
	}
	tm := k.build()
	tm.PreviousSpawnID = cur.SpawnID
	tm.Drained = t.Drain == nil
	tm.extra = cur.extra
	return tm, t.replace(tm)
}

// nameTaken says that a name is in use, and what can be done.
func (t *Team) nameTaken(name string) error {
	e := errs.New(errs.NameTaken, "the name %s is in use", name)
	e.WithHint(`eval "$(teams join %s --takeover --pid $$)"`, name)
	tm, err := t.Read(name)
	if err != nil {
		return e
	}
	e.WithDetail("kind", tm.Kind)
	if tm.Resident() {
		e.WithHint("teams shutdown %s frees it", name)
	}
	switch {
	case tm.PID != 0:
		e.WithDetail("pid", tm.PID)
		e.Msg += " by " + fsx.SafeLine(tm.Kind) + " process " + strconv.Itoa(tm.PID)
		if tm.Host != "" && tm.Host != fsx.Host() {
			e.Msg += " on " + fsx.SafeLine(tm.Host)
		}
	case tm.Kind == KindShell:
		e.Msg += " by a shell of which no process is known; --as " + name + " uses it as it is"
	}
	return e
}

// finishDrain finishes the end of a life, when that was left undone, and marks
// it so.
func (t *Team) finishDrain(ctx context.Context, tm Teammate) error {
	if tm.Drained || t.Drain == nil {
		return nil
	}
	if err := t.Drain(ctx, tm); err != nil {
		return err
	}
	_, err := t.Update(ctx, tm.Name, tm.SpawnID, func(now *Teammate) error {
		// A life that was stopped meanwhile has an end of its own to finish.
		now.Drained = now.Drained || now.Ended() == tm.Ended()
		return nil
	})
	if errs.CodeOf(err) == errs.StaleIdentity {
		return nil // there is a further life: somebody else has finished this
	}
	return err
}

// Leave ends a life: the record says stopped, durably, then its end is finished
// and release is called to give back what the life holds; release may be nil.
// An empty spawnID means whatever life there is; another one than the present
// is an error of code stale_identity and changes nothing. Leaving again
// finishes what an interrupted call left undone.
func (t *Team) Leave(ctx context.Context, name, spawnID string, release func(context.Context, Teammate) error) (Teammate, error) {
	tm, err := t.Find(name)
	if err != nil {
		return Teammate{}, err
	}
	if spawnID == "" {
		spawnID = tm.SpawnID
	}
	if tm.SpawnID != spawnID {
		return Teammate{}, staleIdentity(name)
	}
	if err := t.finishDrain(ctx, tm); err != nil {
		return Teammate{}, err
	}
	tm, err = t.Update(ctx, name, spawnID, func(tm *Teammate) error {
		if tm.Status != StatusStopped {
			tm.Status, tm.StoppedAt = StatusStopped, nowMillis()
			tm.CurrentTask, tm.Activity = "", ""
			tm.Drained = t.Drain == nil
		}
		return nil
	})
	if err != nil {
		return Teammate{}, err
	}
	if err := t.finishDrain(ctx, tm); err != nil {
		return tm, err
	}
	if release != nil {
		err = release(ctx, tm)
	}
	if now, rerr := t.Read(name); rerr == nil && now.SpawnID == spawnID {
		tm = now
	}
	return tm, err
}
