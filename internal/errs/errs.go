// Package errs holds the one error type that crosses package borders, and the
// one table that gives each error code its exit code.
//
// A code is a stable snake_case word: it is part of the JSON contract
// (docs/json.md) and decides the exit code of the command. Libraries return
// *Error where a caller has to tell cases apart and plain wrapped errors
// elsewhere; only the command prints and exits.
package errs

import (
	"context"
	"errors"
	"fmt"
)

// Code is a stable word that names one kind of failure.
type Code string

// The codes. Their exit codes and meanings stand in Table.
const (
	Failure          Code = "failure"
	GateFailed       Code = "gate_failed"
	Corrupt          Code = "corrupt"
	Unusable         Code = "unusable"
	TaskFailed       Code = "task_failed"
	Findings         Code = "findings"
	HerdrUnavailable Code = "herdr_unavailable"
	Declined         Code = "declined"
	NothingClaimable Code = "nothing_claimable"
	Blocked          Code = "blocked"
	NoMail           Code = "no_mail"
	RecipientStopped Code = "recipient_stopped"
	AwaitingHuman    Code = "awaiting_human"
	NotFound         Code = "not_found"
	NoSession        Code = "no_session"
	BoardDrained     Code = "board_drained"
	AlreadyClaimed   Code = "already_claimed"
	AlreadyHolding   Code = "already_holding"
	NotHolder        Code = "not_holder"
	StaleClaim       Code = "stale_claim"
	TaskEnded        Code = "task_ended"
	NameTaken        Code = "name_taken"
	Stopped          Code = "stopped"
	Conflict         Code = "conflict"
	StaleIdentity    Code = "stale_identity"
	WrongRole        Code = "wrong_role"
	WrongAssignee    Code = "wrong_assignee"
	LeaderOnly       Code = "leader_only"
	HumanOnly        Code = "human_only"
	Usage            Code = "usage"
	Cycle            Code = "cycle"
	UnknownDep       Code = "unknown_dependency"
	Internal         Code = "internal"
	Busy             Code = "busy"
	TimedOut         Code = "timed_out"
	Interrupted      Code = "interrupted"
)

// Entry is one row of the table of codes.
type Entry struct {
	Code    Code
	Exit    int
	Meaning string
}

// Table lists every code once, in the order of the exit codes.
func Table() []Entry {
	return []Entry{
		{Failure, 1, "an operation failed; the message names the path and the reason"},
		{GateFailed, 1, "the verify gate did not pass; the task stays claimed"},
		{Corrupt, 1, "a file of the state cannot be read as what it should be; nothing was overwritten"},
		{Unusable, 1, "the root, home or working directory cannot be used"},
		{TaskFailed, 1, "a task that was waited for ended as failed or cancelled"},
		{Findings, 1, "doctor found at least one error"},
		{HerdrUnavailable, 1, "herdr cannot be reached, or does not answer"},
		{Declined, 1, "the person who was asked declined to answer"},
		{NothingClaimable, 2, "no task can be claimed by this worker now"},
		{Blocked, 2, "the named task is blocked or waits for its back-off"},
		{NoMail, 2, "there is no unread message"},
		{RecipientStopped, 2, "the teammate whose reply was waited for has stopped"},
		{AwaitingHuman, 2, "the teammate whose report was waited for waits for a person"},
		{NotFound, 3, "no such task, teammate or file"},
		{NoSession, 3, "the session has no state yet"},
		{BoardDrained, 3, "every task is terminal, or can never become claimable for this worker"},
		{AlreadyClaimed, 4, "somebody else holds the claim, or was first"},
		{AlreadyHolding, 4, "this worker holds as many tasks as it may"},
		{NotHolder, 4, "the task is not claimed, or is held by another"},
		{StaleClaim, 4, "the claim this refers to is over"},
		{TaskEnded, 4, "the task is completed, failed or cancelled"},
		{NameTaken, 4, "a living process has this name"},
		{Stopped, 4, "the teammate has stopped, or has another life now"},
		{Conflict, 4, "the state does not allow this, or something is there already"},
		{StaleIdentity, 5, "TEAMS_SPAWN is no longer the current life of this name, or stands without TEAMS_NAME"},
		{WrongRole, 5, "the task is for teammates of another agent"},
		{WrongAssignee, 5, "the task is assigned to another teammate"},
		{LeaderOnly, 5, "only the leader may do this"},
		{HumanOnly, 5, "only a person may do this, and this is the shell of an agent"},
		{Usage, 64, "the command line or the input is wrong; nothing was changed"},
		{Cycle, 64, "the dependencies would form a cycle"},
		{UnknownDep, 64, "a dependency does not exist"},
		{Internal, 70, "a defect of teams itself"},
		{Busy, 75, "a lock was not free in time; try again"},
		{TimedOut, 124, "the time limit passed"},
		{Interrupted, 130, "interrupted by a signal"},
	}
}

// Exit returns the exit code of a code; 1 for one that is not in the table.
func Exit(code Code) int {
	for _, e := range Table() {
		if e.Code == code {
			return e.Exit
		}
	}
	return 1
}

// Error is a failure that callers can tell apart by its Code.
type Error struct {
	Code    Code
	Op      string         // what was being done, such as "claim t_3"; may be empty
	Path    string         // the file concerned; may be empty
	Msg     string         // what is wrong, in lower case
	Hint    string         // a command or an act that would help; may be empty
	Details map[string]any // facts for JSON readers; may be nil
	Err     error          // the cause; may be nil
}

// New returns an Error with a formatted message. A %w verb sets the cause.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithPath sets the path and returns e.
func (e *Error) WithPath(path string) *Error {
	e.Path = path
	return e
}

// WithDetail adds one fact for JSON readers and returns e.
func (e *Error) WithDetail(key string, value any) *Error {
	if e.Details == nil {
		e.Details = make(map[string]any, 1)
	}
	e.Details[key] = value
	return e
}

// Error joins operation, path and message.
func (e *Error) Error() string {
	s := e.Msg
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first *Error in err's chain, Interrupted or
// TimedOut for a context error, "" for nil and Failure for anything else.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	case errors.Is(err, context.Canceled):
		return Interrupted
	}
	return Failure
}
