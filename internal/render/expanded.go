package render

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

const maxIndent = 64 // cells; what is nested deeper is not indented further

// Operation writes an operation as people see it: the call row and the result
// row, or, when the Writer is for the long form, the call row and all of call
// and return as labelled fields.
func (w *Writer) Operation(op Operation) {
	w.CallRow(op)
	w.Outcome(op)
}

// Outcome is Operation without the call row. It writes nothing when there is
// only the call and the long form is not asked for.
func (w *Writer) Outcome(op Operation) {
	if !w.opt.Expanded {
		w.ResultRow(op)
		return
	}
	if toolOf(op.Tool) == spawnTool {
		w.ResultRow(op)
	}
	w.Blank()
	w.section("call")
	gap := true
	for _, f := range op.Call {
		if !isHidden(f) {
			gap = !w.field(0, label(f.Name), f)
		}
	}
	if !op.started() {
		return
	}
	if gap {
		w.Blank()
	}
	w.section("return")
	w.returned(&op)
}

// section writes the name of a part. Nothing that comes from a value is ever
// written in this way.
func (w *Writer) section(name string) {
	w.spans([]Cell{{name, Bold}})
}

// returned writes the fields of what came back: the status first, the return
// code last, without what the call says already.
func (w *Writer) returned(op *Operation) {
	tool := toolOf(op.Tool)
	why, failed := op.failure()
	w.indented(0, "status:", " "+w.message(op.status(failed)))
	ret := op.Return
	switch {
	case tool == herdTool && !failed:
		w.indented(0, "active agents:", " "+strconv.Itoa(herdCount(ret)))
		w.herd(op.Tool, herdEntries(ret))
	case tool == watchTool:
		ret = watchReturn(ret)
	case tool.isLife() && ret.text("spawnId") != "":
		ret = lifeReturn(ret)
	}
	if tool != anyTool && !strings.HasPrefix(op.Tool, "shepherd") {
		ret = withoutEmpty(ret)
	}
	if failed {
		w.field(0, "error", Field{"error", ValueOf(op.reason(why))})
	}
	for _, f := range ret {
		if name, shown := op.returnLabel(tool, f, failed); shown {
			w.field(0, name, f)
		}
	}
	if code := op.code(); code != 0 {
		w.indented(0, "return code:", " "+strconv.Itoa(code))
	}
}

// status is the word for how the operation ended.
func (o *Operation) status(failed bool) string {
	if failed {
		return "failed"
	}
	if waits := o.waits(); waits != "" {
		return waits
	}
	tool := toolOf(o.Tool)
	_, status := tool.done(o.Return)
	switch state := o.Return.text("state", "status"); tool {
	case statusTool:
		if state != "" {
			return state
		}
	case anyTool:
		if own := o.Return.text("status"); own != "" {
			return own
		}
	}
	return status
}

// reason is the whole error of a failure; why is its first line.
func (o *Operation) reason(why string) string {
	told, _ := o.told()
	for _, s := range []string{told, why} {
		if s = strings.TrimSpace(plainError(s)); s != "" {
			return s
		}
	}
	return why
}

// returnLabel is the label of a member of the return, and whether it is shown.
func (o *Operation) returnLabel(tool toolKind, f Field, failed bool) (name string, shown bool) {
	name = label(f.Name)
	if isHidden(f) || isInternal(f.Name) || f.Value.kind == null {
		return name, false
	}
	switch f.Name {
	case "returnCode":
		return name, false
	case "error":
		// A failure has it already, but an object may say more.
		if failed {
			return "error details", f.Value.kind == object && len(f.Value.fields) > 1
		}
	case "ok", "success":
		if f.Value.kind == boolean {
			return name, false
		}
	case "id":
		name = tool.idLabel()
	case "status":
		switch own, _ := f.Value.scalar(); {
		case own == o.status(failed), hasMember(o.Return, "state"):
			return name, false
		case tool == messageTool:
			name = "report status"
		default:
			name = "state"
		}
	case "state":
		if own, _ := f.Value.scalar(); own == o.status(failed) {
			return name, false
		}
	case "artifact":
		if tool == watchTool {
			return name, false
		}
	case "agents", "teammates", "herd", "entries", "panes", "activeAgents", "active", "count":
		if tool == herdTool {
			return name, false
		}
	}
	for _, arg := range o.Call {
		if sameArgument(arg.Name, f.Name) && arg.Value.equal(f.Value) {
			return name, false
		}
	}
	return name, true
}

// sameArgument reports whether an argument of a call and a member of its return
// are about the same.
func sameArgument(arg, ret string) bool {
	return arg == ret || argumentClass(arg) != "" && argumentClass(arg) == argumentClass(ret)
}

func argumentClass(name string) string {
	switch name {
	case "to", "target", "recipient":
		return "to"
	case "message", "text", "body":
		return "message"
	case "id", "taskId", "agentId":
		return "id"
	case "host", "kind":
		return "host"
	}
	return ""
}

// withoutEmpty leaves out what says nothing. The results of other programs are
// shown as they are.
func withoutEmpty(ret Fields) (out Fields) {
	for _, f := range ret {
		if !f.Value.isEmpty() {
			out = append(out, f)
		}
	}
	return out
}

// lifeReturn is the record of a teammate cut down to what a person asks of it:
// who it is, what it does or did, what went wrong, and where its work is.
func lifeReturn(ret Fields) (out Fields) {
	for _, f := range ret {
		switch f.Name {
		case "code", "hint", "name", "agent", "label", "kind", "spawnId", "status", "currentTask", "activity", "error", "worktree", "branch",
			"model", "turns", "usage", "createdAt", "stoppedAt", "report", "ok", "success", "returnCode":
			out = append(out, f)
		case "taskId":
			// A revived teammate keeps the id that the ledger knows it by.
			if id, _ := f.Value.scalar(); id != ret.text("spawnId") {
				f.Name = "ledgerId"
				out = append(out, f)
			}
		}
	}
	return out
}

// watchReturn is what a watch returned, with each settled task cut down to its
// outcome.
func watchReturn(ret Fields) (out Fields) {
	for _, f := range ret {
		switch f.Name {
		case "settled", "completed", "completions":
			if f.Value.kind == array && len(f.Value.items) == 0 {
				continue // nothing is settled yet
			}
			if f.Value.kind == array {
				f = Field{"completions", completions(f.Value.items)}
			}
		case "watch", "id":
			f.Name = "watcherId"
			if f.Value.kind == object {
				if id, ok := f.Value.fields.find("id"); ok {
					f.Value = id
				}
			}
		}
		out = append(out, f)
	}
	return out
}

// completions keeps of settled tasks what tells their outcome.
func completions(list []Value) Value {
	out := Value{kind: array, items: make([]Value, 0, len(list))}
	for _, v := range list {
		if v.kind == object {
			var keep Fields
			for _, f := range v.fields {
				switch f.Name {
				case "id", "taskId", "promptId", "agentId", "agent", "label", "subject", "status", "state", "ok", "returnCode", "text", "result",
					"error", "errorMessage", "claimedBy", "completedAt":
					if f.Value.isEmpty() || f.Name == "status" && hasMember(v.fields, "state") {
						continue
					}
					if f.Name == "id" {
						f.Name = "taskId"
					}
					keep = append(keep, f)
				}
			}
			v.fields = keep
		}
		out.items = append(out.items, v)
	}
	return out
}

// herd writes the agents of a herd, each under its id.
func (w *Writer) herd(tool string, list []Value) {
	if len(list) == 0 {
		return
	}
	w.indented(0, "agents:", "")
	for i, v := range list {
		if i > 0 {
			w.Blank()
		}
		if v.kind != object {
			s, _ := v.scalar()
			w.indented(2, "agent id:", " "+w.message(s))
			continue
		}
		id, used := "leader", ""
		if strings.HasPrefix(tool, "shepherd") {
			id = "shepherd"
		}
		for _, name := range []string{"id", "agentId", "spawnId", "name"} {
			if s := v.fields.text(name); s != "" && !isPaneID(s) {
				id, used = s, name
				break
			}
		}
		w.indented(2, "agent id:", " "+w.message(id))
		for _, f := range v.fields {
			if f.Name != used && f.Name != "cwd" && !isHidden(f) && !isInternal(f.Name) && f.Value.kind != null {
				w.field(4, label(f.Name), f)
			}
		}
	}
}

// field writes one field. It reports whether a blank line stands behind it, as
// behind a block of text.
func (w *Writer) field(indent int, name string, f Field) (blank bool) {
	return w.value(indent, indent, w.label(name)+":", name, f.Name, f.Value)
}

// value writes a value behind a label that is written out; name is the label
// without its colon, or "" for an item of a list, and key the name in JSON.
// What is inside the value is indented by two more than base.
func (w *Writer) value(indent, base int, written, name, key string, v Value) (blank bool) {
	switch v.kind {
	case text:
		s := v.text
		if strings.Contains(s, "\n") || isBlock(name) && !isID(s) {
			if name == "error" {
				s = withoutPaneIDs(s)
			}
			w.indented(indent, written, "")
			if s == "" {
				return false
			}
			w.rawBlock(s)
			return true
		}
		s = w.opt.SafeLine(strings.TrimRight(withoutPaneIDs(s), "\r"))
		if s != "" {
			s = " " + s
		}
		w.indented(indent, written, s)
	case array:
		return w.items(indent, base, written, v.items)
	case object:
		shown := 0
		for _, f := range v.fields {
			if isHidden(f) || isInternal(f.Name) {
				continue
			}
			if shown == 0 {
				w.indented(indent, written, "")
			}
			shown++
			blank = w.field(min(base+2, maxIndent), label(f.Name), f)
		}
		if shown == 0 {
			w.indented(indent, written, " {}")
		}
		return blank
	case null:
		w.indented(indent, written, " null")
	case number:
		s := v.text
		if t, ok := pointInTime(key, s); ok {
			s = w.Time(t)
		}
		w.indented(indent, written, " "+s)
	default:
		s, _ := v.scalar()
		w.indented(indent, written, " "+s)
	}
	return false
}

// items writes the items of a list, one a line.
func (w *Writer) items(indent, base int, written string, list []Value) (blank bool) {
	if len(list) == 0 {
		w.indented(indent, written, " []")
		return false
	}
	w.indented(indent, written, "")
	inner := min(base+2, maxIndent)
	for _, v := range list {
		if v.kind == text && isPaneID(v.text) {
			continue
		}
		blank = w.item(inner, v)
	}
	return blank
}

// item writes one item of a list; an object has its first field on the line of
// the dash.
func (w *Writer) item(indent int, v Value) (blank bool) {
	if v.kind != object {
		return w.value(indent, indent, "-", "", "", v)
	}
	first := true
	inner := min(indent+2, maxIndent)
	for _, f := range v.fields {
		if isHidden(f) || isInternal(f.Name) {
			continue
		}
		name := label(f.Name)
		if first {
			blank = w.value(indent, inner, "- "+w.label(name)+":", name, f.Name, f.Value)
			first = false
			continue
		}
		blank = w.field(inner, name, f)
	}
	if first {
		w.indented(indent, "-", "")
	}
	return blank
}

// isBlock names the labels whose text always stands in lines of its own.
func isBlock(name string) bool {
	switch name {
	case "message", "task", "question", "description", "output", "text":
		return true
	}
	return false
}

// pointInTime is a number of milliseconds since 1970 in a member that is a time
// by its name.
func pointInTime(key, digits string) (time.Time, bool) {
	switch {
	case strings.HasSuffix(key, "At"), key == "sent", key == "notBefore", key == "lastChange":
	default:
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || len(digits) != 13 {
		return time.Time{}, false
	}
	return time.UnixMilli(ms), true
}

// label makes a label of a name in JSON: "agentId" and "agent_id" become "agent
// id". The result is one line.
func label(name string) string {
	var b strings.Builder
	lower := false // the character before was a small letter or a digit
	for _, r := range name {
		switch {
		case r == '_' || r == '-' || unicode.IsSpace(r):
			r = ' '
		case unicode.IsUpper(r) && lower:
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return Fold(b.String())
}

// label makes a label safe, and gives one to what has none.
func (w *Writer) label(name string) string {
	name = Fold(w.opt.SafeLine(name))
	if name == "" {
		return "(no name)"
	}
	return Truncate(name, argCells)
}
