package herdrtest

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// startAgent starts an agent in a pane whose shell is idle; the old form, with an
// argv and a place, is not the present one.
func (s *Server) startAgent(p params) (object, error) {
	if s.Protocol < 17 {
		if err := p.need("name", "cwd"); err != nil {
			return nil, err
		}
		return nil, fail("invalid_request", "the fake does not start agents of 0.7.3, a client types into the pane")
	}
	if err := p.need("name", "kind", "pane_id"); err != nil {
		return nil, err
	}
	if !regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`).MatchString(p.str("name")) {
		return nil, fail("invalid_agent_name", "invalid agent name %q", p.str("name"))
	}
	if !knownKind(p.str("kind")) {
		return nil, fail("invalid_request", "unknown agent kind")
	}
	if t := p.num("timeout_ms"); p.has("timeout_ms") && (t <= 3000 || t > 300000) {
		return nil, fail("invalid_params", "timeout_ms out of range")
	}
	args := p.list("args")
	for _, a := range args {
		if strings.ContainsFunc(a, func(r rune) bool { return r < ' ' }) {
			return nil, fail("invalid_params", "control characters in args")
		}
	}
	o, err := s.pane(p.str("pane_id"))
	if err != nil {
		return nil, err
	}
	for _, other := range s.panes {
		if other.name == p.str("name") {
			return nil, fail("agent_name_taken", "the name %s is taken", other.name)
		}
	}
	if o.foreground != "" || time.Since(o.born) < s.Fresh {
		return nil, fail("agent_pane_busy", "pane %s is busy", o.id)
	}
	before := o.state()
	o.name, o.kind, o.detected, o.foreground, o.failing = p.str("name"), p.str("kind"), "idle", p.str("kind"), s.FailLaunch
	o.launch = time.Now().Add(s.Launch)
	s.changed(o, before)
	info := s.agentInfo(o)
	info["launch_pending"] = true
	delete(info, "interactive_ready")
	return object{"type": "agent_started", "agent": info, "argv": append([]string{p.str("kind")}, args...)}, nil
}

func (s *Server) handleAgent(method string, p params) (object, error) {
	if err := p.need("target"); err != nil {
		return nil, err
	}
	o, err := s.agent(p.str("target"))
	if err != nil {
		return nil, err
	}
	switch method {
	case "agent.focus":
		s.focused, o.seen = o.id, true
	case "agent.send_keys":
		s.input(o, Input{Keys: p.list("keys")})
		return object{"type": "ok"}, nil
	case "agent.read":
		return s.read(o, p)
	case "agent.prompt":
		return s.prompt(o, p)
	}
	return object{"type": "agent_info", "agent": s.agentInfo(o)}, nil
}

func (s *Server) prompt(o *pane, p params) (object, error) {
	if err := p.need("text"); err != nil {
		return nil, err
	}
	switch {
	case o.kind == "":
		return nil, fail("agent_not_ready", "the agent in pane %s cannot be prompted", o.id)
	case o.state() == "blocked" && s.Protocol > 20:
		return nil, fail("agent_blocked", "the agent waits for an answer")
	}
	text := p.str("text")
	o.inputs = append(o.inputs, Input{Text: text, Keys: []string{"Enter"}})
	submit := s.OnPrompt
	if submit == nil {
		submit = func(s *Server, pane, _ string) {
			s.SetState(pane, "working")
			time.AfterFunc(50*time.Millisecond, func() { s.SetState(pane, "idle") })
		}
	}
	// Enter comes after the answer.
	id := o.id
	s.wg.Add(1)
	time.AfterFunc(30*time.Millisecond, func() {
		defer s.wg.Done()
		submit(s, id, text)
	})
	return object{"type": "agent_prompted", "agent": s.agentInfo(o)}, nil
}

// subscriber is a connection that events are pushed to.
type subscriber struct {
	call  *Call
	types map[string][]string // panes by type; none means all
	out   chan object
}

// push tells subscribers of an event, under the name that it is subscribed by
// with a dot: lifecycle events are spelled with underscores, those of a pane are not.
func (s *Server) push(name, pane string, data object) {
	data["pane_id"] = pane
	if s.LoseEvents {
		return
	}
	dotted := name
	if !strings.Contains(name, ".") {
		dotted = strings.Replace(name, "_", ".", 1)
	}
	for _, sub := range s.subs {
		panes, ok := sub.types[dotted]
		if ok && (len(panes) == 0 || slices.Contains(panes, pane)) {
			select {
			case sub.out <- object{"event": name, "data": data}:
			default: // lost
			}
		}
	}
}

// wait serves the connections that stay open. Anything more that comes on them,
// and their end, ends them without a word.
func (s *Server) wait(c *Call) {
	c.c.SetDeadline(time.Time{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		var one [1]byte
		_, err := c.c.Read(one[:])
		if err == nil || err == io.EOF {
			c.c.Close()
		}
	}()
	// Whatever waits looks again when something changes, and when it is over.
	ended := func() bool {
		select {
		case <-gone:
			return true
		default:
			return s.down
		}
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				s.cond.Broadcast()
			}
		}
	}()
	if c.Method == "events.subscribe" {
		s.subscribe(c, gone)
		return
	}
	p := params(c.Params)
	var until time.Time
	if p.has("timeout_ms") {
		until = time.Now().Add(time.Duration(p.num("timeout_ms")) * time.Millisecond)
	}
	s.mu.Lock()
	look := s.outputMatch
	if c.Method == "agent.wait" {
		look = s.stateMatch(p)
	}
	first := true
	for {
		answer, err := object(nil), error(nil)
		if first || !s.LoseEvents {
			answer, err = look(p)
		}
		first = false
		if err == nil && answer == nil && !until.IsZero() && time.Now().After(until) {
			err = fail("timeout", "timed out waiting for agent status")
		}
		switch {
		case ended():
			s.mu.Unlock()
			return
		case err != nil:
			s.mu.Unlock()
			f := err.(*failure)
			id := c.ID
			if f.code == "invalid_request" {
				id = ""
			}
			write(c.c, wireError(id, f.code, f.message))
			return
		case answer != nil:
			s.mu.Unlock()
			write(c.c, object{"id": c.ID, "result": answer})
			return
		}
		s.cond.Wait()
	}
}

func (s *Server) stateMatch(p params) func(params) (object, error) {
	until := p.list("until")
	if len(until) == 0 {
		until = []string{"idle", "done", "blocked"}
	}
	o, err := s.agent(p.str("target"))
	if s.Protocol < 17 {
		err = fail("invalid_request", "unknown variant `agent.wait`")
	}
	return func(params) (object, error) {
		switch {
		case err != nil:
			return nil, err
		case o.closed || !o.hasAgent():
			return nil, fail("agent_not_running", "the agent has gone")
		case slices.Contains(until, s.shown(o)):
			return object{"type": "agent_info", "agent": s.agentInfo(o)}, nil
		}
		return nil, nil
	}
}

// outputMatch looks line by line, also at what is on the screen already.
func (s *Server) outputMatch(p params) (object, error) {
	o, err := s.pane(p.str("pane_id"))
	if err != nil {
		return nil, err
	}
	match, _ := p["match"].(map[string]any)
	value, _ := match["value"].(string)
	matches := func(line string) bool { return strings.Contains(line, value) }
	switch match["type"] {
	case "substring":
	case "regex":
		re, err := regexp.Compile(value)
		if err != nil {
			return nil, fail("invalid_regex", "%v", err)
		}
		matches = re.MatchString
	default:
		return nil, fail("invalid_request", "missing field `match`")
	}
	for _, line := range o.text {
		if matches(line) {
			return object{"type": "output_matched", "pane_id": o.id, "revision": len(o.text), "matched_line": line,
				"read": object{"pane_id": o.id, "source": "recent_unwrapped", "format": "text", "text": strings.Join(o.text, "\n"), "revision": len(o.text), "truncated": false}}, nil
		}
	}
	return nil, nil
}

func (s *Server) subscribe(c *Call, gone chan struct{}) {
	sub := &subscriber{call: c, types: map[string][]string{}, out: make(chan object, 512)}
	list, _ := c.Params["subscriptions"].([]any)
	if len(list) == 0 {
		write(c.c, wireError("", "invalid_request", "invalid request: missing field `subscriptions`"))
		return
	}
	s.mu.Lock()
	for _, v := range list {
		m, _ := v.(map[string]any)
		typ, _ := m["type"].(string)
		pane, _ := m["pane_id"].(string)
		if !strings.Contains(typ, ".") || strings.HasPrefix(typ, "pane.agent_status") && pane == "" {
			s.mu.Unlock()
			write(c.c, wireError("", "invalid_request", "invalid request: unknown subscription"))
			return
		}
		if pane != "" {
			sub.types[typ] = append(sub.types[typ], pane)
		} else {
			sub.types[typ] = nil
		}
	}
	// The versions before 0.9.0 tell what was once, also of what is gone.
	if s.Protocol < Newest && has(sub.types, "pane.exited") {
		sub.out <- object{"event": "pane_exited", "data": object{"type": "pane_exited", "pane_id": "w0:p9"}}
	}
	s.subs = append(s.subs, sub)
	s.mu.Unlock()
	defer s.do(func() { s.subs = slices.DeleteFunc(s.subs, func(o *subscriber) bool { return o == sub }) })
	write(c.c, object{"id": c.ID, "result": object{"type": "subscription_started"}})
	for {
		select {
		case <-gone:
			return
		case e := <-sub.out:
			b, _ := json.Marshal(e)
			c.c.SetWriteDeadline(time.Now().Add(5 * time.Second))
			if _, err := c.c.Write(append(b, '\n')); err != nil && !os.IsTimeout(err) {
				return
			}
		}
	}
}

func has(m map[string][]string, key string) bool {
	_, ok := m[key]
	return ok
}
