package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/team"
)

// wrong notes a broken promise. The caller holds w.mu.
func (f *facts) wrong(format string, args ...any) {
	f.broken = append(f.broken, fmt.Sprintf(format, args...))
}

// check compares what is on disk with what was told, as somebody who comes
// afterwards and finds nothing but the files.
func (w *world) check() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, b := w.observer()
	w.checkDoctor(t, b)
	w.checkRoster(t)
	if there, err := b.Exists(); err != nil {
		w.wrong("%v", err)
	} else if there {
		w.checkBoard(b)
		w.checkReplay(b)
	}
	w.checkMail(t)
	broken := w.broken
	w.broken, w.ended = nil, false
	return broken
}

func (w *world) checkDoctor(t *team.Team, b *fsboard.Board) {
	findings, err := b.Check()
	more, err2 := t.Check()
	if err := errors.Join(err, err2); err != nil {
		w.wrong("doctor: %v", err)
	}
	for _, f := range append(findings, more...) {
		if f.Severity == fsboard.SeverityError {
			w.wrong("doctor: %s: %s: %s", f.Code, f.Path, f.Message)
		}
	}
}

// A life that was told stays until somebody joins or leaves.
func (w *world) checkRoster(t *team.Team) {
	all, _, err := t.List()
	if err != nil {
		w.wrong("%v", err)
	}
	for _, tm := range all {
		if w.lives[tm.SpawnID] == nil { // whoever took the name died before it knew
			w.lives[tm.SpawnID] = &life{name: tm.Name, dead: true}
		}
	}
	for name, j := range w.names {
		if j.spawn == "" || j.since > 0 {
			continue
		}
		tm, err := t.Read(name)
		if err != nil || tm.SpawnID != j.spawn || tm.Status == team.StatusStopped {
			w.wrong("%s was told it is %s, the record has %s, %s: %v", name, j.spawn, tm.SpawnID, tm.Status, err)
		}
	}
}

// checkBoard follows the history, which only ever grows, and looks whether what
// was told still stands.
func (w *world) checkBoard(b *fsboard.Board) {
	events, torn, err := b.History(fsboard.HistoryFilter{})
	if err != nil || torn > 0 {
		w.wrong("history: %d lines are torn: %v", torn, err)
		return
	}
	if len(events) < len(w.seen) {
		w.wrong("history had %d events and has %d", len(w.seen), len(events))
		return
	}
	holder, granted, completed, ended := map[string]string{}, map[string]string{}, map[string]bool{}, map[string]*fsboard.Event{}
	decided, counts, repaired := map[string]string{}, map[string]int{}, map[int64]bool{}
	for i := range events {
		if events[i].Event == fsboard.EventRepaired {
			repaired[events[i].Rev] = true // the revision may be ahead of what was lost
		}
	}
	for i := range events {
		e := &events[i]
		key := fmt.Sprint(e.Rev, ".", e.N, " ", e.Event, " ", e.Task, " ", e.Token)
		if i < len(w.seen) {
			if w.seen[i] != key {
				w.wrong("event %d was %s and is %s", i, w.seen[i], key)
			}
		} else {
			w.seen = append(w.seen, key)
		}
		if i > 0 {
			if p := &events[i-1]; !(e.Rev == p.Rev && e.N == p.N+1 || e.Rev == p.Rev+1 && e.N == 1 && p.N == p.Of || e.Rev > p.Rev && e.N == 1 && repaired[e.Rev]) {
				w.wrong("history jumps from %d.%d of %d to %d.%d", p.Rev, p.N, p.Of, e.Rev, e.N)
			}
		}
		if e.Reason != "dependency_reopened" {
			counts[e.Event+" "+e.Task]++
		}
		epoch := fmt.Sprint(e.Task, " epoch ", e.Epoch)
		switch e.Event {
		case fsboard.EventClaimed:
			if h := holder[e.Task]; h != "" {
				w.wrong("%s: granted while it is held under %s", key, h)
			}
			if granted[epoch] != "" {
				w.wrong("%s: %s was granted before", key, epoch)
			}
			granted[epoch], holder[e.Task] = e.Token, e.Token
		case fsboard.EventCompleted, fsboard.EventFailed, fsboard.EventReleased, fsboard.EventCancelled:
			if h := holder[e.Task]; h != e.Token {
				w.wrong("%s: it is held under %q", key, h)
			}
			delete(holder, e.Task)
			ended[e.Token] = e
			if e.Event == fsboard.EventCompleted {
				if completed[e.Task] {
					w.wrong("%s: completed twice", key)
				}
				completed[e.Task] = true
			}
		case fsboard.EventClaimRefused:
			ended[e.Token] = e
		case fsboard.EventReopened:
			delete(completed, e.Task)
		case fsboard.EventRepaired: // a marker may have been believed
			var task fsboard.Task
			if e.Task == "" {
				break
			}
			if e.Record == nil { // only the snapshot has the event yet
				if now, err := b.Show(e.Task); err == nil {
					task = now.Task
				}
			} else if err := json.Unmarshal(e.Record, &task); err != nil {
				w.wrong("%s: %v", key, err)
			}
			delete(holder, e.Task)
			if task.Claim != nil {
				holder[e.Task] = task.Claim.Token
				granted[epoch] = task.Claim.Token
			}
		}
		if e.Receipt != nil && e.Receipt.Submission != e.Submission {
			w.wrong("%s: it was decided by the gate of %s", key, e.Receipt.Submission)
		}
		if e.Submission != "" && e.Event != fsboard.EventDropped {
			if was := decided[e.Submission]; was != "" {
				w.wrong("%s: the submission was decided before: %s", key, was)
			}
			decided[e.Submission] = e.Event
		}
	}
	for what, verb := range map[string]string{fsboard.EventCancelled: "cancel", fsboard.EventReopened: "reopen", fsboard.EventEdited: "edit"} {
		for i := 1; i <= len(w.tried)+1; i++ {
			id := fmt.Sprint("t_", i)
			if n := counts[what+" "+id]; n > w.tries[verb+" "+id] {
				w.wrong("%s was %s %d times, %d tried", id, what, n, w.tries[verb+" "+id])
			}
		}
	}
	if w.ended {
		for task, token := range holder {
			w.wrong("the session has ended, and %s is held under %s", task, token)
		}
	}
	w.checkClaims(b, granted, ended)
	w.checkTasks(b)
	for id, s := range w.submit {
		if s.outcome != "" && decided[id] != s.outcome {
			w.wrong("submission %s of %s was told %s, history has %q", id, s.task, s.outcome, decided[id])
		}
	}
}

// checkClaims: one holder an epoch, and no claim that was told is lost.
func (w *world) checkClaims(b *fsboard.Board, granted map[string]string, ended map[string]*fsboard.Event) {
	v, err := b.View()
	if err != nil {
		w.wrong("%v", err)
		return
	}
	for token, c := range w.claims {
		epoch := fmt.Sprint(c.task, " epoch ", c.epoch)
		if had := w.byTask[epoch]; had != "" && had != token {
			w.wrong("%s was told to two: %s and %s", epoch, had, token)
		}
		w.byTask[epoch] = token
		if g := granted[epoch]; g != "" && g != token {
			w.wrong("%s was told to %s and granted to %s", epoch, token, g)
		}
		if e := ended[token]; e != nil {
			if !w.mayEnd(c, e) {
				w.wrong("the claim of %s by %s ended by %s (%s), which nobody caused", c.task, c.worker, e.Event, e.Reason)
			}
			delete(w.claims, token)
			continue
		}
		if w.over(c.spawn) || c.lease > 0 && (c.boot != w.boots || c.lease <= w.boot) {
			continue // readers need not wait for the fold
		}
		task, err := v.Task(c.task)
		if err != nil || task == nil || task.Claim == nil || task.Claim.Token != token {
			w.wrong("%s was told that it holds %s under %s, the board says %s %+v: %v", c.worker, c.task, token, task.State, task.Claim, err)
		}
	}
}

// checkTasks: what was added is there, once.
func (w *world) checkTasks(b *fsboard.Board) {
	list, err := b.Tasks()
	old, err2 := b.Archived()
	if err := errors.Join(err, err2); err != nil {
		w.wrong("%v", err)
	}
	there, subjects := map[string]bool{}, map[string]string{}
	for _, task := range append(list, old...) {
		if there[task.ID] {
			w.wrong("%s is there twice", task.ID)
		}
		there[task.ID] = true
		if was := subjects[task.Subject]; was != "" {
			w.wrong("%s and %s are both %q", was, task.ID, task.Subject)
		}
		subjects[task.Subject] = task.ID
		if !w.tried[task.Subject] && !strings.HasPrefix(task.Subject, "edited ") {
			w.wrong("%s is %q, which nobody added", task.ID, task.Subject)
		}
	}
	for id := range w.added {
		if !there[id] {
			w.wrong("%s was added and is gone", id)
		}
	}
}

// checkReplay: the records of the history, replayed, are the snapshot.
func (w *world) checkReplay(b *fsboard.Board) {
	var snap struct {
		Revision int64
		Tasks    map[string]json.RawMessage
		Events   []struct {
			Rev  int64
			N    int
			Task string
		}
	}
	data, err := os.ReadFile(b.Path())
	if err == nil {
		err = json.Unmarshal(data, &snap)
	}
	if err != nil {
		w.wrong("%s: %v", b.Path(), err)
		return
	}
	data, err = os.ReadFile(filepath.Join(b.Dir(), "history.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.wrong("%v", err)
	}
	records := map[string]json.RawMessage{}
	var rev int64
	n := 0
	for row := range bytes.Lines(data) {
		var e fsboard.Event
		if json.Unmarshal(row, &e) != nil || e.Rev > snap.Revision || e.Rev < rev || e.Rev == rev && e.N <= n {
			continue
		}
		rev, n = e.Rev, e.N
		switch {
		case e.Event == fsboard.EventArchived:
			delete(records, e.Task)
		case e.Record != nil:
			records[e.Task] = e.Record
		}
	}
	for _, e := range snap.Events {
		if e.Rev > rev || e.Rev == rev && e.N > n {
			records[e.Task] = snap.Tasks[e.Task] // not in the file yet
		}
	}
	for id, task := range snap.Tasks {
		if !bytes.Equal(records[id], task) {
			w.wrong("%s replayed is %s, the snapshot has %s", id, records[id], task)
		}
		delete(records, id)
	}
	for id, r := range records {
		if r != nil {
			w.wrong("history has %s, the snapshot has not", id)
		}
	}
}

// found is a message on disk.
type found struct {
	box, place string
	m          *inbox.Message
}

// mail reads every message of the team.
func (w *world) mail(t *team.Team) (all []found) {
	kept, _ := os.ReadDir(filepath.Join(t.BoardDir(), "mail")) // of a session that has ended, or is ending
	for _, f := range kept {
		m, err := inbox.ReadFile(filepath.Join(t.BoardDir(), "mail", f.Name()))
		if err != nil {
			w.wrong("%v", err)
			continue
		}
		all = append(all, found{team.LeaderName, "kept", m})
	}
	names, _ := os.ReadDir(t.TeamDir())
	for _, n := range names {
		for _, place := range []string{"inbox/new", "inbox/cur", "outbox/new", "outbox/rejected"} {
			dir := filepath.Join(t.TeamDir(), n.Name(), place)
			files, err := os.ReadDir(dir)
			if err != nil {
				continue
			}
			for _, f := range files {
				if strings.HasPrefix(f.Name(), ".") {
					continue
				}
				m, err := inbox.ReadFile(filepath.Join(dir, f.Name()))
				if err != nil {
					w.wrong("%v", err)
					continue
				}
				all = append(all, found{n.Name(), place, m})
			}
		}
	}
	return all
}

func (w *world) sentInOrder() (list []*toldMessage) {
	for _, m := range w.sent {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *toldMessage) int { return strings.Compare(a.id+a.to, b.id+b.to) })
	return list
}

// checkMail: each message is in one place, whole, and nothing said is lost.
func (w *world) checkMail(t *team.Team) {
	all := w.mail(t)
	byID, bodies := map[string][]found{}, map[string]int{}
	returned := map[string]int{} // who was told that which message came back
	for _, f := range all {
		owner := f.box
		if strings.HasPrefix(f.place, "outbox") {
			owner = team.LeaderName
		}
		byID[owner+"/"+f.m.ID] = append(byID[owner+"/"+f.m.ID], f)
		if f.m.Kind == inbox.KindNotice {
			if f.m.Event == "undelivered" {
				for word := range strings.FieldsFuncSeq(string(f.m.Body), func(r rune) bool { return r == ' ' || r == ':' }) {
					if _, ours := inbox.IDTime(word); ours {
						returned[f.box+"/"+word]++
					}
				}
			}
			continue
		}
		a, known := w.bodies[string(f.m.Body)]
		if !known || a.from != f.m.From {
			w.wrong("%s in %s of %s was sent by nobody: %q", f.m.ID, f.place, f.box, f.m.Body)
		}
		if a.stale && f.place != "outbox/rejected" && f.place != "outbox/new" {
			w.wrong("%s of a life that was over reached %s of %s", f.m.ID, f.place, f.box)
		}
		life := ""
		if a.key != "" {
			life = " " + f.m.Spawn + " " + f.m.ToSpawn // a key is that of one life for one life
		}
		bodies[owner+" got "+string(f.m.Body)+life]++
	}
	for what, n := range bodies {
		if n > 1 {
			w.wrong("doubled, %d times: %s", n, what)
		}
	}
	for id, list := range byID {
		if len(list) > 1 {
			w.wrong("%s is in %d places: %s of %s and %s of %s", id, len(list), list[0].place, list[0].box, list[1].place, list[1].box)
		}
	}
	for _, m := range w.sent {
		list := byID[m.to+"/"+m.id]
		if len(list) == 0 {
			w.wrong("%s from %s to %s was sent and is gone", m.id, m.from, m.to)
			continue
		}
		f := list[0]
		if string(f.m.Body) != m.body {
			w.wrong("%s was sent as %q and is %q", m.id, m.body, f.m.Body)
		}
		if f.place == "outbox/rejected" {
			w.wrong("%s of %s was told to be sent and was rejected: %s", m.id, m.from, f.m.Outcome)
		}
	}
	for key, list := range byID {
		f := list[0]
		if f.m.ToSpawn != "" && w.lives[f.m.ToSpawn] == nil {
			w.lives[f.m.ToSpawn] = &life{dead: true} // as above, and replaced since
		}
		shown := w.printed[key]
		sure := 0
		for _, p := range shown {
			if p.sure {
				sure++
			}
		}
		if sure > 1+w.unread[key] {
			w.wrong("%s was shown %d times", key, len(shown))
		}
		if f.place == "inbox/new" && sure > 0 && w.unread[key] == 0 {
			w.wrong("%s was shown and is unread", key)
		}
		if f.m.Kind == inbox.KindNotice {
			continue
		}
		back := returned[f.m.From+"/"+f.m.ID]
		if back > 1 {
			w.wrong("%s was told %d times that %s came back", f.m.From, back, f.m.ID)
		}
		if f.place == "inbox/cur" && len(shown) == 0 && back == 0 {
			w.wrong("%s from %s to %s counts as read, nobody has seen it, and %s was not told", f.m.ID, f.m.From, f.box, f.m.From)
		}
		if f.place == "inbox/cur" && len(shown) == 0 && (f.box == team.LeaderName || f.m.Hold != "" || !w.over(f.m.ToSpawn)) {
			w.wrong("%s from %s to %s came back without a reason: for %q, hold %q, lives %v", f.m.ID, f.m.From, f.box, f.m.ToSpawn, f.m.Hold, w.lives[f.m.ToSpawn])
		}
	}
}
