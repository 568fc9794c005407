package fsboard

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/internal/rawjson"
)

// Status is the stored state of a task.
type Status string

// The stored states.
const (
	Pending   Status = "pending"
	Claimed   Status = "claimed"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Terminal reports whether a task in this state is at its end.
func (s Status) Terminal() bool { return s == Completed || s == Failed || s == Cancelled }

// Defaults and limits of task fields.
const (
	DefaultVerifyTimeoutMs = 600_000
	DefaultPriority        = 2
	DefaultMaxAttempts     = 3
	MaxSubjectRunes        = 200
	MaxDescription         = 1 << 20 // bytes
	MaxResult              = 1 << 20 // bytes
	MaxDependsOn           = 32
)

// Leader is the name in which the board itself takes markers; no worker can
// have it.
const Leader = "leader"

// Task is one task as board.json stores it. Times are milliseconds since the
// Unix epoch. The names up to completedAt are those of pi-agent-teams 0.7.0.
type Task struct {
	ID           string   `json:"id"`
	Status       Status   `json:"status"`
	Subject      string   `json:"subject"`
	Description  string   `json:"description,omitempty"` // Markdown
	DependsOn    []string `json:"dependsOn"`
	Verify       string   `json:"verify,omitempty"`    // the task's own gate command
	ClaimedBy    string   `json:"claimedBy,omitempty"` // the holder; kept on a completed task
	Result       string   `json:"result,omitempty"`
	ErrorMessage string   `json:"errorMessage,omitempty"` // why the last attempt failed
	CreatedAt    int64    `json:"createdAt"`
	UpdatedAt    int64    `json:"updatedAt"`
	CompletedAt  int64    `json:"completedAt,omitempty"`

	VerifyTimeoutMs int64    `json:"verifyTimeoutMs"` // limit of the gate, 0 none
	Priority        int      `json:"priority"`        // 0 first … 4 last
	Role            string   `json:"role,omitempty"`  // only this agent may claim it
	Assignee        string   `json:"assignee,omitempty"`
	Tags            []string `json:"tags,omitempty"`
	Attempt         int      `json:"attempt"` // failed submissions so far
	MaxAttempts     int      `json:"maxAttempts"`
	Epoch           int64    `json:"epoch"` // see the package's promises
	NotBefore       int64    `json:"notBefore,omitempty"`
	Claim           *Claim   `json:"claim,omitempty"`
	Gate            *Gate    `json:"gate,omitempty"`
	GateRuns        int      `json:"gateRuns,omitempty"`     // runs of this task's gate, numbers its logs
	GateFailures    int      `json:"gateFailures,omitempty"` // failed runs in this claim
	LastGate        *Receipt `json:"lastGate,omitempty"`
	LastSubmission  *Decided `json:"lastSubmission,omitempty"`
	Key             string   `json:"key,omitempty"` // idempotency key of Add
	CreatedBy       string   `json:"createdBy,omitempty"`

	extra rawFields
}

// Claim says who holds a task. For a claim with a lease LeaseMs is its length
// and BootMs its end on the boot clock of BootID.
type Claim struct {
	Token      string `json:"token"`
	Worker     string `json:"worker"`
	SpawnID    string `json:"spawnId,omitempty"`
	Host       string `json:"host,omitempty"`
	ClaimedAt  int64  `json:"claimedAt"`
	LeaseUntil int64  `json:"leaseUntil,omitempty"`
	LeaseMs    int64  `json:"leaseMs,omitempty"`
	BootID     string `json:"bootId,omitempty"`
	BootMs     int64  `json:"bootMs,omitempty"`

	extra rawFields
}

// Gate is the command that must exit 0 before a submission completes the task,
// as fixed when the task was claimed.
type Gate struct {
	Command   string `json:"command"`
	Source    string `json:"source"` // task or agent
	TimeoutMs int64  `json:"timeoutMs"`
	Cwd       string `json:"cwd"`
	Host      string `json:"host"`

	extra rawFields
}

// Verdicts of a gate run.
const (
	VerdictPassed        = "passed"
	VerdictFailed        = "failed"
	VerdictTimedOut      = "timed_out"
	VerdictKilled        = "killed"
	VerdictCouldNotStart = "could_not_start"
	VerdictNone          = "none" // the task has no gate
)

// Receipt is the evidence that a gate run leaves.
type Receipt struct {
	Run          int    `json:"run"`
	Submission   string `json:"submission,omitempty"`
	Verdict      string `json:"verdict"`
	ExitCode     int    `json:"exitCode"`
	Signal       string `json:"signal,omitempty"`
	DurationMs   int64  `json:"durationMs"`
	Log          string `json:"log"`
	OutputBytes  int64  `json:"outputBytes"`
	OutputSHA256 string `json:"outputSha256"`
	Commit       string `json:"commit,omitempty"` // HEAD of the gate's directory
	FinishedAt   int64  `json:"finishedAt"`
	Reason       string `json:"reason,omitempty"`

	extra rawFields
}

// Outcomes of a submission.
const (
	OutcomeCompleted  = "completed"
	OutcomeGateFailed = "gate_failed"
	OutcomeFailed     = "failed"
	OutcomeDropped    = "dropped"
)

// Decided names the last submission of a task that was decided.
type Decided struct {
	ID      string `json:"id"`
	Token   string `json:"token"`
	Worker  string `json:"worker,omitempty"`
	SpawnID string `json:"spawnId,omitempty"`
	Status  string `json:"status"`
	Outcome string `json:"outcome"`

	extra rawFields
}

// newTask returns a task with the defaults that a field which is missing in
// the file stands for.
func newTask() *Task {
	return &Task{VerifyTimeoutMs: DefaultVerifyTimeoutMs, Priority: DefaultPriority, MaxAttempts: DefaultMaxAttempts}
}

// clone returns a copy whose nested records can be changed apart from t's.
func (t *Task) clone() *Task {
	c := *t
	if t.Claim != nil {
		v := *t.Claim
		c.Claim = &v
	}
	if t.Gate != nil {
		v := *t.Gate
		c.Gate = &v
	}
	if t.LastGate != nil {
		v := *t.LastGate
		c.LastGate = &v
	}
	if t.LastSubmission != nil {
		v := *t.LastSubmission
		c.LastSubmission = &v
	}
	return &c
}

// MarshalJSON writes the known fields, then those that were read and are not
// known.
func (t Task) MarshalJSON() ([]byte, error) {
	if t.DependsOn == nil {
		t.DependsOn = []string{}
	}
	return rawjson.Append(nil, taskFields, &t, t.extra)
}

// UnmarshalJSON reads a task; fields that are missing get their defaults.
func (t *Task) UnmarshalJSON(data []byte) (err error) {
	*t = *newTask()
	t.extra, err = rawjson.Decode(taskFields, t, data)
	return err
}

// MarshalJSON and UnmarshalJSON of the nested records keep unknown fields too.

// MarshalJSON writes known and kept fields.
func (c Claim) MarshalJSON() ([]byte, error) { return rawjson.Append(nil, claimFields, &c, c.extra) }

// UnmarshalJSON keeps fields that it does not know.
func (c *Claim) UnmarshalJSON(data []byte) (err error) {
	c.extra, err = rawjson.Decode(claimFields, c, data)
	return err
}

// MarshalJSON writes known and kept fields.
func (g Gate) MarshalJSON() ([]byte, error) { return rawjson.Append(nil, gateFields, &g, g.extra) }

// UnmarshalJSON keeps fields that it does not know.
func (g *Gate) UnmarshalJSON(data []byte) (err error) {
	g.extra, err = rawjson.Decode(gateFields, g, data)
	return err
}

// MarshalJSON writes known and kept fields.
func (r Receipt) MarshalJSON() ([]byte, error) {
	return rawjson.Append(nil, receiptFields, &r, r.extra)
}

// UnmarshalJSON keeps fields that it does not know.
func (r *Receipt) UnmarshalJSON(data []byte) (err error) {
	r.extra, err = rawjson.Decode(receiptFields, r, data)
	return err
}

// MarshalJSON writes known and kept fields.
func (d Decided) MarshalJSON() ([]byte, error) {
	return rawjson.Append(nil, decidedFields, &d, d.extra)
}

// UnmarshalJSON keeps fields that it does not know.
func (d *Decided) UnmarshalJSON(data []byte) (err error) {
	d.extra, err = rawjson.Decode(decidedFields, d, data)
	return err
}

// taskNumber returns the number of an id such as t_12.
func taskNumber(id string) (int64, bool) {
	digits, ok := strings.CutPrefix(id, "t_")
	if !ok || digits == "" || digits[0] == '0' || digits[0] == '+' || digits[0] == '-' {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n > 0
}

// taskID is the inverse of taskNumber.
func taskID(n int64) string { return "t_" + strconv.FormatInt(n, 10) }

// ValidID reports whether id has the form t_<n>.
func ValidID(id string) bool { _, ok := taskNumber(id); return ok }

// encode returns the task as one line of JSON.
func (t *Task) encode() ([]byte, error) { return t.MarshalJSON() }

// decodeTask reads one task.
func decodeTask(data []byte) (*Task, error) {
	t := new(Task)
	if err := t.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return t, t.check()
}

// check refuses what no version of a task can be.
func (t *Task) check() error {
	if statusOf([]byte(t.Status)) == noStatus {
		return fmt.Errorf("%q is no status", t.Status)
	}
	return nil
}
