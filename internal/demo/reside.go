package demo

import (
	"context"
	"strings"
)

// reside has the leader start a teammate that lives on by itself, give it a task
// and end it.
func (p *play) reside() error {
	p.residents = true
	return p.all(
		line{"The leader can also start teammates that live on by themselves. Each has a role, which is a file in the project. rex runs a script whenever there is something for it; with --host pi it would be a coding agent.",
			"teams spawn rex reviewer -- sh ../reviewer.sh"},
		line{"", `teams delegate rex "Review the release notes"`},
		line{"", "teams recv --wait --timeout 30s"},
		line{"", "teams activity rex"},
		line{"", "teams shutdown rex"},
	)
}

// endResidents ends those that still live. They are no children of the demo, so
// that no signal of its own reaches them.
func (p *play) endResidents() {
	if !p.residents {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), 2*patience)
	defer stop()
	cmd := p.command(p.teams(), "shutdown", "--all", "--now", "-q")
	if cmd.Start() != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	_ = cmd.Wait()
}

// resided reports whether rex has done what it was given and reported, and lives
// no more.
func (p *play) resided() (reported, ended bool, err error) {
	var leader struct{ Messages []message }
	if err := p.ask(&leader, "inbox", "--all"); err != nil {
		return false, false, err
	}
	for _, m := range leader.Messages {
		reported = reported || m.From == "rex" && m.Status == "completed"
	}
	var team struct {
		Teammates []struct{ Name, Status string }
	}
	if err := p.ask(&team, "list"); err != nil {
		return false, false, err
	}
	ended = true
	for _, tm := range team.Teammates {
		if tm.Name == "rex" {
			ended = strings.EqualFold(tm.Status, "stopped")
		}
	}
	return reported, ended, nil
}
