package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/team"
)

// place resolves where the state is and who is calling.
func (e *Env) place() (team.Place, error) {
	return team.Resolve(team.Input{Getenv: e.getenv, Root: e.Root, Session: e.Session, As: e.As})
}

// team opens the team of the session; nothing is created.
func (e *Env) team() (*team.Team, error) {
	p, err := e.place()
	if err != nil {
		return nil, err
	}
	t := team.Open(p)
	t.LockTimeout = e.LockWait()
	t.OnAsks = t.ShowAsks(e.getenv)
	t.OnTodo = t.ShowTodo(e.getenv)
	return t, t.FindSharing(e.getenv)
}

// open opens team and board of the session; nothing is created.
func (e *Env) open() (*team.Team, *fsboard.Board, error) {
	return e.openWith(team.BoardOptions{})
}

func (e *Env) openWith(o team.BoardOptions) (*team.Team, *fsboard.Board, error) {
	t, err := e.team()
	if err != nil {
		return nil, nil, err
	}
	gates := roleGates{dirs: agentDirs(t.Place)}
	t.RoleVerify = gates.verify
	o.LockTimeout, o.BeforeGate = e.LockWait(), e.HandleSignals
	b, err := t.Board(o)
	e.opened = t
	return t, b, err
}

// look is open for the verbs that only look. Anybody may look as anybody, but not
// as a life that is over: whoever still acts as one is told so.
func (e *Env) look() (*team.Team, *fsboard.Board, error) {
	t, b, err := e.open()
	if err == nil {
		err = notStale(t)
	}
	return t, b, err
}

// lookAtTeam is look without the board.
func (e *Env) lookAtTeam() (*team.Team, error) {
	t, err := e.team()
	if err == nil {
		err = notStale(t)
	}
	return t, err
}

// lookAtPlace is look for what needs nothing but the paths.
func (e *Env) lookAtPlace() (team.Place, error) {
	p, err := e.place()
	if err == nil {
		err = notStale(team.Open(p))
	}
	return p, err
}

// notStale refuses a caller whose life is over. A record that cannot be read
// spoils only itself, and hides nothing from those who look.
func notStale(t *team.Team) error {
	if err := t.CheckLife(); errs.CodeOf(err) == errs.StaleIdentity {
		return err
	}
	return nil
}

// after ends a verb that folded: it tells of files that spoil only themselves,
// and publishes the notices that the board's events owe. A notice that cannot
// be published now is published by the next such verb.
func (e *Env) after(ctx context.Context, b *fsboard.Board) { e.afterEnd(ctx, b, nil) }

// afterEnd is after for a verb that may have failed. What it failed with, such
// as a board that cannot be read, is told once.
func (e *Env) afterEnd(ctx context.Context, b *fsboard.Board, failed error) {
	e.opened.Present()
	e.warnProblems(b.Problems())
	_, err := e.opened.PublishNotices(ctx, b)
	if err == nil || ctx.Err() != nil || failed != nil && failed.Error() == err.Error() {
		return
	}
	e.Warnf("notices: %v", err)
}

// openAsLeader is open for the verbs that only the leader may use.
func (e *Env) openAsLeader() (*team.Team, *fsboard.Board, error) {
	t, b, err := e.open()
	if err != nil {
		return nil, nil, err
	}
	_, err = t.Leader()
	return t, b, err
}

// openAsWorker is open for the verbs that need a teammate's name.
func (e *Env) openAsWorker(ctx context.Context) (*team.Team, *fsboard.Board, team.Identity, error) {
	t, b, err := e.open()
	if err != nil {
		return nil, nil, team.Identity{}, err
	}
	id, err := t.Worker(ctx)
	t.Present()
	return t, b, id, err
}

// warnProblems tells of files that spoil only themselves.
func (e *Env) warnProblems(problems []error) {
	for _, err := range problems {
		e.Warnf("%v", err)
	}
}

// poll is how often to look where notification does not work.
func (e *Env) poll() (time.Duration, error) {
	return e.durationSetting("TEAMS_POLL", 250*time.Millisecond)
}

// durationSetting reads a setting from the environment; empty counts as unset.
func (e *Env) durationSetting(name string, unset time.Duration) (time.Duration, error) {
	s := e.Getenv(name)
	if s == "" {
		return unset, nil
	}
	d, err := parseDuration(s)
	if err != nil {
		return 0, errs.New(errs.Usage, "the environment variable %s: %w", name, err)
	}
	return d, nil
}

// leaseSetting is the lease of a claim: what was asked for, else 10 minutes
// when the session is shared by several hosts.
func leaseSetting(t *team.Team, asked *Duration) time.Duration {
	switch {
	case asked != nil:
		return asked.Std()
	case t.Sharing.On:
		return team.SharedLease
	}
	return 0
}

// deadline bounds ctx by a --timeout that was given.
func deadline(ctx context.Context, timeout *Duration) (context.Context, context.CancelFunc) {
	if timeout == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout.Std())
}

// taskID makes an id of what a person typed: t_12, or 12.
func taskIDArg(s string) string {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 && s[0] != '+' {
		return "t_" + s
	}
	return s
}

// idList makes ids of a list; empty entries, as of an empty --depends-on, vanish.
func idList(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, taskIDArg(s))
		}
	}
	return out
}

// since makes a point in time, in epoch ms, of a duration before now.
func since(d *Duration, now time.Time) int64 {
	if d == nil {
		return 0
	}
	return now.Add(-d.Std()).UnixMilli()
}
