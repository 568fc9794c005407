package console

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

// prompt is what is asked for before an act.
type prompt struct {
	label  string
	editor editor
	// done takes what was typed. What it returns is run; an error is shown, and
	// the prompt stays.
	done func(text string) (command, error)

	// Of a question that is answered by one key.
	question string
	keys     string // the keys that do something
	yes      func(key string) command
}

var errNothing = errors.New("nothing was typed")

// act does what a key stands for on the page that is shown.
func (m *model) act(key string) command {
	id := m.selected()
	if m.detail.open {
		id = m.detail.id
	}
	if m.snap == nil {
		return nil
	}
	switch m.page {
	case Roster:
		return m.rosterAct(key, id)
	case Board:
		return m.boardAct(key, id)
	case Mail:
		return m.mailAct(key, id)
	case Questions:
		return m.questionAct(key, id)
	}
	return nil
}

func (m *model) rosterAct(key, name string) command {
	a := m.o.Acts
	switch key {
	case "s":
		m.startSend(name, "")
	case "x":
		if name == "" || a.Shutdown == nil {
			return nil
		}
		m.ask("shut down @"+name+"? y after its turn, ! at once, n no", "y!", func(key string) command {
			return m.run("stopping… @"+name, func(ctx context.Context) (string, error) { return a.Shutdown(ctx, name, key == "!") })
		})
	}
	return nil
}

func (m *model) boardAct(key, id string) command {
	a := m.o.Acts
	if id == "" {
		return nil
	}
	switch key {
	case "c":
		return m.claim(id)
	case "r":
		return m.simple(a.Release, "releasing… ", id)
	case "o":
		return m.simple(a.Reopen, "reopening… ", id)
	case "x":
		if a.Cancel != nil {
			m.ask("cancel "+id+"? y or n", "y", func(string) command { return m.simple(a.Cancel, "cancelling… ", id) })
		}
	}
	return nil
}

// claim claims for whoever runs the console, who may have to give a name first.
func (m *model) claim(id string) command {
	claim := m.o.Acts.Claim
	if claim == nil {
		return nil
	}
	run := func(as string) command {
		return m.run("claiming… "+id, func(ctx context.Context) (string, error) { return claim(ctx, id, as) })
	}
	if !m.o.Acts.NeedsName {
		return run("")
	}
	m.read("claim "+id+" as", m.o.Acts.Name, func(text string) (command, error) {
		name := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "@"))
		if name == "" {
			return nil, errNothing
		}
		m.o.Acts.Name = name
		return run(name), nil
	})
	return nil
}

// simple runs an act on one row.
func (m *model) simple(act func(context.Context, string) (string, error), doing, id string) command {
	if act == nil {
		return nil
	}
	return m.run(doing+id, func(ctx context.Context) (string, error) { return act(ctx, id) })
}

func (m *model) mailAct(key, id string) command {
	i := slices.IndexFunc(m.snap.Messages, func(msg Message) bool { return MessageID(msg.Owner, msg.ID) == id })
	switch {
	case key == "s" && i < 0:
		m.startSend("", "")
	case key == "s":
		m.startSend(m.partner(m.snap.Messages[i]), "")
	case key == "r" && i >= 0:
		msg := m.snap.Messages[i]
		if msg.To != m.snap.Who {
			m.say("", errs.New(errs.Usage, "only who got a message replies to it, and this is %s", m.snap.Who))
			return nil
		}
		if !takesMail(msg.From) {
			m.say("", errs.New(errs.Usage, "it is from %s, which reads no mail", msg.From))
			return nil
		}
		m.startSend(msg.From, msg.ID)
	}
	return nil
}

// partner is with whom a message was exchanged, seen from the console; "" when
// that is nobody who could be written to.
func (m *model) partner(msg Message) string {
	who := msg.From
	if who == m.snap.Who {
		who = msg.To
	}
	if !takesMail(who) {
		return ""
	}
	return who
}

// takesMail reports whether a name may be that of a mailbox. Those of the system
// are senders only.
func takesMail(name string) bool {
	switch name {
	case "harness", "board", "unknown", "human":
		return false
	}
	return true
}

// startSend asks for the recipient, unless there is one, and then for the text.
func (m *model) startSend(to, replyTo string) {
	if m.o.Acts.Send == nil {
		return
	}
	if to == m.snap.Who {
		to = ""
	}
	if replyTo != "" {
		m.readText(to, replyTo, "reply to @"+to)
		return
	}
	m.read("send to", to, func(text string) (command, error) {
		name := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "@"))
		if name == "" {
			return nil, errNothing
		}
		m.readText(name, "", "to @"+name)
		return nil, nil
	})
}

func (m *model) readText(to, replyTo, label string) {
	send := m.o.Acts.Send
	m.read(label, "", func(text string) (command, error) {
		if strings.TrimSpace(text) == "" {
			return nil, errNothing
		}
		return m.run("sending… @"+to, func(ctx context.Context) (string, error) { return send(ctx, to, replyTo, text) }), nil
	})
}

func (m *model) questionAct(key, id string) command {
	i := slices.IndexFunc(m.snap.Questions, func(q Question) bool { return q.ID == id })
	if i < 0 {
		return nil
	}
	q, a := m.snap.Questions[i], m.o.Acts
	switch key {
	case "a":
		if a.Answer == nil {
			return nil
		}
		m.read(answerLabel(q), "", func(text string) (command, error) {
			if strings.TrimSpace(text) == "" {
				return nil, errNothing
			}
			return m.run("answering… @"+q.From, func(ctx context.Context) (string, error) { return a.Answer(ctx, q.ID, text) }), nil
		})
	case "x":
		if a.Decline != nil {
			m.ask("decline to answer @"+q.From+"? y or n", "y", func(string) command { return m.simple(a.Decline, "declining… ", q.ID) })
		}
	}
	return nil
}

// answerLabel says what may be typed as an answer.
func answerLabel(q Question) string {
	if len(q.Options) == 0 {
		return "answer"
	}
	var parts []string
	for i, o := range q.Options {
		parts = append(parts, itoa(i+1)+" "+line(o))
	}
	label := strings.Join(parts, ", ")
	if q.Multi {
		label += "; several as 1,2"
	}
	if q.Other {
		label += "; or a text"
	}
	return label
}

// run runs an act beside the console.
func (m *model) run(doing string, act func(context.Context) (string, error)) command {
	m.say(doing, nil)
	ctx, asked := m.ctx, m.asked
	return func() any {
		note, err := act(ctx)
		return doneMsg{note, err, asked}
	}
}

// read asks for a line.
func (m *model) read(label, proposed string, done func(string) (command, error)) {
	m.mode = prompting
	m.prompt = prompt{label: line(label), editor: newEditor(proposed), done: done}
}

// ask asks for one of some keys; any other is no.
func (m *model) ask(question, keys string, yes func(key string) command) {
	m.mode = asking
	m.prompt = prompt{question: line(question), keys: keys, yes: yes}
}

func (m *model) askKey(key string) command {
	p := m.prompt
	m.mode, m.note = browsing, ""
	if len(key) == 1 && strings.Contains(p.keys, key) {
		return p.yes(key)
	}
	return nil
}

func (m *model) promptKey(key, typed string) command {
	switch key {
	case "esc":
		m.mode, m.note = browsing, ""
		return nil
	case "alt+enter", "shift+enter", "ctrl+j":
		m.prompt.editor.insert("\n")
		return nil
	case "enter":
		p := m.prompt
		m.mode, m.note, m.asked = browsing, "", &p
		cmd, err := p.done(p.editor.String())
		m.asked = nil
		if err != nil {
			m.mode, m.prompt = prompting, p
			m.say("", err)
		}
		return cmd
	}
	m.note = ""
	if !m.prompt.editor.key(key) {
		m.prompt.editor.insert(typed)
	}
	return nil
}

// errorText is an error and its hint in one harmless line.
func errorText(err error) string {
	text := err.Error()
	var known *errs.Error
	if errors.As(err, &known) && known.Hint != "" {
		text += " (" + known.Hint + ")"
	}
	return "✗ " + line(strings.ReplaceAll(text, "\n", "; "))
}
