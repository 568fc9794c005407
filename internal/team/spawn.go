package team

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/worktree"
)

// DefaultMax is how many residents may live in a session unless the caller says
// something else.
const DefaultMax = 8

// rosterWait is how long a spawn waits for another one.
const rosterWait = 2 * time.Minute

// SpawnRequest says which teammate is to be spawned.
type SpawnRequest struct {
	Name    string
	Agent   string // its role
	Text    string // what it shall do at once; "": it waits for mail and claimable work
	Kind    string // KindPi, KindExec or KindHerdr
	Label   string // for people
	Command []string
	// Of the pane that the herdr host opens.
	Placement, Tab string
	Grace          time.Duration // before its tab closes; 0: 10 min

	Max     int          // how many residents may live; 0: DefaultMax
	Revive  *LedgerRow   // the life that this one goes on with; nil: none
	Program string       // the teams program that hosts it; "": the running one
	Step    func(string) // told what is being done; may be nil
}

func (r *SpawnRequest) check() error {
	if err := CheckName(r.Name); err != nil {
		return err
	}
	switch r.Kind {
	case KindPi, KindExec, KindHerdr:
	default:
		return errs.New(errs.Usage, "%q is no host", r.Kind).WithHint("pi, exec or herdr")
	}
	if r.Kind == KindExec && len(r.Command) == 0 {
		return errs.New(errs.Usage, "the exec host needs a command").
			WithHint("teams spawn %s %s --host exec -- CMD", r.Name, orWord(r.Agent, "AGENT"))
	}
	if r.Kind == KindPi && len(r.Command) > 0 {
		return errs.New(errs.Usage, "the pi host takes no command").WithHint("--host exec runs any command")
	}
	if r.Kind != KindHerdr && (r.Placement != "" || r.Tab != "" || r.Grace != 0) {
		return errs.New(errs.Usage, "--placement, --tab and --grace are for the herdr host")
	}
	if err := r.checkPane(); err != nil {
		return err
	}
	if len(r.Text) > inbox.MaxBody/2 {
		return inbox.TooLarge(int64(len(r.Text)))
	}
	return nil
}

func orWord(s, empty string) string {
	if s == "" {
		return empty
	}
	return s
}

// prepared is what a spawn knows before it changes anything.
type prepared struct {
	spawnID string // of the life to be
	agent   agentdefs.Agent
	tree    *worktree.Plan // nil: none is wanted
}

// prepareSpawn looks for what refuses a spawn, in the order in which it is told.
// It writes nothing. locked says that the caller holds roster.lock and has undone
// what dead spawns left; without it, no other spawn is held against this one.
func (t *Team) prepareSpawn(ctx context.Context, r *SpawnRequest, locked bool) (p prepared, err error) {
	if err := r.check(); err != nil {
		return p, err
	}
	p.spawnID = fsx.UUID()
	all, _, err := t.List()
	if err != nil {
		return p, err
	}
	living := 0
	limit := r.Max
	if limit <= 0 {
		limit = DefaultMax
	}
	for _, tm := range all {
		if !locked && halfSpawned(tm) {
			continue // what comes of it is known when roster.lock is free
		}
		life := t.Liveness(tm)
		if tm.Name == r.Name && (life != fsx.Dead || t.isEnding(tm)) {
			return p, t.nameTaken(tm.Name)
		}
		if tm.Resident() && life != fsx.Dead {
			living++
		}
	}
	if living >= limit {
		return p, errs.New(errs.Conflict, "%d residents live already, and no more than %d may", living, limit).
			WithHint("teams shutdown NAME ends one of them; TEAMS_MAX allows more").WithDetail("living", living)
	}
	if err := t.checkRevive(r.Revive); err != nil {
		return p, err
	}
	set, err := agentdefs.Discover(agentdefs.Dirs{Root: t.Root, Project: t.Project})
	if err != nil {
		return p, err
	}
	if p.agent, err = set.Resolve(r.Agent); err != nil {
		return p, err
	}
	if p.agent.Worktree {
		if p.tree, err = t.planWorktree(ctx, r.Name, p.spawnID); err != nil {
			return p, err
		}
	}
	return p, r.checkProgram(ctx)
}

// checkRevive refuses to revive a life that is not over in another session: two
// would write one conversation.
func (t *Team) checkRevive(row *LedgerRow) error {
	if row == nil || row.Session == t.Session || fsx.CheckSessionKey(row.Session) != nil || CheckName(row.Name) != nil {
		return nil
	}
	other := Open(Place{Root: t.Root, Session: row.Session})
	tm, err := other.Read(row.Name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (tm.SpawnID != row.SpawnID || other.Liveness(tm) == fsx.Dead) {
		return nil
	}
	if err != nil {
		return err
	}
	return errs.New(errs.NameTaken, "%s lives in session %s", row.Name, row.Session).
		WithHint("teams shutdown %s --session %s", row.Name, row.Session)
}

// checkProgram looks for what the host would run.
func (r *SpawnRequest) checkProgram(ctx context.Context) error {
	switch r.Kind {
	case KindExec:
		if _, err := exec.LookPath(r.Command[0]); err != nil {
			return errs.New(errs.Failure, "cannot run %s: %w", r.Command[0], err).WithHint("check the command and PATH")
		}
	case KindPi:
		if _, err := exec.LookPath("pi"); err != nil {
			return errs.New(errs.Failure, "pi is not in PATH").WithHint("npm install -g @earendil-works/pi-coding-agent, or --host exec -- CMD")
		}
	case KindHerdr:
		client, err := herdr.Open("", os.Getenv)
		if err == nil {
			_, err = client.Ping(ctx)
		}
		return err
	}
	return nil
}

// isEnding says whether a stopped resident's host is still at its end: the name
// is not free before that. A lock that is held for an instant alone is no such
// host: one that comes too late, for a spawn that was undone, holds it until it
// has read so.
func (t *Team) isEnding(tm Teammate) bool {
	if !tm.Resident() {
		return false
	}
	for end := time.Now().Add(tenureWait); ; time.Sleep(5 * time.Millisecond) {
		held, err := fsx.Held(t.AliveLock(tm.Name))
		if err != nil || !held || time.Now().After(end) {
			return err != nil || held
		}
	}
}

// acquireRoster takes roster.lock of the session, which it makes if need be. An
// end of the session takes directory and lock away under whoever waits, who then
// begins the next one.
func (t *Team) acquireRoster(ctx context.Context) (*fsx.Lock, error) {
	for try := 1; ; try++ {
		if _, err := t.EnsureSession(); err != nil {
			return nil, err
		}
		lock, err := fsx.Acquire(ctx, t.RosterLock(), rosterWait)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || try == 10 {
			return lock, err
		}
	}
}

// Spawn makes a resident: a teammate with a host process of its own. On success
// the host runs and holds the life's lock, and what the teammate shall do lies
// in its mailbox. On any refusal nothing of it is left.
//
// name_taken: it lives already; conflict: as many live as may; not_found: no
// such agent; failure: the worktree or the process could not be made.
func (t *Team) Spawn(ctx context.Context, b *fsboard.Board, r SpawnRequest) (Teammate, error) {
	if r.Step == nil {
		r.Step = func(string) {}
	}
	if _, err := t.prepareSpawn(ctx, &r, false); err != nil {
		return Teammate{}, err
	}
	r.Step("waiting for another spawn")
	roster, err := t.acquireRoster(ctx)
	if err != nil {
		return Teammate{}, err
	}
	defer roster.Unlock()
	if err := t.undoHalfSpawns(ctx); err != nil {
		return Teammate{}, err
	}
	p, err := t.prepareSpawn(ctx, &r, true) // again, now that nobody else spawns
	if err != nil {
		return Teammate{}, err
	}
	old, err := t.oldLife(ctx, b, r.Name)
	if err != nil {
		return Teammate{}, err
	}
	r.Step("starting")
	tm, err := t.take(ctx, taking{name: r.Name, build: func() Teammate { return t.newResident(&r, &p) }})
	if err != nil {
		return Teammate{}, err
	}
	tm, err = t.startResident(ctx, &r, &p, tm)
	if err != nil {
		undo := context.WithoutCancel(ctx)
		return Teammate{}, errors.Join(err, t.undoSpawn(undo, tm, old, true))
	}
	return tm, nil
}

// oldLife finishes what is left of the name's life before, which is dead, and
// returns what then lies on disk of it; nil when there is none.
func (t *Team) oldLife(ctx context.Context, b *fsboard.Board, name string) (*formerLife, error) {
	tm, err := t.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if tm.Resident() && !t.isEnded(b, tm) {
		if _, err := t.endDead(ctx, b, tm); err != nil && errs.CodeOf(err) != errs.StaleIdentity {
			return nil, err
		}
	} else if !tm.Resident() && tm.Status != StatusStopped {
		// What it held is free again; the mail for it goes back.
		if _, _, err := b.ReleaseAll(ctx, tm.Name, tm.SpawnID, "holder_replaced"); err != nil {
			return nil, err
		}
	}
	return t.keepFormer(name)
}

// isEnded reports whether nothing at all is left to do of a resident's end.
func (t *Team) isEnded(b *fsboard.Board, tm Teammate) bool {
	return tm.Status == StatusStopped && tm.Drained && !t.looksUnended(tm) && !t.submissionWaits(b, tm)
}

// newResident is the record of a resident that is being spawned. It names all
// that a spawn which dies half-way leaves behind.
func (t *Team) newResident(r *SpawnRequest, p *prepared) Teammate {
	tm := t.newShell(r.Name, r.Agent, nil)
	tm.SpawnID = p.spawnID
	tm.Kind, tm.Status, tm.Label = r.Kind, StatusStarting, r.Label
	tm.Command, tm.Tools, tm.Model = r.Command, p.agent.Tools, p.agent.Model
	tm.TaskID = tm.SpawnID
	tm.ActiveAt, tm.ActiveBootMs = nowMillis(), bootMillis()
	if self, err := fsx.Self(); err == nil {
		// Of the spawning process, until the host is there: the boot and the host
		// are those of the life.
		tm.BootID, tm.PIDNamespace, tm.Host = self.BootID, self.PIDNamespace, self.Host
	}
	if p.tree != nil {
		tm.Worktree, tm.Branch, tm.Base, tm.Cwd = p.tree.Path, p.tree.Branch, p.tree.Base, p.tree.Cwd
	}
	tm.Placement, tm.Tab, tm.GraceMs = r.Placement, r.Tab, r.Grace.Milliseconds()
	if r.Kind == KindPi || r.Kind == KindHerdr && len(r.Command) == 0 {
		// One for each life, so that a new one does not go on with an old one's
		// conversation unless it is revived.
		tm.SessionFile = t.conversationFile(r.Name, p.spawnID)
	}
	if r.Revive != nil {
		tm.TaskID = r.Revive.TaskID
		if file := t.keptConversation(r.Revive); file != "" {
			tm.SessionFile = file
		}
	}
	return tm
}

// bootMillis is the clock of this boot in ms, 0 when there is none.
func bootMillis() int64 {
	d, err := fsx.BootClock()
	if err != nil {
		return 0
	}
	return d.Milliseconds()
}

// startResident makes what the record names and starts the host.
func (t *Team) startResident(ctx context.Context, r *SpawnRequest, p *prepared, tm Teammate) (Teammate, error) {
	if p.tree != nil {
		r.Step("making a worktree")
		warnings, err := worktree.Create(ctx, *p.tree)
		for _, w := range warnings {
			r.Step("worktree: " + w)
		}
		if err != nil {
			return tm, err
		}
	}
	if err := fsx.Replace(t.promptFile(tm.Name), []byte(rolePrompt(&p.agent))); err != nil {
		return tm, err
	}
	if err := t.writeKickoff(r, p, &tm); err != nil {
		return tm, err
	}
	r.Step("starting its host")
	h, err := t.launchHost(ctx, r, tm)
	if err != nil {
		return tm, err
	}
	defer h.close()
	if err := h.await(ctx, hostReady, hostReadyWait); err != nil {
		return tm, err
	}
	if r.Text != "" {
		if err := t.queueKickoff(ctx, tm, r.Text); err != nil {
			return tm, err
		}
	}
	if err := h.release(); err != nil {
		return tm, err
	}
	// From here on the host stays, whatever becomes of this process.
	if err := h.await(context.WithoutCancel(ctx), hostUp, hostUpWait); err != nil {
		return tm, err
	}
	now, err := t.Read(tm.Name)
	if err == nil && now.SpawnID != tm.SpawnID {
		err = staleIdentity(tm.Name)
	}
	return now, err
}

// writeKickoff writes kickoff.md, or takes that of the life before away.
func (t *Team) writeKickoff(r *SpawnRequest, p *prepared, tm *Teammate) error {
	path := t.kickoffFile(tm.Name)
	if r.Text == "" {
		return fsx.Remove(path)
	}
	return fsx.Replace(path, []byte(kickoff(tm, &p.agent, r.Text)))
}

// queueKickoff puts the first message into the mailbox.
func (t *Team) queueKickoff(ctx context.Context, tm Teammate, text string) error {
	body, err := fsx.ReadFile(t.kickoffFile(tm.Name), inbox.MaxBody)
	if err != nil {
		return err
	}
	id, at, err := inbox.NextID(ctx, t.TeammateDir(LeaderName), LeaderName)
	if err != nil {
		return err
	}
	m := &inbox.Message{Body: body, Size: int64(len(body))}
	m.ID, m.From, m.To, m.Kind, m.Event, m.Thread = id, LeaderName, tm.Name, inbox.KindMessage, eventKickoff, id
	m.Title, m.Sent, m.ToSpawn = inbox.Title([]byte(text)), at.Format(sentLayout), tm.SpawnID
	return t.Box(tm.Name).Publish(m)
}

// eventKickoff marks the first message of a resident.
const eventKickoff = "kickoff"

// program is the teams program that hosts a teammate.
func (r *SpawnRequest) program() (string, error) {
	if r.Program != "" {
		return r.Program, nil
	}
	return os.Executable()
}
