package main

import (
	"context"
	"path/filepath"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var sessionsEntry = Entry{
	Path:     "sessions",
	Group:    groupSetup,
	Summary:  "List all sessions of the root",
	Examples: []string{"teams sessions"},
	New:      func() Command { return new(sessionsCmd) },
}

type sessionsCmd struct{}

func (c *sessionsCmd) Help() string {
	return "A board that cannot be read is said to be unreadable and has no counts; the other sessions are listed all the same. Exit 1 then."
}

// sessionRow is one session as it is listed. A board that cannot be read has an
// error in the place of its counts: no number would be true.
type sessionRow struct {
	team.SessionInfo
	Tasks  *int                  `json:"tasks,omitempty"`
	Counts map[fsboard.State]int `json:"counts,omitzero"`
	Error  *boardError           `json:"error,omitempty"`
}

// boardError is why a board cannot be read.
type boardError struct {
	Code    errs.Code `json:"code"`
	Message string    `json:"message"`
}

func (c *sessionsCmd) Run(_ context.Context, e *Env) error {
	p, err := e.place()
	if err != nil {
		return err
	}
	infos, problems, err := team.Sessions(p.Root)
	if err != nil {
		return err
	}
	rows := make([]sessionRow, 0, len(infos))
	var unreadable []sessionRow
	for _, info := range infos {
		row := sessionRow{SessionInfo: info}
		if err := row.count(p, info.Key); err != nil {
			e.Warnf("session %s: %v", info.Key, err)
			row.Error = &boardError{errs.CodeOf(err), err.Error()}
			unreadable = append(unreadable, row)
		}
		rows = append(rows, row)
	}
	for _, problem := range problems {
		e.Warnf("%s: %v", problem.Path, problem.Err)
	}
	return e.Fail(unreadableBoards(unreadable, len(rows)), struct {
		Sessions []sessionRow `json:"sessions"`
	}{rows}, func(w *render.Writer) {
		table := w.Table()
		for _, r := range rows {
			if e.Quiet {
				w.Linef("%s", r.Key)
				continue
			}
			mark := ""
			if r.Key == p.Session {
				mark = "*"
			}
			table.Row(r.Key, mark, r.countText(), living(r.Living), w.AgoMs(r.LastChange), r.Project)
		}
		table.Flush()
		if len(rows) == 0 && !e.Quiet {
			w.Linef("no sessions in %s", p.Root)
		}
	})
}

// unreadableBoards is the error for sessions whose board cannot be read, nil when
// there are none. Damage counts for more than what else keeps one from reading.
func unreadableBoards(rows []sessionRow, total int) error {
	if len(rows) == 0 {
		return nil
	}
	worst := rows[0]
	for _, r := range rows {
		if r.Error.Code == errs.Corrupt {
			worst = r
			break
		}
	}
	return errs.New(worst.Error.Code, "the boards of %d of %d sessions cannot be read", len(rows), total).
		WithHint("teams doctor --session %s", worst.Key)
}

// countText says how many tasks there are, or that nobody knows.
func (r *sessionRow) countText() string {
	if r.Error != nil {
		return "unreadable"
	}
	return countText(r.Counts)
}

// count fills in the tasks of a session.
func (r *sessionRow) count(p team.Place, key string) error {
	b, err := fsboard.Open(fsboard.Options{Dir: filepath.Join(p.Root, "tasks", key), Root: p.Root})
	if err != nil {
		return err
	}
	v, err := b.View()
	if err != nil {
		return err
	}
	counts, err := v.Counts()
	if err != nil {
		return err
	}
	n := v.Len()
	r.Tasks, r.Counts = &n, counts
	return nil
}
