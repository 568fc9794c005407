package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var recvEntry = Entry{
	Path:     "recv",
	Group:    groupMail,
	Summary:  "Print the unread messages and mark them as read",
	Examples: []string{"teams recv", "teams recv --wait --timeout 10m --max 1", "teams recv --format agent"},
	Quick:    true,
	New:      func() Command { return new(recvCmd) },
}

type recvCmd struct {
	Wait    bool      `help:"Wait for one."`
	Timeout *Duration `placeholder:"DURATION" help:"Wait at most this long (exit 124)."`
	Max     int       `placeholder:"N" help:"At most N; the rest stays unread."`
	Format  string    `placeholder:"FORMAT" help:"text, or agent: each in an element that no body can forge."`
}

func (c *recvCmd) Help() string {
	return "Each message is printed by one receiver and marked after that; when a receiver dies before the mark, it is printed again, with the same id. " +
		"Exit codes: 2 there is none; 124 the wait ended without one."
}

func (c *recvCmd) Check() error {
	if c.Max < 0 {
		return errs.New(errs.Usage, "--max %d is negative", c.Max)
	}
	if c.Timeout != nil && !c.Wait {
		return errs.New(errs.Usage, "--timeout bounds --wait")
	}
	return checkFormat(c.Format)
}

func (c *recvCmd) Run(ctx context.Context, e *Env) error {
	t, err := e.team()
	if err != nil {
		return err
	}
	who, err := e.mailReader(t)
	if err != nil {
		return err
	}
	r := e.receiving(t, who, c.Format)
	r.Max = c.Max
	n, left, problems, err := r.once(ctx)
	if err == nil && n == 0 && !c.Wait {
		err = errors.Join(problems...) // what cannot be read is not none
	}
	if err == nil && n == 0 && c.Wait {
		n, left, err = c.wait(ctx, e, r)
	}
	if err != nil {
		return err
	}
	if n == 0 {
		return errs.New(errs.NoMail, "no mail for %s", who.Name).WithHint("teams recv --wait waits for some")
	}
	if left > 0 {
		e.printErr("", fmt.Sprintf("%d newer unread", left))
	}
	return nil
}

// receiver prints messages as they are received.
type receiver struct {
	team.ReceiveRequest
	e      *Env
	t      *team.Team
	warned map[string]bool // the problems that were told already
}

// receiving makes a receiver that prints one by one, or one JSON value.
func (e *Env) receiving(t *team.Team, who team.Identity, format string) *receiver {
	r := &receiver{e: e, t: t, warned: map[string]bool{}}
	r.Who = who
	if e.JSON {
		r.Batch = func(list []*inbox.Message, left int) error {
			d := newMessagesData(list, true)
			d.Unread = left
			return e.Deliver(d, nil)
		}
		return r
	}
	r.Show = func(m *inbox.Message) error {
		return e.Deliver(nil, func(w *render.Writer) {
			if e.Quiet {
				w.Linef("%s", m.ID)
				return
			}
			writeMessage(w, m, format)
		})
	}
	return r
}

// once is one look at the mailbox. Each problem is told once.
func (r *receiver) once(ctx context.Context) (n, left int, problems []error, err error) {
	n, left, problems, err = r.t.Receive(ctx, r.ReceiveRequest)
	r.warn(problems)
	return n, left, problems, err
}

func (r *receiver) warn(problems []error) {
	for _, err := range problems {
		if text := err.Error(); !r.warned[text] {
			r.warned[text] = true
			r.e.Warnf("%s", text)
		}
	}
}

// wait looks again and again until there is mail.
func (c *recvCmd) wait(ctx context.Context, e *Env, r *receiver) (n, left int, err error) {
	e.HandleSignals()
	ctx, cancel := deadline(ctx, c.Timeout)
	defer cancel()
	w, err := e.mailWaiter(r.t, r.Who)
	if err != nil {
		return 0, 0, err
	}
	defer w.Close()
	live := e.Live("waiting for mail")
	defer live.Done()
	for {
		if n, left, _, err = r.once(ctx); n > 0 || err != nil {
			return n, left, err
		}
		if err := w.Wait(ctx); err != nil {
			return 0, 0, waitTimedOut(err, "mail")
		}
	}
}

// mailWaiter watches a mailbox, and says so when it has to poll.
func (e *Env) mailWaiter(t *team.Team, who team.Identity) (*team.MailWaiter, error) {
	poll, err := e.poll()
	if err != nil {
		return nil, err
	}
	if who.Leader { // its mailbox is there from now on
		if _, err := t.EnsureSession(); err != nil {
			return nil, err
		}
	}
	w := t.NewMailWaiter(who, poll)
	if w.Polling() {
		e.Warnf("notification of changes is not to be had, so the mailbox is looked at every %v", poll)
	}
	return w, nil
}
