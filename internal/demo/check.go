package demo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

// task is what is read of a task.
type task struct {
	ID           string `json:"id"`
	State        string `json:"state"`
	ClaimedBy    string `json:"claimedBy"`
	GateRuns     int    `json:"gateRuns"`
	GateFailures int    `json:"gateFailures"`
	Result       string `json:"result"`
	LastGate     struct {
		Verdict string `json:"verdict"`
	} `json:"lastGate"`
}

// event is what is read of an event of the history.
type event struct {
	Event  string `json:"event"`
	Task   string `json:"task"`
	Worker string `json:"worker"`
	Reason string `json:"reason"`
}

// ask runs teams with --json and decodes its data.
func (p *play) ask(data any, args ...string) error {
	out, err := p.command(append(append([]string{p.teams()}, args...), "--json")...).Output()
	var envelope struct {
		OK    bool            `json:"ok"`
		Data  json.RawMessage `json:"data"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if jerr := json.Unmarshal(out, &envelope); jerr != nil {
		return errs.New(errs.Failure, "teams %s printed no JSON: %w", strings.Join(args, " "), jerr)
	}
	if err != nil || !envelope.OK {
		return errs.New(errs.Failure, "teams %s: %s", strings.Join(args, " "), envelope.Error.Message)
	}
	return json.Unmarshal(envelope.Data, data)
}

// checks compares board, history, files and outputs with what was told.
func (p *play) checks() ([]Check, error) {
	var board struct{ Tasks []task }
	var history struct{ Events []event }
	var doctor struct {
		Findings []struct{ Code, Severity, Path, Message string }
	}
	if err := p.ask(&board, "task", "list"); err != nil {
		return nil, err
	}
	if err := p.ask(&history, "log"); err != nil {
		return nil, err
	}
	if err := p.ask(&doctor, "doctor"); err != nil {
		return nil, err
	}
	tasks := map[string]task{}
	states := ""
	for _, t := range board.Tasks {
		tasks[t.ID] = t
		states += " " + t.ID + " " + t.State
	}
	one, two, three := tasks["t_1"], tasks["t_2"], tasks["t_3"]
	notes, _ := os.ReadFile(filepath.Join(p.r.Project, "NOTES"))
	var out []Check
	check := func(ok bool, found, text string, args ...any) {
		c := Check{Text: fmt.Sprintf(text, args...), OK: ok}
		if !ok {
			c.Found = found
		}
		out = append(out, c)
	}
	check(states == " t_1 completed t_2 completed t_3 completed t_4 completed", "they are:"+states, "all four tasks are completed")
	check(count(history.Events, "claimed", "t_2", "bob") == 1 && count(history.Events, "released", "t_2", "bob") == 1 && two.ClaimedBy != "bob" && two.ClaimedBy != "",
		"it was completed by "+two.ClaimedBy, "bob was killed with t_2, and %s completed it", two.ClaimedBy)
	check(one.GateRuns == 2 && one.GateFailures == 1 && one.LastGate.Verdict == "passed" && count(history.Events, "gate_failed", "", "") == 1,
		fmt.Sprintf("it ran %d times and failed %d times", one.GateRuns, one.GateFailures), "the gate of t_1 failed once and passed after the fix")
	check(strings.Contains(one.Result, "TEAMS_FEEDBACK says: FAIL"), "its result is "+one.Result, "the worker was shown what the gate had printed")
	check(count(history.Events, "completed", "", "") == 4 && after(history.Events, "t_3", "t_1") && after(history.Events, "t_3", "t_2"),
		"the history says otherwise", "each task was completed once, and t_3 was claimed after the others were completed")
	check(three.LastGate.Verdict == "passed" && strings.Contains(string(notes), "greet.sh"), "NOTES is "+string(notes), "the work is in the project")
	last := p.lastStep("sh test.sh")
	check(last != nil && last.ExitCode == 0, "it fails", "the test of the project passes")
	found := ""
	for _, f := range doctor.Findings {
		found = f.Severity + " " + f.Code + " " + f.Path + ": " + f.Message
	}
	check(found == "", found, "teams doctor finds nothing wrong")
	replied, reported, err := p.talked()
	if err != nil {
		return nil, err
	}
	check(replied, "dora has no reply of eve", "eve replied to dora")
	check(reported, "the leader has no report of dora", "dora reported to the leader")
	reported, ended, err := p.resided()
	if err != nil {
		return nil, err
	}
	check(tasks["t_4"].ClaimedBy == "rex" && reported && ended, "the task is of "+tasks["t_4"].ClaimedBy, "rex did its task, reported, and was ended")
	return out, nil
}

// count counts the events of a name, of a task and a worker if these are given.
func count(events []event, name, task, worker string) int {
	n := 0
	for _, e := range events {
		if e.Event == name && (task == "" || e.Task == task) && (worker == "" || e.Worker == worker) {
			n++
		}
	}
	return n
}

// after reports whether a task was claimed after another was completed.
func after(events []event, claimed, completed string) bool {
	done := false
	for _, e := range events {
		done = done || e.Event == "completed" && e.Task == completed
		if e.Event == "claimed" && e.Task == claimed {
			return done
		}
	}
	return false
}

// lastStep is the last step with a command.
func (p *play) lastStep(command string) *Step {
	for i := len(p.r.Steps) - 1; i >= 0; i-- {
		if p.r.Steps[i].Command == command {
			return p.r.Steps[i]
		}
	}
	return nil
}
