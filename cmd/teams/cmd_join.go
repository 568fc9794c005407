package main

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var joinEntry = Entry{
	Path:    "join",
	Group:   groupTeam,
	Summary: "Make this shell a teammate; prints the exports for it",
	Examples: []string{
		`eval "$(teams join w1 --pid $$)"`,
		`eval "$(teams join w1 --takeover --pid $$)"`,
	},
	New:   func() Command { return new(joinCmd) },
	Quick: true,
}

type joinCmd struct {
	Name     string `arg:"" help:"The name: a to z, 0 to 9, _ and -, at most 32, beginning with a letter."`
	Agent    string `placeholder:"AGENT" complete:"agent" help:"Its role."`
	PID      int    `name:"pid" placeholder:"PID" help:"The process whose end is the end of this teammate; $$$$ is the shell itself."`
	Takeover bool   `help:"Take the name from a teammate that lives; what that one holds is released."`
}

func (c *joinCmd) Help() string {
	return "A teammate with a process is known to be dead when that process is gone, and its claims become free again. " +
		"One without is never known to be dead; only release, leave, takeover or a lease ends its claims."
}

// teammateData is the data of the verbs about one teammate.
type teammateData struct {
	Teammate team.Teammate `json:"teammate"`
}

func (c *joinCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.open()
	if err != nil {
		return err
	}
	e.warnUnknownAgent(t.Place, c.Agent)
	tm, err := t.Join(ctx, team.JoinRequest{Name: c.Name, Agent: c.Agent, PID: c.PID, Takeover: c.Takeover})
	if err != nil {
		return err
	}
	if tm.PreviousSpawnID != "" {
		// What the life before held is free again.
		if _, _, err := b.ReleaseAll(ctx, tm.Name, tm.PreviousSpawnID, "holder_replaced"); err != nil {
			return err
		}
	}
	e.after(ctx, b)
	e.Result(teammateData{tm}, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", tm.Name)
			return
		}
		w.Raw([]byte(strings.Join(t.Exports(tm), "\n") + "\n"))
	})
	return nil
}
