package team

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

// handoffActivity is how much of its activity a successor is told, in bytes.
const handoffActivity = 4000

// Handoff is what a successor of a teammate needs, as one Markdown text: how it
// was started, its reports, the tasks that it holds or held last with their
// verdicts, and the end of its activity.
func (t *Team) Handoff(b *fsboard.Board, name string) (string, error) {
	tm, err := t.Find(name)
	if err != nil {
		return "", err
	}
	var s strings.Builder
	fmt.Fprintf(&s, "# Handoff from %s\n\nYou take over the work of %s (%s), which is %s.", name, name, orWord(tm.Agent, "no role"), tm.Status)
	if tm.Error != "" && tm.Status == StatusStopped {
		fmt.Fprintf(&s, " It ended with: %s", firstLine(tm.Error))
	} else if tm.Error != "" {
		fmt.Fprintf(&s, " Its latest trouble: %s", firstLine(tm.Error))
	}
	s.WriteString("\n")
	if tm.Branch != "" {
		fmt.Fprintf(&s, "\nIts work is on the branch %s", tm.Branch)
		if tm.Worktree != "" {
			fmt.Fprintf(&s, ", checked out in %s", tm.Worktree)
		}
		s.WriteString(".\n")
	}
	kick, err := fsx.ReadFile(t.kickoffFile(name), inbox.MaxBody)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	section(&s, "What it was asked to do", asked(&tm, string(kick)), "It was started without a task of its own.")
	reports, err := t.reportsOf(tm)
	if err != nil {
		return "", err
	}
	section(&s, "What it reported", reports, "Nothing.")
	tasks, err := t.tasksOf(b, tm)
	if err != nil {
		return "", err
	}
	section(&s, "Its tasks", tasks, "It holds none.")
	activity, _, err := t.Activity(name, handoffActivity)
	if err != nil {
		return "", err
	}
	section(&s, "What it did last", activity, "Nothing is known.")
	return s.String(), nil
}

func section(s *strings.Builder, title, text, empty string) {
	if text = strings.TrimSpace(text); text == "" {
		text = empty
	}
	fmt.Fprintf(s, "\n## %s\n\n%s\n", title, text)
}

// asked is what a kickoff says beyond who it is for and the guidance, which the
// successor gets itself.
func asked(tm *Teammate, kick string) string {
	if tm.SessionFile != "" { // of pi, which has the guidance elsewhere
		return strings.TrimPrefix(kick, introduction(tm))
	}
	if _, text, ok := strings.Cut(kick, "\n# What to do now\n"); ok {
		return text
	}
	return kick
}

// reportsOf are the reports of a life, oldest first.
func (t *Team) reportsOf(tm Teammate) (string, error) {
	var all []*inbox.Message
	ids, err := t.Outbox(tm.Name).IDs() // first: what is drained meanwhile is found with the leader
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, id := range ids {
		if m, err := t.Outbox(tm.Name).Get(id); err == nil {
			all = append(all, m)
		}
	}
	waiting := slices.Clone(all)
	match := func(m *inbox.Message) bool {
		return m.From == tm.Name && m.Spawn == tm.SpawnID &&
			!slices.ContainsFunc(waiting, func(w *inbox.Message) bool { return w.ID == m.ID })
	}
	list, _, err := t.Box(LeaderName).Find(inbox.Query{All: true, ID: maybeFrom(tm.Name), Match: match})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, m := range list {
		if whole, err := t.Box(LeaderName).Get(m.ID); err == nil {
			all = append(all, whole)
		}
	}
	slices.SortFunc(all, func(a, b *inbox.Message) int { return strings.Compare(a.ID, b.ID) })
	var s strings.Builder
	for _, m := range all {
		fmt.Fprintf(&s, "- %s%s\n  %s\n", m.Sent, suffix(" ", m.Status), strings.ReplaceAll(strings.TrimSpace(string(m.Body)), "\n", "\n  "))
	}
	return s.String(), nil
}

func suffix(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

// tasksOf are the tasks that a teammate holds, and for one that is over those
// that it worked on and that are open again.
func (t *Team) tasksOf(b *fsboard.Board, tm Teammate) (string, error) {
	held, err := b.Held(tm.Name, "")
	if err != nil {
		return "", err
	}
	if len(held) == 0 {
		if held, err = t.lastTasks(b, tm); err != nil {
			return "", err
		}
	}
	var s strings.Builder
	for _, v := range held {
		fmt.Fprintf(&s, "- %s (%s): %s\n", v.ID, v.State, v.Subject)
		if v.LastGate != nil {
			fmt.Fprintf(&s, "  its last gate: %s; log %s\n", v.LastGate.Summary(), v.LastGate.Log)
		}
		if v.ErrorMessage != "" {
			fmt.Fprintf(&s, "  the last failure: %s\n", firstLine(v.ErrorMessage))
		}
		if v.Description != "" {
			fmt.Fprintf(&s, "\n  %s\n", strings.ReplaceAll(strings.TrimSpace(v.Description), "\n", "\n  "))
		}
	}
	return s.String(), nil
}

// lastTasks are the open tasks whose last claim in history was the teammate's.
func (t *Team) lastTasks(b *fsboard.Board, tm Teammate) (open []*fsboard.TaskView, err error) {
	events, _, err := b.History(fsboard.HistoryFilter{})
	if err != nil {
		return nil, err
	}
	last := map[string]string{}
	var order []string
	for i := range events {
		if e := &events[i]; e.Event == fsboard.EventClaimed {
			if last[e.Task] == "" {
				order = append(order, e.Task)
			}
			last[e.Task] = e.Worker
		}
	}
	for _, id := range order {
		if last[id] != tm.Name {
			continue
		}
		v, err := b.Show(id)
		if err == nil && !v.State.Terminal() && !v.Archived {
			open = append(open, v)
		}
	}
	return open, nil
}
