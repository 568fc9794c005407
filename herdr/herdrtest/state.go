package herdrtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// failure is an error that is answered.
type failure struct{ code, message string }

func (f *failure) Error() string { return f.code + ": " + f.message }

func fail(code, format string, args ...any) error {
	return &failure{code, fmt.Sprintf(format, args...)}
}

type workspace struct {
	id, label string
	tabs      int // numbers given so far
	panes     int
	worktree  object
}

type tab struct{ id, workspace, label string }

type state struct {
	workspaces []*workspace
	tabs       []*tab
	panes      []*pane
	numbers    int // of workspaces given so far
	terminals  int
	focused    string            // pane
	aliases    map[string]string // old pane ids
	notes      []Note
	lastNote   time.Time
	hooks      []func() // to be called once the lock is free
	subs       []*subscriber
}

// pane is a pane and whoever is in it.
type pane struct {
	id, terminal, tab, workspace string
	cwd, label                   string
	env                          map[string]string
	born                         time.Time
	shell                        int
	foreground                   string // the program in the foreground, "" for the shell
	text                         []string
	inputs                       []Input

	name     string // of the agent
	kind     string // detected agent
	detected string // its state
	official string // the integration that anchored the pane
	hook     *hook  // who has the authority over the state
	seen     bool
	seq      uint64 // of state changes
	launch   time.Time
	failing  bool

	seqs     map[string]uint64 // of reports, by source
	metaSeqs map[string]uint64
	meta     map[string]*record
	tokens   map[string]string
	order    int
	closed   bool
}

// hook is the authority of a source.
type hook struct{ source, agent, state string }

// record is what a source shows.
type record struct {
	display, title, custom, guard string
	labels                        map[string]string
	until                         time.Time
	order                         int
}

// Note is a notification that was asked for.
type Note struct{ Title, Body, Sound, Position string }

func newState() state { return state{aliases: map[string]string{}} }

// number writes n as herdr numbers things.
func number(n int) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	s := ""
	for n > 0 {
		d := n % 32
		if d == 0 {
			d = 32
		}
		n = (n - d) / 32
		s = string(digits[d%32]) + s
	}
	return s
}

func (s *Server) newWorkspace(label string) *workspace {
	s.numbers++
	w := &workspace{id: "w" + number(s.numbers), label: label}
	s.workspaces = append(s.workspaces, w)
	return w
}

func (s *Server) newTab(w *workspace, label string) *tab {
	w.tabs++
	if label == "" {
		label = fmt.Sprint(w.tabs)
	}
	t := &tab{id: w.id + ":t" + number(w.tabs), workspace: w.id, label: label}
	s.tabs = append(s.tabs, t)
	return t
}

func (s *Server) newPane(w *workspace, t *tab, cwd string, env map[string]string) *pane {
	w.panes++
	p := &pane{
		id: w.id + ":p" + number(w.panes), terminal: s.newTerminal(), tab: t.id, workspace: w.id, cwd: cwd, env: env, born: time.Now(),
		shell: 4000 + s.terminals, seqs: map[string]uint64{}, metaSeqs: map[string]uint64{}, meta: map[string]*record{}, tokens: map[string]string{},
	}
	s.panes = append(s.panes, p)
	if s.OnPane != nil {
		p.shell = s.OnPane(p.id, cwd, maps.Clone(env))
	}
	s.push("pane_created", p.id, object{"type": "pane_created"})
	return p
}

func (s *Server) newTerminal() string {
	s.terminals++
	return fmt.Sprintf("term_%x", 0x64f1a000+s.terminals)
}

func (s *Server) workspace(id string) *workspace {
	for _, w := range s.workspaces {
		if w.id == id {
			return w
		}
	}
	return nil
}

func (s *Server) tab(id string) *tab {
	for _, t := range s.tabs {
		if t.id == id {
			return t
		}
	}
	return nil
}

// pane finds a pane by its id, or by the one that it had.
func (s *Server) pane(id string) (*pane, error) {
	if now, ok := s.aliases[id]; ok {
		id = now
	}
	for _, p := range s.panes {
		if p.id == id {
			return p, nil
		}
	}
	return nil, fail("pane_not_found", "pane %s not found", id)
}

// agent finds an agent: by its present pane or its unique name, nothing else.
func (s *Server) agent(target string) (*pane, error) {
	var found []*pane
	for _, p := range s.panes {
		if p.hasAgent() && (p.id == target || p.name == target) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return nil, fail("agent_not_found", "agent %s not found", target)
	case 1:
		return found[0], nil
	}
	return nil, fail("agent_target_ambiguous", "%s names several agents", target)
}

func (p *pane) hasAgent() bool { return p.kind != "" || p.hook != nil || !p.launch.IsZero() }

// state is what the agent does, without what is derived.
func (p *pane) state() string {
	switch {
	case p.hook != nil:
		return p.hook.state
	case p.kind != "":
		return p.detected
	}
	return "unknown"
}

// shown is the state as it is read: an idle agent that nobody has looked at since
// is done.
func (s *Server) shown(p *pane) string {
	if st := p.state(); st != "idle" || p.seen || s.focused == p.id {
		return st
	}
	return "done"
}

// changed tells of a state that may be another one now.
func (s *Server) changed(p *pane, before string) {
	now := p.state()
	if now == before {
		return
	}
	p.seq++
	p.seen = now == "idle" && before == "unknown"
	s.push("pane.agent_status_changed", p.id, object{"pane_id": p.id, "workspace_id": p.workspace, "agent_status": s.shown(p), "agent": p.label0()})
}

func (p *pane) label0() string {
	if p.hook != nil {
		return p.hook.agent
	}
	return p.kind
}

// remove takes a pane away, and what is empty without it.
func (s *Server) remove(p *pane) {
	p.closed = true
	s.panes = slices.DeleteFunc(s.panes, func(o *pane) bool { return o == p })
	maps.DeleteFunc(s.aliases, func(_, now string) bool { return now == p.id })
	s.push("pane_closed", p.id, object{"type": "pane_closed"})
	s.tidy()
}

func (s *Server) tidy() {
	s.tabs = slices.DeleteFunc(s.tabs, func(t *tab) bool {
		return !slices.ContainsFunc(s.panes, func(p *pane) bool { return p.tab == t.id })
	})
	s.workspaces = slices.DeleteFunc(s.workspaces, func(w *workspace) bool {
		return !slices.ContainsFunc(s.tabs, func(t *tab) bool { return t.workspace == w.id })
	})
}

// paneInfo is a pane on the wire.
func (s *Server) paneInfo(p *pane) object {
	o := object{
		"pane_id": p.id, "terminal_id": p.terminal, "workspace_id": p.workspace, "tab_id": p.tab, "focused": s.focused == p.id,
		"agent_status": s.shown(p), "revision": len(p.text),
	}
	put := func(key, value string) {
		if value != "" {
			o[key] = value
		}
	}
	put("cwd", p.cwd)
	put("label", p.label)
	put("agent", p.label0())
	if p.official != "" {
		kind := strings.TrimPrefix(p.official, "herdr:")
		o["agent_session"] = object{"source": p.official, "agent": kind, "kind": "path", "value": "/s/1.jsonl"}
	}
	// The newest report wins, field by field.
	records := slices.SortedFunc(maps.Values(p.meta), func(a, b *record) int { return a.order - b.order })
	for _, r := range records {
		if !r.until.IsZero() && time.Now().After(r.until) || r.guard != "" && r.guard != p.official {
			continue // hidden, not refused
		}
		put("display_agent", r.display)
		put("title", r.title)
		if s.Protocol < 17 {
			put("custom_status", r.custom)
		}
		if len(r.labels) > 0 {
			o["state_labels"] = r.labels
		}
	}
	if len(p.tokens) > 0 {
		o["tokens"] = maps.Clone(p.tokens)
	}
	return o
}

func (s *Server) agentInfo(p *pane) object {
	o := s.paneInfo(p)
	if p.name != "" {
		o["name"] = p.name // only agents have one on the wire
	}
	o["state_change_seq"] = p.seq
	switch {
	case p.launch.IsZero():
		o["interactive_ready"] = p.kind != ""
	case p.failing:
		// Neither: the start has failed.
	case time.Now().Before(p.launch):
		o["launch_pending"] = true
	default:
		o["interactive_ready"] = true
	}
	if p.official != "" {
		o["screen_detection_skipped"] = true
	}
	return o
}

func (s *Server) tabInfo(t *tab) object {
	n := 0
	for _, p := range s.panes {
		if p.tab == t.id {
			n++
		}
	}
	return object{"tab_id": t.id, "workspace_id": t.workspace, "number": 1, "label": t.label, "focused": false, "pane_count": n, "agent_status": "unknown"}
}

func (s *Server) workspaceInfo(w *workspace) object {
	o := object{"workspace_id": w.id, "number": 1, "label": w.label, "focused": false, "pane_count": w.panes, "tab_count": w.tabs,
		"active_tab_id": w.id + ":t1", "agent_status": "unknown"}
	if w.worktree != nil {
		o["worktree"] = w.worktree
	}
	return o
}
