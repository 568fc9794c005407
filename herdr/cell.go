package herdr

import (
	"context"
	"errors"

	"github.com/seed6990a682/teams/internal/errs"
)

// Where finds the pane in which a terminal is now. A pane that was moved has
// another id, and under the recorded id may be somebody else: nil means that the
// terminal is not to be found any more.
func (c *Client) Where(ctx context.Context, pane, terminal string) (*Pane, error) {
	if terminal == "" {
		return nil, errs.New(errs.Internal, "herdr: a pane without its terminal id")
	}
	p, err := c.Pane(ctx, pane)
	if err == nil && p.Terminal == terminal {
		return p, nil
	}
	if err != nil && !Gone(err) {
		return nil, err
	}
	panes, err := c.Panes(ctx, "")
	if err != nil {
		return nil, err
	}
	for i := range panes {
		if panes[i].Terminal == terminal {
			return &panes[i], nil
		}
	}
	return nil, nil
}

// CloseOwn closes the pane in which a terminal is; it succeeds when the terminal
// is gone, and never closes what is under its old id now. The pane of keep, the
// caller's own, is not closed either: code conflict.
func (c *Client) CloseOwn(ctx context.Context, pane, terminal string, keep Here) error {
	p, err := c.Where(ctx, pane, terminal)
	if err != nil || p == nil {
		return err
	}
	if keep.Pane != "" && (p.ID == keep.Pane || pane == keep.Pane) {
		return errs.New(errs.Conflict, "the pane is the one that this runs in, it is not closed")
	}
	return c.ClosePane(ctx, p.ID)
}

// ErrDropped is the error of a report that herdr answered ok and did not take.
var ErrDropped = errors.New("herdr answered ok and dropped the report")

// ErrOfficial is the error of a state that is not reported, because one of
// herdr's integrations owns the state of the pane.
var ErrOfficial = errors.New("an integration of herdr owns the state of the pane")

// Cell is a pane of ours, whose state we report.
type Cell struct {
	Client   *Client
	Seq      *Sequences
	Pane     string
	Terminal string
	// Source is under which name: pi-teams:<agent>:<name>. Label is what herdr
	// shows as the agent; it must be no kind of agent that herdr detects, since
	// herdr clears those.
	Source, Label string
}

// CellSource is the source of the states of a teammate.
func CellSource(agent, name string) string {
	if agent == "" {
		agent = "run"
	}
	return Source + ":" + agent + ":" + name
}

// CellLabel is our label on cells.
const CellLabel = "teams"

// Report reports a state and reads it back once. It is [ErrOfficial] when an
// integration owns the pane, [ErrDropped] when herdr shows another state
// afterwards, and nil without a report when the terminal is gone.
func (c *Cell) Report(ctx context.Context, state string) error {
	p, err := c.Client.Where(ctx, c.Pane, c.Terminal)
	switch {
	case err != nil || p == nil:
		return err
	case p.Official():
		return ErrOfficial
	}
	err = c.Client.ReportAgent(ctx, Report{Pane: p.ID, Source: c.Source, Agent: c.Label, State: state, Seq: c.Seq.Next(ctx, p.ID, c.Source)})
	if err != nil {
		return err
	}
	if p, err = c.Client.Pane(ctx, p.ID); err != nil {
		return err
	}
	// An idle cell that nobody has looked at is read as done.
	if p.Status != state && (state != StateIdle || p.Status != StateDone) {
		return ErrDropped
	}
	return nil
}

// Release gives the authority over the state back. A terminal that is gone has
// none.
func (c *Cell) Release(ctx context.Context) error {
	p, err := c.Client.Where(ctx, c.Pane, c.Terminal)
	if err != nil || p == nil {
		return err
	}
	return c.Client.ReleaseAgent(ctx, p.ID, c.Source, c.Label, c.Seq.Next(ctx, p.ID, c.Source))
}

// Show shows a line on the cell, "" clears it.
func (c *Cell) Show(ctx context.Context, line string) error {
	p, err := c.Client.Where(ctx, c.Pane, c.Terminal)
	if err != nil || p == nil {
		return err
	}
	return c.Client.Push(ctx, c.Seq, p.ID, Source, "", line, OnceTTL)
}
