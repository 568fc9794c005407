package fsboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Gates runs gates for the board.
type Gates interface {
	// Run runs a gate until it has a verdict. When ctx ends first it ends the
	// gate and returns an error: an interrupted run is no verdict.
	Run(ctx context.Context, g GateRun) (Receipt, error)
	// End ends whatever is left of a run whose decider died.
	End(ctx context.Context, runID string) error
}

// GateRun is one run of a gate.
type GateRun struct {
	Task    *Task
	Worker  string // the submitter
	Command string
	Cwd     string
	Timeout time.Duration // 0: none
	RunID   string        // 128 random bits; the environment's TEAMS_GATE
	Number  int
	Log     string // path of the log
}

// runFile is gates/<id>.run: who runs the gate now.
type runFile struct {
	RunID      string `json:"runId"`
	Task       string `json:"task"`
	Number     int    `json:"number"`
	Submission string `json:"submission,omitempty"`
	StartedAt  int64  `json:"startedAt"`
	fsx.Process
}

func (b *Board) gateLock(id string) string    { return b.path("gates", id+".lock") }
func (b *Board) gateRunPath(id string) string { return b.path("gates", id+".run") }

// GateLog returns the path of the log of a task's nth gate run.
func (b *Board) GateLog(id string, n int) string {
	return b.path("gates", id+"."+strconv.Itoa(n)+".log")
}

// lastLog returns the highest run number that has a log.
func (b *Board) lastLog(id string) (int, error) {
	names, err := fsx.List(b.path("gates"))
	if err != nil {
		return 0, err
	}
	last := 0
	for _, name := range names {
		mid, ok := strings.CutPrefix(name, id+".")
		if !ok {
			continue
		}
		if mid, ok = strings.CutSuffix(mid, ".log"); !ok {
			continue
		}
		if n, err := strconv.Atoi(mid); err == nil {
			last = max(last, n)
		}
	}
	return last, nil
}

// foreignRun is returned when a run may still be going on where this process
// cannot see it.
type foreignRun struct{ run runFile }

func (e *foreignRun) Error() string {
	return fmt.Sprintf("gate run %d may still be running on host %s (pid namespace %s)", e.run.Number, e.run.Host, e.run.PIDNamespace)
}

// readRun returns what gates/<id>.run says; nil when there is no run.
func (b *Board) readRun(id string) (*runFile, error) {
	data, err := fsx.ReadFile(b.gateRunPath(id), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read gate run: %w", err)
	}
	r := new(runFile)
	if err := json.Unmarshal(data, r); err != nil || r.RunID == "" {
		// It was published whole, so this is damage; what it named cannot be
		// found any more.
		return nil, fsx.Remove(b.gateRunPath(id))
	}
	return r, nil
}

// visible reports whether processes that r's decider started can be seen from
// here. After a reboot of the same host there are none left to see.
func (r *runFile) visible() bool {
	return r.Host == fsx.Host() && (r.PIDNamespace == fsx.PIDNamespace() && (r.BootID == "" || r.BootID == fsx.BootID()) || r.Rebooted())
}

// endLeftRun ends what is left of an earlier run of the task's gate. The
// caller holds the gate lock, so nobody runs it now.
func (b *Board) endLeftRun(ctx context.Context, id string) error {
	r, err := b.readRun(id)
	if err != nil || r == nil {
		return err
	}
	if !r.visible() {
		return &foreignRun{run: *r}
	}
	if !r.Rebooted() {
		if err := b.o.Gates.End(ctx, r.RunID); err != nil {
			return fmt.Errorf("end gate run %d of %s: %w", r.Number, id, err)
		}
	}
	return fsx.Remove(b.gateRunPath(id))
}

// runGate runs a gate under the gate lock, which the caller holds. check is
// asked once a second whether the run still makes sense; when it does not, the
// gate is ended and runGate fails with errGateMoot.
func (b *Board) runGate(ctx context.Context, task *Task, g *Gate, m *Marker, check func() bool) (Receipt, error) {
	if b.o.Gates == nil {
		return Receipt{}, errs.New(errs.Failure, "%s has a gate, and this board was opened without a runner of gates", task.ID)
	}
	if err := b.endLeftRun(ctx, task.ID); err != nil {
		return Receipt{}, err
	}
	last, err := b.lastLog(task.ID)
	if err != nil {
		return Receipt{}, err
	}
	self, err := fsx.Self()
	if err != nil {
		return Receipt{}, err
	}
	r := runFile{
		RunID: fsx.RandomID(), Task: task.ID, Number: max(task.GateRuns, last) + 1,
		StartedAt: fsx.Now().UnixMilli(), Process: self,
	}
	worker := ""
	if m != nil {
		r.Submission, worker = m.Submission, m.Worker
	}
	data, err := encodeLines(&r)
	if err != nil {
		return Receipt{}, err
	}
	if err := fsx.Replace(b.gateRunPath(task.ID), data); err != nil {
		return Receipt{}, fmt.Errorf("record gate run: %w", err)
	}
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-run.Done():
				return
			case <-tick.C:
				if !check() {
					stop(errGateMoot)
					return
				}
			}
		}
	}()
	receipt, err := b.o.Gates.Run(run, GateRun{
		Task: task, Worker: worker, Command: g.Command, Cwd: g.Cwd, Timeout: time.Duration(g.TimeoutMs) * time.Millisecond,
		RunID: r.RunID, Number: r.Number, Log: b.GateLog(task.ID, r.Number),
	})
	if err != nil {
		if errors.Is(context.Cause(run), errGateMoot) {
			err = errGateMoot
		}
		return Receipt{}, errors.Join(err, fsx.Remove(b.gateRunPath(task.ID)))
	}
	if receipt.Verdict == "" {
		return Receipt{}, errors.Join(errs.New(errs.Internal, "the gate of %s ended without a verdict", task.ID), fsx.Remove(b.gateRunPath(task.ID)))
	}
	receipt.Run, receipt.Submission = r.Number, r.Submission
	return receipt, nil
}

// errGateMoot says that a gate was ended because its claim was gone.
var errGateMoot = errors.New("the claim that this gate was for is gone")

// RunGate runs a task's gate without a submission and writes nothing of it to
// the board. It is numbered and logged like any run, and never runs beside
// another run of the same gate.
func (b *Board) RunGate(ctx context.Context, id string) (Receipt, error) {
	v, err := b.View()
	if err != nil {
		return Receipt{}, err
	}
	t, err := v.Task(id)
	if err != nil {
		return Receipt{}, err
	}
	if t == nil {
		return Receipt{}, b.unknownOrArchived(id)
	}
	g := t.Gate
	if g == nil && t.Verify != "" {
		g = &Gate{Command: t.Verify, Source: "task", TimeoutMs: t.VerifyTimeoutMs, Cwd: b.project(&v.snap.head), Host: fsx.Host()}
	}
	if g == nil {
		return Receipt{}, errs.New(errs.Conflict, "%s has no gate", id).WithHint("teams task edit %s --verify CMD gives it one", id)
	}
	if g.Host != "" && g.Host != fsx.Host() {
		return Receipt{}, errs.New(errs.Conflict, "the gate of %s belongs to host %s, this is %s", id, g.Host, fsx.Host()).
			WithHint("run teams verify %s there", id)
	}
	if err := b.create(); err != nil {
		return Receipt{}, err
	}
	lock, err := fsx.Acquire(ctx, b.gateLock(id), 0)
	if err != nil {
		return Receipt{}, err
	}
	defer lock.Unlock()
	receipt, err := b.runGate(ctx, &t.Task, g, nil, func() bool { return true })
	var foreign *foreignRun
	if errors.As(err, &foreign) {
		return Receipt{}, errs.New(errs.Conflict, "%w", err).WithHint("when it is gone for sure: rm %s", b.gateRunPath(id))
	}
	if err != nil {
		return Receipt{}, err
	}
	return receipt, fsx.Remove(b.gateRunPath(id))
}
