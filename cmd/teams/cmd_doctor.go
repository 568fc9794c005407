package main

import (
	"context"
	"fmt"
	"os"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var doctorEntry = Entry{
	Path:     "doctor",
	Group:    groupSetup,
	Summary:  "Look for damage, mend what is safe, rebuild a broken board",
	Examples: []string{"teams doctor", "teams doctor --fix", "teams doctor --repair"},
	New:      func() Command { return new(doctorCmd) },
}

type doctorCmd struct {
	Fix    bool   `help:"Mend what is safe to mend: left-over files, open modes, the ready list, gates whose decider died, teammates whose host died."`
	Repair bool   `help:"Rebuild a board that cannot be read, from history, archive and markers; the broken file is kept."`
	Hold   string `hidden:"" placeholder:"PATH" help:"Hold the lock of this file until the input ends; doctor starts it so, to see whether that excludes others."`
}

func (c *doctorCmd) Help() string {
	return "Exit 1 when it found at least one error. Without a flag it changes nothing. With -q it prints the codes of what it found, and nothing when all is well."
}

// doctorData is the data of doctor.
type doctorData struct {
	Findings []fsboard.Finding `json:"findings"`
	Repaired *repairData       `json:"repaired,omitempty"`
}

type repairData struct {
	Kept     string   `json:"kept"`
	Tasks    int      `json:"tasks"`
	Problems []string `json:"problems"`
}

func (c *doctorCmd) Run(ctx context.Context, e *Env) error {
	if c.Hold != "" {
		return team.HoldForProbe(c.Hold, e.ChildInput(), e.stdout)
	}
	t, b, err := e.open()
	if err != nil {
		return err
	}
	var data doctorData
	if c.Fix || c.Repair {
		if _, err := t.Leader(); err != nil {
			return err
		}
	}
	if c.Repair {
		r, err := b.Repair(ctx)
		if err != nil {
			return err
		}
		if r.Needed {
			data.Repaired = &repairData{Kept: r.Kept, Tasks: r.Tasks, Problems: orEmpty(r.Problems)}
		}
	}
	if c.Fix {
		if err := b.Fix(ctx); err != nil {
			return err
		}
		if err := t.Fix(ctx, b); err != nil {
			return err
		}
	}
	if data.Findings, err = b.Check(); err != nil {
		return err
	}
	more, err := t.Check()
	if err != nil {
		return err
	}
	data.Findings = append(data.Findings, more...)
	data.Findings = append(data.Findings, t.CheckShared(ctx, holdCommand())...)
	if data.Findings == nil {
		data.Findings = []fsboard.Finding{}
	}
	text := func(w *render.Writer) {
		if e.Quiet {
			for _, f := range data.Findings {
				w.Linef("%s", f.Code)
			}
			return
		}
		writeDoctor(w, &data, b.Dir())
	}
	failures := 0
	for _, f := range data.Findings {
		if f.Severity == fsboard.SeverityError {
			failures++
		}
	}
	if failures > 0 {
		return e.Fail(errs.New(errs.Findings, "%d of the findings are errors", failures), data, text)
	}
	e.Result(data, text)
	return nil
}

// holdCommand is how doctor starts another process that holds a lock.
func holdCommand() []string {
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	return []string{exe, "doctor", "--hold"}
}

func writeDoctor(w *render.Writer, data *doctorData, dir string) {
	if r := data.Repaired; r != nil {
		w.Linef("rebuilt the board with %d tasks", r.Tasks)
		if r.Kept != "" {
			w.Linef("the broken file is %s", r.Kept)
		}
		for _, p := range r.Problems {
			w.Linef("could not restore: %s", p)
		}
	}
	if len(data.Findings) == 0 {
		w.Linef("nothing is wrong with %s", dir)
		return
	}
	for _, f := range data.Findings {
		fix := ""
		if f.Fixable {
			fix = "  (teams doctor --fix)"
		}
		w.Linef("%s  %s  %s: %s%s", f.Severity, f.Code, f.Path, f.Message, fmt.Sprint(fix))
	}
}
