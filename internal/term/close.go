package term

import (
	"context"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// elsewhere reports whether a process is of another host or pid namespace, so
// that its number says nothing here.
func elsewhere(p fsx.Process) bool {
	return p.Host != fsx.Host() || p.PIDNamespace != fsx.PIDNamespace() || p.BootID != fsx.BootID() && !p.Rebooted()
}

// reach says that a terminal cannot be used, or whatever verb is, from here.
// What runs in it cannot be seen, and what is not seen is not gone.
func (t *Terminal) reach(verb string) error {
	p := t.shell
	if p.PID == 0 {
		p = t.Opener
	}
	if !elsewhere(p) {
		return nil
	}
	where := "on " + fsx.SafeLine(p.Host)
	if p.Host == fsx.Host() {
		where = "in another pid namespace " + where
		if p.PIDNamespace == fsx.PIDNamespace() {
			where = "on another machine with the name " + fsx.SafeLine(p.Host)
		}
	}
	return errs.New(errs.Conflict, "the terminal %s runs %s and cannot be reached from here", t.ID, where).
		WithPath(t.dir).WithDetail("host", p.Host).WithHint("%s it there", verb)
}

// Close ends the shell of a terminal and all that it has started, and with that
// the holder. One that is closed already is closed again, for what it has left.
// One of another host or pid namespace is of code conflict.
func (s *Terms) Close(ctx context.Context, id string) (*Terminal, error) {
	t, err := s.Get(id)
	if err == nil {
		err = t.reach("close")
	}
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(5 * time.Second); ; {
		if err := t.endTree(2 * time.Second); err != nil {
			return nil, err
		}
		// As long as the holder lives the terminal is not over, whatever became of
		// the shell; one that has just begun may have started it meanwhile.
		alive, err := fsx.Acquire(ctx, t.path("alive.lock"), 500*time.Millisecond)
		if err == nil {
			t.end(-1)
			_ = alive.Unlock()
			return s.read(t.ID)
		}
		if errs.CodeOf(err) != errs.Busy || time.Now().After(until) {
			return nil, err
		}
		if t, err = s.read(t.ID); err != nil {
			return nil, err
		}
	}
}
