package herdrtest

import (
	"strings"
	"time"
	"unicode"
)

func seqOf(p params) (seq uint64, given bool) { return uint64(p.num("seq")), p.has("seq") }

// knownKind reports whether a label is the name of an agent that herdr detects.
func knownKind(label string) bool {
	switch label {
	case "pi", "claude", "codex", "gemini", "cursor", "opencode", "copilot", "kimi", "droid", "amp", "grok":
		return true
	}
	return false
}

// reportAgent takes a state, or drops it without a word.
func (s *Server) reportAgent(p params) error {
	if err := p.need("pane_id", "source", "agent", "state"); err != nil {
		return err
	}
	if err := p.oneOf("state", "idle", "working", "blocked", "unknown"); err != nil {
		return err
	}
	o, err := s.pane(p.str("pane_id"))
	if err != nil {
		return err
	}
	source, label := p.str("source"), p.str("agent")
	seq, given := seqOf(p)
	last, sequenced := o.seqs[source]
	switch {
	case given && sequenced && seq <= last, !given && sequenced:
		return nil // stale
	}
	if given {
		o.seqs[source] = seq
	}
	switch {
	case o.official != "" && source != o.official:
		return nil // anchored by another source
	case knownKind(label) && o.kind != "" && label != o.kind:
		return nil
	}
	before := o.state()
	if source == o.official {
		o.detected = p.str("state")
	} else {
		o.hook = &hook{source, label, p.str("state")}
	}
	s.changed(o, before)
	return nil
}

func (s *Server) releaseAgent(p params) error {
	if err := p.need("pane_id", "source", "agent"); err != nil {
		return err
	}
	o, err := s.pane(p.str("pane_id"))
	if err != nil {
		return err
	}
	source := p.str("source")
	seq, given := seqOf(p)
	if last, sequenced := o.seqs[source]; sequenced && (!given || seq <= last) {
		return nil
	}
	if o.hook == nil || o.hook.source != source || o.hook.agent != p.str("agent") {
		return nil
	}
	if given {
		o.seqs[source] = seq
	}
	before := o.state()
	o.hook = nil
	if o.kind == "" {
		o.name = ""
	}
	s.changed(o, before)
	s.push("pane_agent_detected", o.id, object{"type": "pane_agent_detected", "agent": p.str("agent"), "released": true, "final_status": before})
	return nil
}

func validSource(source string) bool {
	return source != "" && len(source) <= 80 && !strings.ContainsFunc(source, func(r rune) bool {
		return !(r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(":._-", r)))
	})
}

// clean is what herdr makes of a text.
func clean(s string) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s))
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80])
	}
	return s
}

func (s *Server) reportMetadata(p params) error {
	if err := p.need("pane_id", "source"); err != nil {
		return err
	}
	for _, key := range []string{"source", "applies_to_source"} {
		if v := p.str(key); (key == "source" || p.has(key)) && !validSource(v) {
			return fail("invalid_metadata_source", "invalid source %q", v)
		}
	}
	ttl := p.num("ttl_ms")
	if p.has("ttl_ms") && (ttl < 1 || ttl > 86400000) {
		return fail("invalid_metadata_ttl", "metadata ttl_ms must be at least 1")
	}
	tokens, _ := p["tokens"].(map[string]any)
	if len(tokens) > 16 {
		return fail("invalid_metadata_request", "too many tokens")
	}
	for key := range tokens {
		if key == "" || len(key) > 32 || strings.ContainsFunc(key, func(r rune) bool {
			return !(r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-'))
		}) {
			return fail("invalid_metadata_request", "invalid token %q", key)
		}
	}
	fields := []string{"title", "display_agent", "clear_title", "clear_display_agent", "clear_state_labels", "state_labels", "tokens"}
	if s.Protocol < 17 {
		fields = append(fields, "custom_status", "clear_custom_status")
	}
	any := false
	for _, key := range fields {
		switch v := p[key].(type) {
		case string:
			any = any || v != ""
		case bool:
			any = any || v
		case map[string]interface{}:
			any = any || len(v) > 0
		}
	}
	if !any {
		return fail("invalid_metadata_request", "nothing to set or clear")
	}
	o, err := s.pane(p.str("pane_id"))
	if err != nil {
		return err
	}
	source := p.str("source")
	if seq, given := seqOf(p); given {
		if seq <= o.metaSeqs[source] {
			return nil
		}
		o.metaSeqs[source] = seq
	}
	if s.Protocol >= 17 {
		for key, v := range tokens {
			if text, _ := v.(string); clean(text) == "" {
				delete(o.tokens, key)
			} else {
				o.tokens[key] = clean(text)
			}
		}
	}
	o.order++
	r := &record{display: clean(p.str("display_agent")), title: clean(p.str("title")), guard: p.str("applies_to_source"), labels: p.strings("state_labels"), order: o.order}
	if r.custom = clean(p.str("custom_status")); len([]rune(r.custom)) > 32 {
		r.custom = string([]rune(r.custom)[:32])
	}
	if ttl > 0 {
		r.until = time.Now().Add(time.Duration(ttl) * time.Millisecond)
	}
	o.meta[source] = r
	s.push("pane.agent_status_changed", o.id, object{"pane_id": o.id, "workspace_id": o.workspace, "agent_status": s.shown(o), "agent": o.label0()})
	return nil
}
