package main

import (
	"context"
	"slices"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var listEntry = Entry{
	Path:     "list",
	Group:    groupTeam,
	Summary:  "List the board, then the teammates",
	Examples: []string{"teams list"},
	New:      func() Command { return new(listCmd) },
}

type listCmd struct{}

// teamData is the data of list and status.
type teamData struct {
	Teammates []team.Teammate       `json:"teammates"`
	Tasks     []*fsboard.TaskView   `json:"tasks"`
	Counts    map[fsboard.State]int `json:"counts"`

	held map[string][]string // what each teammate holds, the ids
}

func (c *listCmd) Run(_ context.Context, e *Env) error {
	t, b, err := e.look()
	if err != nil {
		return err
	}
	limit := 0
	if !e.JSON {
		limit = e.writer().Shown(int(^uint(0)>>1), 0)
	}
	data, total, err := e.teamData(t, b, fsboard.Filter{}, limit)
	if err != nil {
		return err
	}
	e.Result(data, func(w *render.Writer) {
		if e.Quiet {
			e.writeIDsOr(w, data.Tasks, nil)
			return
		}
		writeTaskList(w, data.Tasks)
		w.Showing(len(data.Tasks), total)
		if total == 0 {
			w.Linef("no tasks")
		}
		writeRoster(w, t, data.Teammates, data.held)
	})
	return nil
}

// teamData collects what list and status show.
func (e *Env) teamData(t *team.Team, b *fsboard.Board, f fsboard.Filter, limit int) (*teamData, int, error) {
	v, err := b.View()
	if err != nil {
		return nil, 0, err
	}
	list, total, err := v.Tasks(f, limit)
	if err != nil {
		return nil, 0, err
	}
	counts, err := v.Counts()
	if err != nil {
		return nil, 0, err
	}
	mates, problems, err := t.List()
	if err != nil {
		return nil, 0, err
	}
	for _, p := range problems {
		e.Warnf("%s: %v", p.Path, p.Err)
	}
	data := &teamData{Teammates: mates, Tasks: list, Counts: counts}
	if data.held, err = fillCurrent(v, data.Teammates); err != nil {
		return nil, 0, err
	}
	if data.Teammates == nil {
		data.Teammates = []team.Teammate{}
	}
	if data.Tasks == nil {
		data.Tasks = []*fsboard.TaskView{}
	}
	return data, total, nil
}

// fillCurrent says what each teammate works on, and returns all that each holds:
// the board knows.
func fillCurrent(v *fsboard.View, mates []team.Teammate) (map[string][]string, error) {
	all := make(map[string][]string, len(mates))
	for i := range mates {
		tm := &mates[i]
		if tm.Status == team.StatusStopped {
			continue
		}
		held, err := v.Held(tm.Name, tm.SpawnID)
		if err != nil {
			return nil, err
		}
		tm.CurrentTask = ""
		for _, task := range held {
			all[tm.Name] = append(all[tm.Name], task.ID)
		}
		if len(held) > 0 {
			tm.CurrentTask = held[0].ID
		}
	}
	return all, nil
}

// rosterState is the state of a teammate in a word, dead for one that says it
// lives and does not.
func rosterState(t *team.Team, tm team.Teammate) string {
	if tm.Status != team.StatusStopped && t.Liveness(tm) == fsx.Dead {
		return "dead"
	}
	return tm.Status
}

// rosterActivity is what a teammate does, or the question that it waits with.
func rosterActivity(asks map[string][]team.Question, tm team.Teammate) string {
	if open := asks[tm.Name]; len(open) > 0 {
		return "blocked · " + team.Awaiting(open)
	}
	return tm.Activity
}

// writeRoster writes the teammates one a line: name, agent, status, liveness,
// tasks, activity; on a shared session also the host. Whoever waits for a person's answer is blocked.
func writeRoster(w *render.Writer, t *team.Team, mates []team.Teammate, held map[string][]string) {
	table := w.Table()
	asks := t.OpenAsks()
	for _, tm := range mates {
		row := []any{"@" + tm.Name, tm.Kind, tm.Agent, rosterState(t, tm), heldText(tm.CurrentTask, held[tm.Name]), rosterActivity(asks, tm)}
		if t.Sharing.On {
			row = slices.Insert(row, 4, any(tm.Host))
		}
		table.Row(row...)
	}
	if open := asks[team.LeaderName]; len(open) > 0 {
		row := []any{"@" + team.LeaderName, "", "", "", "", "blocked · " + team.Awaiting(open)}
		if t.Sharing.On {
			row = slices.Insert(row, 4, any(""))
		}
		table.Row(row...)
	}
	table.Flush()
}
