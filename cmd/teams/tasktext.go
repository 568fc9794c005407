package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/render"
)

// taskData is the data of the verbs about one task.
type taskData struct {
	Task *fsboard.TaskView `json:"task"`
}

// tasksData is the data of the verbs about several tasks.
type tasksData struct {
	Tasks []*fsboard.TaskView `json:"tasks"`
	Total *int                `json:"total,omitempty"`
}

func listData(list []*fsboard.TaskView, total int) tasksData {
	if list == nil {
		list = []*fsboard.TaskView{}
	}
	return tasksData{list, &total}
}

// taskResult hands over one task: its id with -q, one line, or everything with -x.
func (e *Env) taskResult(t *fsboard.TaskView, verb string) {
	e.Result(taskData{t}, func(w *render.Writer) {
		switch {
		case e.Quiet:
			w.Linef("%s", t.ID)
		case w.Expanded():
			writeTask(w, t)
		default:
			w.Row(t.ID, verb, note(w, t), t.Subject)
		}
	})
}

// writeTaskList writes tasks one a line: id, state, who or why, subject.
func writeTaskList(w *render.Writer, list []*fsboard.TaskView) {
	table := w.Table()
	for _, t := range list {
		table.Row(t.ID, render.Symbol(string(t.State)), string(t.State), note(w, t), marks(t), t.Subject)
	}
	table.Flush()
}

// note says in a word or two who holds a task or what it waits for.
func note(w *render.Writer, t *fsboard.TaskView) string {
	switch t.State {
	case fsboard.StateClaimed, fsboard.StateSubmitted, fsboard.StateVerifying, fsboard.StateCompleted:
		return t.ClaimedBy
	case fsboard.StateBlocked:
		ids := t.WaitingOn
		if len(ids) > 3 {
			return "waits for " + strings.Join(ids[:3], ",") + ",…"
		}
		return "waits for " + strings.Join(ids, ",")
	case fsboard.StateWaiting:
		return render.RelTime(w.Now(), time.UnixMilli(t.NotBefore))
	}
	switch {
	case t.Assignee != "":
		return "for " + t.Assignee
	case t.Role != "":
		return "for a " + t.Role
	}
	return ""
}

// maxHeld is how many of the tasks that somebody holds a roster names.
const maxHeld = 3

// heldText names the tasks that somebody holds: the one that is worked on first,
// and of many the number.
func heldText(current string, held []string) string {
	ids := held
	if i := slices.Index(held, current); i > 0 {
		ids = slices.Insert(slices.Delete(slices.Clone(held), i, i+1), 0, current)
	}
	switch {
	case len(ids) == 0:
		return current
	case len(ids) > maxHeld:
		return strings.Join(ids[:maxHeld], ",") + " +" + strconv.Itoa(len(ids)-maxHeld)
	}
	return strings.Join(ids, ",")
}

// marks are the short signs of a task: its priority when it is not the usual
// one, its failed attempts, its tags.
func marks(t *fsboard.TaskView) string {
	var out []string
	if t.Priority != fsboard.DefaultPriority {
		out = append(out, "p"+strconv.Itoa(t.Priority))
	}
	if t.Attempt > 0 {
		out = append(out, "attempt "+strconv.Itoa(t.Attempt)+"/"+strconv.Itoa(t.MaxAttempts))
	}
	if t.GateFailures > 0 && t.Status == fsboard.Claimed {
		out = append(out, "gate failed "+strconv.Itoa(t.GateFailures)+"x")
	}
	for _, tag := range t.Tags {
		out = append(out, "#"+tag)
	}
	return strings.Join(out, " ")
}

// writeTask writes everything about a task.
func writeTask(w *render.Writer, t *fsboard.TaskView) {
	w.Linef("%s  %s  %s", t.ID, string(t.State), t.Subject)
	field := func(label string, value any) { w.Linef("  %s: %s", label, value) }
	text := func(label, value string) {
		if value != "" {
			field(label, value)
		}
	}
	if len(t.DependsOn) > 0 {
		field("depends on", dependsText(t))
	}
	if t.Priority != fsboard.DefaultPriority {
		field("priority", strconv.Itoa(t.Priority))
	}
	text("role", t.Role)
	text("assignee", t.Assignee)
	text("tags", strings.Join(t.Tags, ", "))
	writeHolder(w, t, field)
	if t.Attempt > 0 || t.MaxAttempts != fsboard.DefaultMaxAttempts {
		field("attempts", strconv.Itoa(t.Attempt)+" of "+strconv.Itoa(t.MaxAttempts))
	}
	if t.State == fsboard.StateWaiting {
		field("again", w.TimeMs(t.NotBefore))
	}
	writeGate(w, t, field)
	text("key", t.Key)
	field("created", w.AgoMs(t.CreatedAt)+" by "+t.CreatedBy)
	if t.CompletedAt > 0 {
		field("completed", w.AgoMs(t.CompletedAt))
	}
	if t.Archived {
		field("archived", "yes")
	}
	block(w, "error", t.ErrorMessage)
	block(w, "result", t.Result)
	block(w, "description", t.Description)
}

func dependsText(t *fsboard.TaskView) string {
	if len(t.WaitingOn) == 0 {
		return strings.Join(t.DependsOn, ", ")
	}
	return strings.Join(t.DependsOn, ", ") + " (waits for " + strings.Join(t.WaitingOn, ", ") + ")"
}

func writeHolder(w *render.Writer, t *fsboard.TaskView, field func(string, any)) {
	if t.ClaimedBy == "" {
		return
	}
	c := t.Claim
	if c == nil {
		field("done by", t.ClaimedBy)
		return
	}
	text := t.ClaimedBy + ", since " + w.AgoMs(c.ClaimedAt)
	if c.LeaseUntil > 0 {
		text += ", lease until " + w.TimeMs(c.LeaseUntil)
	}
	field("held by", text)
}

func writeGate(w *render.Writer, t *fsboard.TaskView, field func(string, any)) {
	if g := t.Gate; g != nil {
		field("gate", g.Command)
	} else if t.Verify != "" {
		field("gate", t.Verify)
	}
	if r := t.LastGate; r != nil {
		field("last gate", receiptText(w, r))
		field("log", r.Log)
	}
}

// receiptText is a gate run in one line.
func receiptText(w *render.Writer, r *fsboard.Receipt) string {
	took := render.Duration(time.Duration(r.DurationMs) * time.Millisecond)
	text := "run " + strconv.Itoa(r.Run) + ", " + r.Summary() + ", took " + took
	if r.FinishedAt > 0 {
		text += ", " + w.AgoMs(r.FinishedAt)
	}
	return text
}

func block(w *render.Writer, label, text string) {
	if text == "" {
		return
	}
	w.Linef("  %s:", label)
	w.Block(text)
}
