package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// limit is the time after which a demo is given up. A usual one takes about two
// seconds.
const limit = time.Minute

// Kind says what a line of the story is.
type Kind int

// The kinds of lines.
const (
	Text    Kind = iota // tells what is done and why
	Command             // a command line that is run
	Output              // what a command printed
)

// Options say how the demo is played.
type Options struct {
	Program string   // the absolute path of teams
	Keep    bool     // leave the directory behind
	Environ []string // the environment to start from, as of os.Environ
	// Say is told each line of the story as it happens, one call at a time. An
	// error of it ends the demo. It may be nil.
	Say func(kind Kind, line string) error
}

// Step is one thing that was done.
type Step struct {
	Text     string `json:"text,omitempty"` // what is done and why; "" goes on with the step before
	Command  string `json:"command"`
	Output   string `json:"output"`
	ExitCode int    `json:"exitCode"`
	Signal   string `json:"signal,omitempty"` // what ended it, such as "killed"
}

// Check is one thing that must be true at the end.
type Check struct {
	Text  string `json:"text"`
	OK    bool   `json:"ok"`
	Found string `json:"found,omitempty"` // what was found instead
}

// Result says what was done and what came of it.
type Result struct {
	OK         bool    `json:"ok"`
	Steps      []*Step `json:"steps"`
	Checks     []Check `json:"checks"`
	Dir        string  `json:"dir"`
	Root       string  `json:"root"`    // TEAMS_ROOT of the story
	Project    string  `json:"project"` // where its commands ran
	Bin        string  `json:"bin"`     // has the program as teams
	Kept       bool    `json:"kept"`
	DurationMs int64   `json:"durationMs"`
}

// Run plays the demo. The result holds what was done so far also when there is
// an error: one of code failure when something did not come out as told,
// timed_out after a minute, or ctx's own when that ended first.
func Run(ctx context.Context, o Options) (*Result, error) {
	began := time.Now()
	ctx, stop := context.WithTimeoutCause(ctx, limit, errs.New(errs.TimedOut, "the demo took longer than %v", limit))
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &play{ctx: ctx, cancel: cancel, o: o, r: &Result{Steps: []*Step{}, Checks: []Check{}}}
	err := p.setUp()
	if err == nil {
		err = p.story()
	}
	p.endAll()
	p.endResidents()
	if p.r.Dir != "" {
		if p.r.Kept = o.Keep; !o.Keep {
			if rerr := os.RemoveAll(p.r.Dir); err == nil {
				err = rerr
			}
		}
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // what it led to says less
	}
	p.r.DurationMs = time.Since(began).Milliseconds()
	p.r.OK = err == nil
	return p.r, err
}

// story is what is done, in its order.
func (p *play) story() error {
	acts := []func() error{p.plan, p.loss, p.work, p.talk, p.reside, p.lookAround, p.verify}
	for _, act := range acts {
		if err := act(); err != nil {
			return err
		}
	}
	return nil
}

// plan shows the broken project and puts the tasks on the board.
func (p *play) plan() error {
	step, err := p.run("The project is a script and its test. The test fails.", "sh test.sh")
	if err != nil {
		return err
	}
	if step.ExitCode == 0 {
		return errs.New(errs.Failure, "the test of the broken project passed")
	}
	return p.all(
		line{"The leader puts three tasks on the board. Two have a gate: a command that must exit 0 before the task counts as done. The last one waits for the others.",
			`teams task add "Greet people by name" --verify "sh test.sh"`},
		line{"", `teams task add "Write down how it is used"`},
		line{"", `teams task add "Write the release notes" --depends-on t_1,t_2 --verify "grep -q greet.sh NOTES"`},
		line{"", `teams task list`},
	)
}

// loss has a worker claim a task and die with it.
func (p *play) loss() error {
	const script = `eval "$(teams join bob --pid $$)"; teams claim t_2; exec sleep 60`
	bob, err := p.start("A first worker, bob, is a shell. It joins, claims t_2 and starts to think.", "sh -c '"+script+"' &", "sh", "-c", script)
	if err != nil {
		return err
	}
	if err := bob.printed(p.ctx, "t_2"); err != nil {
		return err
	}
	step := p.step("It is killed with SIGKILL while it holds the claim.", fmt.Sprintf("kill -9 %d", bob.pid()))
	if err := syscall.Kill(bob.pid(), syscall.SIGKILL); err != nil {
		step.ExitCode = 1
		return fmt.Errorf("kill bob: %w", err)
	}
	if err := bob.ended(p.ctx); err != nil {
		return err
	}
	if bob.step.Signal != "killed" {
		return errs.New(errs.Failure, "bob was not killed, it ended with exit status %d", bob.step.ExitCode)
	}
	return p.all(line{"Nobody has noticed yet, but everybody can see it.", "teams task why t_2"})
}

// work has two workers do what there is, as their own processes at once.
func (p *play) work() error {
	var loops []*process
	text := "Two more workers run a script for each task they claim. One of them will find bob's task free again. Each hands its work in, and the gate decides."
	for _, name := range []string{"ann", "cleo"} {
		argv := []string{p.teams(), "work", "--as", name, "--", "sh", "../worker.sh"}
		loop, err := p.start(text, "teams "+strings.Join(argv[1:], " ")+" &", argv...)
		if err != nil {
			return err
		}
		loops = append(loops, loop)
		text = ""
	}
	if err := p.all(line{"", "teams wait --timeout 45s"}); err != nil {
		return err
	}
	for _, loop := range loops {
		if err := loop.ended(p.ctx); err != nil {
			return err
		}
		if loop.step.ExitCode != 0 {
			return errs.New(errs.Failure, "%s ended with exit status %d", loop.step.Command, loop.step.ExitCode)
		}
	}
	return nil
}

// lookAround shows what is left to be seen.
func (p *play) lookAround() error {
	return p.all(
		line{"Everything that happened is in the history, and every output of a gate in a file.", "teams log"},
		line{"", `cat "$(teams where -q)/gates/t_1.1.log"`},
		line{"", `ls "$(teams where -q)"`},
		line{"", "sh test.sh"},
	)
}

// verify reads everything back and compares it with the story.
func (p *play) verify() error {
	checks, err := p.checks()
	if err != nil {
		return err
	}
	p.r.Checks = checks
	if err := p.say(Text, "Checked:"); err != nil {
		return err
	}
	for _, c := range checks {
		sign, found := "✓", ""
		if !c.OK {
			sign, found = "✗", ", but "+c.Found
		}
		if err := p.say(Output, sign+" "+c.Text+found); err != nil {
			return err
		}
	}
	for _, c := range checks {
		if !c.OK {
			return errs.New(errs.Failure, "the demo did not come out as told, this is not so: %s, but %s", c.Text, c.Found)
		}
	}
	return nil
}

// teams is the path of the program under its usual name.
func (p *play) teams() string { return filepath.Join(p.r.Bin, "teams") }
