package herdr

// The states of an agent. StateDone cannot be reported: herdr derives it of an
// idle agent whose result nobody has seen.
const (
	StateIdle    = "idle"
	StateWorking = "working"
	StateBlocked = "blocked"
	StateDone    = "done"
	StateUnknown = "unknown"
)

// IsState reports whether s is a state that can be waited for.
func IsState(s string) bool {
	switch s {
	case StateIdle, StateWorking, StateBlocked, StateDone, StateUnknown:
		return true
	}
	return false
}

// firstModern is the protocol of 0.7.5, which brought agent.prompt, agent.wait
// and the agent.start that works in a pane that is there. Before it, agents are
// started and prompted through the pane's input.
const firstModern = 17

// Pong is herdr's answer to a ping.
type Pong struct {
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
}

// Session says which integration has anchored a pane, such as "herdr:pi".
type Session struct {
	Source string `json:"source"`
	Agent  string `json:"agent,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Value  string `json:"value,omitempty"`
}

// Pane is a pane as herdr tells of it, agent or not. The fields that only one
// generation has are "" in the other.
type Pane struct {
	ID        string `json:"pane_id"`
	Terminal  string `json:"terminal_id"` // fresh for each terminal: who is in the pane
	Workspace string `json:"workspace_id"`
	Tab       string `json:"tab_id"`
	Focused   bool   `json:"focused,omitempty"`
	Cwd       string `json:"cwd,omitempty"`
	Label     string `json:"label,omitempty"`

	Name         string            `json:"name,omitempty"`  // of the agent, until it exits
	Agent        string            `json:"agent,omitempty"` // its kind, or a free label
	Status       string            `json:"agent_status,omitempty"`
	Session      *Session          `json:"agent_session,omitempty"`
	Title        string            `json:"title,omitempty"`
	Display      string            `json:"display_agent,omitempty"`
	CustomStatus string            `json:"custom_status,omitempty"`
	Labels       map[string]string `json:"state_labels,omitempty"`
	Tokens       map[string]string `json:"tokens,omitempty"`

	LaunchPending    bool   `json:"launch_pending,omitempty"`
	InteractiveReady bool   `json:"interactive_ready,omitempty"`
	DetectionSkipped bool   `json:"screen_detection_skipped,omitempty"`
	StateSeq         uint64 `json:"state_change_seq,omitempty"`
	Revision         uint64 `json:"revision,omitempty"`
}

// Official reports whether one of herdr's own integrations owns the state of the
// pane: whatever else reports there is answered ok and dropped.
func (p *Pane) Official() bool {
	return p.Session != nil && len(p.Session.Source) > len("herdr:") && p.Session.Source[:len("herdr:")] == "herdr:"
}

// Tab is a tab of a workspace.
type Tab struct {
	ID        string `json:"tab_id"`
	Workspace string `json:"workspace_id"`
	Label     string `json:"label"`
	Panes     int    `json:"pane_count"`
	Status    string `json:"agent_status,omitempty"`
}

// Workspace is a workspace.
type Workspace struct {
	ID    string `json:"workspace_id"`
	Label string `json:"label"`
}

// Worktree is a git worktree that herdr keeps.
type Worktree struct {
	Path   string `json:"path"`
	Branch string `json:"branch"`
}

// ProcessInfo says what runs in a pane.
type ProcessInfo struct {
	ShellPID   int       `json:"shell_pid"`                   // 0 where herdr does not know it
	Group      int       `json:"foreground_process_group_id"` // 0 where herdr does not know it
	Foreground []Process `json:"foreground_processes"`
}

// Process is a process in the foreground of a pane.
type Process struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
}

// AtShell reports whether the shell itself is in the foreground, waiting for a
// command.
func (i *ProcessInfo) AtShell() bool {
	switch {
	case i.ShellPID != 0 && i.Group != 0:
		return i.Group == i.ShellPID
	case len(i.Foreground) != 1:
		return false
	case i.ShellPID != 0:
		return i.Foreground[0].PID == i.ShellPID
	}
	switch i.Foreground[0].Name {
	case "sh", "bash", "zsh", "fish", "dash", "ash", "ksh", "nu", "-sh", "-bash", "-zsh", "-fish":
		return true
	}
	return false
}

// Split says how to make a pane of another.
type Split struct {
	Target    string            `json:"target_pane_id"`
	Direction string            `json:"direction"` // right or down
	Cwd       string            `json:"cwd,omitempty"`
	Focus     bool              `json:"focus"`
	Right     string            `json:"right_click,omitempty"` // who gets right clicks, herdr without it
	Env       map[string]string `json:"env,omitempty"`
}

// NewPlace describes a new tab or workspace.
type NewPlace struct {
	Workspace string            `json:"workspace_id,omitempty"` // of a new tab
	Cwd       string            `json:"cwd,omitempty"`
	Label     string            `json:"label,omitempty"`
	Focus     bool              `json:"focus"`
	Env       map[string]string `json:"env,omitempty"`
}

// NewWorktree describes a new worktree, for which herdr opens a workspace.
type NewWorktree struct {
	Cwd    string `json:"cwd,omitempty"`
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base,omitempty"`
	Path   string `json:"path,omitempty"`
	Label  string `json:"label,omitempty"`
	Focus  bool   `json:"focus"`
}

// Created is what herdr answers when it has made a tab, a workspace or a worktree.
type Created struct {
	Workspace Workspace `json:"workspace"`
	Tab       Tab       `json:"tab"`
	Pane      Pane      `json:"root_pane"`
	Worktree  Worktree  `json:"worktree"`
}

// Text is what was read of a pane.
type Text struct {
	Text      string `json:"text"`
	Source    string `json:"source"`
	Revision  uint64 `json:"revision"`
	Truncated bool   `json:"truncated"`
}

// Shown says whether a notification was shown, and why not.
type Shown struct {
	Shown  bool   `json:"shown"`
	Reason string `json:"reason,omitempty"`
}

// Metadata is what a source shows on a pane beside its state. It replaces all
// that the source showed before, except tokens, which are patched: nil removes one.
type Metadata struct {
	Pane         string             `json:"pane_id"`
	Source       string             `json:"source"`
	AppliesTo    string             `json:"applies_to_source,omitempty"`
	Title        string             `json:"title,omitempty"`
	Display      string             `json:"display_agent,omitempty"`
	CustomStatus string             `json:"custom_status,omitempty"` // up to 0.7.3
	Labels       map[string]string  `json:"state_labels,omitempty"`
	Tokens       map[string]*string `json:"tokens,omitempty"`

	ClearTitle        bool `json:"clear_title"`
	ClearDisplay      bool `json:"clear_display_agent"`
	ClearLabels       bool `json:"clear_state_labels"`
	ClearCustomStatus bool `json:"clear_custom_status,omitempty"` // up to 0.7.3

	Seq uint64 `json:"seq,omitempty"`
	TTL int64  `json:"ttl_ms,omitempty"`
}

// Report is the state of an agent as a source has it.
type Report struct {
	Pane         string `json:"pane_id"`
	Source       string `json:"source"`
	Agent        string `json:"agent"`
	State        string `json:"state"`
	Message      string `json:"message,omitempty"`
	CustomStatus string `json:"custom_status,omitempty"` // up to 0.7.3
	Seq          uint64 `json:"seq,omitempty"`
}
