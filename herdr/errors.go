package herdr

import (
	"errors"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

// The codes of herdr that callers act on. There are more.
const (
	CodePaneNotFound     = "pane_not_found"
	CodeTabNotFound      = "tab_not_found"
	CodeAgentNotFound    = "agent_not_found"
	CodeAgentNotReady    = "agent_not_ready"
	CodeAgentNotRunning  = "agent_not_running"
	CodeAgentBlocked     = "agent_blocked"
	CodeAgentBusy        = "agent_pane_busy"
	CodeNameTaken        = "agent_name_taken"
	CodePromptStalled    = "agent_prompt_stalled"
	CodeTimeout          = "timeout"
	CodeInvalidRequest   = "invalid_request"
	CodeEventsLost       = "events_lost"
	CodeConfirm          = "confirmation_required"
	CodeProtocolMismatch = "protocol_mismatch"
)

// Error is an error that herdr answered with. To package errs it is one of the
// codes not_found, timed_out, conflict or failure, with herdr's own code among
// the details as "herdr".
type Error struct {
	Code    string // herdr's code, such as "pane_not_found"
	Message string // herdr's text
	Method  string // the request
}

// Error has method, text and code. The ids of panes and tabs in the text are left
// out: they mean nothing to people, and change.
func (e *Error) Error() string {
	var words []string
	for _, w := range strings.Fields(e.Message) {
		if !isPlaceID(strings.Trim(w, ".,;:'\"`()")) {
			words = append(words, w)
		}
	}
	msg := strings.Join(words, " ")
	if msg == "" {
		msg = "no reason given"
	}
	return "herdr: " + e.Method + ": " + msg + " (" + e.Code + ")"
}

// isPlaceID reports whether a word is the id of a pane or a tab, such as w1:p2.
func isPlaceID(w string) bool {
	space, place, ok := strings.Cut(w, ":")
	if !ok || len(space) < 2 || space[0] != 'w' || len(place) < 2 || place[0] != 'p' && place[0] != 't' {
		return false
	}
	return !strings.ContainsFunc(space+place, func(r rune) bool { return r >= 0x80 || !isWordByte(byte(r)) })
}

// As makes the error one of package errs for those who ask for that.
func (e *Error) As(target any) bool {
	p, ok := target.(**errs.Error)
	if !ok {
		return false
	}
	code := errs.Failure
	switch {
	case e.Code == CodeTimeout:
		code = errs.TimedOut
	case strings.HasSuffix(e.Code, "_not_found"):
		code = errs.NotFound
	case e.Code == CodeAgentBusy, e.Code == CodeNameTaken, e.Code == CodeAgentBlocked, e.Code == CodeAgentNotReady,
		e.Code == CodeAgentNotRunning, e.Code == CodeConfirm, e.Code == "agent_target_ambiguous":
		code = errs.Conflict
	}
	*p = errs.New(code, "%s", e.Error()).WithDetail("herdr", e.Code)
	return true
}

// CodeOf returns herdr's code of an error, "" when herdr did not answer with one.
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Gone reports whether an error says that a pane, a tab, a workspace or an agent
// is not there.
func Gone(err error) bool { return strings.HasSuffix(CodeOf(err), "_not_found") }

// IsUnavailable reports whether an error says that herdr cannot be reached or
// does not answer in a way that can be understood.
func IsUnavailable(err error) bool { return errs.CodeOf(err) == errs.HerdrUnavailable }

// unknownMethod reports whether an error says that this server does not know a
// method or its parameters.
func unknownMethod(err error) bool { return CodeOf(err) == CodeInvalidRequest }

// unavailable is the error for a socket that cannot be used.
func unavailable(path string, err error) error {
	e := errs.New(errs.HerdrUnavailable, "herdr cannot be used, %w", reason(err))
	e.Err = err
	return e.WithPath(path).WithHint("teams herdr status")
}
