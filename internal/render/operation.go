package render

import "strings"

// Operation is one call of a tool and what came of it. Text for people is made
// from it alone.
type Operation struct {
	// Tool names the operation as its caller knows it, such as "spawn" or Pi's
	// "teammate_spawn".
	Tool string
	// Call has the arguments that were given, in their order.
	Call Fields
	// Return has what came back. nil: nothing came back yet; a success that has
	// nothing to say returns Fields{}.
	Return Fields
	// ReturnCode is the exit status, 0 for a success.
	ReturnCode int
	// Partial: the operation is under way.
	Partial bool
	// Error is the message of a failure, "" when the return has it or there is
	// none.
	Error string
	// IsError: it failed, whatever else is said.
	IsError bool
	// OK: it succeeded, and an "error" in the return is that of a record it is
	// about. A tool may still know better: a spawn of a teammate that has
	// stopped is a failure.
	OK bool
}

// unknownError is said of a failure that says nothing.
const unknownError = "unknown error"

// started reports whether there is more than the call.
func (o *Operation) started() bool {
	return o.Partial || o.Return != nil || o.ReturnCode != 0 || o.Error != "" || o.IsError
}

// code is the return code, which the return may have too.
func (o *Operation) code() int {
	if o.ReturnCode == 0 {
		if v, ok := o.Return.find("returnCode"); ok {
			n, isCode := v.code()
			if !isCode && v.kind == number && v.text != "0" {
				return 1
			}
			return n
		}
	}
	return o.ReturnCode
}

// Failed reports whether the operation failed. One that is under way has not,
// unless it says so.
func (o *Operation) Failed() bool {
	_, failed := o.failure()
	return failed
}

// failure returns why the operation failed, in one line, and whether it did.
func (o *Operation) failure() (why string, failed bool) {
	why, failed = o.told()
	byTool, bad := toolOf(o.Tool).failure(o)
	if !failed && !bad {
		return "", false
	}
	for _, s := range []string{why, byTool} {
		if s = firstLine(plainError(s)); s != "" {
			return s, true
		}
	}
	switch o.code() {
	case 124:
		return "timed out", true
	case 130:
		return "cancelled", true
	}
	return unknownError, true
}

// told is what the operation itself says about a failure.
func (o *Operation) told() (why string, failed bool) {
	why = o.Error
	if why == "" && !o.OK {
		why = o.returnedError()
	}
	failed = why != "" || o.IsError || o.code() != 0
	if !o.OK {
		v, _ := o.Return.find("error")
		failed = failed || !v.isZero() || o.Return.says("ok", false) || o.Return.says("success", false) || o.Return.says("isError", true)
	}
	if failed && why == "" {
		why = o.Return.text("errorMessage", "reason")
	}
	return why, failed
}

// returnedError is the message of the error in the return.
func (o *Operation) returnedError() string {
	v, _ := o.Return.find("error")
	return errorText(v)
}

// says reports whether a member is the given boolean.
func (f Fields) says(name string, yes bool) bool {
	v, ok := f.find(name)
	return ok && v.kind == boolean && v.yes == yes
}

// plainError takes from an error what is only about how it came here, and the
// ids that people do not see.
func plainError(s string) string {
	if rest, ok := strings.CutPrefix(s, "Herd "); ok {
		if verb, rest, ok := strings.Cut(rest, " failed (return code "); ok && !strings.ContainsAny(verb, " \n") {
			if code, rest, ok := strings.Cut(rest, "): "); ok && strings.Trim(code, "-0123456789") == "" {
				s = rest
			}
		}
	}
	return withoutPaneIDs(s)
}

// firstLine returns the first line of s that says something, folded.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = Fold(line); line != "" {
			return line
		}
	}
	return ""
}

// Subjects are the ids or names of what came back, or else the one that the
// call is about. They are what -q prints, and not harmless.
func (o Operation) Subjects() []string {
	if s := o.Return.text("name", "id", "taskId", "task"); s != "" {
		return []string{s}
	}
	for _, record := range []string{"task", "teammate", "message"} {
		v, _ := o.Return.find(record)
		if s := v.fields.text("name", "id"); s != "" {
			return []string{s}
		}
	}
	for _, list := range []string{"names", "ids", "ended", "settled", "teammates", "tasks", "messages"} {
		items, ok := o.Return.list(list)
		if !ok {
			continue
		}
		var out []string
		for _, v := range items {
			s, _ := v.scalar()
			if v.kind == object {
				s = v.fields.text("name", "id", "taskId")
			}
			if s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	if s := o.Call.text("name", "id", "taskId"); s != "" {
		return []string{s}
	}
	return nil
}
