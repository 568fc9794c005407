package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/inbox"
)

// task is what is looked at in a task.
type task struct {
	ID, Subject, Status, State, Key string
	Epoch                           int64
	Claim                           *struct{ Token, Worker string }
}

// event is one line of the history.
type event struct {
	Rev         int64
	N, Of       int
	Event, Task string
	Epoch       int64
	Worker      string
	Token       string
	Submission  string
	Reason      string
}

// check looks at what the storm has left.
func (w *world) check() {
	w.readEvidence()
	w.checkHistory()
	w.checkMail()
	w.checkDoctor()
	w.checkProcesses()
}

// readEvidence reads what work loops and residents kept of what they were told.
func (w *world) readEvidence() {
	names, err := os.ReadDir(w.evidence)
	if err != nil {
		w.wrong("%v", err)
	}
	for _, n := range names {
		if strings.HasPrefix(n.Name(), ".") {
			continue // killed at it
		}
		data, err := os.ReadFile(filepath.Join(w.evidence, n.Name()))
		if err != nil {
			w.wrong("%v", err)
			continue
		}
		parts := strings.Split(n.Name(), ".")
		switch parts[0] {
		case "task":
			var t task
			if err := json.Unmarshal(data, &t); err != nil {
				w.wrong("the task file of %s was not whole: %v", n.Name(), err)
				continue
			}
			w.tell(n.Name(), t)
		case "mail":
			for _, id := range shownIn(string(data)) {
				w.show(parts[1], id, false)
			}
		}
	}
}

// checkHistory: no event is missing or doubled, each claim has one token, and
// every task was completed once or is accounted for.
func (w *world) checkHistory() {
	var log struct{ Events []event }
	var list, old struct{ Tasks []task }
	if !w.json(&log, "log") || !w.json(&list, "task", "list", "--limit", "0") || !w.json(&old, "task", "list", "--archived", "--limit", "0") {
		return
	}
	completed, failed, holder := map[string]int{}, map[string]int{}, map[string]string{}
	decided := map[string]bool{}
	var rev int64
	n, of := 0, 0
	for i, e := range log.Events {
		if i > 0 && !(e.Rev == rev && e.N == n+1 || e.Rev == rev+1 && e.N == 1 && n == of) {
			w.wrong("history jumps from event %d.%d of %d to %d.%d", rev, n, of, e.Rev, e.N)
		}
		rev, n, of = e.Rev, e.N, e.Of
		key := fmt.Sprintf("%s epoch %d", e.Task, e.Epoch)
		switch e.Event {
		case "claimed":
			if holder[e.Task] != "" {
				w.wrong("%d.%d: %s was granted while it was held", e.Rev, e.N, e.Task)
			}
			holder[e.Task] = e.Token
			if told := w.claims[key]; told != "" && told != e.Token {
				w.wrong("%s was told to %s, and %s was granted", key, told, e.Token)
			}
		case "completed", "failed", "released", "cancelled":
			if holder[e.Task] != e.Token {
				w.wrong("%d.%d: %s is %s under %s, it is held under %s", e.Rev, e.N, e.Task, e.Event, e.Token, holder[e.Task])
			}
			delete(holder, e.Task)
			if e.Reason == "lease_over" {
				w.checkLease(e.Task, e.Token)
			}
			if e.Event == "completed" {
				completed[e.Task]++
			}
			if e.Event == "failed" {
				failed[e.Task]++
			}
		}
		if e.Submission != "" && e.Event != "dropped" && e.Event != "escalation" {
			if decided[e.Submission] {
				w.wrong("submission %s of %s was decided twice", e.Submission, e.Task)
			}
			decided[e.Submission] = true
		}
	}
	ids := map[string]string{}
	for _, t := range append(list.Tasks, old.Tasks...) {
		if had := ids[t.Subject]; had != "" && had != t.ID {
			w.wrong("%q is both %s and %s", t.Subject, had, t.ID)
		}
		ids[t.Subject] = t.ID
		switch c := completed[t.ID]; {
		case c > 1:
			w.wrong("%s was completed %d times", t.ID, c)
		case (c == 1) != (t.Status == "completed"):
			w.wrong("%s is %s, history has it completed %d times", t.ID, t.State, c)
		case c == 0 && failed[t.ID] == 0:
			w.wrong("%s is %s, and nobody has failed at it", t.ID, t.State)
		case c == 0:
			w.note("a task that failed is left " + t.State)
		}
	}
	for key, id := range w.keys {
		subject := "work " + key[1:]
		if ids[subject] == "" || id != "" && ids[subject] != id {
			w.wrong("%s was told as %q, the board has %q", subject, id, ids[subject])
		}
	}
	for _, dir := range []string{"claims", "submissions"} {
		names, _ := os.ReadDir(filepath.Join(w.sessionDir("tasks"), dir))
		for _, n := range names {
			if !strings.HasPrefix(n.Name(), ".") {
				w.wrong("%s/%s is left", dir, n.Name())
			}
		}
	}
}

// lying is where a message lies.
type lying struct {
	box, place string
	m          *inbox.Message
}

// checkMail: each message that was sent is in one place, with its bytes, and was
// seen by its reader or came back.
func (w *world) checkMail() {
	dir := w.sessionDir("teammate")
	boxes, _ := os.ReadDir(dir)
	byBody, byID := map[string][]lying{}, map[string][]lying{}
	for _, box := range boxes {
		for _, place := range []string{"inbox/new", "inbox/cur", "outbox/new", "outbox/rejected"} {
			files, _ := filepath.Glob(filepath.Join(dir, box.Name(), place, "[0-9]*.md"))
			for _, path := range files {
				m, err := inbox.ReadFile(path)
				if err != nil {
					w.wrong("%v", err)
					continue
				}
				l := lying{box.Name(), place, m}
				owner := box.Name()
				if strings.HasPrefix(place, "outbox") {
					owner = "leader"
				}
				byID[owner+"/"+m.ID] = append(byID[owner+"/"+m.ID], l)
				if m.Kind != inbox.KindNotice {
					byBody[string(m.Body)] = append(byBody[string(m.Body)], l)
				}
				if m.Event == "undelivered" {
					w.cameBack(box.Name(), string(m.Body))
				}
			}
		}
	}
	for id, list := range byID {
		if len(list) > 1 {
			w.wrong("%s is in %s of %s and in %s of %s", id, list[0].place, list[0].box, list[1].place, list[1].box)
		}
	}
	for body, list := range byBody {
		if w.tried[body] == nil && !w.kickoff(list[0].m) {
			w.wrong("%s of %s was sent by nobody: %q", list[0].m.ID, list[0].m.From, clip(body))
		}
		if len(list) > 1 {
			w.wrong("%q is there %d times", body, len(list))
		}
		for _, l := range list {
			key := l.box + "/" + l.m.ID
			if l.place == "inbox/cur" && w.shown[key] == nil && !w.back[l.m.From+"/"+l.m.ID] && !w.kickoff(l.m) {
				w.wrong("%s from %s to %s counts as read; nobody has seen it, and %s was not told", l.m.ID, l.m.From, l.box, l.m.From)
			}
			if l.place == "outbox/new" || l.place == "inbox/new" && !slices.Contains(residents[:], l.box) {
				w.wrong("%s from %s still lies in %s of %s", l.m.ID, l.m.From, l.place, l.box)
			}
		}
	}
	for _, m := range w.sent {
		list := byBody[m.body]
		switch {
		case len(list) == 0 && (w.shown[m.to+"/"+m.id] != nil || w.back[m.from+"/"+m.id]):
			w.note("a message was read and removed")
		case len(list) == 0:
			w.wrong("%s from %s to %s was told to be sent, and is gone", m.id, m.from, m.to)
		case list[0].m.ID != m.id:
			w.wrong("%q was told as %s and is %s", m.body, m.id, list[0].m.ID)
		case list[0].place == "outbox/rejected":
			w.wrong("%s from %s was told to be sent, and rejected: %s", m.id, m.from, list[0].m.Outcome)
		}
	}
}

// kickoff says whether a message is what spawn gives a resident to begin with.
func (w *world) kickoff(m *inbox.Message) bool {
	return m.From == "leader" && slices.Contains(residents[:], m.To) && strings.Contains(string(m.Body), "You are "+m.To)
}

// checkDoctor: doctor finds nothing that is wrong, or should be looked at.
func (w *world) checkDoctor() {
	var d struct {
		Findings []struct{ Code, Severity, Path, Message string }
	}
	if !w.json(&d, "doctor") {
		return
	}
	for _, f := range d.Findings {
		// A full disk tears lines of the history, which is told and harmless: the
		// snapshot's last line has them again.
		if f.Severity == "info" || f.Code == "torn_line" && w.noted["the disk was filled"] > 0 {
			continue
		}
		w.wrong("doctor: %s %s %s: %s", f.Severity, f.Code, f.Path, f.Message)
	}
}
