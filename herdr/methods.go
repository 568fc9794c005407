package herdr

import (
	"context"
	"time"
)

// Ping asks for version and protocol.
func (c *Client) Ping(ctx context.Context) (Pong, error) {
	var p Pong
	if err := c.ask(ctx, "ping", nil, &p); err != nil {
		return p, err
	}
	if p.Protocol <= 0 {
		return p, unavailable(c.Path, badReply{"it does not say which protocol it speaks"})
	}
	c.protocol.Store(int64(p.Protocol))
	return p, nil
}

// modern reports whether the server has the agent methods of 0.7.5. It pings
// the server once.
func (c *Client) modern(ctx context.Context) (bool, error) {
	if c.protocol.Load() == 0 {
		if _, err := c.Ping(ctx); err != nil {
			return false, err
		}
	}
	return c.protocol.Load() >= firstModern, nil
}

type paneID struct {
	Pane string `json:"pane_id"`
}

type target struct {
	Target string `json:"target"`
}

// Pane returns a pane.
func (c *Client) Pane(ctx context.Context, pane string) (*Pane, error) {
	var r struct {
		Pane Pane `json:"pane"`
	}
	if err := c.ask(ctx, "pane.get", paneID{pane}, &r); err != nil {
		return nil, err
	}
	return &r.Pane, nil
}

// Panes lists the panes of a workspace, of all with "".
func (c *Client) Panes(ctx context.Context, workspace string) ([]Pane, error) {
	params := struct {
		Workspace string `json:"workspace_id,omitempty"`
	}{workspace}
	var r struct {
		Panes []Pane `json:"panes"`
	}
	err := c.ask(ctx, "pane.list", params, &r)
	return r.Panes, err
}

// SplitPane makes a pane. Target is always given: without one herdr splits
// whatever the user is looking at.
func (c *Client) SplitPane(ctx context.Context, s Split) (*Pane, error) {
	if s.Target == "" {
		return nil, &Error{Code: CodeInvalidRequest, Message: "no pane to split was given", Method: "pane.split"}
	}
	if s.Right == "" {
		s.Right = "herdr"
	}
	var r struct {
		Pane Pane `json:"pane"`
	}
	if err := c.act(ctx, "pane.split", s, &r); err != nil {
		return nil, err
	}
	return &r.Pane, nil
}

// ClosePane closes a pane. One that is gone already counts as closed. Use
// [Client.CloseOwn] where only a certain terminal may be closed.
func (c *Client) ClosePane(ctx context.Context, pane string) error {
	if err := c.act(ctx, "pane.close", paneID{pane}, nil); err != nil && !Gone(err) {
		return err
	}
	return nil
}

// FocusPane shows a pane to the user.
func (c *Client) FocusPane(ctx context.Context, pane string) error {
	return c.act(ctx, "pane.focus", paneID{pane}, nil)
}

// RenamePane gives a pane a label.
func (c *Client) RenamePane(ctx context.Context, pane, label string) error {
	return c.act(ctx, "pane.rename", struct {
		Pane  string `json:"pane_id"`
		Label string `json:"label"`
	}{pane, label}, nil)
}

// ReadPane reads text: of the source "visible", "recent" or "recent_unwrapped",
// the last lines of it, with 0 as many as herdr gives.
func (c *Client) ReadPane(ctx context.Context, pane, source string, lines int) (Text, error) {
	params := struct {
		Pane   string `json:"pane_id"`
		Source string `json:"source"`
		Lines  int    `json:"lines,omitempty"`
		Format string `json:"format"`
		Strip  bool   `json:"strip_ansi"`
	}{pane, source, lines, "text", true}
	var r struct {
		Read Text `json:"read"`
	}
	err := c.ask(ctx, "pane.read", params, &r)
	return r.Read, err
}

// SendInput types text into a pane, then presses keys. A line break in text is
// pasted and never pressed: send "Enter" as a key.
func (c *Client) SendInput(ctx context.Context, pane, text string, keys ...string) error {
	return c.act(ctx, "pane.send_input", struct {
		Pane string   `json:"pane_id"`
		Text string   `json:"text,omitempty"`
		Keys []string `json:"keys,omitempty"`
	}{pane, text, keys}, nil)
}

// SendKeys presses keys in a pane.
func (c *Client) SendKeys(ctx context.Context, pane string, keys ...string) error {
	return c.act(ctx, "pane.send_keys", struct {
		Pane string   `json:"pane_id"`
		Keys []string `json:"keys"`
	}{pane, keys}, nil)
}

// Processes says what runs in a pane.
func (c *Client) Processes(ctx context.Context, pane string) (*ProcessInfo, error) {
	var r struct {
		Info ProcessInfo `json:"process_info"`
	}
	if err := c.ask(ctx, "pane.process_info", paneID{pane}, &r); err != nil {
		return nil, err
	}
	return &r.Info, nil
}

// ReportAgent reports a state. The answer says nothing about whether it had an
// effect; [Client.ReportVerified] looks.
func (c *Client) ReportAgent(ctx context.Context, r Report) error {
	return c.ask(ctx, "pane.report_agent", r, nil)
}

// ReleaseAgent ends the authority of a source over a pane's state.
func (c *Client) ReleaseAgent(ctx context.Context, pane, source, agent string, seq uint64) error {
	return c.ask(ctx, "pane.release_agent", struct {
		Pane   string `json:"pane_id"`
		Source string `json:"source"`
		Agent  string `json:"agent"`
		Seq    uint64 `json:"seq,omitempty"`
	}{pane, source, agent, seq}, nil)
}

// ReportMetadata shows what a source has to say on a pane.
func (c *Client) ReportMetadata(ctx context.Context, m Metadata) error {
	return c.ask(ctx, "pane.report_metadata", m, nil)
}

// Tabs lists the tabs of a workspace, of all with "".
func (c *Client) Tabs(ctx context.Context, workspace string) ([]Tab, error) {
	params := struct {
		Workspace string `json:"workspace_id,omitempty"`
	}{workspace}
	var r struct {
		Tabs []Tab `json:"tabs"`
	}
	err := c.ask(ctx, "tab.list", params, &r)
	return r.Tabs, err
}

// CreateTab makes a tab with one pane.
func (c *Client) CreateTab(ctx context.Context, n NewPlace) (*Created, error) {
	return c.create(ctx, "tab.create", actDeadline, n)
}

// CloseTab closes a tab and its panes. One that is gone counts as closed.
func (c *Client) CloseTab(ctx context.Context, tab string) error {
	err := c.act(ctx, "tab.close", struct {
		Tab string `json:"tab_id"`
	}{tab}, nil)
	if Gone(err) {
		return nil
	}
	return err
}

// CreateWorkspace makes a workspace with one tab and pane.
func (c *Client) CreateWorkspace(ctx context.Context, n NewPlace) (*Created, error) {
	return c.create(ctx, "workspace.create", actDeadline, n)
}

// CloseWorkspace closes a workspace. One that is gone counts as closed.
func (c *Client) CloseWorkspace(ctx context.Context, workspace string) error {
	err := c.act(ctx, "workspace.close", struct {
		Workspace string `json:"workspace_id"`
	}{workspace}, nil)
	if Gone(err) {
		return nil
	}
	return err
}

// CreateWorktree has herdr make a git worktree, with a workspace, a tab and a
// pane for it. Git may take its time: 60 s.
func (c *Client) CreateWorktree(ctx context.Context, n NewWorktree) (*Created, error) {
	return c.create(ctx, "worktree.create", 6*actDeadline, n)
}

// RemoveWorktree has herdr remove the worktree of a workspace, and close that.
// The branch stays. One with changes is refused without force.
func (c *Client) RemoveWorktree(ctx context.Context, workspace string, force bool) error {
	err := c.once(ctx, or(c.Act, 6*actDeadline), "worktree.remove", struct {
		Workspace string `json:"workspace_id"`
		Force     bool   `json:"force,omitempty"`
	}{workspace, force}, nil)
	if Gone(err) {
		return nil
	}
	return err
}

func (c *Client) create(ctx context.Context, method string, d time.Duration, params any) (*Created, error) {
	r := new(Created)
	if err := c.once(ctx, or(c.Act, d), method, params, r); err != nil {
		return nil, err
	}
	return r, nil
}

// Agent returns the agent with a name or in a pane.
func (c *Client) Agent(ctx context.Context, name string) (*Pane, error) {
	var r struct {
		Agent Pane `json:"agent"`
	}
	if err := c.ask(ctx, "agent.get", target{name}, &r); err != nil {
		return nil, err
	}
	return &r.Agent, nil
}

// Agents lists the panes that have an agent.
func (c *Client) Agents(ctx context.Context) ([]Pane, error) {
	var r struct {
		Agents []Pane `json:"agents"`
	}
	err := c.ask(ctx, "agent.list", nil, &r)
	return r.Agents, err
}

// Notify shows a notification, of which title and body are cut to what herdr
// takes: 80 and 240 characters. Sound is "none", "done" or "request"; position ""
// is where the user wants it. That it is not shown is no error.
func (c *Client) Notify(ctx context.Context, title, body, sound, position string) (Shown, error) {
	if sound == "" {
		sound = "none"
	}
	params := struct {
		Title    string `json:"title"`
		Body     string `json:"body,omitempty"`
		Sound    string `json:"sound"`
		Position string `json:"position,omitempty"`
	}{Cut(title, 80), Cut(body, 240), sound, position}
	var s Shown
	// Not repeated: it would be shown twice.
	err := c.once(ctx, or(c.Retry, retryDeadline), "notification.show", params, &s)
	return s, err
}
