package crashtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/team"
)

// sight is all that the libraries show of a session.
type sight struct {
	tasks    map[string]*fsboard.TaskView // the archive's too
	order    []string                     // their ids
	events   []fsboard.Event
	mates    map[string]team.Teammate
	findings []fsboard.Finding
}

// look reads a session with the libraries.
func look(p team.Place) (*sight, error) {
	t := team.Open(p)
	b, err := t.Board(team.BoardOptions{LockTimeout: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	s := &sight{tasks: map[string]*fsboard.TaskView{}, mates: map[string]team.Teammate{}}
	if s.findings, err = b.Check(); err != nil {
		return nil, err
	}
	more, err := t.Check()
	if err != nil {
		return nil, err
	}
	s.findings = append(s.findings, more...)
	list, err := b.Tasks()
	if err != nil {
		return s, err
	}
	archived, err := b.Archived()
	if err != nil {
		return s, err
	}
	for _, v := range append(list, archived...) {
		s.tasks[v.ID] = v
		s.order = append(s.order, v.ID)
	}
	if s.events, _, err = b.History(fsboard.HistoryFilter{}); err != nil {
		return s, err
	}
	mates, problems, err := t.List()
	if err != nil {
		return s, err
	}
	for _, p := range problems {
		return s, p.Err
	}
	for _, m := range mates {
		s.mates[m.Name] = m
	}
	return s, nil
}

// errors are the findings that must never be there.
func (s *sight) errors() []string {
	var out []string
	for _, f := range s.findings {
		if f.Severity == fsboard.SeverityError {
			out = append(out, fmt.Sprintf("doctor: %s %s: %s", f.Code, f.Path, f.Message))
		}
	}
	return out
}

// state is the derived state of a task, "" when there is none.
func (s *sight) state(id string) fsboard.State {
	if t := s.tasks[id]; t != nil {
		return t.State
	}
	return ""
}

// holder is who holds a task.
func (s *sight) holder(id string) string {
	if t := s.tasks[id]; t != nil && t.Claim != nil && t.Status == fsboard.Claimed {
		return t.Claim.Worker
	}
	return ""
}

// count is how often an event of a task is in history.
func (s *sight) count(event, task string) int {
	n := 0
	for i := range s.events {
		if s.events[i].Event == event && s.events[i].Task == task {
			n++
		}
	}
	return n
}

// lost lists what was there before and is not there any more, or is changed,
// but for what the names in touched are about, and what is there that nobody
// made.
func (s *sight) lost(before *sight, touched []string) []string {
	var out []string
	may := func(name string) bool { return slices.Contains(touched, name) }
	for id, was := range before.tasks {
		now := s.tasks[id]
		switch {
		case now == nil:
			out = append(out, id+" is gone")
		case now.Subject != was.Subject && !may(id), !may(id) && stored(now) != stored(was):
			out = append(out, fmt.Sprintf("%s was %s, is %s", id, stored(was), stored(now)))
		}
	}
	for id := range s.tasks {
		if before.tasks[id] == nil && !may(id) {
			out = append(out, "nobody added "+id)
		}
	}
	for name, was := range before.mates {
		if now, there := s.mates[name]; !there || !may(name) && now.SpawnID+now.Status != was.SpawnID+was.Status {
			out = append(out, fmt.Sprintf("%s was %+v, is %+v", name, was, now))
		}
	}
	for name := range s.mates {
		if _, there := before.mates[name]; !there && !may(name) {
			out = append(out, "nobody let join "+name)
		}
	}
	seen := map[string]bool{}
	for i := range s.events {
		seen[eventKey(&s.events[i])] = true
	}
	for i := range before.events {
		if key := eventKey(&before.events[i]); !seen[key] {
			out = append(out, "history lost "+key)
		}
	}
	return out
}

func stored(t *fsboard.TaskView) string {
	data, err := json.Marshal(t.Task)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func eventKey(e *fsboard.Event) string {
	return fmt.Sprintf("%d.%d/%d %s %s epoch %d %s %s", e.Rev, e.N, e.Of, e.Event, e.Task, e.Epoch, e.Worker, e.Token)
}

// broken lists what history shows that can never be: two holders in one epoch,
// two completions of one claim, a revision that goes back.
func (s *sight) broken() []string {
	var out []string
	held, done := map[string]string{}, map[string]int{}
	rev := int64(0)
	epoch := map[string]int64{}
	for i := range s.events {
		e := &s.events[i]
		if e.Rev < rev {
			out = append(out, fmt.Sprintf("history goes back from revision %d to %d", rev, e.Rev))
		}
		rev = e.Rev
		if e.Epoch > 0 || e.Event == fsboard.EventClaimed {
			if e.Epoch < epoch[e.Task] {
				out = append(out, fmt.Sprintf("%s goes back to epoch %d", e.Task, e.Epoch))
			}
			epoch[e.Task] = max(epoch[e.Task], e.Epoch)
		}
		switch e.Event {
		case fsboard.EventClaimed:
			key := fmt.Sprintf("%s in epoch %d", e.Task, e.Epoch)
			if other, there := held[key]; there {
				out = append(out, fmt.Sprintf("%s was held by %s and by %s %s", key, other, e.Worker, e.Token))
			}
			held[key] = e.Worker + " " + e.Token
		case fsboard.EventCompleted, fsboard.EventFailed:
			if done[e.Task+e.Token]++; done[e.Task+e.Token] > 1 {
				out = append(out, fmt.Sprintf("%s was decided %d times under one claim", e.Task, done[e.Task+e.Token]))
			}
		}
	}
	for _, id := range s.order {
		if t := s.tasks[id]; t.Epoch < epoch[id] {
			out = append(out, fmt.Sprintf("%s is in epoch %d, history in %d", id, t.Epoch, epoch[id]))
		}
	}
	return out
}

// whole checks that board.json is JSON, if it is there.
func (w *world) whole() []string {
	data, err := os.ReadFile(filepath.Join(w.boardDir(), "board.json"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return []string{err.Error()}
	}
	if !json.Valid(data) {
		return []string{"board.json is no JSON"}
	}
	return nil
}

// temps lists the temporary files of the session.
func (w *world) temps() []string {
	tree, err := ReadTree(w.root)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		if fsx.IsTemp(filepath.Base(path)) {
			out = append(out, path)
		} else if strings.HasPrefix(filepath.Base(path), ".") {
			out = append(out, path+" (not known as temporary)")
		}
	}
	return out
}

// age makes the temporary files as old as those that a sweep takes away.
func (w *world) age() error {
	old := time.Now().Add(-time.Hour)
	for _, path := range w.temps() {
		if err := os.Chtimes(filepath.Join(w.root, path), old, old); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// survived checks what is there right after a command that was killed, failed,
// or came through: all that was there before, and what the command told. It
// returns the stage of the command.
func (w *world) survived(sc *scenario, before *sight, told bool) string {
	w.t.Helper()
	s, err := look(w.place())
	if sc.damage != nil && !told && errs.CodeOf(err) == errs.Corrupt {
		return untouched
	}
	if err != nil {
		w.t.Errorf("after it: %v", err)
		return ""
	}
	w.report(s.errors(), s.broken(), w.whole())
	if sc.damage == nil {
		w.report(s.lost(before, sc.touched))
	}
	stage := sc.stage(s)
	switch {
	case told && stage != happened && (sc.promise == "" || stage != sc.promise):
		w.t.Errorf("it told of its success, and the stage is %q", stage)
	case stage != untouched && stage != halfway && stage != happened:
		w.t.Errorf("nothing whole: %s", stage)
	}
	return stage
}

// settled checks that nothing is left of a command and of what came after it:
// doctor --fix finds nothing any more, also not once the temporary files are
// old, and history is sound.
func (w *world) settled() {
	w.t.Helper()
	if err := w.age(); err != nil {
		w.t.Error(err)
	}
	w.must("", nil, "doctor", "--fix")
	s, err := look(w.place())
	if err != nil {
		w.t.Errorf("in the end: %v", err)
		return
	}
	for _, f := range s.findings {
		w.t.Errorf("doctor --fix leaves %s %s %s: %s", f.Severity, f.Code, f.Path, f.Message)
	}
	if temps := w.temps(); len(temps) > 0 {
		w.t.Errorf("doctor --fix leaves %q", temps)
	}
	w.report(s.broken(), w.whole())
}

func (w *world) report(lists ...[]string) {
	w.t.Helper()
	for _, problem := range slices.Concat(lists...) {
		w.t.Error(problem)
	}
}

// keep saves the state for a look by hand.
func (w *world) keep() string {
	dir, err := os.MkdirTemp("", "crashtest-kept")
	if err == nil {
		err = copyTree(w.root, filepath.Join(dir, "root"))
	}
	if err != nil {
		return err.Error()
	}
	return dir
}
