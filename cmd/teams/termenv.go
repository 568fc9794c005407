package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/team"
	"github.com/seed6990a682/teams/internal/term"
)

// terms are the terminals of a session.
func terms(p team.Place) *term.Terms {
	return &term.Terms{Root: p.Root, Dir: filepath.Join(p.TeamDir(), "terms")}
}

// openTerms opens the terminals for a verb of the leader.
func (e *Env) openTerms() (*team.Team, *term.Terms, error) {
	t, err := e.team()
	if err != nil {
		return nil, nil, err
	}
	if _, err := t.Leader(); err != nil {
		return nil, nil, err
	}
	return t, terms(t.Place), nil
}

// terminalData is the data of the verbs about one terminal.
type terminalData struct {
	Terminal *term.Terminal `json:"terminal"`
}

// termHolder is the command that holds a terminal: this program.
func termHolder() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, errs.New(errs.Failure, "this program cannot be found, %w", err)
	}
	return []string{self, termHoldEntry.Path}, nil
}

// termPane returns what opens a terminal in a pane of herdr, nil for a pseudo
// terminal of ours. host is auto, herdr or pty.
func (e *Env) termPane(ctx context.Context, host string) (func(context.Context, *term.Terminal, []string) (string, string, string, error), error) {
	here := herdr.FindHere(e.getenv)
	if host == term.HostPty || host == "auto" && (!here.Inside() || e.herdrOff()) {
		return nil, nil
	}
	client, err := e.herdrClient(herdrFlags{})
	if err == nil {
		_, err = client.Ping(ctx)
	}
	if err != nil {
		if host == "auto" && herdr.IsUnavailable(err) {
			return nil, nil // terminals work everywhere
		}
		return nil, err
	}
	return func(ctx context.Context, t *term.Terminal, argv []string) (pane, terminal, socket string, err error) {
		label := t.Name
		if label == "" {
			label = t.ID
		}
		sp := &herdr.Spawner{Client: client, Here: here}
		p, err := sp.OpenTab(ctx, herdr.NewPlace{Cwd: t.Cwd, Label: label}, argv)
		if err != nil {
			return "", "", "", err
		}
		return p.ID, p.Terminal, client.Path, nil
	}, nil
}

// closeTermPane closes what is left of the pane of a terminal.
func (e *Env) closeTermPane(ctx context.Context, p team.Place, t *term.Terminal) {
	if t.Pane == "" {
		return
	}
	client := herdr.New(t.Socket)
	// With its program the pane is closed already, as a rule.
	if err := client.CloseOwn(ctx, t.Pane, t.Terminal, herdr.FindHere(e.getenv)); err != nil {
		(&herdr.Leases{Root: p.Root}).Note(t.Socket, err)
	}
}
