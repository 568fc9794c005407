package herdr

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/herdr/herdrtest"
	"github.com/seed6990a682/teams/internal/errs"
)

func (s *site) control() *Control {
	return &Control{Client: s.sp.Client, Poll: 50 * time.Millisecond, Submit: 500 * time.Millisecond}
}

// agent is a target with an agent in a state.
func (s *site) agent(name, state string) Target {
	_, pane := s.AddTab(s.here.Workspace, name)
	s.Anchor(pane, "pi", state)
	p, _ := s.Get(pane)
	return Target{Name: name, Pane: pane, Terminal: p.Terminal}
}

func (s *site) wait(d time.Duration, targets []Target, until []string, any bool) ([]Settled, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), d)
	defer cancel()
	return s.control().Wait(ctx, targets, until, any)
}

// An agent that has settled before, settles meanwhile, never does, or whose event
// is lost; on servers of both generations.
func TestWait(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{herdrtest.Old, herdrtest.Modern, herdrtest.Newest} {
		for _, lost := range []bool{false, true} {
			s := newSite(t, func(s *herdrtest.Server) { s.Protocol, s.LoseEvents = protocol, lost })
			settled := s.agent("before", StateIdle)
			if got, err := s.wait(5*time.Second, []Target{settled}, nil, false); err != nil || len(got) != 1 || got[0].State != StateIdle {
				t.Errorf("%d, before: %v %v", protocol, got, err)
			}
			for state, want := range map[string]string{StateIdle: StateDone, StateBlocked: StateBlocked} {
				during := s.agent("during", StateWorking)
				time.AfterFunc(80*time.Millisecond, func() { s.SetState(during.Pane, state) })
				if got, err := s.wait(5*time.Second, []Target{during, settled}, nil, false); err != nil || len(got) != 2 || got[1].State != want {
					t.Errorf("%d, during: %v %v", protocol, got, err)
				}
			}
			never := s.agent("never", StateWorking)
			got, err := s.wait(200*time.Millisecond, []Target{never, settled}, nil, false)
			if errs.CodeOf(err) != errs.TimedOut || len(got) != 1 {
				t.Errorf("%d, never: %v %v", protocol, got, err)
			}
			if got, err := s.wait(5*time.Second, []Target{never, settled}, nil, true); err != nil || len(got) != 1 || got[0].Target.Name != "before" {
				t.Errorf("%d, any: %v %v", protocol, got, err)
			}
			if got, err := s.wait(5*time.Second, []Target{never}, []string{StateWorking}, false); err != nil || len(got) != 1 {
				t.Errorf("%d, working: %v %v", protocol, got, err)
			}
		}
	}
}

// Done becomes idle when the user looks, and nobody is woken by that.
func TestWaitForIdleOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent("a", StateWorking)
	s.SetState(a.Pane, StateIdle) // unseen: done
	if got, err := s.wait(150*time.Millisecond, []Target{a}, []string{StateIdle}, false); errs.CodeOf(err) != errs.TimedOut {
		t.Errorf("%v %v", got, err)
	}
	time.AfterFunc(80*time.Millisecond, func() { s.Focus(a.Pane) })
	if _, err := s.wait(5*time.Second, []Target{a}, []string{StateIdle}, false); err != nil {
		t.Error(err)
	}
}

// What is waited for may move, close, or stay out of reach for a while.
func TestWaitWhileThingsChange(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.agent("a", StateWorking)
	time.AfterFunc(60*time.Millisecond, func() {
		now := s.Move(a.Pane)
		s.SetState(now, StateBlocked)
	})
	if got, err := s.wait(5*time.Second, []Target{a}, nil, false); err != nil || got[0].State != StateBlocked {
		t.Errorf("%v %v", got, err)
	}
	b := s.agent("b", StateWorking)
	time.AfterFunc(60*time.Millisecond, func() { s.Remove(b.Pane) })
	if _, err := s.wait(5*time.Second, []Target{b}, nil, false); errs.CodeOf(err) != errs.NotFound {
		t.Errorf("%v", err)
	}
	c := s.agent("c", StateWorking)
	time.AfterFunc(60*time.Millisecond, func() { s.Stop() })
	time.AfterFunc(300*time.Millisecond, func() { s.Start(); s.SetState(c.Pane, StateIdle) })
	if got, err := s.wait(5*time.Second, []Target{c}, nil, false); err != nil {
		t.Errorf("%v %v", got, err)
	}
	if _, err := s.wait(time.Second, []Target{c}, []string{"ready"}, false); errs.CodeOf(err) != errs.Usage {
		t.Errorf("%v", err)
	}
	s.Stop()
	if _, err := s.wait(5*time.Second, []Target{c}, nil, false); !IsUnavailable(err) {
		t.Errorf("%v", err)
	}
}

// A prompt is done when it was submitted, not when it was typed.
func TestSend(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{herdrtest.Old, herdrtest.Modern, herdrtest.Newest} {
		s := newSite(t, func(srv *herdrtest.Server) {
			srv.Protocol = protocol
			srv.OnInput = func(pane string, in herdrtest.Input) {
				if len(in.Keys) > 0 {
					srv.SetState(pane, StateWorking)
				}
			}
		})
		for _, state := range []string{StateIdle, StateWorking} {
			a := s.agent("a", state)
			if err := s.control().Send(t.Context(), a, "line one\nline two"); err != nil {
				t.Errorf("%d %s: %v", protocol, state, err)
			}
			p, _ := s.Get(a.Pane)
			all, enters := "", 0
			for _, in := range p.Inputs {
				all += in.Text
				enters += len(in.Keys)
			}
			if all != "line one\nline two" || enters != 1 {
				t.Errorf("%d: %+v", protocol, p.Inputs)
			}
		}
		// An agent that asks would take the text for its answer.
		b := s.agent("b", StateBlocked)
		if err := s.control().Send(t.Context(), b, "x"); CodeOf(err) != CodeAgentBlocked || errs.CodeOf(err) != errs.Conflict {
			t.Errorf("%d: %v", protocol, err)
		}
		if p, _ := s.Get(b.Pane); len(p.Inputs) != 0 {
			t.Errorf("%d: typed %+v", protocol, p.Inputs)
		}
	}
}

// A prompt that was typed and not taken is an error, as is one that was lost.
func TestSendStalls(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(s *herdrtest.Server) { s.OnPrompt = func(*herdrtest.Server, string, string) {} })
	a := s.agent("a", StateIdle)
	if err := s.control().Send(t.Context(), a, "x"); CodeOf(err) != CodePromptStalled {
		t.Errorf("%v", err)
	}
	s.Fault("agent.prompt", 1, herdrtest.Ignore)
	if err := s.control().Send(t.Context(), a, "x"); CodeOf(err) != CodePromptStalled {
		t.Errorf("%v", err)
	}
	s.Fault("agent.prompt", 1, herdrtest.Refuse(CodePromptStalled, "stalled"))
	if err := s.control().Send(t.Context(), a, "x"); CodeOf(err) != CodePromptStalled {
		t.Errorf("%v", err)
	}
	// Without an answer it may have been typed: it is not typed again.
	s.Forget()
	s.Fault("agent.prompt", -1, herdrtest.Drop)
	if err := s.control().Send(t.Context(), a, "x"); !IsUnavailable(err) || len(s.Requests("agent.prompt")) != 1 {
		t.Errorf("%v, %d prompts", err, len(s.Requests("agent.prompt")))
	}
}

// Into a shell a command is typed, and into nothing else.
func TestSendToShell(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, pane := s.AddTab(s.here.Workspace, "x")
	shell := Target{Name: pane, Pane: pane}
	if err := s.control().Send(t.Context(), shell, "make test"); err != nil {
		t.Error(err)
	}
	s.Run(pane, "vim")
	if err := s.control().Send(t.Context(), shell, ":q"); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("%v", err)
	}
	if p, _ := s.Get(pane); len(p.Inputs) != 1 || p.Inputs[0].Text != "make test" || p.Inputs[0].Keys[0] != "Enter" {
		t.Errorf("%+v", p.Inputs)
	}
	if err := s.control().Keys(t.Context(), shell, "esc", ":", "q", "Enter"); err != nil {
		t.Error(err)
	}
	if err := s.control().Focus(t.Context(), shell); err != nil {
		t.Error(err)
	}
	if err := s.control().Keys(t.Context(), Target{Name: "w9:p9", Pane: "w9:p9"}, "x"); errs.CodeOf(err) != errs.NotFound {
		t.Errorf("%v", err)
	}
	// A free label is no agent that can be prompted.
	if err := s.cell(pane).Report(t.Context(), StateWorking); err != nil {
		t.Fatal(err)
	}
	if err := s.control().Send(t.Context(), shell, "x"); CodeOf(err) != CodeAgentNotReady {
		t.Errorf("%v", err)
	}
}

func TestReadAndWaitOutput(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, pane := s.AddTab(s.here.Workspace, "x")
	target := Target{Name: "x", Pane: pane}
	s.Print(pane, strings.Repeat("line\n", 1500)+"ok 7")
	for lines, want := range map[int]int{0: 80, 10: 10, 2000: 1000} {
		got, err := s.control().Read(t.Context(), target, "recent", lines)
		if err != nil || len(strings.Split(got.Text, "\n")) != want || !got.Truncated {
			t.Errorf("%d: %d lines %v", lines, len(strings.Split(got.Text, "\n")), err)
		}
	}
	output := func(d time.Duration, m Match) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		return s.control().WaitOutput(ctx, target, m)
	}
	if line, err := output(5*time.Second, Match{Text: "ok"}); err != nil || line != "ok 7" {
		t.Errorf("%q %v", line, err)
	}
	time.AfterFunc(80*time.Millisecond, func() { s.Print(pane, "all 12 passed") })
	if line, err := output(5*time.Second, Match{Regex: "[0-9]+ passed"}); err != nil || line != "all 12 passed" {
		t.Errorf("%q %v", line, err)
	}
	if _, err := output(150*time.Millisecond, Match{Text: "never"}); errs.CodeOf(err) != errs.TimedOut {
		t.Errorf("%v", err)
	}
	if _, err := output(time.Second, Match{Regex: "("}); CodeOf(err) != "invalid_regex" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(80*time.Millisecond, cancel)
	if _, err := s.control().WaitOutput(ctx, target, Match{Text: "never"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	time.AfterFunc(80*time.Millisecond, func() { s.Stop() })
	if _, err := output(5*time.Second, Match{Text: "never"}); !IsUnavailable(err) {
		t.Errorf("%v", err)
	}
}

// That a notification is not shown is no error; it is asked for once.
func TestNotify(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	shown, err := s.sp.Client.Notify(t.Context(), strings.Repeat("t", 100)+"\n", strings.Repeat("b", 300), "", "top-right")
	if err != nil || shown.Shown || shown.Reason != "disabled" {
		t.Errorf("%+v %v", shown, err)
	}
	if n := s.Notes()[0]; len([]rune(n.Title)) != 80 || len([]rune(n.Body)) != 240 || n.Sound != "none" || n.Position != "top-right" {
		t.Errorf("%+v", n)
	}
	s.Server.Notifications = true
	for _, want := range []string{"", "rate_limited"} {
		if shown, err = s.sp.Client.Notify(t.Context(), "x", "", "done", ""); err != nil || shown.Reason != want {
			t.Errorf("%+v %v", shown, err)
		}
	}
	if _, err := s.sp.Client.Notify(t.Context(), " ", "", "done", ""); CodeOf(err) != "invalid_params" {
		t.Errorf("%v", err)
	}
	s.Forget()
	s.Fault("notification.show", -1, herdrtest.Drop)
	if _, err := s.sp.Client.Notify(t.Context(), "x", "", "", ""); !IsUnavailable(err) || len(s.Requests("")) != 1 {
		t.Errorf("%v, %d requests", err, len(s.Requests("")))
	}
}

func TestAtShell(t *testing.T) {
	proc := func(pid int, name string) []Process { return []Process{{pid, name}} }
	for _, c := range []struct {
		info ProcessInfo
		want bool
	}{
		{ProcessInfo{7, 7, proc(7, "zsh")}, true}, {ProcessInfo{7, 9, proc(9, "vim")}, false}, {ProcessInfo{7, 0, proc(7, "odd")}, true},
		{ProcessInfo{7, 0, proc(9, "zsh")}, false}, {ProcessInfo{0, 7, proc(7, "-zsh")}, true}, {ProcessInfo{0, 7, proc(7, "vim")}, false},
		{ProcessInfo{7, 0, nil}, false}, {ProcessInfo{}, false}, {ProcessInfo{7, 7, nil}, true},
	} {
		if got := c.info.AtShell(); got != c.want {
			t.Errorf("%+v: %v", c.info, got)
		}
	}
}
