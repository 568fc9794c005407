package verify

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"golang.org/x/sys/unix"
)

const (
	// leftSettle is how long processes that outlive the shell have to finish
	// by themselves, as a tee does that the shell has written to.
	leftSettle = 100 * time.Millisecond
	// leftGrace bounds the time between SIGTERM and SIGKILL for processes
	// that outlive the shell.
	leftGrace = time.Second
	// lastDrain is how long output is read from somebody who cannot be ended.
	lastDrain = 200 * time.Millisecond
)

// cause says what brought the end of the shell about.
type cause int

const (
	byItself cause = iota
	byLimit
	byCaller
)

// supervision is one running shell and what is needed to see it through.
type supervision struct {
	gate  Gate
	proc  *os.Process
	pipe  *os.File // the read end of its output
	out   *output
	begin time.Time
}

// run waits for the shell, ends the gate when it must, cleans up behind it and
// fills the receipt in. The shell is not reaped before the cleaning is done:
// until then its number names its session and group and nothing else.
func (s *supervision) run(ctx context.Context, r *Receipt) error {
	defer s.pipe.Close()
	holds := s.widenPipe()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.drain()
	}()
	exited := make(chan time.Time, 1)
	go func() {
		awaitExit(s.proc.Pid)
		exited <- time.Now()
	}()
	hunt := newHunt(s.gate.RunID)
	hunt.session = s.proc.Pid
	if p, ok := lookup(s.proc.Pid); ok {
		hunt.since = p.start
	}

	why := s.await(ctx, exited)
	settle, grace := time.Duration(0), s.gate.Grace
	if why == byItself {
		settle, grace = leftSettle, min(grace, leftGrace)
	}
	ended, err := hunt.end(settle, grace)
	if err != nil {
		r.because(err.Error())
	} else if why == byItself && ended > 0 {
		r.because(fmt.Sprintf("ended %d process(es) that the gate left behind", ended))
	}

	_ = s.pipe.SetReadDeadline(time.Now().Add(lastDrain))
	<-drained
	s.sweep(holds)

	var exit time.Time
	select {
	case exit = <-exited:
	case <-time.After(afterKill):
		// Not even SIGKILL ends it: no use in waiting for that.
		go func() { _, _ = s.proc.Wait() }()
		r.DurationMs = time.Since(s.begin).Milliseconds()
		return s.judge(r, why, nil)
	}
	r.DurationMs = exit.Sub(s.begin).Milliseconds()
	state, err := s.proc.Wait()
	if err != nil {
		return errs.New(errs.Internal, "the exit status of the gate is lost: %w", err)
	}
	status, _ := state.Sys().(syscall.WaitStatus)
	return s.judge(r, why, &status)
}

// await waits for the exit of the shell, the time limit or the caller. When
// the shell has exited, that counts, even if the others came as well.
func (s *supervision) await(ctx context.Context, exited chan time.Time) cause {
	var limit <-chan time.Time
	if s.gate.Timeout > 0 {
		timer := time.NewTimer(s.gate.Timeout)
		defer timer.Stop()
		limit = timer.C
	}
	why := byItself
	select {
	case at := <-exited:
		exited <- at // for whoever wants to know when
	case <-limit:
		why = byLimit
	case <-ctx.Done():
		why = byCaller
	}
	if why != byItself && s.exitedFirst() {
		why = byItself
	}
	return why
}

// exitedFirst tells whether the shell has exited before it can be signalled.
// It stops the shell to know for sure: a stopped process does not exit any
// more, so what it exits with from now on is its answer to SIGTERM. What ends
// the gate makes it go on.
func (s *supervision) exitedFirst() bool {
	if hasExited(s.proc.Pid) {
		return true
	}
	_ = s.proc.Signal(unix.SIGSTOP)
	for pause := 50 * time.Microsecond; pause < maxPause; pause *= 2 {
		if p, ok := lookup(s.proc.Pid); !ok || p.zombie {
			return true
		} else if p.stopped {
			return false
		}
		time.Sleep(pause)
	}
	return hasExited(s.proc.Pid) // it hangs in the kernel
}

// judge sets the verdict by the exit status, nil when the shell never exited.
func (s *supervision) judge(r *Receipt, why cause, status *syscall.WaitStatus) error {
	if status != nil && status.Exited() {
		r.ExitCode = status.ExitStatus()
	}
	if status != nil && status.Signaled() {
		r.Signal = signalName(status.Signal())
	}
	switch {
	case why == byCaller:
		return ErrInterrupted
	case why == byLimit:
		r.Verdict = TimedOut
		r.because(fmt.Sprintf("ran into its time limit of %v", s.gate.Timeout))
	case r.Signal != "":
		r.Verdict = Killed
	case r.ExitCode == 0:
		r.Verdict = Passed
	case r.ExitCode == 126:
		r.Verdict = CouldNotStart
		r.because("exit code 126: a command could not be executed")
	case r.ExitCode == 127:
		r.Verdict = CouldNotStart
		r.because("exit code 127: a command was not found")
	default:
		r.Verdict = Failed
		if name := unix.SignalName(syscall.Signal(r.ExitCode - 128)); name != "" {
			r.because(fmt.Sprintf("exit code %d: most likely a command was killed by %s", r.ExitCode, name))
		}
	}
	return nil
}

// signalName returns the name of a signal, such as SIGKILL.
func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s)) // a real-time signal
}

// drain reads the output until its end or the deadline of the pipe.
func (s *supervision) drain() {
	buf := make([]byte, 256<<10)
	for {
		n, err := s.pipe.Read(buf)
		s.out.take(buf[:n])
		if err != nil {
			return
		}
	}
}

// sweep takes what is in the pipe right now, at most what it holds, so that a
// deadline on a busy machine loses nothing the shell has printed.
func (s *supervision) sweep(holds int) {
	conn, err := s.pipe.SyscallConn()
	if err != nil || s.pipe.SetReadDeadline(time.Time{}) != nil {
		return
	}
	buf := make([]byte, 64<<10)
	_ = conn.Read(func(fd uintptr) bool {
		for holds > 0 {
			n, err := retry(func() (int, error) { return unix.Read(int(fd), buf) })
			if err != nil || n <= 0 {
				break
			}
			s.out.take(buf[:n])
			holds -= n
		}
		return true
	})
}

// widenPipe returns how many bytes the pipe holds, after making that more.
func (s *supervision) widenPipe() (holds int) {
	holds = 1 << 20
	if conn, err := s.pipe.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { holds = widen(int(fd)) })
	}
	return holds
}
