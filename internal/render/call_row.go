package render

import (
	"strconv"
	"strings"
	"time"
)

// argCells is how much of one argument a call row shows.
const argCells = 72

// maxArgs is how many arguments the call row of an unknown tool shows.
const maxArgs = 5

const separator = " · "

// CallRow writes the operation and its important arguments in one line:
// "spawn worker · code review · pane_right".
func (w *Writer) CallRow(op Operation) { w.spans(w.callCells(&op)) }

// CallLine is the call row as plain text, harmless and uncut.
func (o Operation) CallLine() string {
	w := New(Options{})
	w.CallRow(o)
	return strings.TrimSuffix(w.String(), "\n")
}

func (w *Writer) callCells(op *Operation) []Cell {
	name := w.argument(op.Tool)
	if name == "" {
		name = "operation"
	}
	cells := []Cell{{name, Bold}}
	style := Cyan
	between := " "
	for _, part := range w.callParts(op) {
		if part == "" {
			continue
		}
		cells = append(cells, Cell{between, Dim}, Cell{part, style})
		style, between = Dim, separator
	}
	return cells
}

// callParts are the important arguments, "" for those that were not given.
func (w *Writer) callParts(op *Operation) []string {
	call := op.Call
	arg := func(names ...string) string { return w.argument(visible(call, names...)) }
	who := func() string {
		names := []string{"name", "agent", "target", "teammate", "id", "agentId", "to"}
		if s := arg(names...); s != "" {
			return s
		}
		// Only an id was given: what came back may know the name.
		return w.argument(visible(op.Return, "name", "agent", "label"))
	}
	flag := func(name, word string) string {
		if call.yes(name) {
			return word
		}
		return ""
	}
	switch toolOf(op.Tool) {
	case spawnTool:
		name, agent := arg("name"), arg("agent", "kind")
		if name == agent {
			name = ""
		}
		return []string{name, agent, arg("label"), arg("placement")}
	case delegateTool:
		return []string{arg("target", "name", "agent", "to", "teammate"), arg("task", "subject", "description", "message"), w.limit(call)}
	case messageTool:
		return []string{w.names(call, "to", "target", "recipient", "name", "replyTo"), arg("message", "text", "body"),
			flag("expectsReply", "expects reply"), arg("status"), arg("delivery")}
	case watchTool:
		return []string{w.watched(call)}
	case statusTool, closeTool, interruptTool, resumeTool, joinTool, leaveTool:
		return []string{who(), flag("now", "now")}
	case handoffTool:
		return []string{who(), arg("to")}
	case shutdownTool:
		return []string{who(), flag("all", "all"), flag("now", "now")}
	case readTool:
		lines := arg("lines")
		if lines != "" {
			lines += " lines"
		}
		return []string{who(), arg("source"), lines}
	case herdTool:
		return nil
	case agentsTool:
		return []string{arg("scope")}
	case taskCreateTool:
		after := w.names(call, "dependsOn")
		if after != "" {
			after = "after " + after
		}
		return []string{arg("subject", "title"), after, arg("role"), arg("assignee")}
	case taskListTool:
		return []string{w.names(call, "state", "states", "status"), flag("mine", "mine"), w.names(call, "tag", "tags"), arg("role")}
	case taskClaimTool, taskReleaseTool:
		return []string{w.taskID(call), arg("reason")}
	case taskSubmitTool:
		return []string{w.taskID(call), arg("status")}
	}
	return w.allArguments(call)
}

// visible is the first of the named members that a person may see in a row.
func visible(f Fields, names ...string) string {
	for _, name := range names {
		v, ok := f.find(name)
		if !ok || isHidden(Field{name, v}) {
			continue
		}
		if s, ok := v.scalar(); ok && s != "" && !isOpaque(s) {
			return s
		}
	}
	return ""
}

// argument is an argument as a row shows it: safe, folded and cut.
func (w *Writer) argument(s string) string {
	if s == "" {
		return ""
	}
	return Truncate(Fold(w.opt.SafeLine(Fold(withoutPaneIDs(s)))), argCells)
}

// names is a member that is a name or a list of names.
func (w *Writer) names(f Fields, members ...string) string {
	list, ok := f.list(members...)
	if !ok {
		return w.argument(visible(f, members...))
	}
	var out []string
	for _, v := range list {
		if s, ok := v.scalar(); ok && s != "" && !isOpaque(s) {
			out = append(out, s)
		}
	}
	return w.argument(strings.Join(out, ", "))
}

// watched are the ids of a watch, or how many they are when they say nothing.
func (w *Writer) watched(call Fields) string {
	for _, name := range []string{"ids", "taskIds", "tasks", "id", "taskId", "task", "promptIds"} {
		v, ok := call.find(name)
		if !ok {
			continue
		}
		list := v.items
		if v.kind != array {
			list = []Value{v}
		}
		for _, it := range list {
			if s, ok := it.scalar(); !ok || isOpaque(s) {
				return count(len(list), "task")
			}
		}
		return w.names(call, name)
	}
	return ""
}

// taskID is the task of a call.
func (w *Writer) taskID(call Fields) string { return w.names(call, "taskId", "id", "task", "ids") }

// limit is the time limit of a call.
func (w *Writer) limit(call Fields) string {
	if v, ok := call.find("timeoutMs"); ok && v.kind == number {
		if ms, err := strconv.ParseInt(v.text, 10, 64); err == nil && ms > 0 && ms < int64(1<<62)/int64(time.Millisecond) {
			return "timeout " + Duration(time.Duration(ms)*time.Millisecond)
		}
	}
	v, ok := call.find("timeout")
	if !ok || v.isZero() {
		return ""
	}
	s, _ := v.scalar()
	if v.kind == number {
		s += "m" // Shepherd counts in minutes
	}
	if s = w.argument(s); s == "" {
		return ""
	}
	return "timeout " + s
}

// allArguments are those of a tool that is not known: texts and numbers as they
// are, switches by their names.
func (w *Writer) allArguments(call Fields) (out []string) {
	for _, f := range call {
		if isHidden(f) || isInternal(f.Name) {
			continue
		}
		part := ""
		switch f.Value.kind {
		case text:
			part = w.argument(visible(Fields{f}, f.Name))
		case number:
			part = w.argument(label(f.Name) + " " + f.Value.text)
		case boolean:
			if f.Value.yes {
				part = w.argument(label(f.Name))
			}
		case array:
			part = w.names(call, f.Name)
		}
		if part == "" {
			continue
		}
		if len(out) == maxArgs {
			return append(out, ellipsis)
		}
		out = append(out, part)
	}
	return out
}

// count writes a number of things: "1 task", "3 tasks".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
