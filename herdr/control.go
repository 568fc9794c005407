package herdr

import (
	"context"
	"errors"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// Target is what a control verb is about: a teammate's pane, with the terminal
// that was recorded, or a pane that was named by its id, with none.
type Target struct {
	Name     string // for people
	Pane     string
	Terminal string
}

// Control reads, prompts and waits for what is in panes.
type Control struct {
	Client *Client
	// Poll is how often to look at a state beside the events, which may be lost;
	// 0: 500 ms.
	Poll time.Duration
	// Submit bounds the wait for a prompt to take effect; 0: 15 s.
	Submit time.Duration
}

// find looks the pane of a target up. One whose terminal is gone is of code
// not_found, whatever is under its id now.
func (c *Control) find(ctx context.Context, t Target) (*Pane, error) {
	var p *Pane
	var err error
	if t.Terminal == "" {
		p, err = c.Client.Pane(ctx, t.Pane)
		if Gone(err) {
			p, err = nil, nil
		}
	} else {
		p, err = c.Client.Where(ctx, t.Pane, t.Terminal)
	}
	if err == nil && p == nil {
		return nil, errs.New(errs.NotFound, "the pane of %s is closed", t.Name).WithHint("teams herdr herd")
	}
	return p, err
}

// Read reads the text of a target: of the source "visible", "recent" or
// "recent_unwrapped", at most the last lines, all that herdr gives with 0.
func (c *Control) Read(ctx context.Context, t Target, source string, lines int) (Text, error) {
	p, err := c.find(ctx, t)
	if err != nil {
		return Text{}, err
	}
	return c.Client.ReadPane(ctx, p.ID, source, lines)
}

// Keys presses keys.
func (c *Control) Keys(ctx context.Context, t Target, keys ...string) error {
	p, err := c.find(ctx, t)
	if err != nil {
		return err
	}
	return c.Client.SendKeys(ctx, p.ID, keys...)
}

// Focus shows the target to the user.
func (c *Control) Focus(ctx context.Context, t Target) error {
	p, err := c.find(ctx, t)
	if err != nil {
		return err
	}
	return c.Client.FocusPane(ctx, p.ID)
}

// Send prompts the agent of a target, and returns once the prompt was submitted:
// the state has changed, or the agent was working already. A prompt that was
// merely typed is an *[Error] of code agent_prompt_stalled. An agent that waits
// for an answer is not prompted, since the text would be taken for one. Into a
// pane without an agent the text is typed with Enter, if its shell waits for a command.
func (c *Control) Send(ctx context.Context, t Target, text string) error {
	p, err := c.find(ctx, t)
	if err != nil {
		return err
	}
	modern, err := c.Client.modern(ctx)
	if err != nil {
		return err
	}
	if p.Agent == "" {
		return c.sendShell(ctx, t, p, text)
	}
	if p.Status == StateBlocked {
		return &Error{Code: CodeAgentBlocked, Message: t.Name + " waits for an answer, press it with keys", Method: "agent.prompt"}
	}
	before := *p
	if modern {
		a, err := c.Client.Agent(ctx, p.ID)
		if err != nil {
			return err
		}
		before = *a
		err = c.Client.act(ctx, "agent.prompt", struct {
			Target string `json:"target"`
			Text   string `json:"text"`
		}{p.ID, text}, nil)
		if err != nil {
			return err
		}
	} else {
		// Enter in one go with the text could be taken for a part of it.
		if err := c.Client.SendInput(ctx, p.ID, text); err != nil {
			return err
		}
		if err := pause(ctx, 300*time.Millisecond); err != nil {
			return err
		}
		if err := c.Client.SendKeys(ctx, p.ID, "Enter"); err != nil {
			return err
		}
	}
	return c.submitted(ctx, t, before)
}

// submitted waits until a prompt has had an effect. "ok" of herdr is none.
func (c *Control) submitted(ctx context.Context, t Target, before Pane) error {
	for end := time.Now().Add(or(c.Submit, 15*time.Second)); ; {
		now, err := c.state(ctx, before.ID)
		switch {
		case err != nil:
			return err
		case now == nil || now.Terminal != before.Terminal:
			return errs.New(errs.NotFound, "the pane of %s was closed while it was prompted", t.Name)
		case now.StateSeq > before.StateSeq, now.Status == StateWorking, now.Status == StateBlocked:
			return nil
		case time.Now().After(end):
			return &Error{Code: CodePromptStalled, Message: "the text was typed, and " + t.Name + " has not taken it", Method: "agent.prompt"}
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// sendShell types a command, unless a program would read it.
func (c *Control) sendShell(ctx context.Context, t Target, p *Pane, text string) error {
	info, err := c.Client.Processes(ctx, p.ID)
	if err != nil && !unknownMethod(err) {
		return err
	}
	if err == nil && !info.AtShell() {
		return errs.New(errs.Conflict, "%s has no agent, and a program is in the foreground, which would read the text", t.Name).
			WithHint("teams herdr keys TARGET KEY types into it all the same")
	}
	return c.Client.SendInput(ctx, p.ID, text, "Enter")
}

// state is what the agent in a pane does, nil when it is gone.
func (c *Control) state(ctx context.Context, pane string) (*Pane, error) {
	p, err := c.Client.Agent(ctx, pane)
	if Gone(err) || unknownMethod(err) {
		p, err = c.Client.Pane(ctx, pane)
	}
	if Gone(err) {
		return nil, nil
	}
	return p, err
}

// Settled is what a target was found to be.
type Settled struct {
	Target Target
	State  string
}

// Wait waits until all targets, or any of them, are in one of the states until;
// none means idle, done and blocked, because what ends unseen is done and never
// idle. It subscribes to changes, and looks at the states at once and every
// [Control.Poll] all the same: an agent that has settled before sends no event,
// and events get lost. It ends with ctx, which should have a deadline. A target
// whose pane is closed is an error of code not_found. What has settled is
// returned with an error too.
func (c *Control) Wait(ctx context.Context, targets []Target, until []string, any bool) (settled []Settled, err error) {
	if len(until) == 0 {
		until = []string{StateIdle, StateDone, StateBlocked}
	}
	for _, s := range until {
		if !IsState(s) {
			return nil, errs.New(errs.Usage, "%q is no state, there are idle, working, blocked, done and unknown", s)
		}
	}
	panes := make([]string, len(targets))
	for i, t := range targets {
		p, err := c.find(ctx, t)
		if err != nil {
			return nil, err
		}
		panes[i] = p.ID
	}
	wake, stop := c.changes(ctx, panes)
	defer stop()
	found := make([]bool, len(targets))
	for {
		for i, t := range targets {
			if found[i] {
				continue
			}
			p, err := c.find(ctx, t)
			if IsUnavailable(err) {
				break // it may be back in a moment
			}
			if err != nil {
				return settled, waitEnded(ctx, err)
			}
			for _, s := range until {
				if p.Status == s && !found[i] {
					found[i] = true
					settled = append(settled, Settled{t, s})
				}
			}
		}
		if len(settled) == len(targets) || any && len(settled) > 0 {
			return settled, nil
		}
		timer := time.NewTimer(or(c.Poll, 500*time.Millisecond))
		select {
		case <-ctx.Done():
			timer.Stop()
			return settled, waitEnded(ctx, ctx.Err())
		case <-wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// waitEnded gives the end of time its own code.
func waitEnded(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &errs.Error{Code: errs.TimedOut, Msg: "they did not settle in time", Err: ctx.Err()}
	}
	return err
}

// changes tells when the state of one of the panes may have changed. Where
// nothing can be subscribed to it never does.
func (c *Control) changes(ctx context.Context, panes []string) (wake chan struct{}, stop func()) {
	wake = make(chan struct{}, 1)
	subs := []Subscription{{Type: "pane.closed"}, {Type: "pane.exited"}}
	for _, p := range panes {
		subs = append(subs, Subscription{Type: "pane.agent_status_changed", Pane: p})
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ev, err := c.Client.Subscribe(ctx, subs...)
		if err != nil {
			return
		}
		defer ev.Close()
		for {
			if _, err := ev.Next(); err != nil {
				return
			}
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	}()
	return wake, func() {
		cancel()
		<-done
	}
}

// Match says which output to wait for: a text, or a regular expression in
// herdr's syntax. One line has it as a whole.
type Match struct {
	Text, Regex string
}

// WaitOutput waits for a line in a target's output, also one that is there
// already, and returns it. Beware of matching the command that was typed. ctx
// should have a deadline.
func (c *Control) WaitOutput(ctx context.Context, t Target, m Match) (string, error) {
	p, err := c.find(ctx, t)
	if err != nil {
		return "", err
	}
	type match struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	what := match{"substring", m.Text}
	if m.Regex != "" {
		what = match{"regex", m.Regex}
	}
	// herdr's own wait is renewed, so that one that has lost the pane ends.
	for {
		slice := 10 * time.Second
		if end, ok := ctx.Deadline(); ok {
			slice = min(slice, max(time.Until(end), time.Millisecond))
		}
		var r struct {
			Line string `json:"matched_line"`
		}
		err := c.Client.once(ctx, slice+or(c.Client.Retry, retryDeadline), "pane.wait_for_output", struct {
			Pane    string `json:"pane_id"`
			Source  string `json:"source"`
			Match   match  `json:"match"`
			Timeout int64  `json:"timeout_ms"`
			Strip   bool   `json:"strip_ansi"`
		}{p.ID, "recent_unwrapped", what, slice.Milliseconds(), true}, &r)
		switch {
		case err == nil:
			return r.Line, nil
		case ctx.Err() != nil:
			return "", outputEnded(ctx, t)
		case CodeOf(err) != CodeTimeout:
			return "", err
		}
		if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
			return "", outputEnded(ctx, t)
		}
		if p, err = c.find(ctx, t); err != nil {
			return "", err
		}
	}
}

func outputEnded(ctx context.Context, t Target) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return errs.New(errs.TimedOut, "%s did not print that in time", t.Name)
}
