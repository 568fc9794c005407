package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var tickEntry = Entry{
	Path:    "tick",
	Group:   groupTeam,
	Summary: "One pass over the session: mail, claims, the dead, idle teammates, submissions",
	Examples: []string{
		"teams tick",
		"* * * * * cd /srv/app && PATH=/usr/local/bin:/usr/bin:/bin teams tick -q",
	},
	New:   func() Command { return new(tickCmd) },
	Quick: true,
}

// passFlags are the flags that tick and harness share.
type passFlags struct {
	Gates       int `placeholder:"N" help:"Gates that run beside each other (the number of cores)."`
	GateRetries int `default:"3" placeholder:"N" help:"Failed gates of one claim after which the leader is told."`

	Stall     *Duration `placeholder:"DURATION" help:"Silence of a working resident after which the leader is told, 0 for never (30m)."`
	Herdr     string    `placeholder:"auto|off" help:"off: show nothing in herdr, and leave its panes alone (auto)."`
	AppliesTo string    `placeholder:"SOURCE" help:"Bind the line in herdr's cell to this source of its status, auto to find out; tick shows a line only when it is given."`

	OnReport string `placeholder:"CMD" help:"Run sh -c CMD for each report to the leader, with the message on its input."`
	OnNotice string `placeholder:"CMD" help:"The same for each notice to the leader."`
}

func (f *passFlags) Check() error {
	if f.Gates < 0 || f.GateRetries < 1 {
		return errs.New(errs.Usage, "--gates must not be negative, and --gate-retries must be at least 1")
	}
	return herdr.CheckToggle("--herdr", f.Herdr)
}

// open opens team and board for the leader, with the options of a pass.
func (f *passFlags) open(e *Env) (*team.Team, *fsboard.Board, team.TickOptions, error) {
	if err := f.setHerdr(e); err != nil {
		return nil, nil, team.TickOptions{}, err
	}
	t, b, err := e.openWith(team.BoardOptions{GateRetries: f.GateRetries})
	if err != nil {
		return nil, nil, team.TickOptions{}, err
	}
	if _, err := t.Leader(); err != nil {
		return nil, nil, team.TickOptions{}, err
	}
	t.Present()
	stale, err := e.durationSetting("TEAMS_STALE_WAIT", 5*time.Minute)
	if err != nil {
		return nil, nil, team.TickOptions{}, err
	}
	stall, err := f.stall(e)
	o := team.TickOptions{
		Gates: f.Gates, StaleWait: stale, Stall: stall, Hooks: team.Hooks{OnReport: f.OnReport, OnNotice: f.OnNotice},
	}
	if !e.herdrOff() {
		o.Getenv, o.AppliesTo = e.Getenv, f.AppliesTo
	}
	return t, b, o, err
}

// setHerdr puts --herdr in the place of the environment's setting, for all that
// a pass does, and checks what a pass goes by there.
func (f *passFlags) setHerdr(e *Env) error {
	if env := e.getenv; f.Herdr != "" {
		e.getenv = func(name string) string {
			if name == herdr.EnvToggle {
				return f.Herdr
			}
			return env(name)
		}
	}
	if err := e.checkHerdr(); err != nil || e.herdrOff() {
		return err
	}
	_, err := e.durationSetting(herdr.EnvTabGrace, 0) // it closes tabs
	return err
}

// stall is the silence after which the leader is told: the flag, else the
// environment, which counts in milliseconds.
func (f *passFlags) stall(e *Env) (time.Duration, error) {
	if f.Stall != nil {
		return f.Stall.Std(), nil
	}
	const name = "PI_TEAMMATE_STALL_NOTICE_MS"
	s := e.Getenv(name)
	if s == "" {
		return team.DefaultStall, nil
	}
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil || ms < 0 || ms > int64(time.Duration(1<<63-1)/time.Millisecond) {
		return 0, errs.New(errs.Usage, "the environment variable %s is %q, it must be a number of milliseconds", name, s)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

type tickCmd struct{ passFlags }

// ReadPlain implements plainReader.
func (c *tickCmd) ReadPlain(args []string) bool {
	if len(args) > 0 {
		return false
	}
	c.GateRetries = 3 // the default in its tag
	return true
}

func (c *tickCmd) Help() string {
	return "For cron and scripts. Ticks may overlap, each skips what another holds; one that is killed is completed by the next. " +
		"With a live harness it does nothing. It prints one line a thing done; -q prints problems only, on stderr. Exit 3: the session has no state."
}

func (c *tickCmd) Run(ctx context.Context, e *Env) error {
	t, b, o, err := c.open(e)
	if err != nil {
		return err
	}
	live := e.Live("deciding submissions")
	r, err := t.Tick(ctx, b, o)
	live.Done()
	if err != nil && len(r.Done)+len(r.Problems) == 0 {
		return err
	}
	text := func(w *render.Writer) {
		if e.Quiet {
			return
		}
		table := w.Table()
		for _, d := range r.Done {
			table.Row(d.Subject, d.Message)
		}
		table.Flush()
	}
	if !e.JSON {
		for _, d := range r.Done {
			e.warnQuiet(d)
		}
		for _, p := range r.Problems {
			e.Warnf("%s", p)
		}
	}
	if err == nil && len(r.Problems) > 0 {
		err = errs.New(errs.Failure, "%d steps had a problem", len(r.Problems)).WithHint("teams doctor")
	}
	if err != nil {
		return e.Fail(err, r, text)
	}
	e.Result(r, text)
	return nil
}

// warnQuiet tells, where what was done is not printed, of a file that could not be
// used and was put away: that is a problem, and nobody is told of it again.
func (e *Env) warnQuiet(d team.Done) {
	if e.Quiet && !e.JSON && d.Event == fsboard.EventRejected {
		e.Warnf("%s", strings.TrimSpace(d.Subject+" "+d.Message))
	}
}
