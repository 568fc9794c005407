package team

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/fsx"
)

// HerdrOptions say what a harness shows in herdr.
type HerdrOptions struct {
	Off       bool
	AppliesTo string // see herdr.Mirror
	Run       string // the team is a stored run of this name; "": it is shown without
	Getenv    func(string) string
}

// mirror shows the team in the cell that the harness runs in. herdr never keeps
// the harness up: all is sent by a goroutine of its own.
type mirror struct {
	t     *Team
	m     *herdr.Mirror
	runs  *herdr.Runs
	run   herdr.Run // as it was shown last
	saved bool      // it is a stored run

	revision int64 // of the board when it was looked at last
	at       time.Time
	err      error // of that look
	failed   int   // tasks of that board
	open     int

	mu      sync.Mutex
	trouble string // what herdr has answered last, "" when all is well
}

// newMirror begins to show the team; nil when there is neither a cell to show it
// in nor a run to keep. Only the run can fail: what is wrong with herdr is told by
// problem.
func (t *Team) newMirror(ctx context.Context, o HerdrOptions, status *HarnessStatus) (*mirror, error) {
	var here herdr.Here
	if !o.Off && o.Getenv != nil {
		here = herdr.FindHere(o.Getenv)
	}
	if !here.Inside() && o.Run == "" {
		return nil, nil
	}
	m := t.bareMirror()
	if o.Run != "" {
		m.run.Name, m.run.Background, m.saved = o.Run, true, true
		m.run.Process = &status.Process
		if err := m.adopt(ctx); err != nil {
			return nil, err
		}
	}
	if !here.Inside() {
		return m, nil
	}
	client, err := herdr.Open("", o.Getenv)
	if err != nil {
		m.trouble = "herdr: " + err.Error()
		return m, nil
	}
	applies := o.AppliesTo
	if applies == "" {
		applies = herdr.AppliesAuto
	}
	leases := &herdr.Leases{Root: t.Root}
	m.m = &herdr.Mirror{Client: client, Seq: leases.Sequences(), Pane: here.Pane, AppliesTo: applies, Noted: func(err error) {
		leases.Note(client.Path, err)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.trouble = ""; err != nil {
			m.trouble = "herdr: " + err.Error()
		}
	}}
	status.Pane, status.Socket = here.Pane, client.Path
	m.m.Start()
	return m, nil
}

// bareMirror is a mirror that nothing is shown by yet.
func (t *Team) bareMirror() *mirror {
	return &mirror{
		t: t, runs: &herdr.Runs{Root: t.Root, Dir: filepath.Join(t.TeamDir(), "runs")}, revision: -1,
		run: herdr.Run{Name: filepath.Base(t.Project), Status: herdr.Running},
	}
}

// adopt goes on with the latest run of the name that nobody else feeds, as the one
// of the harness before, or makes a new one.
func (m *mirror) adopt(ctx context.Context) error {
	list, _, err := m.runs.List()
	if err != nil {
		return err
	}
	for _, r := range slices.Backward(list) {
		if r.Name != m.run.Name || r.Pane != "" || !leftByHarness(&r) && (r.Process == nil || r.Process.Liveness() != fsx.Dead) {
			continue
		}
		_, after, err := m.runs.Update(ctx, r.ID, func(run *herdr.Run) error {
			if leftByHarness(run) {
				run.Paused, run.Reason = false, ""
			}
			run.Process = m.run.Process
			if run.Status == herdr.Failed { // by run reconcile, as nobody fed it
				run.Status, run.Reason, run.Paused = herdr.Running, "", false
			}
			return nil
		})
		if err != nil {
			return err
		}
		m.run = *after
		return nil
	}
	return m.runs.Create(&m.run, nil)
}

// problem is what herdr has trouble with now.
func (m *mirror) problem() string {
	if m == nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.trouble
}

// mirrorPause is the least time between two looks at an unchanged board, since
// tokens and questions change without it.
const mirrorPause = 2 * time.Second

// update shows the team as it is now. What went wrong is told until the next look.
func (m *mirror) update(ctx context.Context, b *fsboard.Board) error {
	if m == nil {
		return nil
	}
	revision, err := b.Revision()
	if err != nil {
		return err
	}
	if revision != m.revision || time.Since(m.at) >= mirrorPause {
		m.at = time.Now()
		m.err = m.look(ctx, b, revision)
	}
	return m.err
}

// look looks at the team and shows it; revision is that of its board.
func (m *mirror) look(ctx context.Context, b *fsboard.Board, revision int64) (err error) {
	now := m.run
	if revision != m.revision {
		if now, err = m.lookAtBoard(b); err != nil {
			return err
		}
		m.revision = revision
	}
	if err := m.lookAtTeam(&now); err != nil {
		return err
	}
	before := m.run
	changed := now.Status != before.Status
	if m.saved {
		_, after, err := m.runs.Set(ctx, m.run.ID, herdr.Change{
			Status: now.Status, Phase: &now.Phase, Done: &now.Done, Total: &now.Total, Tokens: &now.Tokens,
			Reopen: herdr.MappingOf(before.Status).Set == herdr.Terminal,
		})
		if err != nil {
			return err
		}
		now = *after
	}
	m.run = now
	if m.m == nil {
		return nil
	}
	m.m.Set(m.line(now), changed && herdr.MappingOf(now.Status).Set != herdr.Active)
	if changed {
		m.m.Notify(herdr.NoticeOf(&before, &now))
	}
	return nil
}

// line is what the cell shows of the team and of the other runs.
func (m *mirror) line(now herdr.Run) string {
	list := []herdr.Run{now}
	if others, _, err := m.runs.List(); err == nil {
		for _, r := range others {
			if r.ID != now.ID || now.ID == "" {
				list = append(list, r)
			}
		}
	}
	return herdr.Line(herdr.Visible(list))
}

// tickLine shows the team once in the cell that a tick runs in, when it was told
// what to bind the line to. A harness keeps one up; cron has no cell.
func (t *Team) tickLine(ctx context.Context, b *fsboard.Board, o TickOptions, r *TickReport) {
	if o.AppliesTo == "" || o.Getenv == nil {
		return
	}
	here := herdr.FindHere(o.Getenv)
	if !here.Inside() {
		return
	}
	m := t.bareMirror()
	now, err := m.lookAtBoard(b)
	if err == nil {
		err = m.lookAtTeam(&now)
	}
	if err != nil {
		r.problem(stepHerdr, err)
		return
	}
	client, err := herdr.Open("", o.Getenv)
	if err != nil {
		r.problem(stepHerdr, err)
		return
	}
	stage := &herdr.Stage{Client: client, Leases: &herdr.Leases{Root: t.Root}, Here: here, AppliesTo: o.AppliesTo}
	err = stage.Mirror(ctx, m.line(now))
	stage.Leases.Note(client.Path, err)
	if err != nil && !herdr.IsUnavailable(err) {
		r.problem(stepHerdr, err)
	}
}

// lookAtBoard makes a run of the team: done and total are its tasks, and the phase
// is the task that was claimed first.
func (m *mirror) lookAtBoard(b *fsboard.Board) (herdr.Run, error) {
	run := m.run
	v, err := b.View()
	if err != nil {
		return run, err
	}
	counts, err := v.Counts()
	if err != nil {
		return run, err
	}
	run.Total, run.Done, m.open = 0, counts[fsboard.StateCompleted], 0
	m.failed = counts[fsboard.StateFailed]
	for state, n := range counts {
		if state != fsboard.StateCancelled {
			run.Total += n
		}
		if !state.Terminal() {
			m.open += n
		}
	}
	held, _, err := v.Tasks(fsboard.Filter{States: []fsboard.State{fsboard.StateClaimed, fsboard.StateSubmitted, fsboard.StateVerifying}}, 0)
	if err != nil {
		return run, err
	}
	run.Phase = ""
	oldest := int64(0)
	for _, task := range held {
		if at := task.Claim.ClaimedAt; oldest == 0 || at < oldest {
			oldest, run.Phase = at, fsx.SafeLine(task.Subject)
		}
	}
	return run, nil
}

// lookAtTeam adds what the team has used, and whether it needs a person: while a
// task has failed or a question is open.
func (m *mirror) lookAtTeam(run *herdr.Run) error {
	all, _, err := m.t.List()
	if err != nil {
		return err
	}
	run.Tokens = 0
	for _, tm := range all {
		if tm.Usage != nil {
			run.Tokens += tm.Usage.Tokens
		}
	}
	switch {
	case m.failed > 0 || m.t.questionOpen():
		run.Status = herdr.NeedsHuman
	case m.open == 0: // nothing runs, so nothing is shown
		run.Status = herdr.Completed
	default:
		run.Status = herdr.Running
	}
	return nil
}

// harnessStopped is why a run is paused that nobody feeds until the next harness
// of its name.
const harnessStopped = "its harness was stopped"

func leftByHarness(r *herdr.Run) bool {
	return r.Paused && r.Process == nil && r.Reason == harnessStopped
}

// close clears what is shown, and pauses a run that is not over.
func (m *mirror) close() {
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if m.saved {
		_, _, _ = m.runs.Update(ctx, m.run.ID, func(r *herdr.Run) error {
			if !r.Status.Ended() && !r.Paused {
				r.Paused, r.Reason, r.Process = true, harnessStopped, nil
			}
			return nil
		})
	}
	if m.m != nil {
		m.m.Close(ctx)
	}
}

// questionOpen reports whether somebody waits for an answer of a human.
func (t *Team) questionOpen() bool { return len(t.OpenAsks()) > 0 }
