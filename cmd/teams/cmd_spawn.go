package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var spawnEntry = Entry{
	Path:    "spawn",
	Group:   groupTeam,
	Summary: "Start a teammate that lives on by itself",
	Examples: []string{
		"teams spawn ann worker - < prompt.md",
		"teams spawn rev reviewer",
		"teams spawn bot worker --host exec -- ./work.sh",
		"teams spawn ann worker @prompt.md --wait --timeout 1h",
	},
	New: func() Command { return new(spawnCmd) },
}

type spawnCmd struct {
	Name  string  `arg:"" help:"Its name: a to z, 0 to 9, _ and -, at most 32, beginning with a letter."`
	Agent string  `arg:"" complete:"agent" help:"Its role: an agent definition."`
	Text  *string `arg:"" optional:"" help:"What it shall do; - reads it from stdin, @FILE from a file (preferred). Without it, it waits for mail and claimable work."`
	Host  string  `placeholder:"HOST" help:"pi (the default), exec (any command after --, run once per wake), or herdr."`
	Label string  `placeholder:"TEXT" help:"What people see beside its name."`

	Placement string    `placeholder:"PLACE" help:"Of a herdr pane: pane_right, pane_down, tab or workspace."`
	Tab       string    `placeholder:"NAME" help:"A herdr tab that related teammates share, at most 20 characters."`
	Grace     *Duration `placeholder:"DURATION" help:"Before that tab closes once they have all ended (10m)."`

	Wait    bool      `help:"Wait for its terminal report and print it."`
	Timeout *Duration `placeholder:"DURATION" help:"Wait at most this long (exit 124)."`

	command []string
}

func (c *spawnCmd) Help() string {
	return "The teammate gets a host process of its own, which outlives this command and the harness. The exec host runs CMD once per wake, " +
		"with the messages on its input; exit 0 marks them read, and anything else tries again later. A role with worktree gets a git worktree. " +
		"There are no flags for model, directory or tools: make a variant of the role. " +
		"Exit codes: 1 the process or the worktree could not be made; 3 no such agent; 4 the name is in use, or as many residents live as may (TEAMS_MAX, 8). " +
		"With --wait: 0 completed, 1 failed, 2 it stopped without a report or waits for a person, 124 no report in time. The report stays in the leader's mailbox."
}

// SetCommand implements commandTaker.
func (c *spawnCmd) SetCommand(argv []string) { c.command = argv }

func (c *spawnCmd) Check() error {
	switch {
	case c.Timeout != nil && !c.Wait:
		return errs.New(errs.Usage, "--timeout bounds --wait")
	case c.Text != nil && *c.Text == "":
		return errs.New(errs.Usage, "the text is empty").WithHint("leave it out, and the teammate waits for mail and claimable work")
	}
	return nil
}

// host is what runs the teammate when --host does not say: inside herdr, where
// that is wanted, a pane of it; else the command, else pi.
func (c *spawnCmd) host(e *Env) string {
	switch {
	case c.Host != "":
		return c.Host
	case e.Getenv("TEAMS_HERDR_SPAWN") == "auto" && !herdr.Off("", e.Getenv) && herdr.FindHere(e.Getenv).Inside():
		return team.KindHerdr
	case len(c.command) > 0:
		return team.KindExec
	}
	return team.KindPi
}

// grace is how long the shared tab stays: the flag, else the environment.
func (c *spawnCmd) grace(e *Env) (time.Duration, error) {
	switch {
	case c.Grace != nil:
		return c.Grace.Std(), nil
	case c.Tab == "":
		return 0, nil
	}
	return e.durationSetting(herdr.EnvTabGrace, 0)
}

// spawnData is the data of spawn; with --wait it has the report.
type spawnData struct {
	Teammate team.Teammate `json:"teammate"`
	Report   *messageData  `json:"report,omitempty"`
}

func (c *spawnCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.openAsLeader()
	if err != nil {
		return err
	}
	r := team.SpawnRequest{
		Name: c.Name, Agent: c.Agent, Kind: c.host(e), Label: c.Label, Command: c.command, Placement: c.Placement, Tab: c.Tab,
	}
	if r.Grace, err = c.grace(e); err != nil {
		return err
	}
	if c.Text != nil {
		if r.Text, err = e.Text(*c.Text); err != nil {
			return err
		}
		if r.Text == "" {
			return errs.New(errs.Usage, "the text is empty")
		}
	}
	if r.Max, err = e.maxResidents(); err != nil {
		return err
	}
	p := e.Begin(render.Operation{Tool: "spawn", Call: c.call(&r)})
	defer p.Close()
	r.Step = func(s string) { p.Say("spawning… " + s) }
	tm, err := t.Spawn(ctx, b, r)
	if err != nil {
		return p.Fail(err, nil, nil)
	}
	e.after(ctx, b)
	line := startedLine(tm, r.Text)
	if !c.Wait {
		p.Tell(line)
		p.Done(render.FieldsOf(tm), spawnData{Teammate: tm})
		return nil
	}
	// Where nobody watches, what is printed is the report.
	p.TellNow(line)
	return c.wait(ctx, e, t, tm, p)
}

// call is all that was given, and which host that makes.
func (c *spawnCmd) call(r *team.SpawnRequest) render.Fields {
	call := render.Given("name", c.Name, "agent", c.Agent, "label", c.Label, "host", r.Kind, "placement", c.Placement, "tab", c.Tab)
	if c.Grace != nil {
		call = append(call, render.Pairs("grace", c.Grace.Std())...)
	}
	call = append(call, render.Given("wait", c.Wait)...)
	if c.Timeout != nil {
		call = append(call, render.Pairs("timeout", c.Timeout.Std())...)
	}
	return append(call, render.Given("command", c.command, "prompt", r.Text)...)
}

// startedLine says that a teammate has begun, and with what: the first line of
// its text.
func startedLine(tm team.Teammate, text string) string {
	task, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return render.StartedLine(tm.Agent, tm.Name, render.PlainMarkdown(task))
}

// wait waits for the terminal report.
func (c *spawnCmd) wait(ctx context.Context, e *Env, t *team.Team, tm team.Teammate, p *Progress) error {
	poll, err := e.poll()
	if err != nil {
		return err
	}
	ctx, cancel := deadline(ctx, c.Timeout)
	defer cancel()
	m, err := t.WaitReport(ctx, tm, poll, func(now team.Teammate) {
		text := now.Status
		if now.Activity != "" {
			text += " · " + now.Activity
		}
		p.Say("waiting… " + text)
	})
	if now, rerr := t.Read(tm.Name); rerr == nil && now.SpawnID == tm.SpawnID {
		tm = now
	}
	data := spawnData{Teammate: tm}
	if err != nil {
		return p.Fail(reportTimedOut(err, tm.Name), render.FieldsOf(tm), data)
	}
	md := newMessageData(m, true)
	data.Report = &md
	p.Close()
	text := func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", m.ID)
			return
		}
		w.Block(string(m.Body))
	}
	if m.Status == inbox.StatusFailed {
		return e.Fail(errs.New(errs.TaskFailed, "%s reported a failure", tm.Name), data, text)
	}
	e.Result(data, text)
	return nil
}

// reportTimedOut says where the report will be when it did not come in time.
func reportTimedOut(err error, name string) error {
	var known *errs.Error
	if err = waitTimedOut(err, "the report of "+name); errs.CodeOf(err) == errs.TimedOut && errors.As(err, &known) {
		return known.WithHint("teams activity %s shows what it does; its report comes into teams inbox", name)
	}
	return err
}

// maxResidents is how many residents may live.
func (e *Env) maxResidents() (int, error) {
	s := e.Getenv("TEAMS_MAX")
	if s == "" {
		return team.DefaultMax, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, errs.New(errs.Usage, "the environment variable TEAMS_MAX is %q, it must be a number above 0", s)
	}
	return n, nil
}
