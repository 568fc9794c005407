package team

import (
	"context"
	"path/filepath"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/verify"
)

// BoardOptions are what a caller may set of the board of a session.
type BoardOptions struct {
	LockTimeout time.Duration // 0: 10 s
	GateRetries int           // failed gates of a claim before the leader is told; 0: 3
	BeforeGate  func()        // called before a gate starts; may be nil
}

// Board opens the session's board with the roster and the gates of this team.
// It reads and creates nothing.
func (t *Team) Board(o BoardOptions) (*fsboard.Board, error) {
	var ahead func(string) int64
	if t.Sharing.On {
		ahead = t.clockAhead
	}
	return fsboard.Open(fsboard.Options{
		ClockAhead: ahead,
		Dir:        t.BoardDir(), Root: t.Root, Project: t.Project, Session: t.Session,
		ClaimLock: t.claimLock,
		Roster:    t, Gates: gates{o.BeforeGate}, HarnessLive: t.harnessHere,
		LockTimeout: o.LockTimeout, GateRetries: o.GateRetries,
	})
}

// claimLock is the lock of each claim that a teammate makes.
func (t *Team) claimLock(name string) (string, error) {
	if err := t.checkTeammateDir(name); err != nil {
		return "", err
	}
	return filepath.Join(t.TeammateDir(name), "claim.lock"), nil
}

// gates runs the gates of the board with the package verify.
type gates struct{ before func() }

// Run implements [fsboard.Gates].
func (gs gates) Run(ctx context.Context, g fsboard.GateRun) (fsboard.Receipt, error) {
	if gs.before != nil {
		gs.before()
	}
	extra := []string{"TEAMS_TASK=" + g.Task.ID}
	if g.Worker != "" {
		extra = append(extra, EnvName+"="+g.Worker)
	}
	r, err := verify.Run(ctx, verify.Gate{
		Command: g.Command, Dir: g.Cwd, Extra: extra, Timeout: g.Timeout, Log: g.Log, RunID: g.RunID,
	})
	if err != nil {
		return fsboard.Receipt{}, err
	}
	return receipt(r), nil
}

// End implements [fsboard.Gates].
func (gates) End(_ context.Context, runID string) error {
	_, err := verify.EndRun(runID)
	return err
}

// receipt is the board's form of a receipt.
func receipt(r verify.Receipt) fsboard.Receipt {
	return fsboard.Receipt{
		Verdict: string(r.Verdict), ExitCode: r.ExitCode, Signal: r.Signal, DurationMs: r.DurationMs, Log: r.Log,
		OutputBytes: r.OutputBytes, OutputSHA256: r.OutputSHA256, Commit: r.Commit, FinishedAt: r.FinishedAt, Reason: r.Reason,
	}
}

// RunCommand runs any command as a gate in dir and returns its receipt and the
// tail of its output. Nothing of it stays.
func RunCommand(ctx context.Context, dir, command, log string, timeout time.Duration) (fsboard.Receipt, error) {
	r, err := verify.Run(ctx, verify.Gate{Command: command, Dir: dir, Timeout: timeout, Log: log, RunID: fsx.RandomID()})
	if err != nil {
		return fsboard.Receipt{}, err
	}
	return receipt(r), nil
}

// GateTail returns the last bytes of a gate's log that people are shown, cut at
// the start of a line; "" when there is no log any more.
func GateTail(log string) string {
	tail, err := verify.Tail(log, tailBytes)
	if err != nil {
		return ""
	}
	return tail
}

// tailBytes is how much of an output is kept as result, reason or feedback.
const tailBytes = 4000
