package render

import (
	"strconv"
	"strings"
)

// toolKind is a tool whose rows are made in a way of their own.
type toolKind uint8

const (
	anyTool toolKind = iota
	spawnTool
	delegateTool
	messageTool
	watchTool
	statusTool
	closeTool
	readTool
	herdTool
	agentsTool
	shutdownTool
	interruptTool
	resumeTool
	handoffTool
	joinTool
	leaveTool
	taskCreateTool
	taskListTool
	taskClaimTool
	taskSubmitTool
	taskReleaseTool
)

// toolOf finds the kind of a tool by the name that teams, Pi or Shepherd know
// it by.
func toolOf(name string) toolKind {
	name = strings.Join(strings.Fields(strings.ToLower(name)), "_")
	for _, prefix := range []string{"shepherd_", "teams_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	switch name {
	case "spawn", "teammate_spawn":
		return spawnTool
	case "delegate":
		return delegateTool
	case "message", "send", "reply", "send_message":
		return messageTool
	case "watch":
		return watchTool
	case "status", "teammate_status":
		return statusTool
	case "close":
		return closeTool
	case "read":
		return readTool
	case "herd", "herdr_herd":
		return herdTool
	case "agents":
		return agentsTool
	case "shutdown", "teammate_shutdown":
		return shutdownTool
	case "interrupt":
		return interruptTool
	case "resume":
		return resumeTool
	case "handoff":
		return handoffTool
	case "join":
		return joinTool
	case "leave":
		return leaveTool
	case "task_create", "task_add":
		return taskCreateTool
	case "task_list", "list":
		return taskListTool
	case "task_claim", "claim":
		return taskClaimTool
	case "task_submit", "submit":
		return taskSubmitTool
	case "task_release", "release":
		return taskReleaseTool
	}
	return anyTool
}

// partial is the row of an operation under way.
func (k toolKind) partial() string {
	switch k {
	case spawnTool:
		return "spawning…"
	case delegateTool:
		return "delegating…"
	case messageTool:
		return "waiting…"
	case watchTool:
		return "watching…"
	case closeTool:
		return "closing…"
	case readTool:
		return "reading…"
	case shutdownTool:
		return "stopping…"
	case interruptTool:
		return "interrupting…"
	case resumeTool:
		return "resuming…"
	case handoffTool:
		return "handing off…"
	case joinTool:
		return "joining…"
	case leaveTool:
		return "leaving…"
	case taskCreateTool:
		return "creating…"
	case taskClaimTool:
		return "claiming…"
	case taskSubmitTool:
		return "verifying…"
	case taskReleaseTool:
		return "releasing…"
	}
	return "working…"
}

// done is what a success is called, in the row and in the expanded form.
func (k toolKind) done(ret Fields) (row, status string) {
	switch k {
	case spawnTool:
		return "success", "spawned"
	case delegateTool:
		return "delegated", "delegated"
	case messageTool:
		return "queued", "queued"
	case watchTool:
		return "completed", "completed"
	case closeTool:
		return "closed", "closed"
	case readTool:
		return "success", "output"
	case shutdownTool:
		return "stopped", "stopped"
	case interruptTool:
		return "interrupted", "interrupted"
	case resumeTool:
		return "resumed", "resumed"
	case handoffTool:
		return "handed off", "handed off"
	case joinTool:
		return "joined", "joined"
	case leaveTool:
		return "left", "left"
	case taskCreateTool:
		return "created", "created"
	case taskClaimTool:
		return "claimed", "claimed"
	case taskSubmitTool:
		task, _ := ret.find("task")
		if ret.text("state") == "completed" || task.fields.text("state") == "completed" {
			return "completed", "completed"
		}
		return "submitted", "submitted"
	case taskReleaseTool:
		return "released", "released"
	}
	return "success", "success"
}

// isLife reports whether the tool returns the record of a teammate.
func (k toolKind) isLife() bool {
	switch k {
	case spawnTool, resumeTool, handoffTool, shutdownTool, interruptTool, joinTool, leaveTool, statusTool:
		return true
	}
	return false
}

// idLabel is the label of the member "id" of what the tool returns.
func (k toolKind) idLabel() string {
	switch k {
	case spawnTool, resumeTool, handoffTool, shutdownTool, interruptTool, joinTool, leaveTool:
		return "agent id"
	case messageTool:
		return "message id"
	case watchTool:
		return "watcher id"
	case taskCreateTool, taskClaimTool, taskSubmitTool, taskReleaseTool:
		return "task id"
	}
	return "id"
}

// failure looks for a failure that only the kind of the tool makes one: a
// watched task that failed, a gate that did not pass, a teammate that did not
// start.
func (k toolKind) failure(o *Operation) (why string, failed bool) {
	switch k {
	case watchTool:
		if pending, _ := o.Return.find("pending"); !pending.isZero() || o.Partial {
			return "", false
		}
		return failedTasks(settled(o.Return))
	case spawnTool, resumeTool, handoffTool, joinTool:
		state := o.Return.text("status", "state")
		return o.Return.text("error"), state == "failed" || state == "dead" || state == "stopped" && !o.Partial && k != joinTool
	case taskSubmitTool:
		return submitFailure(o.Return)
	case statusTool, readTool, herdTool, agentsTool, taskListTool:
		return "", false // these tell of others
	case messageTool:
		if o.Return.text("outcome") == "undelivered" {
			return "undelivered", true
		}
	}
	if o.OK {
		return "", false // the state is that of the record
	}
	if v := o.Return.text("verdict"); v != "" && v != "passed" && v != "none" {
		return "the gate says " + label(v), true
	}
	return "", isFailure(o.Return.text("status"))
}

// isFailure reports whether a state is that of something that failed.
func isFailure(state string) bool {
	switch strings.ToLower(state) {
	case "failed", "failure", "error", "timed_out", "timed-out", "killed", "could_not_start", "aborted":
		return true
	}
	return false
}

// submitFailure is that of a submission that completed no task.
func submitFailure(ret Fields) (why string, failed bool) {
	task, _ := ret.find("task")
	switch v := ret.text("verdict"); v {
	case "", "passed", "none":
	default:
		return "the gate says " + label(v), true
	}
	for _, f := range []Fields{ret, task.fields} {
		if isFailure(f.text("status")) || isFailure(f.text("state")) {
			why := firstLine(f.text("errorMessage", "result"))
			if why == "" {
				why = "submitted as failed"
			}
			return why, true
		}
	}
	return "", false
}

// settled are the tasks that a watch found at their end.
func settled(ret Fields) []Value {
	list, _ := ret.list("settled", "completed", "completions")
	return list
}

// failedTasks says which of the settled tasks are not completed.
func failedTasks(list []Value) (why string, failed bool) {
	var bad []string
	n := 0
	for _, v := range list {
		state, ok := taskOutcome(v.fields)
		if ok {
			continue
		}
		n++
		for _, id := range []string{v.fields.text("taskId", "id", "task"), v.fields.text("label", "subject"), v.fields.text("agent")} {
			if id != "" && !isOpaque(id) {
				bad = append(bad, Fold(id)+" "+label(state))
				break
			}
		}
	}
	switch {
	case n == 0:
		return "", false
	case len(bad) == n:
		return strings.Join(bad, ", "), true
	}
	return strconv.Itoa(n) + " of " + count(len(list), "task") + " failed", true
}

// taskOutcome is the state of a settled task and whether it is a success.
func taskOutcome(f Fields) (state string, ok bool) {
	state = f.text("status", "state")
	code, hasCode := f.find("returnCode")
	switch {
	case hasCode && !code.isZero(), f.says("ok", false):
		if state == "" || state == "completed" || state == "done" {
			state = "failed"
		}
		return state, false
	case state == "":
		return "", true
	}
	return state, state == "completed" || state == "done" || state == "passed"
}
