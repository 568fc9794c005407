package herdr

import (
	"context"
	"errors"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// The placements of a new pane.
const (
	PlaceRight     = "pane_right"
	PlaceDown      = "pane_down"
	PlaceTab       = "tab"
	PlaceWorkspace = "workspace"
)

// EnvSpawnMark stands in the environment of a pane of ours with the spawn id, so
// that it can be told from others.
const EnvSpawnMark = "TEAMS_HERDR_MARK"

// Spawner opens panes of our own.
type Spawner struct {
	Client *Client
	Leases *Leases
	Here   Here // where the caller is; its pane and tab are never closed
	// Grace after which a tab closes whose teammates have all ended; 0: 10 min.
	Grace time.Duration
	// Shared says that several hosts use the root: a tab of which nobody wrote
	// down the host need not be one of this herdr.
	Shared bool
}

// SpawnRequest describes a teammate, or a run, that gets a pane.
type SpawnRequest struct {
	SpawnID, Session string
	Name             string // also the name of the agent in herdr, unless that is taken there
	Role             string // the teammate's agent definition; it stands in the source of its states
	Label            string // of the pane, and of a new tab; "" is the name
	Owner            fsx.Process

	// Where: Tab is the name of a tab that related ones share; else Placement;
	// else below the caller, or in a new tab when that is not in herdr.
	Tab, Placement string
	Cwd            string // absolute
	Env            map[string]string
	Worktree       *NewWorktree // nil for none; its path becomes the working directory

	// What runs: an agent of a kind that herdr knows, with arguments; or, without
	// a kind, a command. Neither leaves the shell.
	Kind    string
	Args    []string
	Command []string
	// Ready bounds the start; 0: 30 s.
	Ready time.Duration

	// Record is the last step: it writes down what was made. When it fails all
	// is undone. It may be nil.
	Record func(*Lease) error
}

// undo is what takes a step back.
type undo struct {
	what string
	do   func(context.Context) error
}

// Spawn opens a pane and starts what is to run in it: lease, worktree, pane,
// agent, readiness, record. When a step fails those before it are undone in
// reverse; the error names the undos that failed too, and has them as
// details.undoFailed.
func (s *Spawner) Spawn(ctx context.Context, r SpawnRequest) (_ *Lease, err error) {
	var undos []undo
	defer func() {
		if err != nil {
			err = s.takeBack(ctx, err, undos)
		}
	}()
	step := func(what string, do func(context.Context) error) { undos = append(undos, undo{what, do}) }

	switch r.Placement {
	case "", PlaceRight, PlaceDown, PlaceTab, PlaceWorkspace:
	default:
		return nil, errs.New(errs.Usage, "%q is no placement, there are %s, %s, %s and %s", r.Placement, PlaceRight, PlaceDown, PlaceTab, PlaceWorkspace)
	}
	if n := len([]rune(r.Tab)); n > maxTabName {
		return nil, errs.New(errs.Usage, "the name of a tab has at most %d characters, this one has %d", maxTabName, n)
	}
	if (r.Placement == PlaceRight || r.Placement == PlaceDown) && r.Tab == "" && !s.Here.Inside() {
		return nil, errs.New(errs.Usage, "%s is beside the caller, and that is in no pane of herdr", r.Placement).WithHint("use --placement tab")
	}
	if _, err := s.Client.Ping(ctx); err != nil {
		return nil, err
	}
	if had, err := s.Leases.Find(r.SpawnID); err != nil {
		return nil, err
	} else if had != nil && had.Over {
		return nil, errs.New(errs.Conflict, "the spawn of %s is over, and its pane is still to be closed", r.Name).WithHint("teams herdr prune")
	} else if had != nil && had.Pane != "" {
		return had, nil // acquiring is idempotent
	}
	lease, err := s.Leases.Acquire(Lease{SpawnID: r.SpawnID, Session: r.Session, Name: r.Name, Role: r.Role, Owner: r.Owner, Socket: s.Client.Path})
	if err != nil {
		return nil, err
	}
	open := false // its pane could not be closed: without the lease nobody would know of it
	closing := func(do func(context.Context) error) {
		step("closing the pane", func(ctx context.Context) error {
			err := do(ctx)
			open = err != nil
			return err
		})
	}
	step("freeing the lease", func(ctx context.Context) error {
		if open {
			return s.Leases.endLater(ctx, r.SpawnID)
		}
		return s.Leases.Free(ctx, r.SpawnID)
	})

	var made *Created
	if r.Worktree != nil {
		if made, err = s.Client.CreateWorktree(ctx, *r.Worktree); err != nil {
			if IsUnavailable(err) || ctx.Err() != nil { // it may have been made all the same
				step("removing the worktree", func(ctx context.Context) error { return s.removeAt(ctx, r.Worktree.Path) })
			}
			return nil, err
		}
		step("removing the worktree", func(ctx context.Context) error { return s.Client.RemoveWorktree(ctx, made.Workspace.ID, false) })
		if made.Worktree.Path == "" || made.Worktree.Branch == "" || made.Workspace.ID == "" {
			return nil, unavailable(s.Client.Path, badReply{"it made a worktree and does not say where"})
		}
		r.Cwd = made.Worktree.Path
		lease.Worktree, lease.Branch, lease.WorktreeWorkspace = made.Worktree.Path, made.Worktree.Branch, made.Workspace.ID
		if err := s.Leases.Update(lease); err != nil {
			return nil, err
		}
	}
	pane, err := s.place(ctx, &r, made, lease)
	if err != nil {
		if IsUnavailable(err) || ctx.Err() != nil { // it may have been made all the same
			closing(func(ctx context.Context) error { return s.closeMarked(ctx, r.SpawnID) })
		}
		return nil, err
	}
	closing(func(ctx context.Context) error { return s.Client.CloseOwn(ctx, pane.ID, pane.Terminal, s.Here) })
	if pane.ID == "" || pane.Terminal == "" {
		return nil, unavailable(s.Client.Path, badReply{"it made a pane and does not say which"})
	}
	lease.setPane(pane)
	if err := s.Leases.Update(lease); err != nil {
		return nil, err
	}
	label := r.Label
	if label == "" {
		label = r.Name
	}
	_ = s.Client.RenamePane(ctx, pane.ID, Cut(label, 80)) // for the eye only
	if err := s.launch(ctx, &r, lease); err != nil {
		return nil, err
	}
	if r.Record != nil {
		if err := r.Record(lease); err != nil {
			return nil, err
		}
	}
	return lease, nil
}

// takeBack undoes steps in reverse, whatever has become of ctx.
func (s *Spawner) takeBack(ctx context.Context, cause error, undos []undo) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var failed []string
	for i := len(undos) - 1; i >= 0; i-- {
		if err := undos[i].do(ctx); err != nil {
			failed = append(failed, undos[i].what+": "+err.Error())
		}
	}
	if len(failed) == 0 {
		return cause
	}
	e := errs.New(errs.CodeOf(cause), "%w; undoing it failed: %s", cause, strings.Join(failed, "; "))
	return e.WithDetail("undoFailed", failed).WithHint("teams herdr prune")
}

// place makes the pane.
func (s *Spawner) place(ctx context.Context, r *SpawnRequest, made *Created, lease *Lease) (*Pane, error) {
	env := maps.Clone(r.Env)
	if env == nil {
		env = map[string]string{}
	}
	env[EnvSpawnMark] = r.SpawnID
	label := r.Label
	if label == "" {
		label = r.Name
	}
	split := func(target, direction string) (*Pane, error) {
		return s.Client.SplitPane(ctx, Split{Target: target, Direction: direction, Cwd: r.Cwd, Env: env})
	}
	switch {
	case r.Tab != "":
		return s.inTab(ctx, r, env, lease)
	case r.Placement == PlaceRight:
		return split(s.Here.Pane, "right")
	case r.Placement == PlaceDown:
		return split(s.Here.Pane, "down")
	case r.Placement == PlaceWorkspace:
		c, err := s.Client.CreateWorkspace(ctx, NewPlace{Cwd: r.Cwd, Label: Cut(label, maxTabName), Env: env})
		if err != nil {
			return nil, err
		}
		return &c.Pane, nil
	case r.Placement == "" && made != nil:
		// In the workspace of the worktree. Its own pane knows nothing of env.
		p, err := split(made.Pane.ID, "down")
		if err == nil {
			_ = s.Client.CloseOwn(ctx, made.Pane.ID, made.Pane.Terminal, s.Here)
		}
		return p, err
	case r.Placement == "" && s.Here.Inside() && s.Here.Workspace != "" && s.Here.Tab != "":
		return split(s.Here.Pane, "down")
	}
	c, err := s.Client.CreateTab(ctx, NewPlace{Workspace: s.Here.Workspace, Cwd: r.Cwd, Label: Cut(label, maxTabName), Env: env})
	if err != nil {
		return nil, err
	}
	return &c.Pane, nil
}

// closeMarked closes the pane whose shell has the mark of a spawn in its
// environment: one that was made while the answer was lost.
func (s *Spawner) closeMarked(ctx context.Context, spawnID string) error {
	panes, err := s.Client.Panes(ctx, "")
	if err != nil {
		return err
	}
	for _, p := range panes {
		info, err := s.Client.Processes(ctx, p.ID)
		if err != nil || p.ID == s.Here.Pane || !hasEnv(info.ShellPID, EnvSpawnMark+"="+spawnID) {
			continue
		}
		return s.Client.CloseOwn(ctx, p.ID, p.Terminal, s.Here)
	}
	return nil
}

// removeAt removes the worktree at a path that was asked for while the answer
// was lost.
func (s *Spawner) removeAt(ctx context.Context, path string) error {
	if path == "" {
		return errs.New(errs.Failure, "herdr did not say whether it made one, nor where")
	}
	panes, err := s.Client.Panes(ctx, "")
	if err != nil {
		return err
	}
	for _, p := range panes {
		if p.Cwd == path {
			return s.Client.RemoveWorktree(ctx, p.Workspace, false)
		}
	}
	return nil
}

// hasEnv reports whether a process was started with a variable.
func hasEnv(pid int, kv string) bool {
	if pid <= 0 {
		return false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && strings.Contains("\x00"+string(b), "\x00"+kv+"\x00")
}

// Close ends a spawn: its pane is closed if its terminal is still there, and the
// lease freed. When herdr does not close it, the lease says that the spawn is over,
// and [Spawner.Prune] ends it later; so it does with a pane on another host, which
// is of code conflict. The worktree is for [Spawner.RemoveWorktree]. No lease is
// no error.
func (s *Spawner) Close(ctx context.Context, spawnID string) error {
	l, err := s.Leases.Find(spawnID)
	if err != nil || l == nil {
		return err
	}
	if l.Pane != "" {
		if err := s.closePane(ctx, l); err != nil {
			if CodeOf(err) != "" || IsUnavailable(err) || ctx.Err() != nil || l.Owner.Host != fsx.Host() {
				// Whatever has become of ctx: it may have ended for this.
				err = errors.Join(err, s.Leases.endLater(context.WithoutCancel(ctx), spawnID))
			}
			return err
		}
	}
	return s.Leases.Free(ctx, spawnID)
}

// closePane closes the pane of a lease, whichever herdr of this host it is in.
func (s *Spawner) closePane(ctx context.Context, l *Lease) error {
	if l.Owner.Host != fsx.Host() {
		return errs.New(errs.Conflict, "the pane of %s is on the host %s", l.Name, l.Owner.Host).WithHint("teams herdr prune closes it there")
	}
	at := s.at(l)
	return at.Client.CloseOwn(ctx, l.Pane, l.Terminal, at.Here)
}

// at is the spawner for the herdr that a lease is of: another one knows nothing
// of its pane.
func (s *Spawner) at(l *Lease) *Spawner {
	if l.Socket == "" || l.Socket == s.Client.Path {
		return s
	}
	other := *s
	other.Client, other.Here = New(l.Socket), Here{}
	return &other
}

// RemoveWorktree has herdr remove the worktree of a spawn, and close its
// workspace. One with changes is refused without force.
func (s *Spawner) RemoveWorktree(ctx context.Context, l *Lease, force bool) error {
	if l.WorktreeWorkspace == "" {
		return nil
	}
	return s.Client.RemoveWorktree(ctx, l.WorktreeWorkspace, force)
}
