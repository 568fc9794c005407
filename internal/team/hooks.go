package team

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

const (
	hookLimit    = 30 * time.Second // of one run of a hook
	hookAttempts = 5                // then a message is given up
	hookPause    = 10 * time.Second // after a failure; it doubles
)

// Hooks are commands for what reaches the leader: each gets one message on its
// input, in the format for agents. "": none.
type Hooks struct {
	OnReport string // for reports and messages
	OnNotice string // for notices
}

func (h Hooks) any() bool { return h.OnReport != "" || h.OnNotice != "" }

// command is the hook for a message, "" for none.
func (h Hooks) command(m *inbox.Message) string {
	if m.Kind == inbox.KindNotice {
		return h.OnNotice
	}
	return h.OnReport
}

// hookKey remembers that a message was handed to its hook.
type hookKey struct {
	Done     bool  `json:"done"`
	Attempts int   `json:"attempts"`
	At       int64 `json:"at"` // of the last attempt, epoch ms
	// Error is what went wrong at the last attempt; it stands as a problem for as
	// long as the message is unread.
	Error string `json:"error,omitempty"`
}

func (t *Team) hookKeyPath(id string) string {
	return filepath.Join(t.NoticedDir(LeaderName), "hook-"+id)
}

// hookKey reads the key of a message. One that cannot be read counts as new.
func (t *Team) hookKey(id string) (key hookKey) {
	if data, err := fsx.ReadFile(t.hookKeyPath(id), 4<<10); err == nil {
		_ = json.Unmarshal(data, &key)
	}
	return key
}

// waits says whether the hook is not to be called now.
func (k *hookKey) waits() bool {
	age := nowMillis() - k.At
	return k.Done || k.Attempts > 0 && age >= 0 && age < (hookPause<<(k.Attempts-1)).Milliseconds()
}

// runHooks hands the leader's unread messages to the hooks, one after the other,
// each once. A hook that fails is tried again for a while; the message stays
// unread whatever it does. It does nothing while another process is at it.
func (t *Team) runHooks(ctx context.Context, hooks Hooks, r *TickReport) {
	if !hooks.any() {
		return
	}
	ids, err := t.Box(LeaderName).IDs(false)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.problem(stepHooks, err)
		}
		return
	}
	// Which are due is found out without the lock, since taking it is a write.
	due := ids[:0]
	for _, id := range ids {
		if key := t.hookKey(id); key.waits() {
			r.problem(stepHooks, key.problem(id))
		} else if m, err := t.Box(LeaderName).Peek(id, false); err != nil || hooks.command(m) != "" {
			due = append(due, id)
		}
	}
	if len(due) == 0 {
		return
	}
	lock, free, err := fsx.TryAcquire(filepath.Join(t.TeammateDir(LeaderName), "hooks.lock"))
	if err != nil || !free {
		r.problem(stepHooks, err)
		return
	}
	defer lock.Unlock()
	for _, id := range due {
		if ctx.Err() != nil {
			return
		}
		r.problem(stepHooks, t.runHook(ctx, hooks, id, r))
	}
}

// runHook hands one message to its hook, if that is due.
func (t *Team) runHook(ctx context.Context, hooks Hooks, id string, r *TickReport) error {
	key := t.hookKey(id)
	if key.waits() { // another process was at it
		return key.problem(id)
	}
	m, err := t.Box(LeaderName).Get(id)
	if errs.CodeOf(err) == errs.NotFound || err == nil && m.Read {
		return nil
	}
	if err != nil {
		return err
	}
	command := hooks.command(m)
	if command == "" {
		return nil
	}
	herr := t.callHook(ctx, command, m)
	if ctx.Err() != nil {
		return nil // it is called again by whoever comes next
	}
	key.Attempts++
	key.At, key.Done, key.Error = nowMillis(), herr == nil || key.Attempts >= hookAttempts, ""
	if herr != nil {
		key.Error = cutRunes(herr.Error(), 500)
	}
	data, err := json.Marshal(key)
	if err == nil {
		err = fsx.Replace(t.hookKeyPath(id), append(data, '\n'))
	}
	if herr == nil {
		r.Done = append(r.Done, Done{stepHooks, "called", id, "the hook was called for " + id})
	}
	return errors.Join(key.problem(id), err)
}

// problem is what is wrong with the hook for a message.
func (k *hookKey) problem(id string) error {
	switch {
	case k.Error == "":
		return nil
	case k.Done:
		return errs.New(errs.Failure, "the hook for %s failed %d times, the last time: %s", id, k.Attempts, k.Error)
	}
	return errs.New(errs.Failure, "the hook for %s: %s", id, k.Error)
}

// callHook runs a command with a message on its input, as a group of its own.
func (t *Team) callHook(ctx context.Context, command string, m *inbox.Message) error {
	ctx, cancel := context.WithTimeout(ctx, hookLimit)
	defer cancel()
	var out tail
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir = t.Project
	cmd.Env = append(withoutOurs(os.Environ()), EnvRoot+"="+t.Root, EnvSession+"="+t.Session, EnvProject+"="+t.Project)
	cmd.Stdin = strings.NewReader(m.AgentText())
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // a daemon that it started holds the output
		return nil
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errs.New(errs.TimedOut, "it did not end within %s", hookLimit)
	}
	if text := bytes.TrimSpace([]byte(out.text())); len(text) > 0 {
		return errs.New(errs.Failure, "%w: %s", err, text)
	}
	return err
}
