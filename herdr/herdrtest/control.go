package herdrtest

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Pane is a pane as a test sees it: all that the server knows.
type Pane struct {
	ID, Terminal, Tab, Workspace, Cwd, Label string
	Env                                      map[string]string
	State                                    string // as it is read
	Agent, Name                              string
	Display, Title, CustomStatus             string
	Tokens                                   map[string]string
	Inputs                                   []Input
	Seq                                      uint64
}

// do changes the state.
func (s *Server) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.cond.Broadcast()
}

func (s *Server) must(id string) *pane {
	s.t.Helper()
	p, err := s.pane(id)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// AddWorkspace makes a workspace with a tab and a pane, as a user has it.
func (s *Server) AddWorkspace() (workspace, tab, pane string) {
	s.do(func() {
		w := s.newWorkspace("work")
		t := s.newTab(w, "")
		p := s.newPane(w, t, "/", nil)
		p.born = time.Time{}
		workspace, tab, pane = w.id, t.id, p.id
	})
	return workspace, tab, pane
}

// AddTab makes a tab with a pane.
func (s *Server) AddTab(workspace, label string) (tab, pane string) {
	s.do(func() {
		w := s.workspace(workspace)
		t := s.newTab(w, label)
		tab, pane = t.id, s.newPane(w, t, "/", nil).id
	})
	return tab, pane
}

// Anchor has one of herdr's integrations, such as "pi", take over a pane.
func (s *Server) Anchor(pane, kind, state string) {
	s.do(func() {
		p := s.must(pane)
		before := p.state()
		p.kind, p.detected, p.official, p.hook = kind, state, "herdr:"+kind, nil
		s.changed(p, before)
	})
}

// SetState changes the state of the agent in a pane, as it goes on.
func (s *Server) SetState(pane, state string) {
	s.do(func() {
		p, err := s.pane(pane)
		if err != nil {
			return // closed meanwhile
		}
		before := p.state()
		if p.hook != nil {
			p.hook.state = state
		} else {
			p.detected = state
		}
		s.changed(p, before)
	})
}

// Exit ends the agent in a pane, whose shell stays.
func (s *Server) Exit(pane string) {
	s.do(func() {
		p := s.must(pane)
		before := p.state()
		if p.hook != nil && p.hook.agent == p.kind || p.official != "" {
			p.hook = nil
			clear(p.seqs)
		}
		p.kind, p.detected, p.official, p.name, p.foreground, p.launch = "", "", "", "", "", time.Time{}
		s.changed(p, before)
		s.push("pane_agent_detected", p.id, object{"type": "pane_agent_detected", "released": true, "final_status": "idle"})
	})
}

// Focus has the user look at a pane.
func (s *Server) Focus(pane string) {
	s.do(func() {
		p := s.must(pane)
		s.focused, p.seen = p.id, true // and nobody is woken
	})
}

// Move moves a pane to another workspace: its id changes, the old one stays an
// alias.
func (s *Server) Move(pane string) (now string) {
	s.do(func() {
		p := s.must(pane)
		w := s.newWorkspace("elsewhere")
		t := s.newTab(w, "")
		w.panes++
		old := p.id
		p.id, p.tab, p.workspace = w.id+":p"+number(w.panes), t.id, w.id
		for from, to := range s.aliases {
			if to == old {
				s.aliases[from] = p.id
			}
		}
		s.aliases[old] = p.id
		s.tidy()
		now = p.id
	})
	return now
}

// Reuse has another terminal under the id of a pane.
func (s *Server) Reuse(pane string) {
	s.do(func() {
		p := s.must(pane)
		fresh := *p
		fresh.terminal, fresh.kind, fresh.name, fresh.hook, fresh.official, fresh.inputs = s.newTerminal(), "", "", nil, "", nil
		s.panes[slices.Index(s.panes, p)] = &fresh
		p.closed = true
	})
}

// Remove closes a pane as a user does.
func (s *Server) Remove(pane string) { s.do(func() { s.remove(s.must(pane)) }) }

// Run has a program in the foreground of a pane, "" the shell.
func (s *Server) Run(pane, program string) { s.do(func() { s.must(pane).foreground = program }) }

// Print appends lines to what a pane shows.
func (s *Server) Print(pane, text string) {
	s.do(func() {
		p := s.must(pane)
		p.text = append(p.text, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
	})
}

// Restarted forgets what herdr forgets when it is started again: sequence
// numbers, authorities and presentation; the ids stay and the terminals are new.
func (s *Server) Restarted() {
	s.do(func() {
		for _, p := range s.panes {
			p.terminal, p.hook, p.official, p.kind, p.name = s.newTerminal(), nil, "", "", ""
			clear(p.seqs)
			clear(p.metaSeqs)
			clear(p.meta)
			clear(p.tokens)
		}
	})
}

// Get returns a pane, ok false when there is none of that id.
func (s *Server) Get(id string) (_ Pane, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.pane(id)
	if err != nil {
		return Pane{}, false
	}
	return s.view(p), true
}

func (s *Server) view(p *pane) Pane {
	o := s.paneInfo(p)
	str := func(key string) string { v, _ := o[key].(string); return v }
	return Pane{
		ID: p.id, Terminal: p.terminal, Tab: p.tab, Workspace: p.workspace, Cwd: p.cwd, Label: p.label, Env: maps.Clone(p.env),
		State: s.shown(p), Agent: p.label0(), Name: p.name, Display: str("display_agent"), Title: str("title"), CustomStatus: str("custom_status"),
		Tokens: maps.Clone(p.tokens), Inputs: slices.Clone(p.inputs), Seq: p.seq,
	}
}

// Panes returns all panes.
func (s *Server) Panes() []Pane {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Pane
	for _, p := range s.panes {
		out = append(out, s.view(p))
	}
	return out
}

// Tabs returns the labels of all tabs by their ids.
func (s *Server) Tabs() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for _, t := range s.tabs {
		out[t.id] = t.label
	}
	return out
}

// Notes returns the notifications that were asked for, shown or not.
func (s *Server) Notes() []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}
