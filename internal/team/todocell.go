package team

import (
	"context"
	"time"

	"github.com/seed6990a682/teams/herdr"
)

// todoSource is under which name the title of a checklist stands on a pane, and
// todoToken the token that has the same text.
const (
	todoSource = "pi-teams-todo"
	todoToken  = "pi-todo"
)

// todoWait bounds how long herdr may keep a checklist waiting.
const todoWait = 2 * time.Second

// ShowTodo makes an OnTodo that pushes the title of a list to the pane of its
// owner: the one that we opened for it, or the one that the caller sits in when
// the list is its own. Nothing is done without herdr, and what herdr makes of it
// never fails a list; it is noted in teams herdr status.
func (t *Team) ShowTodo(getenv func(string) string) func(name, title string) {
	return func(name, title string) {
		here := herdr.FindHere(getenv)
		mine := here.Inside() && (name == t.envName || name == LeaderName && t.envName == "")
		leases := &herdr.Leases{Root: t.Root}
		if herdr.Off("", getenv) || !mine && !fileExists(leases.Dir()) {
			return
		}
		client, err := herdr.Open("", getenv)
		if err != nil {
			return
		}
		pane := ""
		if tm, err := t.Read(name); err == nil {
			if l, err := leases.Find(tm.SpawnID); err == nil && l != nil && l.Of(client) {
				pane = l.Pane
			}
		}
		if pane == "" && mine {
			pane = here.Pane
		}
		if pane == "" {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), todoWait)
		defer cancel()
		m := herdr.Metadata{Pane: pane, Source: todoSource, Title: title, Seq: leases.Sequences().Next(ctx, pane, todoSource)}
		m.Tokens = map[string]*string{todoToken: &title}
		if title == "" {
			m.ClearTitle, m.Tokens[todoToken] = true, nil
		}
		leases.Note(client.Path, client.ReportMetadata(ctx, m))
	}
}
