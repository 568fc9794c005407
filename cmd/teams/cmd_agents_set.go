package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/team"
)

// agentDirs are the places in which the definitions of a place lie.
func agentDirs(p team.Place) agentdefs.Dirs {
	return agentdefs.Dirs{Root: p.Root, Project: p.Project}
}

// agentSet reads the definitions and asks git which it tracks. With an error
// the set has what could be read; it is nil when nothing could.
func (e *Env) agentSet(ctx context.Context) (*agentdefs.Set, error) {
	p, err := e.place()
	if err != nil {
		return nil, err
	}
	set, err := agentdefs.Discover(agentDirs(p))
	set.AskGit(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return set, err
}

// warnUnknownAgent warns of a role without a definition. Where nobody defines
// roles they are free text.
func (e *Env) warnUnknownAgent(p team.Place, name string) {
	if name == "" {
		return
	}
	set, err := agentdefs.Discover(agentDirs(p))
	if err != nil {
		e.Warnf("%v", err)
	}
	if len(set.Agents) == 0 && len(set.Broken(name)) == 0 {
		return
	}
	if _, err := set.Resolve(name); err != nil {
		e.Warnf("%v", err)
	}
}

// roleGates finds the gates of roles. It reads nothing before it is asked, and
// reads anew when a second has passed: many claims may be folded at once, and a
// loop lives long.
type roleGates struct {
	dirs agentdefs.Dirs
	mu   sync.Mutex
	at   time.Time
	set  *agentdefs.Set
	err  error
}

// verify returns the default gate of an agent, "" for one without a gate or
// without a definition. When the definition cannot be read, nobody knows
// whether there is a gate, so the task must not complete without: the gate then
// is a command that says so and does not start.
func (g *roleGates) verify(agent string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := fsx.Now(); g.set == nil || now.Sub(g.at).Abs() > time.Second {
		g.set, g.err = agentdefs.Discover(g.dirs)
		g.at = now
	}
	if g.err != nil {
		return noGate(agent, g.err.Error())
	}
	a, err := g.set.Resolve(agent)
	if err == nil {
		return a.Verify
	}
	if broken := g.set.Broken(agent); len(broken) > 0 {
		return noGate(agent, broken[0].String())
	}
	return ""
}

// noGate is the gate of a role that nobody can read: exit status 126 means that
// it could not be started, which is told to the leader too.
func noGate(agent, reason string) string {
	text := fmt.Sprintf("teams: the gate of agent %s is not known: %s", agent, fsx.SafeLine(reason))
	return "printf '%s\\n' '" + strings.ReplaceAll(text, "'", `'\''`) + "' >&2; exit 126"
}
