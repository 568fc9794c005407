package main

import (
	"fmt"
	"strings"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/render"
)

// runProgress is phase, parts and tokens of a run, as far as they are known.
func runProgress(r *herdr.Run) string {
	var parts []string
	if r.Phase != "" {
		parts = append(parts, render.Fold(r.Phase))
	}
	if r.Total > 0 {
		parts = append(parts, fmt.Sprintf("%d/%d", r.Done, r.Total))
	}
	if tok := herdr.Tokens(r.Tokens); tok != "" {
		parts = append(parts, tok+" tok")
	}
	return strings.Join(parts, " · ")
}

// resultRun hands over one run.
func (e *Env) resultRun(r *herdr.Run) {
	e.Result(runData{r}, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", r.ID)
			return
		}
		writeRun(w, r)
	})
}

// resultRuns hands over several runs; none is what the text of none says.
func (e *Env) resultRuns(list []herdr.Run, none string) {
	if list == nil {
		list = []herdr.Run{}
	}
	e.Result(runsData{list}, func(w *render.Writer) {
		if len(list) == 0 && !e.Quiet {
			w.Linef("%s", none)
			return
		}
		table := w.Table()
		for i := range list {
			r := &list[i]
			switch {
			case e.Quiet:
				w.Linef("%s", r.ID)
			case w.Expanded():
				writeRun(w, r)
			default:
				status := string(r.Status)
				if r.Paused {
					status += ", paused"
				}
				table.Row(r.ID, herdr.MappingOf(r.Status).Icon+" "+status, r.Name, runProgress(r), r.Reason)
			}
		}
		table.Flush()
	})
}
