package herdrtest

import (
	"slices"
	"strings"
	"time"
)

// params reads the parameters of a request.
type params object

func (p params) str(key string) string { v, _ := p[key].(string); return v }

func (p params) num(key string) float64 { v, _ := p[key].(float64); return v }

func (p params) has(key string) bool { v, ok := p[key]; return ok && v != nil }

func (p params) list(key string) (out []string) {
	l, _ := p[key].([]any)
	for _, v := range l {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (p params) strings(key string) map[string]string {
	m, _ := p[key].(map[string]any)
	out := map[string]string{}
	for k, v := range m {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

// need checks that members are there, as text.
func (p params) need(keys ...string) error {
	for _, k := range keys {
		if _, ok := p[k].(string); !ok {
			return fail("invalid_request", "missing field `%s`", k)
		}
	}
	return nil
}

func (p params) oneOf(key string, values ...string) error {
	if v := p.str(key); v != "" && !slices.Contains(values, v) {
		return fail("invalid_request", "unknown variant `%s` of %s", v, key)
	}
	return nil
}

// old are the methods that 0.7.3 does not have.
func modernOnly(method string) bool {
	switch method {
	case "agent.prompt", "agent.wait", "pane.process_info":
		return true
	}
	return false
}

// handle carries a request out, with the lock held.
func (s *Server) handle(method string, raw object) (object, error) {
	p := params(raw)
	if s.Protocol < 17 && modernOnly(method) {
		return nil, fail("invalid_request", "unknown variant `%s`", method)
	}
	ok := object{"type": "ok"}
	switch method {
	case "ping":
		return object{"type": "pong", "version": s.Version, "protocol": s.Protocol, "capabilities": object{"live_handoff": true, "detached_server_daemon": true}}, nil
	case "notification.show":
		return s.notify(p)
	case "pane.report_agent":
		return ok, s.reportAgent(p)
	case "pane.release_agent":
		return ok, s.releaseAgent(p)
	case "pane.report_metadata":
		return ok, s.reportMetadata(p)
	case "pane.list":
		list := []object{}
		for _, o := range s.panes {
			if w := p.str("workspace_id"); w == "" || w == o.workspace {
				list = append(list, s.paneInfo(o))
			}
		}
		return object{"type": "pane_list", "panes": list}, nil
	case "tab.list":
		list := []object{}
		for _, t := range s.tabs {
			if w := p.str("workspace_id"); w == "" || w == t.workspace {
				list = append(list, s.tabInfo(t))
			}
		}
		return object{"type": "tab_list", "tabs": list}, nil
	case "agent.list":
		list := []object{}
		for _, o := range s.panes {
			if o.hasAgent() {
				list = append(list, s.agentInfo(o))
			}
		}
		return object{"type": "agent_list", "agents": list}, nil
	case "tab.create", "workspace.create", "worktree.create":
		return s.create(method, p)
	case "tab.close":
		t := s.tab(p.str("tab_id"))
		if t == nil {
			return nil, fail("tab_not_found", "tab %s not found", p.str("tab_id"))
		}
		for _, o := range slices.Clone(s.panes) {
			if o.tab == t.id {
				s.remove(o)
			}
		}
		return ok, nil
	case "workspace.close", "worktree.remove":
		w := s.workspace(p.str("workspace_id"))
		if w == nil {
			return nil, fail("workspace_not_found", "workspace %s not found", p.str("workspace_id"))
		}
		if dirty, _ := w.worktree["dirty"].(bool); method == "worktree.remove" && dirty && p["force"] != true {
			return nil, fail("dirty_worktree_requires_force", "the worktree has changes")
		}
		for _, o := range slices.Clone(s.panes) {
			if o.workspace == w.id {
				s.remove(o)
			}
		}
		return ok, nil
	case "agent.get", "agent.focus", "agent.prompt", "agent.send_keys", "agent.read":
		return s.handleAgent(method, p)
	case "agent.start":
		return s.startAgent(p)
	}
	return s.handlePane(method, p)
}

// handlePane carries out what concerns one pane.
func (s *Server) handlePane(method string, p params) (object, error) {
	ok := object{"type": "ok"}
	key := "pane_id"
	switch method {
	case "pane.split":
		key = "target_pane_id"
		if err := p.need("direction"); err != nil {
			return nil, err
		}
		if err := p.oneOf("direction", "right", "down"); err != nil {
			return nil, err
		}
		if !p.has(key) {
			p[key] = s.focused // whatever the user looks at
		}
	case "pane.get", "pane.close", "pane.focus", "pane.rename", "pane.read", "pane.send_text", "pane.send_keys", "pane.send_input", "pane.process_info":
	default:
		return nil, fail("invalid_request", "unknown variant `%s`", method)
	}
	if err := p.need(key); err != nil {
		return nil, err
	}
	o, err := s.pane(p.str(key))
	if err != nil {
		return nil, err
	}
	switch method {
	case "pane.split":
		n := s.newPane(s.workspace(o.workspace), s.tab(o.tab), p.str("cwd"), p.strings("env"))
		return object{"type": "pane_info", "pane": s.paneInfo(n)}, nil
	case "pane.get":
		return object{"type": "pane_info", "pane": s.paneInfo(o)}, nil
	case "pane.close":
		s.remove(o)
	case "pane.focus":
		s.focused, o.seen = o.id, true
	case "pane.rename":
		o.label = p.str("label")
	case "pane.process_info":
		name := o.foreground
		pid := o.shell + 100000
		if name == "" {
			name, pid = "sh", o.shell
		}
		if s.Fresh > 0 && time.Since(o.born) < s.Fresh {
			pid = o.shell + 1
		}
		return object{"type": "pane_process_info", "process_info": object{"pane_id": o.id, "shell_pid": o.shell, "foreground_process_group_id": pid,
			"foreground_processes": []object{{"pid": pid, "name": name, "argv0": name, "argv": []string{name}, "cmdline": name}}}}, nil
	case "pane.read":
		return s.read(o, p)
	case "pane.send_text", "pane.send_keys", "pane.send_input":
		s.input(o, Input{p.str("text"), p.list("keys")})
	}
	return ok, nil
}

func (s *Server) input(o *pane, in Input) {
	o.inputs = append(o.inputs, in)
	if s.OnInput != nil {
		f, id := s.OnInput, o.id
		s.hooks = append(s.hooks, func() { f(id, in) })
	}
}

func (s *Server) read(o *pane, p params) (object, error) {
	if err := p.need("source"); err != nil {
		return nil, err
	}
	if err := p.oneOf("source", "visible", "recent", "recent_unwrapped", "detection"); err != nil {
		return nil, err
	}
	lines, source := int(p.num("lines")), p.str("source")
	if !p.has("lines") {
		lines = 80
	}
	lines = min(lines, 1000)
	if source == "visible" {
		lines = min(lines, 40)
	}
	text := o.text[max(0, len(o.text)-lines):]
	return object{"type": "pane_read", "read": object{"pane_id": o.id, "workspace_id": o.workspace, "tab_id": o.tab, "source": source, "format": "text",
		"text": strings.Join(text, "\n"), "revision": len(o.text), "truncated": len(text) < len(o.text)}}, nil
}

func (s *Server) create(method string, p params) (object, error) {
	var w *workspace
	kind := strings.TrimSuffix(method, ".create") + "_created"
	if method == "tab.create" {
		if w = s.workspace(p.str("workspace_id")); w == nil && p.has("workspace_id") {
			return nil, fail("workspace_not_found", "workspace %s not found", p.str("workspace_id"))
		}
		if w == nil && len(s.workspaces) > 0 {
			w = s.workspaces[0]
		}
	}
	label := p.str("label")
	out := object{"type": kind}
	cwd := p.str("cwd")
	if method == "worktree.create" {
		if strings.Contains(cwd, "no-git") {
			return nil, fail("not_git_worktree", "%s is in no git repository", cwd)
		}
		path, branch := p.str("path"), p.str("branch")
		if branch == "" {
			branch = "worktree-1"
		}
		if path == "" {
			path = "/wt/" + branch
		}
		cwd = path
		out["worktree"] = object{"path": path, "branch": branch, "is_bare": false, "is_detached": false, "is_prunable": false, "is_linked_worktree": true, "label": label}
	}
	tabLabel := label
	if w == nil {
		w, tabLabel = s.newWorkspace(label), ""
	}
	if method == "worktree.create" {
		w.worktree = object{"repo_key": "k", "repo_name": "repo", "repo_root": "/r", "checkout_path": cwd, "is_linked_worktree": true}
		out["worktree"].(object)["open_workspace_id"] = w.id
	}
	t := s.newTab(w, tabLabel)
	n := s.newPane(w, t, cwd, p.strings("env"))
	out["tab"], out["root_pane"] = s.tabInfo(t), s.paneInfo(n)
	if method != "tab.create" {
		out["workspace"] = s.workspaceInfo(w)
	}
	return out, nil
}

func (s *Server) notify(p params) (object, error) {
	title := strings.Join(strings.Fields(p.str("title")), " ")
	if title == "" {
		return nil, fail("invalid_params", "the title is empty")
	}
	if err := p.oneOf("sound", "none", "done", "request"); err != nil {
		return nil, err
	}
	if err := p.oneOf("position", "top-left", "top-right", "bottom-left", "bottom-right"); err != nil {
		return nil, err
	}
	s.notes = append(s.notes, Note{title, p.str("body"), p.str("sound"), p.str("position")})
	reason := ""
	switch {
	case !s.Notifications:
		reason = "disabled"
	case time.Since(s.lastNote) < time.Second:
		reason = "rate_limited"
	default:
		s.lastNote = time.Now()
		return object{"type": "notification_show", "shown": true}, nil
	}
	return object{"type": "notification_show", "shown": false, "reason": reason}, nil
}
