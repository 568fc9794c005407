package main

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

// messageData is a message in JSON. Times are epoch ms.
type messageData struct {
	ID           string  `json:"id"`
	From         string  `json:"from"`
	To           string  `json:"to"`
	Kind         string  `json:"kind"`
	Event        string  `json:"event,omitempty"`
	Title        string  `json:"title"`
	Sent         int64   `json:"sent"`
	Bytes        int64   `json:"bytes"`
	Status       string  `json:"status,omitempty"`
	Thread       string  `json:"thread,omitempty"`
	ReplyTo      string  `json:"replyTo,omitempty"`
	Task         string  `json:"task,omitempty"`
	ExpectsReply *int64  `json:"expectsReply,omitempty"` // the deadline, 0 for none
	Later        bool    `json:"later,omitempty"`
	Read         bool    `json:"read"`
	Outcome      string  `json:"outcome,omitempty"` // undelivered: it came back unread
	Delivery     string  `json:"delivery,omitempty"`
	SilentMs     int64   `json:"silentMs,omitempty"`
	Body         *string `json:"body,omitempty"`
	BodyBase64   string  `json:"bodyBase64,omitempty"`
}

// newMessageData is the JSON form of a message; its body is in it when asked
// for.
func newMessageData(m *inbox.Message, body bool) messageData {
	d := messageData{
		ID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Event: m.Event, Title: m.Title, Bytes: m.Size, Status: m.Status, Thread: m.Thread,
		ReplyTo: m.ReplyTo, Task: m.Task, Later: m.Later == "true", Read: m.Read, Outcome: m.Outcome,
	}
	if at := m.Time(); !at.IsZero() {
		d.Sent = at.UnixMilli()
	}
	if m.ExpectsReply != "" {
		var deadline int64
		if at, err := time.Parse(time.RFC3339Nano, m.ExpectsReply); err == nil {
			deadline = at.UnixMilli()
		}
		d.ExpectsReply = &deadline
	}
	if body {
		text := strings.ToValidUTF8(string(m.Body), "\uFFFD")
		d.Body = &text
		if !utf8.Valid(m.Body) {
			d.BodyBase64 = base64.StdEncoding.EncodeToString(m.Body)
		}
	}
	return d
}

// sentData is the JSON form of a message that was just sent.
func sentData(s team.Sent) messageData {
	d := newMessageData(s.Message, false)
	d.Delivery, d.SilentMs = s.Delivery, s.SilentMs
	return d
}

// messagesData is the data of the verbs about several messages.
type messagesData struct {
	Messages []messageData `json:"messages"`
	Total    int           `json:"total"`
	Unread   int           `json:"unread"`
}

// newMessagesData counts the unread ones of the list; recv, which has marked
// all of it, says how many are left instead.
func newMessagesData(list []*inbox.Message, body bool) messagesData {
	d := messagesData{Messages: make([]messageData, 0, len(list)), Total: len(list)}
	for _, m := range list {
		d.Messages = append(d.Messages, newMessageData(m, body))
		if !m.Read {
			d.Unread++
		}
	}
	return d
}

// writeMail writes messages one a line: id, age, sender, status, title.
func writeMail(w *render.Writer, list []*inbox.Message, who func(*inbox.Message) string) {
	table := w.Table()
	for _, m := range list {
		mark := "●"
		if m.Read {
			mark = "○"
		}
		table.Row(m.ID, mark, w.Time(m.Time()), who(m), mailState(m), m.Title)
	}
	table.Flush()
}

// mailState is what a message is and what became of it, each in a word.
func mailState(m *inbox.Message) string {
	said := slices.DeleteFunc([]string{m.Status, m.Event, m.Outcome}, func(s string) bool { return s == "" })
	return strings.Join(said, " · ")
}

func mailFrom(m *inbox.Message) string { return m.From }
func mailTo(m *inbox.Message) string   { return m.To }

// Formats of a message for its reader.
const (
	formatText  = "text"
	formatAgent = "agent"
)

func checkFormat(format string) error {
	switch format {
	case "", formatText, formatAgent:
		return nil
	}
	return errs.New(errs.Usage, "--format %q is neither text nor agent", format)
}

// writeMessage writes one message for its reader.
func writeMessage(w *render.Writer, m *inbox.Message, format string) {
	if format == formatAgent {
		w.Block(m.AgentText())
		return
	}
	state := []string{"from " + m.From}
	for _, s := range []string{m.Event, m.Status, m.Task} {
		if s != "" {
			state = append(state, s)
		}
	}
	if m.ExpectsReply != "" {
		state = append(state, "expects a reply: teams reply "+m.ID+" -")
	}
	w.Linef("%s  %s  %s", m.ID, w.Time(m.Time()), strings.Join(state, "  "))
	w.Block(string(m.Body))
	w.Blank()
}

// mailReader is the caller as the owner of a mailbox, for verbs that mark.
func (e *Env) mailReader(t *team.Team) (team.Identity, error) {
	if t.Name == "" || t.Name == team.LeaderName {
		return t.Leader()
	}
	return t.Worker(e.ctx)
}
