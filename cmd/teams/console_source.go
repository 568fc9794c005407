package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/console"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/team"
)

// consoleLife is how often the console looks although no file has changed, while
// somebody lives: a process that is killed changes none.
const consoleLife = 5 * time.Second

// consoleSource is what the console looks at: the files of the session. It keeps
// what it has read, and reads again only what has changed.
type consoleSource struct {
	e    *Env
	t    *team.Team
	b    *fsboard.Board
	who  team.Identity
	poll time.Duration

	watcher *fsx.Watcher
	watched []string

	board   string // what the board's files were when tasks was made
	tasks   []console.Task
	due     int64  // when the next back-off ends, epoch ms; 0: never
	agents  string // what the definitions were when roles was made
	roles   []console.Role
	living  bool // somebody lives, or waits for an answer
	mail    consoleMail
	claimed sync.Mutex // one claim at a time
}

func newConsoleSource(e *Env) (*consoleSource, error) {
	t, b, err := e.look()
	if err != nil {
		return nil, err
	}
	poll, err := e.poll()
	if err != nil {
		return nil, err
	}
	if _, err := t.Exists(); err != nil {
		return nil, err
	}
	return &consoleSource{e: e, t: t, b: b, who: t.Reader(), poll: poll}, nil
}

// Close ends the watching.
func (s *consoleSource) Close() {
	if s.watcher != nil {
		s.watcher.Close()
	}
}

// Look implements console.Source.
func (s *consoleSource) Look(ctx context.Context) (*console.Snapshot, error) {
	snap := &console.Snapshot{Session: s.t.Session, Who: s.who.Name}
	// First the watching, then the look: what changes in between is told.
	s.watch()
	mates, problems, err := s.t.List()
	if err != nil {
		return nil, err
	}
	tell := func(err error) {
		if err != nil {
			snap.Problems = append(snap.Problems, err.Error())
		}
	}
	for _, p := range problems {
		tell(p.Err)
	}
	asks, problems, err := s.t.Asks(false)
	tell(err)
	for _, p := range problems {
		tell(p.Err)
	}
	s.living = len(asks) > 0
	tell(s.lookAtBoard())
	snap.Tasks = s.tasks
	snap.Teammates = s.roster(mates, asks)
	tell(s.lookAtRoles(ctx))
	snap.Roles = s.roles
	s.mail.look(s.t, mates)
	snap.Messages, snap.Earlier = s.mail.list, s.mail.earlier
	snap.Problems = append(snap.Problems, s.mail.problems...)
	for _, q := range asks {
		snap.Questions = append(snap.Questions, console.Question{
			ID: q.ID, From: q.From, Text: q.Question, Options: q.Options, Multi: q.Multi, Other: q.AllowOther, Asked: q.CreatedAt,
		})
	}
	return snap, ctx.Err()
}

// Wait implements console.Source.
func (s *consoleSource) Wait(ctx context.Context) error {
	var tick <-chan time.Time
	wait := time.Duration(0)
	if s.living {
		wait = consoleLife
	}
	if s.due > 0 {
		until := max(time.UnixMilli(s.due).Sub(fsx.Now()), 0) + time.Millisecond
		if wait == 0 || until < wait {
			wait = until
		}
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		tick = timer.C
	}
	var changed <-chan struct{}
	if s.watcher != nil {
		changed = s.watcher.C
	}
	select {
	case <-changed:
	case <-tick:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// watch watches the directories that matter. One that is not there yet is
// waited for in the nearest one above it, since a watcher that lacks one polls.
// A directory that came between the question where to watch and the watching
// would be missed, so the question is asked again until it has the same answer.
func (s *consoleSource) watch() {
	for {
		want := s.watchWhere()
		if s.watcher != nil && slices.Equal(want, s.watched) {
			return
		}
		s.Close()
		s.watcher, s.watched = fsx.NewWatcher(s.poll, want...), want
	}
}

// watchWhere lists the directories that are to be watched now.
func (s *consoleSource) watchWhere() []string {
	board, teamDir := s.t.BoardDir(), s.t.TeamDir()
	dirs := agentDirs(s.t.Place)
	want := []string{
		board, filepath.Join(board, "claims"), filepath.Join(board, "submissions"), teamDir, filepath.Join(teamDir, "asks"),
		dirs.Dir(agentdefs.User), dirs.Dir(agentdefs.Project),
	}
	names, _ := fsx.List(teamDir) // what is wrong with it is told by the look
	for _, name := range names {
		if name != team.LeaderName && team.CheckName(name) != nil {
			continue
		}
		want = append(want, s.t.TeammateDir(name), filepath.Join(s.t.InboxDir(name), "new"), filepath.Join(s.t.InboxDir(name), "cur"))
		if name != team.LeaderName {
			want = append(want, filepath.Join(s.t.OutboxDir(name), "new"))
		}
	}
	for i, dir := range want {
		want[i] = nearestDir(dir)
	}
	slices.Sort(want)
	return slices.Compact(want)
}

// nearestDir is a directory, or the nearest one above it that is there.
func nearestDir(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

// roster makes the rows of the teammates.
func (s *consoleSource) roster(mates []team.Teammate, asks []team.Question) []console.Teammate {
	open := map[string][]team.Question{}
	for _, q := range asks {
		open[q.From] = append(open[q.From], q)
	}
	held := map[string][]string{}
	for _, task := range s.tasks {
		switch fsboard.State(task.State) {
		case fsboard.StateClaimed, fsboard.StateSubmitted, fsboard.StateVerifying:
			held[task.Note] = append(held[task.Note], task.ID)
		}
	}
	out := make([]console.Teammate, 0, len(mates))
	for _, tm := range mates {
		row := console.Teammate{
			Name: tm.Name, Kind: tm.Kind, Role: tm.Agent, Status: tm.Status, Task: heldText(tm.CurrentTask, held[tm.Name]), Activity: tm.Activity,
			Awaiting: team.Awaiting(open[tm.Name]),
		}
		for _, at := range []int64{tm.LastOutputAt, tm.ActiveAt, tm.UpdatedAt} {
			if row.ActiveAt == 0 {
				row.ActiveAt = at
			}
		}
		if tm.Status != team.StatusStopped {
			switch s.t.Liveness(tm) {
			case fsx.Dead:
				row.Status, row.Awaiting = "dead", ""
			default:
				s.living = true
			}
		}
		if row.Activity == "" && tm.Error != "" {
			row.Activity = tm.Error
		}
		out = append(out, row)
	}
	return out
}

// lookAtBoard makes the tasks anew when the board's files have changed, or a
// back-off is over. With an error the old ones stay.
func (s *consoleSource) lookAtBoard() error {
	dir := s.b.Dir()
	now := filesToken(s.b.Path(), filepath.Join(dir, "claims"), filepath.Join(dir, "submissions"))
	if s.board == now && (s.due == 0 || fsx.Now().UnixMilli() < s.due) {
		return nil
	}
	s.due = 0
	v, err := s.b.View()
	if err != nil {
		return err
	}
	list, _, err := v.Tasks(fsboard.Filter{}, 0)
	if err != nil {
		return err
	}
	w := s.plainWriter()
	s.board = now
	s.tasks = make([]console.Task, 0, len(list))
	verifying := false
	for _, t := range list {
		if t.State == fsboard.StateWaiting && (s.due == 0 || t.NotBefore < s.due) {
			s.due = t.NotBefore
		}
		verifying = verifying || t.State == fsboard.StateSubmitted || t.State == fsboard.StateVerifying
		s.tasks = append(s.tasks, console.Task{
			ID: t.ID, State: string(t.State), Note: note(w, t), Marks: marks(t), Subject: t.Subject, Changed: t.UpdatedAt, Ended: t.State.Terminal(),
		})
	}
	if verifying {
		// That a gate begins or ends is seen by its lock, which is no change.
		if at := fsx.Now().Add(time.Second).UnixMilli(); s.due == 0 || at < s.due {
			s.due = at
		}
	}
	// What is open comes first, in the order of the board; then what has ended,
	// the latest first.
	slices.SortStableFunc(s.tasks, func(a, b console.Task) int {
		switch {
		case a.Ended != b.Ended && a.Ended:
			return 1
		case a.Ended != b.Ended:
			return -1
		case a.Ended:
			return int(min(max(b.Changed-a.Changed, -1), 1))
		}
		return 0
	})
	return errors.Join(v.Problems()...)
}

// lookAtRoles reads the definitions anew when one of their directories has
// changed.
func (s *consoleSource) lookAtRoles(ctx context.Context) error {
	dirs := agentDirs(s.t.Place)
	now := dirToken(dirs.Dir(agentdefs.User)) + dirToken(dirs.Dir(agentdefs.Project))
	if s.roles != nil && s.agents == now {
		return nil
	}
	set, err := agentdefs.Discover(dirs)
	if set == nil {
		return err
	}
	set.AskGit(ctx)
	s.agents, s.roles = now, []console.Role{}
	for _, a := range set.Agents {
		s.roles = append(s.roles, console.Role{
			File: a.Path, Name: a.Name, Scope: string(a.Scope), Path: s.shortPath(a.Path), GitManaged: a.GitManaged, Shadows: len(a.Shadowed),
			Marks: roleSets(a), Tools: strings.Join(a.Tools, ","), Description: a.Description,
		})
		for _, path := range a.Shadowed {
			s.roles = append(s.roles, console.Role{
				File: path, Name: a.Name, Scope: string(scopeOf(dirs, path)), Path: s.shortPath(path), Shadowed: true, Description: "not used, see " + s.shortPath(a.Path),
			})
		}
	}
	if n := len(set.Problems); n > 0 && err == nil {
		err = errors.New(set.Problems[0].String())
	}
	return err
}

// roleSets names what a role sets beside its tools.
func roleSets(a agentdefs.Agent) string {
	var sets []string
	if a.Verify != "" {
		sets = append(sets, "gate")
	}
	if a.Worktree {
		sets = append(sets, "worktree")
	}
	return strings.Join(sets, ",")
}

// scopeOf is the scope that a definition's path is in.
func scopeOf(dirs agentdefs.Dirs, path string) agentdefs.Scope {
	switch {
	case filepath.Dir(path) == dirs.Dir(agentdefs.User):
		return agentdefs.User
	case strings.HasSuffix(path, ".local.md"):
		return agentdefs.ProjectLocal
	}
	return agentdefs.Project
}

// shortPath is a path as people read it: from the project or from home.
func (s *consoleSource) shortPath(path string) string {
	if rest, ok := strings.CutPrefix(path, s.t.Project+"/"); ok {
		return rest
	}
	if home := s.e.Getenv("HOME"); home != "" && home != "/" {
		if rest, ok := strings.CutPrefix(path, strings.TrimRight(home, "/")+"/"); ok {
			return "~/" + rest
		}
	}
	return path
}

// racyTime is how old a time stamp must be before the same one means that
// nothing has changed: file systems count time in steps.
const racyTime = 100 * time.Millisecond

// filesToken changes when one of the files is replaced, or one of the
// directories gets or loses a name. While that happens no two are equal.
func filesToken(paths ...string) string {
	var b strings.Builder
	now := time.Now()
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			b.WriteString("-;")
		case err != nil:
			b.WriteString(err.Error() + ";")
		default:
			b.WriteString(info.ModTime().Format(time.RFC3339Nano) + " ")
			b.WriteString(itoa64(info.Size()) + ";")
			if now.Sub(info.ModTime()) < racyTime {
				b.WriteString(itoa64(now.UnixNano()) + ";")
			}
		}
	}
	return b.String()
}

// dirToken changes when a file of a directory does.
func dirToken(dir string) string {
	if dir == "" {
		return ""
	}
	names, err := fsx.List(dir)
	if err != nil {
		return err.Error()
	}
	for i, name := range names {
		names[i] = name + " " + filesToken(filepath.Join(dir, name))
	}
	return dir + ":" + strings.Join(names, "\n")
}
