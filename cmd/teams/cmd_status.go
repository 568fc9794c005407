package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var statusEntry = Entry{
	Path:     "status",
	Group:    groupTeam,
	Summary:  "Count the tasks and tell what needs attention, or show a teammate",
	Examples: []string{"teams status", "teams status ann", "teams status --line   # for a prompt"},
	New:      func() Command { return new(statusCmd) },
}

type statusCmd struct {
	Name string `arg:"" optional:"" complete:"name" help:"A teammate."`
	Line bool   `help:"One line, for prompts and status bars."`
}

func (c *statusCmd) Help() string {
	return "With -q it prints the names of the living teammates."
}

func (c *statusCmd) Run(_ context.Context, e *Env) error {
	t, b, err := e.look()
	if err != nil {
		return err
	}
	if c.Name != "" {
		return c.teammate(e, t, b)
	}
	attention := fsboard.Filter{States: []fsboard.State{fsboard.StateClaimed, fsboard.StateSubmitted, fsboard.StateVerifying, fsboard.StateFailed, fsboard.StateWaiting}}
	data, _, err := e.teamData(t, b, attention, 0)
	if err != nil {
		return err
	}
	e.Result(data, func(w *render.Writer) {
		switch {
		case e.Quiet:
			for _, tm := range stillLiving(t, data.Teammates) {
				w.Linef("%s", tm.Name)
			}
			return
		case c.Line:
			w.Linef("%s", statusLine(t, data))
			return
		}
		w.Linef("%s", countText(data.Counts))
		for _, task := range data.Tasks {
			if why := attentionText(task); why != "" {
				w.Row(task.ID, why, task.Subject)
			}
		}
		writeRoster(w, t, stillLiving(t, data.Teammates), data.held)
	})
	return nil
}

// teammate shows one teammate.
func (c *statusCmd) teammate(e *Env, t *team.Team, b *fsboard.Board) error {
	tm, err := t.Find(c.Name)
	if err != nil {
		return err
	}
	line := ""
	if c.Line && !e.Quiet {
		if line, err = teammateLine(t, b, tm); err != nil {
			return err
		}
	}
	e.Result(teammateData{tm}, func(w *render.Writer) {
		switch {
		case e.Quiet:
			w.Linef("%s", tm.Name)
		case c.Line:
			w.Linef("%s", line)
		default:
			writeTeammate(w, t, tm)
		}
	})
	return nil
}

// teammateLine is the state of a teammate in one line: what the roster says.
func teammateLine(t *team.Team, b *fsboard.Board, tm team.Teammate) (string, error) {
	v, err := b.View()
	if err != nil {
		return "", err
	}
	one := []team.Teammate{tm}
	held, err := fillCurrent(v, one)
	if err != nil {
		return "", err
	}
	line := tm.Name
	for _, part := range []string{rosterState(t, tm), heldText(one[0].CurrentTask, held[tm.Name]), rosterActivity(t.OpenAsks(), tm)} {
		if part != "" {
			line += " · " + part
		}
	}
	return line, nil
}

// writeTeammate writes everything about a teammate.
func writeTeammate(w *render.Writer, t *team.Team, tm team.Teammate) {
	w.Linef("%s  %s  %s", tm.Name, tm.Kind, tm.Status)
	field := func(label, value string) {
		if value != "" {
			w.Linef("  %s: %s", label, value)
		}
	}
	field("agent", tm.Agent)
	field("life", t.Liveness(tm).String())
	if tm.PID > 0 {
		field("process", strconv.Itoa(tm.PID)+" on "+tm.Host)
	}
	if tm.PID <= 0 {
		field("host", tm.Elsewhere())
	}
	field("task", tm.CurrentTask)
	field("cwd", tm.Cwd)
	field("spawn id", tm.SpawnID)
	field("since", w.AgoMs(tm.CreatedAt))
	field("error", tm.Error)
}

// attentionText says what about a task needs attention.
func attentionText(t *fsboard.TaskView) string {
	switch {
	case t.State == fsboard.StateFailed:
		return "failed: " + firstLine(t.ErrorMessage)
	case t.State == fsboard.StateWaiting:
		return "attempt " + strconv.Itoa(t.Attempt) + " failed: " + firstLine(t.ErrorMessage)
	case t.Status == fsboard.Claimed && couldNotStart(t):
		return "held by " + t.ClaimedBy + ", its " + firstLine(t.LastGate.Summary())
	case t.GateFailures > 0:
		return "held by " + t.ClaimedBy + ", its gate failed " + strconv.Itoa(t.GateFailures) + "x"
	}
	return ""
}

// couldNotStart reports whether the last gate of this claim could not start,
// which counts as no failure of the worker's and which the leader has to mend.
func couldNotStart(t *fsboard.TaskView) bool {
	return t.LastGate != nil && t.LastGate.Verdict == fsboard.VerdictCouldNotStart && t.Claim != nil && t.LastGate.FinishedAt >= t.Claim.ClaimedAt
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// stillLiving keeps the teammates that are not over.
func stillLiving(t *team.Team, all []team.Teammate) []team.Teammate {
	var out []team.Teammate
	for _, tm := range all {
		if t.Liveness(tm) != fsx.Dead {
			out = append(out, tm)
		}
	}
	return out
}

// statusLine is the state of the team in one line.
func statusLine(t *team.Team, data *teamData) string {
	parts := []string{countText(data.Counts)}
	if n := len(stillLiving(t, data.Teammates)); n > 0 {
		parts = append(parts, living(n))
	}
	open := 0
	for _, asks := range t.OpenAsks() {
		open += len(asks)
	}
	switch {
	case open == 1:
		parts = append(parts, "1 question")
	case open > 1:
		parts = append(parts, strconv.Itoa(open)+" questions")
	}
	return strings.Join(parts, " · ")
}
