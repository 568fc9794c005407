package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// send sends one message, and again as a further one when it was killed.
func (w *world) send(from, to string) {
	if from == to {
		return
	}
	w.mu.Lock()
	body := fmt.Sprintf("message %d from %s to %s", len(w.tried)+1, orLeader(from), to)
	w.tried[body] = &message{from: orLeader(from), to: to, body: body}
	w.mu.Unlock()
	r := w.teams(from, "--json", "send", to, body)
	// 3 and 4: a resident that has not come yet, or has stopped.
	if w.surprising(r, "send", 3, 4) || r.code != 0 {
		return
	}
	var e struct {
		Data struct{ Message struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(r.out), &e); err != nil || e.Data.Message.ID == "" {
		w.wrong("send: %v: %s", err, r)
		return
	}
	w.mu.Lock()
	had := w.sent[e.Data.Message.ID]
	w.sent[e.Data.Message.ID] = &message{e.Data.Message.ID, orLeader(from), to, body}
	w.mu.Unlock()
	if had != nil {
		w.wrong("two messages have the id %s: %q and %q", had.id, had.body, body)
	}
}

func orLeader(name string) string {
	if name == "" {
		return "leader"
	}
	return name
}

// sender is the leader's: to shells and residents, and to all now and then.
func (w *world) sender(ctx context.Context) {
	for wait(ctx, 50*time.Millisecond+time.Duration(w.random(int(300*time.Millisecond)))) {
		if w.random(3) == 0 {
			w.send("", shells[w.random(len(shells))])
		} else {
			w.send("", residents[w.random(len(residents))])
		}
	}
}

// receiver reads the mail of a shell, or of the leader.
func (w *world) receiver(ctx context.Context, name string) {
	for wait(ctx, 100*time.Millisecond+time.Duration(w.random(int(600*time.Millisecond)))) {
		w.recv(name)
	}
}

// recv shows what is unread. It reports whether there was anything.
func (w *world) recv(name string) bool {
	r := w.teams(name, "--json", "recv", "--max", "20")
	var e struct {
		Data struct {
			Messages []struct{ ID, From, To, Kind, Event, Body string }
		}
	}
	// A killed one may have printed what it did not mark.
	if r.out != "" && json.Unmarshal([]byte(r.out), &e) != nil && r.code != -1 {
		w.wrong("recv: no JSON: %s", r)
		return false
	}
	sure := r.code == 0
	for _, m := range e.Data.Messages {
		w.show(orLeader(name), m.ID, sure)
		w.mu.Lock()
		sent := w.tried[m.Body]
		if m.Event == "undelivered" {
			w.cameBack(orLeader(name), m.Body)
		}
		w.mu.Unlock()
		if m.Kind != "notice" && (sent == nil || sent.from != m.From || sent.to != m.To) {
			w.wrong("%s was shown a message that nobody sent: %+v", orLeader(name), m)
		}
	}
	if w.surprising(r, "recv", 2) {
		return true
	}
	return r.code == 0 && len(e.Data.Messages) > 0
}

// show notes that a message was shown.
func (w *world) show(box, id string, sure bool) {
	w.mu.Lock()
	key := box + "/" + id
	s := w.shown[key]
	if s == nil {
		s = &showings{}
		w.shown[key] = s
	}
	if sure {
		s.sure++
	} else {
		s.maybe++
	}
	doubled := s.sure > 1
	w.mu.Unlock()
	if doubled {
		w.wrong("%s was shown %s twice", box, id)
	}
}

// cameBack notes that a mailbox was told of what did not reach its reader, all
// the ids in the body of that notice among it. The caller holds w.mu.
func (w *world) cameBack(box, body string) {
	for word := range strings.FieldsFuncSeq(body, func(r rune) bool { return r == ' ' || r == ':' }) {
		w.back[box+"/"+word] = true
	}
}

// shownIn lists the ids in the form for agents.
func shownIn(text string) (ids []string) {
	for line := range strings.Lines(text) {
		rest, is := strings.CutPrefix(line, "<agent-message ")
		if !is {
			continue
		}
		if _, rest, is = strings.Cut(rest, ` id="`); is {
			id, _, _ := strings.Cut(rest, `"`)
			ids = append(ids, id)
		}
	}
	return ids
}
