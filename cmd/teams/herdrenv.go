package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/team"
)

// herdrFlags are the flags of all verbs about herdr; --socket may also stand
// before the last word.
type herdrFlags struct {
	Socket string `placeholder:"PATH" complete:"file" help:"herdr's socket; else HERDR_SOCKET_PATH, HERDR_SESSION, ~/.config/herdr."`
}

// herdrOff reports whether herdr is switched off in the environment.
func (e *Env) herdrOff() bool { return herdr.Off("", e.getenv) }

// checkHerdr refuses a setting that neither switches herdr off nor leaves it on.
func (e *Env) checkHerdr() error {
	return herdr.CheckToggle("the environment variable "+herdr.EnvToggle, e.Getenv(herdr.EnvToggle))
}

// herdrClient is the client for a verb that exists for herdr only.
func (e *Env) herdrClient(f herdrFlags) (*herdr.Client, error) {
	if err := e.checkHerdr(); err != nil {
		return nil, err
	}
	if e.herdrOff() {
		return nil, errs.New(errs.HerdrUnavailable, "herdr is switched off, %s is %s", herdr.EnvToggle, e.Getenv(herdr.EnvToggle)).
			WithHint("%s=auto %s", herdr.EnvToggle, e.again())
	}
	return herdr.Open(f.Socket, e.getenv)
}

// leases are the leases of panes of a root.
func (e *Env) leases(p team.Place) (*herdr.Leases, error) {
	most, err := herdr.MaxPanes(e.getenv)
	return &herdr.Leases{Root: p.Root, Max: most, LockTimeout: e.LockWait()}, err
}

// runs are the records of a session's runs.
func (e *Env) runs(p team.Place) *herdr.Runs {
	return &herdr.Runs{Root: p.Root, Dir: filepath.Join(p.TeamDir(), "runs"), LockTimeout: e.LockWait()}
}

// stage shows runs in herdr; nil where there is nothing to show them on: herdr is
// switched off, or this runs in no pane and the runs have none.
func (e *Env) stage(p team.Place, runs ...*herdr.Run) *herdr.Stage {
	here := herdr.FindHere(e.getenv)
	wanted := here.Inside()
	for _, r := range runs {
		wanted = wanted || r.Pane != ""
	}
	if !wanted || e.herdrOff() {
		return nil
	}
	client, err := herdr.Open("", e.getenv)
	if err != nil {
		return nil
	}
	leases, err := e.leases(p)
	if err != nil {
		return nil
	}
	return &herdr.Stage{Client: client, Leases: leases, Here: here, AppliesTo: herdr.AppliesAuto}
}

// showRun shows a change of a run. What does not work is noted for teams herdr
// status and is no failure of the verb.
func (e *Env) showRun(ctx context.Context, p team.Place, before, after *herdr.Run) {
	st := e.stage(p, after)
	if st == nil {
		return
	}
	list, _, err := e.runs(p).List()
	if err != nil {
		return
	}
	st.Kept = p.MirroredPane(st.Client.Path)
	st.Leases.Note(st.Client.Path, st.Changed(ctx, before, after, list))
}

// runData is the data of the verbs about one run.
type runData struct {
	Run *herdr.Run `json:"run"`
}

// runsData is the data of the verbs about several.
type runsData struct {
	Runs []herdr.Run `json:"runs"`
}

// openRuns opens the runs for a verb that changes them.
func (e *Env) openRuns() (*team.Team, *herdr.Runs, error) {
	t, err := e.team()
	if err != nil {
		return nil, nil, err
	}
	if _, err := t.Leader(); err != nil {
		return nil, nil, err
	}
	return t, e.runs(t.Place), nil
}

// target finds what a verb of herdr is about: a teammate with a pane of its own,
// or the id of a pane.
func (e *Env) target(p team.Place, client *herdr.Client, arg string) (herdr.Target, error) {
	if strings.Contains(arg, ":") {
		return herdr.Target{Name: "the pane", Pane: arg}, nil
	}
	name := strings.TrimPrefix(arg, "@")
	if err := team.CheckName(name); err != nil {
		return herdr.Target{}, errs.New(errs.Usage, "%q is neither a teammate nor the id of a pane, %w", arg, err).WithHint("teams herdr herd")
	}
	leases, err := e.leases(p)
	if err != nil {
		return herdr.Target{}, err
	}
	list, problems, err := leases.List()
	if err != nil {
		return herdr.Target{}, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		if l := list[i]; l.Session == p.Session && l.Name == name && l.Pane != "" && l.Of(client) {
			return herdr.Target{Name: name, Pane: l.Pane, Terminal: l.Terminal}, nil
		}
	}
	var unread []error
	for _, problem := range problems {
		unread = append(unread, problem.Err)
	}
	if err := errors.Join(unread...); err != nil {
		return herdr.Target{}, err
	}
	return herdr.Target{}, errs.New(errs.NotFound, "%s has no pane in herdr", name).WithHint("teams herdr herd")
}

// herdrTarget is what the verbs about one target begin with.
func (e *Env) herdrTarget(f herdrFlags, arg string) (*herdr.Control, herdr.Target, error) {
	client, err := e.herdrClient(f)
	if err != nil {
		return nil, herdr.Target{}, err
	}
	p, err := e.place()
	if err != nil {
		return nil, herdr.Target{}, err
	}
	t, err := e.target(p, client, arg)
	return &herdr.Control{Client: client}, t, err
}

// targetData is the data of the verbs that do something to a target.
type targetData struct {
	Target string `json:"target"`
}

// limited bounds ctx by a --timeout, or by what a verb waits without one: a wait
// of herdr's own would be for ever.
func limited(ctx context.Context, timeout *Duration, unset time.Duration) (context.Context, context.CancelFunc) {
	if timeout != nil {
		unset = timeout.Std()
	}
	return context.WithTimeout(ctx, unset)
}
