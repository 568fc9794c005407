package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/team"
)

// newTeam is a site with the roles worker and, with a worktree for each, tree.
// What lives when the test ends is shut down.
func newTeam(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.roles()
	t.Cleanup(s.quit)
	return s
}

// roles writes the agent definitions of newTeam.
func (s *site) roles() {
	s.t.Helper()
	dir := filepath.Join(s.project, ".pi", "agents")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	write(s.t, filepath.Join(dir, "worker.md"), "---\nname: worker\ndescription: use when something is to be done\n---\nYou work.\n")
	write(s.t, filepath.Join(dir, "tree.md"), "---\nname: tree\ndescription: use when files are to be changed\nworktree: true\n---\nYou work.\n")
}

// quit shuts down whoever lives.
func (s *site) quit() {
	if dirs, _ := filepath.Glob(filepath.Join(s.root, "teammate", "*", "*", "teammate.json")); len(dirs) == 0 {
		return
	}
	if r := s.run("shutdown", "--all", "--now"); r.code != 0 {
		s.t.Errorf("shutdown --all: %s", r)
	}
}

// git makes a repository of the project, with one commit.
func (s *site) git() {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.project, ".git")); err != nil {
		s.t.Fatal(err)
	}
	write(s.t, filepath.Join(s.project, "file.txt"), "one\n")
	r := s.sh(`git init -q -b main . && git add -A && git -c user.name=lee -c user.email=lee@example.org commit -q -m first`)
	if r.code != 0 {
		s.t.Fatalf("git: %s", r)
	}
}

// spawnExec spawns an exec teammate whose command is a line of shell. With text it
// has something to do at once.
func (s *site) spawnExec(name, text, script string) resident {
	s.t.Helper()
	args := []string{"spawn", name, "worker"}
	if text != "" {
		args = append(args, text)
	}
	s.ok(append(args, "--", "sh", "-c", script)...)
	return s.resident(name)
}

// resident is what tests look at in the record of a teammate.
type resident struct {
	Name, Agent, Kind, Status string
	SpawnID, PreviousSpawnID  string
	PID                       int
	StartTime                 uint64
	BootID                    string
	Child                     *fsx.Process
	Worktree, Branch, Base    string
	WorktreeDone              bool
	TaskID, Error, Activity   string
	Stop                      string
	Turns                     int
	Usage                     struct{ Tokens int64 }
	TaskUsage                 map[string]struct{ Tokens int64 }
	SessionFile               string
	LastOutputAt              int64
}

// resident reads the record of a teammate; the zero value when there is none.
func (s *site) resident(name string) (r resident) {
	s.t.Helper()
	data, err := os.ReadFile(s.team(name, "teammate.json"))
	if os.IsNotExist(err) {
		return r
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// becomes waits until the record of a teammate is as wanted, and returns it.
func (s *site) becomes(name, what string, ok func(resident) bool) (r resident) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if r = s.resident(name); ok(r) {
			return r
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s is not %s within a minute: %+v\n%s", name, what, r, s.run("activity", name).out)
		}
	}
}

// working waits until a teammate's command runs.
func (s *site) working(name string) resident {
	s.t.Helper()
	return s.becomes(name, "working", func(r resident) bool { return r.Status == "working" && r.Child != nil })
}

// idle waits until a teammate has ended so many turns and does nothing.
func (s *site) idle(name string, turns int) resident {
	s.t.Helper()
	return s.becomes(name, "idle", func(r resident) bool { return r.Status == "idle" && r.Turns >= turns })
}

// rewrite changes members of a teammate's record.
func (s *site) rewrite(name string, change func(map[string]any)) {
	s.t.Helper()
	path := s.team(name, "teammate.json")
	d := json.NewDecoder(strings.NewReader(read(s.t, path)))
	d.UseNumber()
	rec := map[string]any{}
	if err := d.Decode(&rec); err != nil {
		s.t.Fatal(err)
	}
	change(rec)
	data, err := json.MarshalIndent(rec, "", " ")
	if err != nil {
		s.t.Fatal(err)
	}
	write(s.t, path, string(data)+"\n")
}

// killHost kills the host of a teammate, and nothing else.
func (s *site) killHost(name string) resident {
	s.t.Helper()
	r := s.resident(name)
	if r.PID == 0 || syscall.Kill(r.PID, syscall.SIGKILL) != nil {
		s.t.Fatalf("%s has no host: %+v", name, r)
	}
	begin := time.Now()
	eventually(s.t, "the host is gone", func() bool { return !alive(r.PID) })
	gone := time.Since(begin)
	eventually(s.t, "its lock is free", func() bool {
		held, err := fsx.Held(s.team(name, "alive.lock"))
		return !held && err == nil
	})
	if d := time.Since(begin); d > gone+20*time.Millisecond {
		s.t.Logf("gone after %v, lock free after %v", gone, d)
	}
	return r
}

// alive says whether a process is there and no zombie.
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !exists("/proc/self")
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	return fields[0] != "Z" && fields[0] != "X"
}

// told lists the leader's messages with an event, read or not, oldest first. It
// reads the files, so that it can be asked all the time.
func (s *site) told(event string) []message {
	s.t.Helper()
	return s.mailOf("leader", func(m message) bool { return m.Event == event })
}

// mailOf lists the messages in a mailbox, read or not, oldest first.
func (s *site) mailOf(name string, match func(message) bool) (out []message) {
	s.t.Helper()
	for _, dir := range []string{"new", "cur"} {
		paths, _ := filepath.Glob(filepath.Join(s.team(name, "inbox", dir), "*.md"))
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				continue // moved meanwhile
			}
			head, body, _ := strings.Cut(strings.TrimPrefix(string(data), "---\n"), "\n---\n")
			m := message{Read: dir == "cur", Body: body}
			for line := range strings.Lines(head) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				for name, field := range map[string]*string{"id": &m.ID, "from": &m.From, "kind": &m.Kind, "event": &m.Event, "title": &m.Title, "status": &m.Status, "task": &m.Task} {
					if name == key {
						_ = json.Unmarshal([]byte(value), field)
					}
				}
			}
			if match(m) && !slices.ContainsFunc(out, func(o message) bool { return o.ID == m.ID }) {
				out = append(out, m)
			}
		}
	}
	slices.SortFunc(out, func(a, b message) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// toldOf waits until the leader was told of an event, lets more passes come, and
// checks that it was told of it so often.
func (s *site) toldOf(event string, want int) []message {
	s.t.Helper()
	eventually(s.t, "a notice of "+event, func() bool { return len(s.told(event)) >= want })
	list := s.told(event)
	if len(list) != want {
		s.t.Errorf("%d notices of %s, want %d: %q", len(list), event, want, lines(list))
	}
	return list
}

// ledgerRow is what tests look at in a row of the ledger.
type ledgerRow struct{ TaskID, Name, Status, Outcome, Via, SpawnID string }

// ledger is every line of the ledger, oldest first.
func (s *site) ledger() (rows []ledgerRow) {
	s.t.Helper()
	files, _ := filepath.Glob(filepath.Join(s.root, "herdr-pi", "history", "*", "history.jsonl"))
	for _, f := range files {
		for line := range strings.Lines(read(s.t, f)) {
			var row ledgerRow
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				s.t.Fatalf("%s: %v", f, err)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// running lists the names whose last row of the ledger says that they run.
func (s *site) running() (names []string) {
	s.t.Helper()
	last := map[string]ledgerRow{}
	var order []string
	for _, row := range s.ledger() {
		if _, known := last[row.TaskID]; !known {
			order = append(order, row.TaskID)
		}
		last[row.TaskID] = row
	}
	for _, id := range order {
		if last[id].Status != "closed" {
			names = append(names, last[id].Name)
		}
	}
	return names
}

// library is the session as the packages see it.
func (s *site) library() *team.Team {
	s.t.Helper()
	return team.Open(team.Place{Root: s.root, Session: team.SessionKey(s.project), Project: s.project, Cwd: s.project})
}

// bystander starts a process that has nothing to do with the site, and checks at
// the end that nobody ended it.
func bystander(t *testing.T) (pid int) {
	t.Helper()
	p := start(t, quietCommand("sleep", "600"))
	t.Cleanup(func() {
		if p.ended(0) {
			t.Errorf("a process that nobody had to do with was ended")
		}
		p.kill()
	})
	return p.pid()
}

// claims is shell that takes the first task, and holds waits until it has.
func (s *site) claims() string {
	return "teams claim t_1 -q && touch " + filepath.Join(s.base, "holds") + "; "
}

func (s *site) holds() {
	s.t.Helper()
	eventually(s.t, "it holds its task", func() bool { return exists(filepath.Join(s.base, "holds")) })
	if task := s.show("t_1"); task.State != "claimed" {
		s.t.Fatalf("the task is %s", task.State)
	}
}
