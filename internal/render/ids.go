package render

import "strings"

// isOpaque reports whether s is an id that says nothing to a person: one with
// random or counted parts, as of messages, spawns and panes. Names and the ids
// of tasks (t_12) are none.
func isOpaque(s string) bool {
	if s == "" || strings.ContainsAny(s, " \t\n") {
		return false
	}
	if isPaneID(s) || isWorkspaceID(s) {
		return true
	}
	return hasUUID(s) || isHex(s) && len(s) >= 16 || isStamped(s) || isShepherdID(s)
}

// isID reports whether s is nothing but an id: an opaque one, or that of a task.
func isID(s string) bool {
	digits, ok := strings.CutPrefix(s, "t_")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == "" || isOpaque(s)
}

// hasUUID looks for 8-4-4-4-12 hexadecimal digits.
func hasUUID(s string) bool {
	for i := 0; i+36 <= len(s); i++ {
		if s[i+8] == '-' && s[i+13] == '-' && s[i+18] == '-' && s[i+23] == '-' &&
			isHex(s[i:i+8]) && isHex(s[i+9:i+13]) && isHex(s[i+14:i+18]) && isHex(s[i+19:i+23]) && isHex(s[i+24:i+36]) {
			return true
		}
	}
	return false
}

func isHex(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return s != ""
}

// isStamped recognizes ids that begin with a time, 20261130T162940….
func isStamped(s string) bool {
	return len(s) > 15 && s[8] == 'T' && strings.Trim(s[:8]+s[9:15], "0123456789") == ""
}

// isShepherdID recognizes the ids of Shepherd, which end in random parts.
func isShepherdID(s string) bool {
	rest, ok := strings.CutPrefix(s, "shepherd-")
	what, _, more := strings.Cut(rest, "-")
	if !ok || !more {
		return false
	}
	switch what {
	case "agent", "task", "message", "prompt", "broker", "watcher":
		return true
	}
	return false
}

// isPaneID recognizes what herdr names panes, tabs and terminals by: w1:p2,
// w1:t2, p_17, term_64f1a2.
func isPaneID(s string) bool {
	if rest, ok := strings.CutPrefix(s, "term_"); ok {
		return isHex(rest)
	}
	if rest, ok := strings.CutPrefix(s, "p_"); ok {
		return rest != "" && strings.Trim(rest, "0123456789") == ""
	}
	space, inside, ok := strings.Cut(s, ":")
	return ok && len(space) > 1 && space[0] == 'w' && isHerdrNumber(space[1:]) &&
		len(inside) > 1 && (inside[0] == 'p' || inside[0] == 't') && isHerdrNumber(inside[1:])
}

// isHerdrNumber recognizes the numbers in herdr's ids, which have letters too.
func isHerdrNumber(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// isWorkspaceID recognizes w1, wB and w6528f78e5be462. A word that begins with
// w is none.
func isWorkspaceID(s string) bool {
	if len(s) < 2 || s[0] != 'w' {
		return false
	}
	rest := s[1:]
	return isHerdrNumber(rest) && (strings.ToUpper(rest) == rest || len(rest) >= 8 && isHex(rest))
}

// withoutPaneIDs takes the ids of panes, tabs and terminals out of a text of
// one or more lines: "pane w1:p2 is gone" becomes "pane is gone".
func withoutPaneIDs(s string) string {
	if !strings.Contains(s, ":p") && !strings.Contains(s, ":t") && !strings.Contains(s, "p_") && !strings.Contains(s, "term_") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if !isWordByte(s[i]) {
			b.WriteByte(s[i])
			i++
			continue
		}
		end := i
		for end < len(s) && isWordByte(s[end]) {
			end++
		}
		// A colon at the end belongs to the sentence.
		word := strings.TrimRight(s[i:end], ":")
		if isPaneID(word) {
			before := strings.TrimRight(b.String(), " ")
			quoted := strings.TrimRight(before, "\"'`(")
			after := end
			if n := len(before) - len(quoted); n > 0 && after+n <= len(s) {
				after += n
				before = strings.TrimRight(quoted, " ")
			}
			b.Reset()
			b.WriteString(before)
			b.WriteString(s[i+len(word) : end])
			i = after
			continue
		}
		b.WriteString(s[i:end])
		i = end
	}
	return b.String()
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':'
}

// isHidden reports whether a field is never shown to people: what tells where
// something is on herdr's screen.
func isHidden(f Field) bool {
	if f.Value.kind == boolean {
		return false
	}
	name := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(f.Name))
	for _, word := range []string{"paneid", "workspaceid", "tabid", "terminalid"} {
		if strings.HasSuffix(name, word) || strings.HasSuffix(name, word+"s") {
			return true
		}
	}
	switch name {
	case "pane", "panes", "rootpane", "workspace", "workspaces", "herdrsocket":
		return true
	}
	return f.Value.kind == text && isPaneID(strings.TrimSpace(f.Value.text))
}

// isInternal reports whether a field is about how teams or Shepherd work and
// not about what happened.
func isInternal(name string) bool {
	switch name {
	case "artifactSession", "fieldnote", "parentSession", "parentSessionPath", "sessionArtifact",
		"bootId", "bootMs", "activeBootMs", "startTime", "pidNamespace", "drained", "child", "token", "isError":
		return true
	}
	return false
}
