package team

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/rawjson"
)

// The kinds of teammates.
const (
	KindPi    = "pi"    // a resident: pi --mode rpc
	KindExec  = "exec"  // a resident: a command started once per wake
	KindHerdr = "herdr" // a resident: an interactive agent in a herdr pane
	KindWork  = "work"  // a teams work loop
	KindShell = "shell" // a shell, or whoever calls with --as
)

// The states of a teammate.
const (
	StatusStarting = "starting"
	StatusIdle     = "idle"
	StatusWorking  = "working"
	StatusStopping = "stopping"
	StatusStopped  = "stopped"
)

// How a resident was asked to end.
const (
	StopTurn = "turn" // after its running turn, within a limit
	StopNow  = "now"
)

// Child is the process that a host runs for its teammate.
type Child = fsx.Process

// Usage is what a teammate has cost so far.
type Usage struct {
	Tokens int64   `json:"tokens"`
	Cost   float64 `json:"cost"` // in the currency of the model's price list
}

// Teammate is the record of a teammate's present life, teammate.json. Times
// are epoch ms.
type Teammate struct {
	Name            string `json:"name"`
	Label           string `json:"label,omitempty"`
	Agent           string `json:"agent"` // its role; "" for none
	Kind            string `json:"kind"`
	SpawnID         string `json:"spawnId"`
	PreviousSpawnID string `json:"previousSpawnId,omitempty"`
	Status          string `json:"status"`

	// The process that hosts it: the host of a resident, the work loop, or the
	// shell that joined with its pid. PID is 0 for a shell of which no process
	// is recorded; its Host is then the one where it joined.
	PID          int    `json:"pid,omitempty"`
	StartTime    uint64 `json:"startTime,omitempty"`
	BootID       string `json:"bootId,omitempty"`
	PIDNamespace string `json:"pidNamespace,omitempty"`
	Host         string `json:"host,omitempty"`

	// Child is what the host runs, written before it is let run. What it leaves
	// out besides pid and start time is as with the host.
	Child *Child `json:"child,omitempty"`

	Drained      bool   `json:"drained"` // the end of the life Ended is finished
	Cwd          string `json:"cwd,omitempty"`
	Worktree     string `json:"worktree,omitempty"`
	Branch       string `json:"branch,omitempty"`
	Base         string `json:"base,omitempty"`         // the commit that the worktree began from
	WorktreeDone bool   `json:"worktreeDone,omitempty"` // the worktree was finalised, or kept for a reason that was told
	// WorktreeTriedAt is when its work could not be committed last.
	WorktreeTriedAt int64 `json:"worktreeTriedAt,omitempty"`

	// What a resident's host needs to know.
	Command     []string `json:"command,omitempty"`     // of an exec teammate
	Tools       []string `json:"tools,omitempty"`       // of its agent
	Model       string   `json:"model,omitempty"`       // of its agent
	SessionFile string   `json:"sessionFile,omitempty"` // of a pi teammate
	Placement   string   `json:"placement,omitempty"`   // of the pane of a herdr teammate
	Tab         string   `json:"tab,omitempty"`         // the tab that it shares
	GraceMs     int64    `json:"graceMs,omitempty"`     // before that tab closes
	TaskID      string   `json:"taskId,omitempty"`      // its row of the ledger; a revived one keeps it
	Stop        string   `json:"stop,omitempty"`        // StopTurn or StopNow: it was asked to end

	CurrentTask  string `json:"currentTask,omitempty"`
	Activity     string `json:"activity,omitempty"`
	LastOutputAt int64  `json:"lastOutputAt,omitempty"`
	// ActiveAt is when it last gave output or got a prompt that was no steer, and
	// ActiveBootMs the same by the clock of the boot BootID, which is never set.
	ActiveAt     int64             `json:"activeAt,omitempty"`
	ActiveBootMs int64             `json:"activeBootMs,omitempty"`
	Turns        int               `json:"turns,omitempty"`
	Usage        *Usage            `json:"usage,omitempty"`
	TaskUsage    map[string]*Usage `json:"taskUsage,omitempty"` // the part of it that fell on tasks it held
	Error        string            `json:"error,omitempty"`
	CreatedAt    int64             `json:"createdAt"`
	UpdatedAt    int64             `json:"updatedAt"`
	StoppedAt    int64             `json:"stoppedAt,omitempty"`

	extra map[string]json.RawMessage // members we do not know
}

// teammateFields are the members of teammate.json.
var teammateFields = []rawjson.Field[Teammate]{
	{Name: "name", Of: func(tm *Teammate) any { return &tm.Name }},
	{Name: "label", Opt: true, Of: func(tm *Teammate) any { return &tm.Label }},
	{Name: "agent", Of: func(tm *Teammate) any { return &tm.Agent }},
	{Name: "kind", Of: func(tm *Teammate) any { return &tm.Kind }},
	{Name: "spawnId", Of: func(tm *Teammate) any { return &tm.SpawnID }},
	{Name: "previousSpawnId", Opt: true, Of: func(tm *Teammate) any { return &tm.PreviousSpawnID }},
	{Name: "status", Of: func(tm *Teammate) any { return &tm.Status }},
	{Name: "pid", Opt: true, Of: func(tm *Teammate) any { return &tm.PID }},
	{Name: "startTime", Opt: true, Of: func(tm *Teammate) any { return &tm.StartTime }},
	{Name: "bootId", Opt: true, Of: func(tm *Teammate) any { return &tm.BootID }},
	{Name: "pidNamespace", Opt: true, Of: func(tm *Teammate) any { return &tm.PIDNamespace }},
	{Name: "host", Opt: true, Of: func(tm *Teammate) any { return &tm.Host }},
	{Name: "child", Opt: true, Of: func(tm *Teammate) any { return &tm.Child }},
	{Name: "drained", Of: func(tm *Teammate) any { return &tm.Drained }},
	{Name: "cwd", Opt: true, Of: func(tm *Teammate) any { return &tm.Cwd }},
	{Name: "worktree", Opt: true, Of: func(tm *Teammate) any { return &tm.Worktree }},
	{Name: "branch", Opt: true, Of: func(tm *Teammate) any { return &tm.Branch }},
	{Name: "base", Opt: true, Of: func(tm *Teammate) any { return &tm.Base }},
	{Name: "worktreeDone", Opt: true, Of: func(tm *Teammate) any { return &tm.WorktreeDone }},
	{Name: "worktreeTriedAt", Opt: true, Of: func(tm *Teammate) any { return &tm.WorktreeTriedAt }},
	{Name: "command", Opt: true, Of: func(tm *Teammate) any { return &tm.Command }},
	{Name: "tools", Opt: true, Of: func(tm *Teammate) any { return &tm.Tools }},
	{Name: "model", Opt: true, Of: func(tm *Teammate) any { return &tm.Model }},
	{Name: "sessionFile", Opt: true, Of: func(tm *Teammate) any { return &tm.SessionFile }},
	{Name: "placement", Opt: true, Of: func(tm *Teammate) any { return &tm.Placement }},
	{Name: "tab", Opt: true, Of: func(tm *Teammate) any { return &tm.Tab }},
	{Name: "graceMs", Opt: true, Of: func(tm *Teammate) any { return &tm.GraceMs }},
	{Name: "taskId", Opt: true, Of: func(tm *Teammate) any { return &tm.TaskID }},
	{Name: "stop", Opt: true, Of: func(tm *Teammate) any { return &tm.Stop }},
	{Name: "currentTask", Opt: true, Of: func(tm *Teammate) any { return &tm.CurrentTask }},
	{Name: "activity", Opt: true, Of: func(tm *Teammate) any { return &tm.Activity }},
	{Name: "lastOutputAt", Opt: true, Of: func(tm *Teammate) any { return &tm.LastOutputAt }},
	{Name: "activeAt", Opt: true, Of: func(tm *Teammate) any { return &tm.ActiveAt }},
	{Name: "activeBootMs", Opt: true, Of: func(tm *Teammate) any { return &tm.ActiveBootMs }},
	{Name: "turns", Opt: true, Of: func(tm *Teammate) any { return &tm.Turns }},
	{Name: "usage", Opt: true, Of: func(tm *Teammate) any { return &tm.Usage }},
	{Name: "taskUsage", Opt: true, Of: func(tm *Teammate) any { return &tm.TaskUsage }},
	{Name: "error", Opt: true, Of: func(tm *Teammate) any { return &tm.Error }},
	{Name: "createdAt", Of: func(tm *Teammate) any { return &tm.CreatedAt }},
	{Name: "updatedAt", Of: func(tm *Teammate) any { return &tm.UpdatedAt }},
	{Name: "stoppedAt", Opt: true, Of: func(tm *Teammate) any { return &tm.StoppedAt }},
}

// Process is the recorded process, the zero value when there is none.
func (tm Teammate) Process() fsx.Process {
	if tm.PID == 0 {
		return fsx.Process{}
	}
	return fsx.Process{PID: tm.PID, StartTime: tm.StartTime, BootID: tm.BootID,
		PIDNamespace: tm.PIDNamespace, Host: tm.Host}
}

// SetProcess records a process; nil records none, and this host.
func (tm *Teammate) SetProcess(p *fsx.Process) {
	if p == nil {
		p = &fsx.Process{Host: fsx.Host()}
	}
	tm.PID, tm.StartTime, tm.BootID = p.PID, p.StartTime, p.BootID
	tm.PIDNamespace, tm.Host = p.PIDNamespace, p.Host
}

// Ended is the spawn id of the last life that is over: this one when it is
// stopped, else the previous one. "" when there is none.
func (tm Teammate) Ended() string {
	if tm.Status == StatusStopped {
		return tm.SpawnID
	}
	return tm.PreviousSpawnID
}

// Hosted says whether the teammate has a host that holds its alive.lock.
func (tm Teammate) Hosted() bool {
	switch tm.Kind {
	case KindPi, KindExec, KindHerdr, KindWork:
		return true
	}
	return false
}

// Resident says whether the harness hosts the teammate.
func (tm Teammate) Resident() bool { return tm.Hosted() && tm.Kind != KindWork }

// Read reads the record of a teammate. No such teammate, a directory without a
// record included, is fs.ErrNotExist; a record that cannot be understood is an
// error of code corrupt with its path.
func (t *Team) Read(name string) (Teammate, error) {
	if err := t.checkTeammateDir(name); err != nil {
		return Teammate{}, err
	}
	path := t.TeammateFile(name)
	data, err := fsx.ReadFile(path, maxRecord)
	if err != nil {
		return Teammate{}, err
	}
	var tm Teammate
	if tm.extra, err = rawjson.Decode(teammateFields, &tm, data); err != nil {
		return Teammate{}, corrupt(path, "is not a teammate record", err)
	}
	switch {
	case tm.SpawnID == "":
		return Teammate{}, corrupt(path, "is not a teammate record: it has no spawnId", nil)
	case tm.Name != name:
		return Teammate{}, corrupt(path, "is the record of another teammate: "+fsx.SafeLine(tm.Name), nil)
	}
	return tm, nil
}

// Find is [Team.Read] for a name that a person gave: a name against the rules
// is of code usage, an unknown one of code not_found.
func (t *Team) Find(name string) (Teammate, error) {
	if err := CheckName(name); err != nil {
		return Teammate{}, err
	}
	tm, err := t.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Teammate{}, errs.New(errs.NotFound, "there is no teammate named %s", name).WithHint("teams list")
	}
	return tm, err
}

// List returns the teammates in the order of their names, stopped ones too. A
// record that cannot be read is a problem and leaves the others whole. A
// session without state has none; one that cannot be listed is an error.
func (t *Team) List() ([]Teammate, []Problem, error) {
	err := t.checkDirs("teammate", t.Session)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	names, err := fsx.List(t.TeamDir())
	if err != nil {
		return nil, nil, err
	}
	var teammates []Teammate
	var problems []Problem
	for _, name := range names {
		if CheckName(name) != nil {
			continue // a lock, a record or another directory of the session
		}
		tm, err := t.Read(name)
		switch {
		case err == nil:
			teammates = append(teammates, tm)
		case !errors.Is(err, fs.ErrNotExist):
			problems = append(problems, Problem{t.TeammateFile(name), err})
		}
	}
	return teammates, problems, nil
}

// makeDirs makes the session and a name's directories, which come before its
// record.
func (t *Team) makeDirs(name string) error {
	if _, err := t.EnsureSession(); err != nil {
		return err
	}
	outbox := t.OutboxDir(name)
	dirs := append(mailboxDirs(t.InboxDir(name)),
		filepath.Join(outbox, "tmp"), filepath.Join(outbox, "new"), filepath.Join(outbox, "rejected"),
		t.NoticedDir(name))
	for _, dir := range dirs {
		if err := fsx.MkdirAll(t.Root, dir); err != nil {
			return err
		}
	}
	return nil
}

// replace rewrites a record. The caller holds the teammate's lock.
func (t *Team) replace(tm Teammate) error {
	data, err := marshalLines(tm, tm.extra)
	if err != nil {
		return err
	}
	return fsx.Replace(t.TeammateFile(tm.Name), data)
}

// lock takes a teammate's lock. The teammate's directory exists.
func (t *Team) lock(ctx context.Context, name string) (*fsx.Lock, error) {
	if err := t.checkTeammateDir(name); err != nil {
		return nil, err
	}
	return fsx.Acquire(ctx, t.teammateLock(name), t.lockTimeout())
}

// Update changes a record under the teammate's lock and returns what it became.
// The life must still be spawnID, else the error is of code stale_identity and
// nothing is changed; an empty spawnID means whatever life there is. An error
// of change is returned as it is and nothing is changed either. The new record
// is durable when Update returns.
func (t *Team) Update(ctx context.Context, name, spawnID string, change func(*Teammate) error) (Teammate, error) {
	lock, err := t.lock(ctx, name)
	if err != nil {
		return Teammate{}, err
	}
	defer lock.Unlock()
	tm, err := t.Read(name)
	if err != nil {
		return Teammate{}, err
	}
	if spawnID != "" && tm.SpawnID != spawnID {
		return Teammate{}, staleIdentity(name)
	}
	if err := change(&tm); err != nil {
		return Teammate{}, err
	}
	tm.UpdatedAt = nowMillis()
	return tm, t.replace(tm)
}
