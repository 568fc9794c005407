package main

import (
	"context"
	"strings"
	"time"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/console"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

// acts are the acts of the console, those of the verbs.
func (s *consoleSource) acts() console.Acts {
	a := console.Acts{
		Claim: s.claim, Release: s.release, Cancel: s.cancel, Reopen: s.reopen,
		Send: s.send, Shutdown: s.shutdown, Answer: s.answer, Decline: s.decline,
	}
	if s.who.Leader {
		a.NeedsName = true
		if name := s.e.Getenv("USER"); fsx.CheckHandle(name) == nil {
			a.Name = name
		}
	}
	return a
}

// openAs is the team and its board as somebody else sees it.
func (s *consoleSource) openAs(name string) (*team.Team, *fsboard.Board, error) {
	if name == "" {
		return s.t, s.b, nil
	}
	p, err := team.Resolve(team.Input{Getenv: s.e.getenv, Root: s.e.Root, Session: s.e.Session, As: name})
	if err != nil {
		return nil, nil, err
	}
	t := team.Open(p)
	t.LockTimeout, t.RoleVerify, t.Sharing = s.t.LockTimeout, s.t.RoleVerify, s.t.Sharing
	b, err := t.Board(team.BoardOptions{LockTimeout: s.e.LockWait()})
	return t, b, err
}

// after publishes the notices that an act owes. What fails here is published by
// the next verb, and the act has been done.
func (s *consoleSource) after(ctx context.Context, b *fsboard.Board) {
	_ = b.Problems()
	_, _ = s.t.PublishNotices(ctx, b)
}

func (s *consoleSource) claim(ctx context.Context, id, as string) (string, error) {
	s.claimed.Lock()
	defer s.claimed.Unlock()
	t, b, err := s.openAs(as)
	if err != nil {
		return "", err
	}
	who, err := t.Worker(ctx)
	if err != nil {
		return "", err
	}
	v, err := b.Claim(ctx, fsboard.ClaimRequest{ID: id, Worker: who.Name, SpawnID: who.SpawnID, Agent: who.Agent, Lease: leaseSetting(t, nil)})
	s.after(ctx, b)
	if err != nil {
		return "", err
	}
	return done(v.ID, "claimed by "+v.ClaimedBy), nil
}

// done is what an act says of itself.
func done(subject, what string) string { return render.Success + " " + subject + " · " + what }

func (s *consoleSource) release(ctx context.Context, id string) (string, error) {
	who, err := s.t.Actor(ctx)
	if err != nil {
		return "", err
	}
	r := fsboard.ReleaseRequest{ID: id, Reason: "released in the console"}
	if !who.Leader {
		r.Worker, r.SpawnID = who.Name, who.SpawnID
	}
	v, err := s.b.Release(ctx, r)
	if err != nil {
		return "", err
	}
	s.after(ctx, s.b)
	return done(v.ID, "released"), nil
}

func (s *consoleSource) cancel(ctx context.Context, id string) (string, error) {
	if _, err := s.t.Leader(); err != nil {
		return "", err
	}
	if _, err := s.b.Cancel(ctx, id, "cancelled in the console", false); err != nil {
		return "", err
	}
	s.after(ctx, s.b)
	return done(id, "cancelled"), nil
}

func (s *consoleSource) reopen(ctx context.Context, id string) (string, error) {
	if _, err := s.t.Leader(); err != nil {
		return "", err
	}
	v, err := s.b.Reopen(ctx, id)
	if err != nil {
		return "", err
	}
	s.after(ctx, s.b)
	return done(v.ID, "reopened"), nil
}

func (s *consoleSource) send(ctx context.Context, to, replyTo, text string) (string, error) {
	from, err := s.t.Actor(ctx)
	if err != nil {
		return "", err
	}
	r := team.SendRequest{From: from, To: nonEmpty(strings.Split(to, ",")), ReplyTo: replyTo, Body: []byte(text)}
	if len(r.To) == 0 {
		return "", errs.New(errs.Usage, "no recipient was given")
	}
	sent, err := s.t.Send(ctx, r)
	if err != nil {
		return "", err
	}
	for i := range sent {
		r.To[min(i, len(r.To)-1)] = "@" + sent[i].Message.To
	}
	what := "sent"
	if len(sent) > 0 {
		what = sent[0].Delivery
	}
	return done(strings.Join(r.To, " "), what), nil
}

func (s *consoleSource) shutdown(ctx context.Context, name string, now bool) (string, error) {
	if _, err := s.t.Leader(); err != nil {
		return "", err
	}
	tm, err := s.t.Shutdown(ctx, s.b, name, now, nil)
	if err != nil {
		return "", err
	}
	s.after(ctx, s.b)
	return done("@"+tm.Name, tm.Status), nil
}

func (s *consoleSource) answer(ctx context.Context, id, text string) (string, error) {
	q, err := s.t.Answer(ctx, id, []string{text}, false)
	if err != nil {
		return "", err
	}
	return done("@"+q.From, "answered"), nil
}

func (s *consoleSource) decline(ctx context.Context, id string) (string, error) {
	q, err := s.t.Answer(ctx, id, nil, true)
	if err != nil {
		return "", err
	}
	return done("@"+q.From, "declined"), nil
}

// plainWriter makes text for the console, which colours and cuts by itself.
func (s *consoleSource) plainWriter() *render.Writer {
	return render.New(render.Options{Now: fsx.Now(), SafeLine: fsx.SafeLine, SafeText: fsx.SafeText})
}

// How much a detail shows of what may be long.
const (
	consoleActivity = 8000 // bytes
	consoleEvents   = 20
)

// Detail implements console.Source.
func (s *consoleSource) Detail(ctx context.Context, page console.Page, id string) (string, error) {
	w := s.plainWriter()
	var err error
	switch page {
	case console.Roster:
		err = s.teammateDetail(w, id)
	case console.Roles:
		err = s.roleDetail(ctx, w, id)
	case console.Board:
		err = s.taskDetail(w, id)
	case console.Mail:
		m, rerr := readLetter(s.t, id)
		if err = rerr; err == nil {
			w.Linef("from %s to %s, %s", m.From, m.To, w.Time(m.Time()))
			writeMessage(w, m, formatText)
		}
	case console.Questions:
		err = s.questionDetail(w, id)
	}
	return w.String(), err
}

func (s *consoleSource) teammateDetail(w *render.Writer, name string) error {
	tm, err := s.t.Find(name)
	if err != nil {
		return err
	}
	writeTeammate(w, s.t, tm)
	held, err := s.b.Held(tm.Name, tm.SpawnID)
	if err != nil {
		return err
	}
	if len(held) > 0 {
		w.Blank()
		w.Linef("holds:")
		writeTaskList(w, held)
	}
	text, _, err := s.t.Activity(name, consoleActivity)
	if err != nil {
		return err
	}
	if text == "" {
		text = tm.Activity
	}
	if text != "" {
		w.Blank()
		w.Linef("activity, newest last:")
		w.Block(text)
	}
	return nil
}

func (s *consoleSource) roleDetail(ctx context.Context, w *render.Writer, path string) error {
	set, err := agentdefs.Discover(agentDirs(s.t.Place))
	if set == nil {
		return err
	}
	set.AskGit(ctx)
	for _, a := range set.Agents {
		if a.Path == path {
			writeAgent(w, a)
			block(w, "prompt", a.Prompt)
			return nil
		}
	}
	for _, a := range set.Agents {
		for _, shadowed := range a.Shadowed {
			if shadowed != path {
				continue
			}
			data, err := fsx.ReadFile(path, agentdefs.MaxSize)
			if err != nil {
				return err
			}
			w.Linef("%s  is not used: %s is", path, a.Path)
			w.Blank()
			w.Block(string(data))
			return nil
		}
	}
	return errs.New(errs.NotFound, "there is no definition %s any more", path)
}

func (s *consoleSource) taskDetail(w *render.Writer, id string) error {
	t, reasons, err := s.b.Why(id)
	if errs.CodeOf(err) == errs.NotFound {
		t, err = s.b.Show(id)
	}
	if err != nil {
		return err
	}
	writeTask(w, t)
	if len(reasons) > 0 {
		w.Blank()
		for _, r := range reasons {
			w.Linef("%s", r.Message)
		}
	}
	events, _, err := s.b.History(fsboard.HistoryFilter{Task: id})
	if err != nil {
		return err
	}
	if n := len(events); n > consoleEvents {
		events = events[n-consoleEvents:]
	}
	if len(events) > 0 {
		w.Blank()
		writeEvents(w, events)
	}
	return nil
}

func (s *consoleSource) questionDetail(w *render.Writer, id string) error {
	q, err := s.t.FindAsk(id)
	if err != nil {
		return err
	}
	w.Linef("%s  from %s, %s, %s", q.ID, q.From, q.State, w.TimeMs(q.CreatedAt))
	if q.DeadlineAt > 0 {
		w.Linef("  waits until %s", time.UnixMilli(q.DeadlineAt).Format(time.DateTime))
	}
	w.Blank()
	w.Block(q.Question)
	for _, o := range q.Numbered() {
		w.Linef("  %s", o)
	}
	if q.Multi {
		w.Linef("  several may be chosen: 1,2")
	}
	if q.AllowOther {
		w.Linef("  or any other text")
	}
	if a := q.Answer; a != nil && a.Text != "" {
		w.Blank()
		w.Linef("answer:")
		w.Block(a.Text)
	}
	return nil
}
