package herdr

import (
	"context"
	"time"
)

// AgentStart says which agent to start in a pane that is at its shell.
type AgentStart struct {
	Name string
	// Kind is one that herdr knows, such as "pi" or "claude".
	Kind string
	Pane string
	// Args of the program, without its name; no control characters.
	Args []string
	// Timeout bounds the start, more than 3 s and at most 5 min; 0: 30 s.
	Timeout time.Duration
}

// StartAgent starts an agent, which is not ready yet when herdr answers. Only
// servers since 0.7.5 have it.
func (c *Client) StartAgent(ctx context.Context, a AgentStart) (*Pane, error) {
	timeout := min(max(or(a.Timeout, 30*time.Second), 3001*time.Millisecond), 300*time.Second)
	params := struct {
		Name    string   `json:"name"`
		Kind    string   `json:"kind"`
		Pane    string   `json:"pane_id"`
		Args    []string `json:"args"`
		Timeout int64    `json:"timeout_ms"`
	}{a.Name, a.Kind, a.Pane, a.Args, timeout.Milliseconds()}
	if params.Args == nil {
		params.Args = []string{}
	}
	var r struct {
		Agent Pane `json:"agent"`
	}
	if err := c.act(ctx, "agent.start", params, &r); err != nil {
		return nil, err
	}
	return &r.Agent, nil
}
