package herdr

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Status is what a run is at.
type Status string

// The statuses of runs.
const (
	Spawned       Status = "spawned"
	Running       Status = "workflow-running"
	PaneOpen      Status = "workflow-complete-pane-open"
	NeedsFinalize Status = "needs-finalize"
	Finalizing    Status = "finalizing"
	Completed     Status = "completed"
	Failed        Status = "failed"
	NeedsHuman    Status = "needs-human"
)

// Statuses lists them in the order of a run's life.
func Statuses() []Status {
	return []Status{Spawned, Running, PaneOpen, NeedsFinalize, Finalizing, Completed, Failed, NeedsHuman}
}

// The sets of statuses.
const (
	Active    = "active"
	Attention = "attention"
	Terminal  = "terminal"
)

// Mapping is what a status means to those who look.
type Mapping struct {
	Icon, Label string
	Set         string // Active, Attention or Terminal
	State       string // of the cell in herdr
	Sound       string // of the notification: "done", "request", or "" for none
	Release     bool   // the authority over the cell ends
	ClosePane   bool   // the pane is closed if it is ours
}

// MappingOf returns the mapping of a status; an unknown one is shown as it is
// and counts as active.
func MappingOf(s Status) Mapping {
	switch s {
	case Spawned:
		return Mapping{Icon: "•", Label: "Spawned", Set: Active, State: StateWorking}
	case Running:
		return Mapping{Icon: "▶", Label: "Running", Set: Active, State: StateWorking}
	case PaneOpen:
		return Mapping{Icon: "◐", Label: "Complete (pane open)", Set: Active, State: StateWorking}
	case NeedsFinalize:
		return Mapping{Icon: "!", Label: "Needs finalize", Set: Attention, State: StateBlocked, Sound: "request"}
	case Finalizing:
		return Mapping{Icon: "⟳", Label: "Finalizing", Set: Active, State: StateWorking}
	case Completed:
		return Mapping{Icon: "✓", Label: "Completed", Set: Terminal, State: StateIdle, Sound: "done", Release: true, ClosePane: true}
	case Failed:
		return Mapping{Icon: "✗", Label: "Failed", Set: Terminal, State: StateBlocked, Sound: "request"}
	case NeedsHuman:
		return Mapping{Icon: "?", Label: "Needs human", Set: Attention, State: StateBlocked, Sound: "request"}
	}
	return Mapping{Icon: "•", Label: string(s), Set: Active, State: StateWorking}
}

// NeedsAttention reports whether somebody has to look: a failed run counts.
func (s Status) NeedsAttention() bool { return s == Failed || MappingOf(s).Set == Attention }

// Ended reports whether the status is terminal.
func (s Status) Ended() bool { return MappingOf(s).Set == Terminal }

// ParseStatus reads the name of a status; the error is of code usage.
func ParseStatus(name string) (Status, error) {
	var names []string
	for _, s := range Statuses() {
		if string(s) == name {
			return s, nil
		}
		names = append(names, string(s))
	}
	return "", errs.New(errs.Usage, "%q is no status of a run, there are %s", name, strings.Join(names, ", "))
}

// CheckTransition says whether a run may go from one status to another; reopen
// allows to leave a terminal one. The error is of code conflict.
func CheckTransition(from, to Status, reopen bool) error {
	switch {
	case from == to:
		return nil
	case to == Completed && from.Ended():
		return errs.New(errs.Conflict, "a run that is %s cannot become completed, only one that is active or needs attention can", from)
	case from.Ended() && !reopen:
		return errs.New(errs.Conflict, "the run is %s, and that is final", from).WithHint("--reopen takes it up again")
	}
	return nil
}

// Run is a named piece of work, runs/<id>.json. Times are epoch ms.
type Run struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Status     Status  `json:"status"`
	Reason     string  `json:"reason,omitempty"`
	Phase      string  `json:"phase,omitempty"`
	Done       int     `json:"done"`
	Total      int     `json:"total"`
	Tokens     int64   `json:"tokens"`
	Cost       float64 `json:"cost,omitempty"`
	Background bool    `json:"background"`
	Paused     bool    `json:"paused,omitempty"`

	// Where it shows: Pane with its terminal, when one was named. Own says that
	// the pane was made by us, which allows to report its state and to close it.
	Pane     string `json:"pane,omitempty"`
	Terminal string `json:"terminal,omitempty"`
	Own      bool   `json:"own,omitempty"`
	SpawnID  string `json:"spawnId,omitempty"` // of the pane's lease
	Teammate string `json:"teammate,omitempty"`
	// Of which herdr the pane is; its socket has the same path on every host.
	Socket string `json:"socket,omitempty"`
	Host   string `json:"host,omitempty"`

	Worktree string `json:"worktree,omitempty"`
	Branch   string `json:"branch,omitempty"`
	Repo     string `json:"repo,omitempty"` // the checkout that the worktree belongs to

	// Process is who does the work; the run fails when it is proven dead.
	Process *fsx.Process `json:"process,omitempty"`

	StartedAt int64 `json:"startedAt"`
	UpdatedAt int64 `json:"updatedAt"`

	extra map[string]json.RawMessage // members we do not know
}

// Tokens writes a number of tokens: "812", "3.2K", "1.4M"; "" for none.
func Tokens(n int64) string {
	switch {
	case n <= 0:
		return ""
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 999950: // more would round to 1000.0K
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + "K"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
}

// StatusLine is the run as its own cell shows it: "▶ Synthesize 12/40 · 3.2K tok".
func (r *Run) StatusLine() string {
	switch r.Status {
	case Running:
		var head []string
		if phase := fold(r.Phase); phase != "" {
			head = append(head, phase)
		}
		if r.Total > 0 {
			head = append(head, progress(r.Done, r.Total))
		}
		parts := []string{strings.Join(head, " ")}
		if tok := Tokens(r.Tokens); tok != "" {
			parts = append(parts, tok+" tok")
		}
		if parts[0] == "" {
			parts = parts[1:]
		}
		if len(parts) == 0 {
			parts = []string{"running"}
		}
		return "▶ " + strings.Join(parts, " · ")
	case Completed:
		return "✓ done"
	}
	m := MappingOf(r.Status)
	return m.Icon + " " + strings.ToLower(m.Label)
}

// lineColumns is how wide the line on a host pane may be.
const lineColumns = 120

// Line is what a host pane shows of several runs, "" for none:
//
//	◆ research_topic Synthesize 12/40 · 3.2K tok
//	◆ 2 workflows · 3/4 agents · 500 tok · 1 needs attention
func Line(runs []Run) string {
	switch len(runs) {
	case 0:
		return ""
	case 1:
		return Cut(runs[0].line(), lineColumns)
	}
	var done, total, attention int
	var tokens int64
	for i := range runs {
		r := &runs[i]
		done, total, tokens = done+min(max(r.Done, 0), max(r.Total, 0)), total+max(r.Total, 0), tokens+max(r.Tokens, 0)
		if r.Status.NeedsAttention() {
			attention++
		}
	}
	parts := []string{"◆ " + strconv.Itoa(len(runs)) + " workflows"}
	if total > 0 {
		parts = append(parts, progress(done, total)+" agents")
	}
	if tok := Tokens(tokens); tok != "" {
		parts = append(parts, tok+" tok")
	}
	switch {
	case attention == 1:
		parts = append(parts, "1 needs attention")
	case attention > 1:
		parts = append(parts, strconv.Itoa(attention)+" need attention")
	}
	return Cut(strings.Join(parts, " · "), lineColumns)
}

// line is the only run of a host pane.
func (r *Run) line() string {
	m := MappingOf(r.Status)
	icon := m.Icon
	switch {
	case m.Set != Active:
	case r.Paused:
		icon = "⏸"
	default:
		icon = "◆"
	}
	name := fold(r.Name)
	if name == "" {
		name = "workflow"
	}
	head := []string{icon, name}
	if phase := fold(r.Phase); phase != "" {
		head = append(head, phase)
	}
	if r.Total > 0 {
		head = append(head, progress(r.Done, r.Total))
	}
	parts := []string{strings.Join(head, " ")}
	if tok := Tokens(r.Tokens); tok != "" {
		parts = append(parts, tok+" tok")
	}
	if m.Set != Active {
		parts = append(parts, m.Label)
	}
	return strings.Join(parts, " · ")
}

func progress(done, total int) string { return strconv.Itoa(done) + "/" + strconv.Itoa(total) }

func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// Visible selects the runs that a host pane shows: those that are not over, and
// beside them those that failed. Nothing is shown when nothing runs.
func Visible(runs []Run) []Run {
	var out []Run
	live := false
	for _, r := range runs {
		if !r.Status.Ended() {
			live = true
		} else if r.Status != Failed {
			continue
		}
		out = append(out, r)
	}
	if !live {
		return nil
	}
	return out
}

// Notice is the notification about a run, with title "" for none: of a status
// that has one, and of a pause because of a usage limit.
type Notice struct{ Title, Body, Sound string }

// NoticeOf returns the notification for the change from before to r.
func NoticeOf(before, r *Run) Notice {
	name := fold(r.Name)
	if name == "" {
		name = "workflow"
	}
	if r.Paused && !before.Paused {
		if r.Reason == ReasonUsageLimit {
			return Notice{Cut("Workflow paused (usage limit): "+name, 80), "", "request"}
		}
		return Notice{}
	}
	m := MappingOf(r.Status)
	if m.Sound == "" || before.Status == r.Status {
		return Notice{}
	}
	what := strings.ToLower(m.Label)
	if r.Status == Completed {
		what = "complete"
	}
	return Notice{Cut("Workflow "+what+": "+name, 80), Cut(r.Reason, 240), m.Sound}
}

// ReasonUsageLimit is the reason of a pause that people are told of.
const ReasonUsageLimit = "usage_limit"
