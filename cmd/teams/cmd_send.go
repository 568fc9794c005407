package main

import (
	"context"
	"strings"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var sendEntry = Entry{
	Path:    "send",
	Group:   groupMail,
	Summary: "Send a message to teammates, the leader or all",
	Examples: []string{
		"teams send bob - < question.md",
		`teams send leader --status completed "parser done, see parse.go"`,
		`teams send bob,carol "please pull"`,
		`teams send bob --expects-reply --wait --timeout 20m "which port?"`,
	},
	Quick: true,
	New:   func() Command { return new(sendCmd) },
}

// sendFlags are the flags that send and reply share.
type sendFlags struct {
	Status       string    `placeholder:"STATUS" help:"Of a report to the leader: in_progress, completed or failed."`
	Task         string    `placeholder:"ID" complete:"task" help:"The task that it is about."`
	Key          string    `placeholder:"KEY" help:"Idempotency key: sending the same key to the same recipient again is the same message."`
	Later        bool      `help:"Not before the reader's present run has ended."`
	Hold         bool      `help:"Keep it for the successor of a teammate that has stopped."`
	AllowEmpty   bool      `help:"Send it even if it is empty."`
	ExpectsReply bool      `help:"Ask for a reply; it stays open until there is one."`
	Deadline     *Duration `placeholder:"DURATION" help:"When the reply is needed."`
	Wait         bool      `help:"Wait for the reply and print it (with --expects-reply)."`
	Timeout      *Duration `placeholder:"DURATION" help:"Wait at most this long (exit 124); the deadline without it."`
}

type sendCmd struct {
	To      string  `arg:"" complete:"to," help:"Teammates, leader or all; several with commas between them."`
	Body    *string `arg:"" optional:"" name:"text" help:"The text; - reads it from stdin, @FILE from a file (preferred)."`
	ReplyTo string  `placeholder:"ID" complete:"message" help:"The message that this one answers."`
	sendFlags
}

// ReadPlain implements plainReader.
func (c *sendCmd) ReadPlain(args []string) bool {
	if len(args) != 2 || hasFlag(args) {
		return false
	}
	c.To, c.Body = args[0], &args[1]
	return true
}

func (c *sendCmd) Help() string {
	return "The text comes last; - reads it from stdin and @FILE from a file, which is safer than quoting it for the shell. " +
		"Sent means written: on success the recipient's mailbox holds the message, or for a report to the leader the sender's outbox. " +
		"Exit codes: 2 the recipient stopped before it replied; 3 no such teammate; 4 it has stopped; 5 I am no longer that teammate; 124 no reply in time."
}

func (c *sendCmd) Check() error {
	if to := c.recipients(); c.Wait && (len(to) > 1 || len(to) == 1 && to[0] == team.AllName) {
		return errs.New(errs.Usage, "--wait waits for one reply, so it goes with one recipient")
	}
	return c.check()
}

// recipients splits the recipients.
func (c *sendCmd) recipients() []string { return nonEmpty(strings.Split(c.To, ",")) }

func (c *sendFlags) check() error {
	switch {
	case c.Wait && !c.ExpectsReply:
		return errs.New(errs.Usage, "--wait waits for a reply, so --expects-reply is needed")
	case c.Deadline != nil && !c.ExpectsReply:
		return errs.New(errs.Usage, "--deadline is that of a reply, so --expects-reply is needed")
	case c.Timeout != nil && !c.Wait:
		return errs.New(errs.Usage, "--timeout bounds --wait")
	}
	return nil
}

func (c *sendCmd) Run(ctx context.Context, e *Env) error {
	to := c.recipients()
	if len(to) == 0 {
		return errs.New(errs.Usage, "no recipient was given").WithHint("teams send leader -")
	}
	return e.send(ctx, team.SendRequest{To: to, ReplyTo: c.ReplyTo}, c.Body, &c.sendFlags)
}

// send sends what the flags describe, and waits for the reply if asked to.
func (e *Env) send(ctx context.Context, r team.SendRequest, text *string, f *sendFlags) error {
	if text == nil {
		return errs.New(errs.Usage, "a text is needed").WithHint("teams %s ... - reads it from stdin", e.Verb)
	}
	t, err := e.team()
	if err != nil {
		return err
	}
	// A bare name may be about to become a teammate by this: not for a message
	// that cannot be sent.
	bare := t.SpawnID == "" && t.Name != "" && t.Name != team.LeaderName
	if bare {
		r.From = t.Reader()
	} else if r.From, err = e.mailReader(t); err != nil {
		return err
	}
	if r.Body, err = e.Bytes(*text); err != nil {
		return err
	}
	r.Status, r.Task, r.Key, r.Later, r.Hold = f.Status, taskIDArg(f.Task), f.Key, f.Later, f.Hold
	r.AllowEmpty, r.ExpectsReply, r.Deadline = f.AllowEmpty, f.ExpectsReply, f.Deadline.Std()
	if bare {
		if err := t.CheckSend(ctx, r); err != nil {
			return err
		}
		if r.From, err = e.mailReader(t); err != nil {
			return err
		}
	}
	sent, err := t.Send(ctx, r)
	if err != nil {
		if len(sent) == 0 {
			return err
		}
		return e.Fail(err, manySent(sent), func(w *render.Writer) { writeSent(w, sent, e.Quiet) })
	}
	t.Present()
	if f.Wait {
		return e.awaitReply(ctx, t, r.From, sent[0].Message, f)
	}
	text2 := func(w *render.Writer) { writeSent(w, sent, e.Quiet) }
	if len(sent) == 1 {
		e.Result(struct {
			Message messageData `json:"message"`
		}{sentData(sent[0])}, text2)
		return nil
	}
	e.Result(manySent(sent), text2)
	return nil
}

func manySent(sent []team.Sent) any {
	list := make([]messageData, 0, len(sent))
	for _, s := range sent {
		list = append(list, sentData(s))
	}
	return struct {
		Messages []messageData `json:"messages"`
	}{list}
}

func writeSent(w *render.Writer, sent []team.Sent, quiet bool) {
	for _, s := range sent {
		if quiet {
			w.Linef("%s", s.Message.ID)
			continue
		}
		verb := "sent"
		if s.Repeated {
			verb = "sent before"
		}
		to := ""
		if len(sent) > 1 {
			to = " to " + s.Message.To
		}
		w.Linef("%s %s %s%s · %d bytes · %s", render.Symbol("completed"), verb, s.Message.ID, to, s.Message.Size, s.Delivery)
		if s.SilentMs > 0 {
			w.Linef("  %s has been silent for %s, so delivery is uncertain", s.Message.To, render.Duration(time.Duration(s.SilentMs)*time.Millisecond))
		}
	}
}

// awaitReply waits for the reply to what was sent and prints it.
func (e *Env) awaitReply(ctx context.Context, t *team.Team, who team.Identity, m *inbox.Message, f *sendFlags) error {
	e.HandleSignals()
	timeout := f.Timeout
	if timeout == nil {
		timeout = f.Deadline
	}
	ctx, cancel := deadline(ctx, timeout)
	defer cancel()
	w, err := e.mailWaiter(t, who)
	if err != nil {
		return err
	}
	defer w.Close()
	live := e.Live("waiting for the reply of " + m.To)
	defer live.Done()
	err = t.AwaitReply(ctx, who, team.RequestOf(m), w, func(reply *inbox.Message) error {
		return e.Deliver(struct {
			Message messageData `json:"message"`
		}{newMessageData(reply, true)}, func(w *render.Writer) {
			if e.Quiet {
				w.Linef("%s", reply.ID)
				return
			}
			writeMessage(w, reply, formatText)
		})
	})
	return waitTimedOut(err, "the reply of "+m.To+" to "+m.ID)
}
