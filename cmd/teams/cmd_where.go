package main

import (
	"context"

	"github.com/seed6990a682/teams/internal/render"
)

var whereEntry = Entry{
	Path:     "where",
	Group:    groupSetup,
	Summary:  "Print which session this is, who I am, and where the files are",
	Examples: []string{"teams where", "cat \"$(teams where -q)/board.json\""},
	New:      func() Command { return new(whereCmd) },
	Quick:    true,
}

type whereCmd struct{}

// whereData is the data of where.
type whereData struct {
	Root    string            `json:"root"`
	Session string            `json:"session"`
	Project string            `json:"project"`
	Name    string            `json:"name"`
	SpawnID string            `json:"spawnId"`
	Paths   wherePaths        `json:"paths"`
	Sources map[string]string `json:"sources"`
	Shared  *sharedData       `json:"shared,omitempty"` // when several hosts share the session
}

type wherePaths struct {
	Board  string `json:"board"`
	Team   string `json:"team"`
	Inbox  string `json:"inbox"`
	Ledger string `json:"ledger"`
}

func (c *whereCmd) Run(_ context.Context, e *Env) error {
	t, err := e.team()
	if err != nil {
		return err
	}
	id := t.Reader()
	d := whereData{
		Root: t.Root, Session: t.Session, Project: t.Project, Name: id.Name, SpawnID: id.SpawnID, Sources: t.Sources,
		Paths: wherePaths{Board: t.BoardDir(), Team: t.TeamDir(), Inbox: t.InboxDir(id.Name), Ledger: t.LedgerPath()},
	}
	exists, err := t.Exists()
	if err != nil {
		return err
	}
	d.Shared = e.sharedOf(t)
	e.Result(d, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", d.Paths.Board)
			return
		}
		table := w.Table()
		row := func(label, value, source string) {
			if value == "" {
				return
			}
			if source != "" {
				source = "source: " + source
			}
			table.Row(label, value, source)
		}
		row("root", d.Root, d.Sources["root"])
		row("session", d.Session, d.Sources["session"])
		row("project", d.Project, d.Sources["project"])
		row("name", d.Name, d.Sources["name"])
		row("spawn id", d.SpawnID, d.Sources["spawnId"])
		row("board", d.Paths.Board, "")
		row("team", d.Paths.Team, "")
		row("inbox", d.Paths.Inbox, "")
		row("ledger", d.Paths.Ledger, "")
		table.Flush()
		if d.Shared != nil {
			d.Shared.write(w)
		}
		if !exists {
			w.Linef("this session has no state yet; the first write makes it")
		}
	})
	return nil
}
