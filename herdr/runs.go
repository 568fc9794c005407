package herdr

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Runs are the records of a session's runs, a file each. Times of waiting for
// the lock that changes take: LockTimeout, 0 means 10 s.
type Runs struct {
	Root        string // below which Dir is made
	Dir         string // runs/ of a session's team directory
	LockTimeout time.Duration
}

// Problem is a file that spoils only itself.
type Problem struct {
	Path string
	Err  error
}

const recordSuffix = ".json"

func (r *Runs) path(id string) string { return filepath.Join(r.Dir, id+recordSuffix) }

// CheckRunID checks the id of a run: a lower-case letter or digit, then up to 63
// of a-z, 0-9, _ and -. The error is of code usage.
func CheckRunID(id string) error {
	ok := id != "" && len(id) <= 64 && id[0] != '-' && id[0] != '_'
	for i := 0; i < len(id) && ok; i++ {
		c := id[i]
		ok = 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
	}
	if !ok {
		return errs.New(errs.Usage, "%q is no id of a run", id).WithHint("teams run list")
	}
	return nil
}

// Create writes a new run. Its id is made of its name and the first number that
// is free, both of records and for accept, which may be nil; what accept refuses
// is not tried again. Status and times are filled in.
func (r *Runs) Create(run *Run, accept func(id string) error) error {
	if err := fsx.MkdirAll(r.Root, r.Dir); err != nil {
		return err
	}
	if run.Status == "" {
		run.Status = Spawned
	}
	run.StartedAt = nowMs()
	run.UpdatedAt = run.StartedAt
	base := runSlug(run.Name)
	for n := 1; ; n++ {
		run.ID = base + "-" + strconv.Itoa(n)
		if _, err := r.Get(run.ID); !isNotFound(err) {
			continue
		}
		if accept != nil {
			if err := accept(run.ID); errors.Is(err, fs.ErrExist) {
				continue
			} else if err != nil {
				return err
			}
		}
		data, err := encodeRecord(run, run.extra)
		if err != nil {
			return err
		}
		err = fsx.Publish(r.path(run.ID), data)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// runSlug makes the beginning of an id of a name.
func runSlug(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == 32 {
			break
		}
	}
	if s := strings.Trim(b.String(), "-_"); s != "" {
		return s
	}
	return "run"
}

func isNotFound(err error) bool { return errs.CodeOf(err) == errs.NotFound }

// Get returns a run. An unknown one is of code not_found, a record that cannot
// be understood of code corrupt.
func (r *Runs) Get(id string) (*Run, error) {
	if err := CheckRunID(id); err != nil {
		return nil, err
	}
	run := new(Run)
	var err error
	run.extra, err = readRecord(r.path(id), run)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errs.New(errs.NotFound, "there is no run %s", id).WithHint("teams run list")
	case err != nil:
		return nil, err
	case run.ID != id:
		return nil, &errs.Error{Code: errs.Corrupt, Path: r.path(id), Msg: "is the record of another run"}
	}
	return run, nil
}

// List returns all runs in the order of their start. A record that cannot be
// read is a problem and spoils only itself.
func (r *Runs) List() ([]Run, []Problem, error) {
	names, err := fsx.List(r.Dir)
	if err != nil {
		return nil, nil, err
	}
	var runs []Run
	var problems []Problem
	for _, name := range names {
		id, ok := strings.CutSuffix(name, recordSuffix)
		if !ok || CheckRunID(id) != nil {
			continue
		}
		run, err := r.Get(id)
		switch {
		case err == nil:
			runs = append(runs, *run)
		case !isNotFound(err): // removed meanwhile
			problems = append(problems, Problem{r.path(id), err})
		}
	}
	slices.SortStableFunc(runs, func(a, b Run) int {
		return int(max(min(a.StartedAt-b.StartedAt, 1), -1))
	})
	return runs, problems, nil
}

// lock takes the lock under which records are changed and removed. It is not
// held over anything but files.
func (r *Runs) lock(ctx context.Context) (*fsx.Lock, error) {
	return fsx.Acquire(ctx, filepath.Join(r.Dir, "runs.lock"), or(r.LockTimeout, 10*time.Second))
}

// Update changes a run under its lock and returns what it was and is. Nothing is
// written when change fails, or changes nothing.
func (r *Runs) Update(ctx context.Context, id string, change func(*Run) error) (before, after *Run, err error) {
	if before, err = r.Get(id); err != nil { // no directory is no run
		return nil, nil, err
	}
	lock, err := r.lock(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = lock.Unlock() }()
	if before, err = r.Get(id); err != nil {
		return nil, nil, err
	}
	now := *before
	if err := change(&now); err != nil {
		return nil, nil, err
	}
	if sameRun(before, &now) {
		return before, &now, nil
	}
	now.UpdatedAt = nowMs()
	data, err := encodeRecord(&now, now.extra)
	if err != nil {
		return nil, nil, err
	}
	return before, &now, fsx.Replace(r.path(id), data)
}

func sameRun(a, b *Run) bool {
	x, err1 := encodeRecord(a, nil)
	y, err2 := encodeRecord(b, nil)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// Remove removes the record of a run; a missing one is no error.
func (r *Runs) Remove(ctx context.Context, id string) error {
	if err := CheckRunID(id); err != nil {
		return err
	}
	lock, err := r.lock(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	return fsx.Remove(r.path(id))
}

// Change is what [Runs.Set] changes; nil leaves a field as it is.
type Change struct {
	Status Status // "" leaves it
	Phase  *string
	Done   *int
	Total  *int
	Tokens *int64
	Cost   *float64
	Reason *string
	Reopen bool // a terminal run may go on
}

// Set changes status and progress of a run, as [CheckTransition] allows. The
// reason of the status before does not outlive it, and a run that goes on is not
// paused any more.
func (r *Runs) Set(ctx context.Context, id string, c Change) (before, after *Run, err error) {
	return r.Update(ctx, id, func(run *Run) error {
		if c.Status != "" && c.Status != run.Status {
			if err := CheckTransition(run.Status, c.Status, c.Reopen); err != nil {
				return err
			}
			run.Status, run.Reason, run.Paused = c.Status, "", false
		}
		set(&run.Phase, c.Phase)
		set(&run.Done, c.Done)
		set(&run.Total, c.Total)
		set(&run.Tokens, c.Tokens)
		set(&run.Cost, c.Cost)
		set(&run.Reason, c.Reason)
		return nil
	})
}

func set[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

// Pause marks a run as paused, with a reason that may be "".
func (r *Runs) Pause(ctx context.Context, id, reason string) (before, after *Run, err error) {
	return r.Update(ctx, id, func(run *Run) error {
		if run.Status.Ended() {
			return errs.New(errs.Conflict, "the run %s is %s, it cannot be paused", id, run.Status)
		}
		run.Paused, run.Reason = true, reason
		return nil
	})
}

// Resume lets a paused run go on. One whose worktree is gone stays as it is.
func (r *Runs) Resume(ctx context.Context, id string) (before, after *Run, err error) {
	return r.Update(ctx, id, func(run *Run) error {
		if run.Status.Ended() {
			return errs.New(errs.Conflict, "the run %s is %s, it cannot be resumed", id, run.Status).
				WithHint("teams run set %s workflow-running --reopen", id)
		}
		if run.Worktree != "" {
			if err := fsx.CheckDir(run.Worktree); err != nil {
				return errs.New(errs.Conflict, "the worktree of run %s is gone, %w", id, err)
			}
		}
		if run.Paused {
			run.Paused, run.Reason = false, ""
		}
		return nil
	})
}

// Reconcile fails the runs whose work has gone away without saying so: its
// process is proven dead, or gone says that its own pane is not there. Runs that
// need attention or are over stay as they are. gone may be nil.
func (r *Runs) Reconcile(ctx context.Context, gone func(*Run) bool) (changed []Run, problems []Problem, err error) {
	runs, problems, err := r.List()
	if err != nil {
		return nil, nil, err
	}
	for i := range runs {
		reason := lost(&runs[i], gone)
		if reason == "" {
			continue
		}
		_, after, err := r.Update(ctx, runs[i].ID, func(run *Run) error {
			if MappingOf(run.Status).Set != Active || run.UpdatedAt != runs[i].UpdatedAt {
				return errUnchanged // somebody else was first
			}
			run.Status, run.Reason, run.Paused = Failed, reason, false
			return nil
		})
		switch {
		case err == nil:
			changed = append(changed, *after)
		case err != errUnchanged && !isNotFound(err):
			problems = append(problems, Problem{r.path(runs[i].ID), err})
		}
	}
	return changed, problems, nil
}

var errUnchanged = errors.New("unchanged")

// lost says why the work of a run is gone, "" when that is not proven.
func lost(run *Run, gone func(*Run) bool) string {
	switch {
	case MappingOf(run.Status).Set != Active:
		return ""
	case run.Process != nil && run.Process.Liveness() == fsx.Dead:
		return "its process is gone"
	case run.Own && gone != nil && gone(run):
		return "its pane is gone"
	}
	return ""
}
