package main

import (
	"context"
	"path/filepath"

	"github.com/seed6990a682/teams/fsboard"
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

// sessionRow is one session as it is listed.
type sessionRow struct {
	team.SessionInfo
	Tasks  int                   `json:"tasks"`
	Counts map[fsboard.State]int `json:"counts"`
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
	for _, info := range infos {
		row := sessionRow{SessionInfo: info, Counts: map[fsboard.State]int{}}
		if err := row.count(p, info.Key); err != nil {
			e.Warnf("session %s: %v", info.Key, err)
		}
		rows = append(rows, row)
	}
	for _, problem := range problems {
		e.Warnf("%s: %v", problem.Path, problem.Err)
	}
	e.Result(struct {
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
			table.Row(r.Key, mark, countText(r.Counts), living(r.Living), w.AgoMs(r.LastChange), r.Project)
		}
		table.Flush()
		if len(rows) == 0 && !e.Quiet {
			w.Linef("no sessions in %s", p.Root)
		}
	})
	return nil
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
	r.Tasks = v.Len()
	r.Counts, err = v.Counts()
	return err
}
