package herdr

import (
	"context"
	"errors"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Stage shows runs and questions in herdr. What it cannot show is no failure of
// what was done: its methods take at most Limit, however herdr behaves, and what
// they return is to be noted and nothing more.
type Stage struct {
	Client *Client
	Leases *Leases
	Here   Here // the caller's cell, on which runs are mirrored; never its state
	// AppliesTo is the source that the line is bound to; [AppliesAuto] finds out.
	AppliesTo string
	Limit     time.Duration // 0: 2 s
	// Kept is the pane on which somebody keeps the line up, as a harness does: no
	// line of a run is shown there in its place.
	Kept string
}

func (s *Stage) spawner() *Spawner {
	return &Spawner{Client: s.Client, Leases: s.Leases, Here: s.Here}
}

func (s *Stage) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := or(s.Limit, 2*time.Second)
	return context.WithTimeoutCause(ctx, limit, unavailable(s.Client.Path, badReply{"it does not answer in time"}))
}

// told is the error of a stage, with the end of its time as what it means.
func told(ctx context.Context, all ...error) error {
	err := errors.Join(all...)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// client speaks to the herdr that the pane of a run is in; nil when that is on
// another host.
func (s *Stage) client(r *Run) *Client {
	switch {
	case r.Host != "" && r.Host != fsx.Host():
		return nil
	case r.Socket != "" && r.Socket != s.Client.Path:
		return New(r.Socket)
	}
	return s.Client
}

// cell is the pane of a run that is ours, in the herdr of client.
func (s *Stage) cell(client *Client, r *Run) *Cell {
	agent := ""
	name := r.ID
	if r.Teammate != "" {
		agent, name = noRole, r.Teammate
		if l, err := s.Leases.Find(r.SpawnID); err == nil && l != nil {
			agent = roleOf(l)
		}
	}
	return &Cell{Client: client, Seq: s.Leases.Sequences(), Pane: r.Pane, Terminal: r.Terminal, Source: CellSource(agent, name), Label: CellLabel}
}

// Changed shows a run that has changed, with all runs of its session for the line
// on the caller's cell: the state of its own pane and its line there, which is
// released and closed when the status asks for that, and the notification.
func (s *Stage) Changed(ctx context.Context, before, after *Run, runs []Run) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var failures []error
	m := MappingOf(after.Status)
	client := s.client(after)
	switch {
	case client == nil: // it shows nothing until something is done there
		if after.Own && m.ClosePane {
			failures = append(failures, s.spawner().Close(ctx, after.SpawnID))
		}
	case after.Own:
		c := s.cell(client, after)
		if err := c.Report(ctx, m.State); err != nil && !errors.Is(err, ErrOfficial) {
			failures = append(failures, err)
		}
		if m.Release {
			failures = append(failures, c.Release(ctx))
		}
		if m.ClosePane {
			failures = append(failures, s.spawner().Close(ctx, after.SpawnID))
		} else if err := c.Show(ctx, after.StatusLine()); err != nil {
			failures = append(failures, err)
		}
	case after.Pane != "" && (client != s.Client || after.Pane != s.Here.Pane && after.Pane != s.Kept):
		line := Line([]Run{*after})
		if after.Status == Completed {
			line = ""
		}
		c := s.cell(client, after)
		failures = append(failures, c.Show(ctx, line))
	}
	if n := NoticeOf(before, after); n.Title != "" {
		_, err := s.Client.Notify(ctx, n.Title, n.Body, n.Sound, "")
		failures = append(failures, err)
	}
	if s.Here.Inside() && s.Here.Pane != s.Kept {
		failures = append(failures, s.mirror(ctx, Line(Visible(runs))))
	}
	return told(ctx, failures...)
}

// Mirror pushes a line once on the caller's cell, "" clears it.
func (s *Stage) Mirror(ctx context.Context, line string) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return told(ctx, s.mirror(ctx, line))
}

func (s *Stage) mirror(ctx context.Context, line string) error {
	return s.Client.Push(ctx, s.Leases.Sequences(), s.Here.Pane, Source, s.AppliesTo, line, OnceTTL)
}

// Gone reports whether the pane of a run is proven to be closed. It is for
// [Runs.Reconcile]; where herdr cannot be asked, or is not known to be the one
// that the pane is in, nothing is proven.
func (s *Stage) Gone(ctx context.Context) func(*Run) bool {
	var terminals map[string]bool
	panes, err := s.Client.Panes(ctx, "")
	if err == nil {
		terminals = map[string]bool{}
		for _, p := range panes {
			terminals[p.Terminal] = true
		}
	}
	return func(r *Run) bool {
		return terminals != nil && s.isHere(r) && r.Terminal != "" && !terminals[r.Terminal]
	}
}

// isHere reports whether the pane of a run is known to be in the herdr of the
// caller. Records from before that stood in them say it with their leases.
func (s *Stage) isHere(r *Run) bool {
	if r.Socket != "" {
		return r.Socket == s.Client.Path && r.Host == fsx.Host()
	}
	l, err := s.Leases.Find(r.SpawnID)
	return err == nil && l != nil && l.Of(s.Client)
}

// Ask shows that a teammate with a pane of its own waits for a person: its cell
// is blocked, as far as no integration owns its state, and a notification asks.
// A spawn without a lease has no cell; only the notification is shown then.
func (s *Stage) Ask(ctx context.Context, spawnID, name, question string) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	err := s.state(ctx, spawnID, StateBlocked, "? "+question)
	_, noteErr := s.Client.Notify(ctx, Cut(name+" asks", 80), question, "request", "")
	return told(ctx, err, noteErr)
}

// Answered restores the state of a cell once the last question is answered.
func (s *Stage) Answered(ctx context.Context, spawnID, state string) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return told(ctx, s.state(ctx, spawnID, state, ""))
}

// Report reports the state of a teammate's own cell and shows a line on it.
func (s *Stage) Report(ctx context.Context, spawnID, state, line string) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return told(ctx, s.state(ctx, spawnID, state, line))
}

func (s *Stage) state(ctx context.Context, spawnID, state, line string) error {
	l, err := s.Leases.Find(spawnID)
	if err != nil || l == nil || l.Pane == "" || !l.Of(s.Client) {
		return err
	}
	c := &Cell{Client: s.Client, Seq: s.Leases.Sequences(), Pane: l.Pane, Terminal: l.Terminal, Source: CellSource(roleOf(l), l.Name), Label: CellLabel}
	err = c.Report(ctx, state)
	if errors.Is(err, ErrOfficial) { // its own integration tells the state
		err = nil
	}
	return errors.Join(err, c.Show(ctx, line))
}

// noRole stands for the role of a teammate that has none.
const noRole = "teammate"

// roleOf is the role in the source of a teammate's states.
func roleOf(l *Lease) string {
	if l.Role == "" {
		return noRole
	}
	return l.Role
}

// FromLease makes the pane of a lease that of a run.
func (r *Run) FromLease(l *Lease) {
	r.Pane, r.Terminal, r.Own, r.SpawnID = l.Pane, l.Terminal, true, l.SpawnID
	r.Socket, r.Host = l.Socket, l.Owner.Host
}

// Stop ends what a run has: its own pane is closed and the lease freed. The
// worktree is for [RemoveRunWorktree].
func (s *Stage) Stop(ctx context.Context, r *Run) error {
	if !r.Own {
		return nil
	}
	if s.Here.Pane != "" && r.Pane == s.Here.Pane && s.client(r) == s.Client {
		return errs.New(errs.Conflict, "the pane of the run is the one that this runs in, it is not closed")
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return told(ctx, s.spawner().Close(ctx, r.SpawnID))
}
