package team

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

const (
	// maxWakeMessages is how many messages one wake hands over.
	maxWakeMessages = 50
	// maxWakeBytes is how much they have together, unless one alone has more. A
	// host needs a multiple of it.
	maxWakeBytes = 4 << 20
)

// execDriver runs a command once per wake, with the messages on its input. Exit
// status 0 marks them read.
type execDriver struct {
	*host
	retry retry
}

func (d *execDriver) start(context.Context) error {
	// A path is one from where the command will run, not from where the host does.
	program := d.tm.Command[0]
	if strings.ContainsRune(program, '/') && !filepath.IsAbs(program) {
		program = filepath.Join(d.tm.Cwd, program)
	}
	if _, err := exec.LookPath(program); err != nil {
		return errs.New(errs.Failure, "cannot run %s in %s: %w", d.tm.Command[0], d.tm.Cwd, err).WithHint("check the command and PATH")
	}
	return nil
}

func (d *execDriver) run(ctx context.Context) error {
	for {
		stop, interrupt, err := d.look()
		if err != nil || stop != "" || ctx.Err() != nil {
			return err
		}
		if interrupt {
			d.takeInterrupt() // there is no turn to abort
		}
		pause := longestWait
		d.noteOutput(ctx, nil) // what a full disk has left undone
		if left := time.Until(d.retry.at); left > 0 {
			pause = min(pause, left)
		} else if err := d.wake(ctx); err != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-d.watch.C:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// end ends what earlier wakes left. The command of the last one has ended.
func (d *execDriver) end(bool) error { return sweep(d.tm.SpawnID, termGrace) }

// errWake says that a wake was not taken: its messages stay unread.
var errWake = errors.New("the wake failed")

// wake runs the command if there is unread mail, and sees to what became of it.
func (d *execDriver) wake(ctx context.Context) error {
	who := Identity{Name: d.tm.Name, SpawnID: d.tm.SpawnID, Agent: d.tm.Agent}
	var turn *turnResult
	_, _, problems, err := d.t.Receive(ctx, ReceiveRequest{Who: who, Max: maxWakeMessages, MaxBytes: maxWakeBytes, Batch: func(list []*inbox.Message, _ int) error {
		var err error
		if turn, err = d.turn(ctx, list); err != nil {
			return err
		}
		if turn.failed() {
			return errWake
		}
		return nil
	}})
	for _, p := range problems {
		d.log.Event("%v", p)
	}
	switch {
	case errors.Is(err, errReplaced), errs.CodeOf(err) == errs.StaleIdentity:
		return errReplaced
	case errors.Is(err, errWake) && turn != nil && turn.stopped:
		return nil
	case err != nil:
		why := err.Error()
		if turn != nil && turn.failed() {
			why = turn.reason()
		}
		d.wakeFailed(ctx, &d.retry, why)
		return nil
	case turn == nil:
		return nil // nothing was unread
	}
	d.retry.succeeded()
	return d.turnDone(ctx)
}

// turnResult is what became of one turn.
type turnResult struct {
	run         *runResult
	interrupted bool // by teams interrupt: the messages count as read
	stopped     bool // by an end
}

func (r *turnResult) failed() bool { return r.stopped || r.run.exit != 0 && !r.interrupted }

func (r *turnResult) reason() string { return r.run.reason() }

// turn runs the command with messages on its input, until it has ended.
func (d *execDriver) turn(ctx context.Context, list []*inbox.Message) (*turnResult, error) {
	var input strings.Builder
	for _, m := range list {
		input.WriteString(m.AgentText())
	}
	if err := d.writeNotes(ctx); err != nil {
		return nil, err // the record is still that of the last turn
	}
	d.log.Event("wake: %s", wakeText(list))
	d.host.assigned(list)
	var errOut tail
	cmd := gated(d.tm.Command)
	cmd.Dir, cmd.Env = d.tm.Cwd, d.environ()
	cmd.Stdin = strings.NewReader(input.String())
	cmd.Stdout = d.log
	cmd.Stderr = tee(&errOut, d.log)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	child, err := startGated(cmd, func(child fsx.Process) error {
		return d.update(ctx, func(tm *Teammate) {
			tm.Child, tm.Status = &child, StatusWorking
			tm.ActiveAt, tm.ActiveBootMs = nowMillis(), bootMillis()
		})
	})
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	var werr error
	go func() { werr = cmd.Wait(); close(ended) }()
	r := &turnResult{}
	gone := d.attend(ctx, child, ended, r)
	d.log.Flush()
	if r.run, err = exitOf(cmd, werr, new(tail), &errOut); err != nil {
		return nil, err
	}
	if gone != nil {
		return nil, gone
	}
	d.noteOutput(ctx, func(tm *Teammate) {
		tm.Child, tm.Status, tm.Activity = nil, StatusIdle, ""
		tm.Turns++
	})
	return r, nil
}

// attend waits for the command's end, and ends it when it is asked to. It
// returns errReplaced when the life was over before.
func (d *execDriver) attend(ctx context.Context, child fsx.Process, ended <-chan struct{}, r *turnResult) (gone error) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var patience <-chan time.Time // until a turn that was asked to end is ended
	kill := func() { go func() { _ = endProcess(child, termGrace) }() }
	killing := false
	done := ctx.Done()
	for {
		select {
		case <-ended:
			return gone
		case <-done:
			done = nil
			d.mark(StopNow)
		case <-patience:
			d.mark(StopNow)
		case <-d.watch.C:
		case <-ticker.C:
			d.noteOutput(ctx, nil)
		}
		stop, interrupt, err := d.look()
		switch {
		case killing:
		case err != nil: // nobody may speak for this life any more
			gone, killing = err, true
			kill()
		case stop == StopNow:
			r.stopped, killing = true, true
			d.log.Event("ending the turn")
			kill()
		case interrupt && d.takeInterrupt():
			r.interrupted, killing = true, true
			d.log.Event("interrupted")
			kill()
		case stop == StopTurn && patience == nil:
			_ = d.update(context.WithoutCancel(ctx), func(tm *Teammate) { tm.Status = StatusStopping })
			patience = time.After(turnGrace)
		}
	}
}

// wakeText says what a wake is about.
func wakeText(list []*inbox.Message) string {
	if len(list) == 1 {
		return "from " + list[0].From + ": " + list[0].Title
	}
	return fmt.Sprintf("%d messages, the first from %s: %s", len(list), list[0].From, list[0].Title)
}

// environ is the environment of what a host runs. It is in no pane, whatever pane
// the spawn was called from: it must not report its state or title there.
func (h *host) environ() []string {
	env := herdr.Scrub(withoutOurs(os.Environ()))
	for _, name := range [...]string{herdr.EnvSocket, herdr.EnvSession, herdr.EnvBin} {
		if v, set := os.LookupEnv(name); set { // where herdr is, for its verbs
			env = append(env, name+"="+v)
		}
	}
	for _, v := range h.t.Vars(h.tm) {
		env = append(env, v.Name+"="+v.Value)
	}
	env = append(env, envHosted+"="+h.tm.SpawnID, "TEAMS_PROMPT="+h.t.promptFile(h.tm.Name))
	if path := h.t.kickoffFile(h.tm.Name); fileExists(path) {
		env = append(env, "TEAMS_KICKOFF="+path)
	}
	if _, err := exec.LookPath("teams"); err != nil {
		// What the guidance names must be found.
		if self, err := os.Executable(); err == nil {
			env = append(env, "PATH="+os.Getenv("PATH")+string(os.PathListSeparator)+filepath.Dir(self))
		}
	}
	return env
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
