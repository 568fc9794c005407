package team

import (
	"os"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/verify"
)

// envHosted marks every process that a host starts: its value is the spawn id.
// What a hand-started worker gets from teams env has none, so it is never taken
// for the host's.
const envHosted = "TEAMS_HOSTED"

// endProcess ends a process that leads its own group, and the group: SIGTERM,
// and SIGKILL after grace. It signals only a process that is proven to be the
// recorded one, by its start time; one that is gone already is no error. It
// returns when the process is gone.
func endProcess(p fsx.Process, grace time.Duration) error {
	begin := time.Now()
	for asked, killed := false, false; ; {
		switch p.Liveness() {
		case fsx.Dead:
			return nil
		case fsx.Unknown:
			return errs.New(errs.Conflict, "process %d of %s cannot be reached from here", p.PID, p.Host).
				WithHint("end it on its own host")
		}
		past := time.Since(begin)
		switch {
		case past > grace+10*time.Second:
			return errs.New(errs.Failure, "process %d did not end after SIGKILL", p.PID)
		case past >= grace && !killed:
			killed = true
			signalGroup(p, syscall.SIGKILL)
		case !asked:
			asked = true
			signalGroup(p, syscall.SIGTERM, syscall.SIGCONT)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// signalGroup signals the group that a process leads, or the process alone when
// it leads none. The handle comes first and the look after it, so that whoever
// got the number meanwhile is not hit: the handle is a pidfd on Linux.
func signalGroup(p fsx.Process, signals ...syscall.Signal) {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return
	}
	defer func() { _ = handle.Release() }()
	if p.Liveness() != fsx.Alive {
		return
	}
	group, err := syscall.Getpgid(p.PID)
	for _, s := range signals {
		if err == nil && group == p.PID && group != syscall.Getpgrp() {
			// The leader lived a moment ago, so its number is still the group's.
			_ = syscall.Kill(-group, s)
			continue
		}
		_ = handle.Signal(s)
	}
}

// leftBehind lists the processes that the host of a resident has started and that
// live on without it and its child, as the tool of an agent that ended with its
// host. unknown: they could not be looked for, or not from here.
func leftBehind(tm Teammate) (pids []int, unknown bool) {
	switch {
	case !tm.Resident() || tm.Kind == KindHerdr: // a pane is closed by herdr
		return nil, false
	case tm.Host != fsx.Host() || tm.PIDNamespace != fsx.PIDNamespace() || tm.BootID != fsx.BootID():
		return nil, false // who says that the child is gone has its reasons
	}
	pids, err := verify.Marked(envHosted, tm.SpawnID)
	// A spawn id that is none of ours has marked nothing.
	return pids, err != nil && errs.CodeOf(err) != errs.Usage
}

// sweep ends what a host's child left behind, wherever it went: whatever
// carries the mark of that life.
func sweep(spawnID string, grace time.Duration) error {
	_, err := verify.EndMarked(envHosted, spawnID, grace)
	return err
}
