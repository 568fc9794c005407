package render

import (
	"slices"
	"strconv"
	"strings"
)

// ResultRow writes in one line how the operation stands: "spawning…",
// "✓ success", "✗ failed · " and why. It writes nothing when there is only the
// call.
func (w *Writer) ResultRow(op Operation) {
	if op.started() {
		w.spans(w.resultCells(&op))
	}
}

// ResultLine is the result row as plain text, harmless and uncut; "" when there
// is only the call.
func (o Operation) ResultLine() string {
	w := New(Options{})
	w.ResultRow(o)
	return strings.TrimSuffix(w.String(), "\n")
}

func (w *Writer) resultCells(op *Operation) []Cell {
	if why, failed := op.failure(); failed {
		return []Cell{{Failure, Red}, {" failed" + separator + w.message(why), Plain}}
	}
	tool := toolOf(op.Tool)
	if waits := op.waits(); waits != "" {
		return []Cell{{waits, Dim}}
	}
	switch tool {
	case statusTool:
		if s := w.stateText(op.Return); s != "" {
			return []Cell{{s, Plain}}
		}
	case readTool:
		s := firstLine(outputOf(op.Return))
		if s == "" {
			s = "(no terminal output)"
		}
		return []Cell{{w.message(s), Plain}}
	case herdTool:
		return []Cell{{"Active agents: " + strconv.Itoa(herdCount(op.Return)), Plain}}
	case agentsTool:
		return []Cell{{"Available agents: " + w.agentNames(op.Return), Plain}}
	case taskListTool:
		return []Cell{{w.taskCounts(op.Return), Plain}}
	}
	row, _ := tool.done(op.Return)
	cells := []Cell{{Success, Green}, {" " + row, Plain}}
	if what := w.resultSubject(tool, op); what != "" {
		cells = append(cells, Cell{separator + what, Dim})
	}
	return cells
}

// waits is the row of an operation that is not over, "" when it is.
func (o *Operation) waits() string {
	tool := toolOf(o.Tool)
	pending, _ := o.Return.find("pending")
	state := o.Return.text("status", "state")
	switch {
	case o.Partial,
		tool == watchTool && !pending.isZero(),
		tool == messageTool && o.Return.text("targetTaskState") == "waiting",
		tool == shutdownTool && state == "stopping",
		tool == taskSubmitTool && o.Return.yes("queued"):
		return tool.partial()
	}
	return ""
}

// message is a text in a result row: safe, folded, and cut only with the line.
func (w *Writer) message(s string) string { return Fold(w.opt.SafeLine(Fold(s))) }

// resultSubject is the task that a success is about, when the call did not name
// it.
func (w *Writer) resultSubject(tool toolKind, op *Operation) string {
	ret := op.Return
	if task, ok := ret.find("task"); ok && task.kind == object {
		ret = task.fields
	}
	id := visible(ret, "taskId", "id")
	switch tool {
	case taskCreateTool:
		return w.argument(id)
	case taskClaimTool:
		if w.taskID(op.Call) == "" && id != "" {
			return strings.TrimSpace(w.argument(id) + " " + w.argument(visible(ret, "subject")))
		}
	}
	return ""
}

// outputOf is the text that a tool returns.
func outputOf(ret Fields) string { return ret.text("output", "text", "body", "message") }

// stateText is the state of a teammate, or of the team, in one line.
func (w *Writer) stateText(ret Fields) string {
	if s := firstLine(ret.text("summary", "output", "text", "body")); s != "" {
		return w.message(withoutPaneIDs(s))
	}
	if v, ok := ret.find("counts"); ok && v.kind == object {
		return w.countsText(v.fields)
	}
	parts := []string{visible(ret, "state", "status")}
	if task, ok := ret.find("task", "currentTask"); ok {
		if task.kind == object {
			parts = append(parts, strings.TrimSpace(visible(task.fields, "id")+" "+visible(task.fields, "state", "status")))
		} else {
			parts = append(parts, visible(Fields{{"task", task}}, "task"))
		}
	}
	parts = append(parts, visible(ret, "activity"), firstLine(plainError(ret.text("error"))))
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	for i, s := range parts {
		parts[i] = w.message(s)
	}
	return strings.Join(parts, separator)
}

// countsText writes numbers by states: "2 ready · 1 claimed".
func (w *Writer) countsText(counts Fields) string {
	var parts []string
	for _, f := range counts {
		if f.Value.kind == number && f.Value.text != "0" {
			parts = append(parts, f.Value.text+" "+w.argument(label(f.Name)))
		}
	}
	if parts == nil {
		return "no tasks"
	}
	return strings.Join(parts, separator)
}

// herdEntries are the agents that a herd has.
func herdEntries(ret Fields) []Value {
	list, _ := ret.list("agents", "teammates", "herd", "entries", "panes")
	return list
}

func herdCount(ret Fields) int {
	if v, ok := ret.find("activeAgents", "active", "count"); ok {
		if n, isNumber := v.code(); isNumber && n >= 0 {
			return n
		}
	}
	return len(herdEntries(ret))
}

// agentNames lists the agents there are by name.
func (w *Writer) agentNames(ret Fields) string {
	list, _ := ret.list("agents", "available")
	var names []string
	for _, v := range list {
		name := v.text
		if v.kind == object {
			name = v.fields.text("name", "agent")
		}
		if name = w.argument(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// taskCounts says how many tasks a list has, and in which states.
func (w *Writer) taskCounts(ret Fields) string {
	list, _ := ret.list("tasks")
	total := strconv.Itoa(len(list))
	if v, ok := ret.find("total"); ok && v.kind == number {
		total = v.text
	}
	var states []string
	byState := map[string]int{}
	for _, v := range list {
		if s := w.argument(v.fields.text("state", "status")); s != "" {
			if byState[s]++; byState[s] == 1 {
				states = append(states, s)
			}
		}
	}
	out := "Tasks: " + total
	for _, s := range states {
		out += separator + strconv.Itoa(byState[s]) + " " + s
	}
	return out
}
