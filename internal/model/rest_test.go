package model

import (
	"fmt"
	"os"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/team"
)

// freeAll lets everybody begin anew: the lives of before are over, and what
// they held is free.
func (m *machine) freeAll(t *rapid.T) {
	for _, c := range m.teammates() {
		m.mu.Lock()
		m.die(c)
		m.mu.Unlock()
		tm, _ := m.observer()
		if c.kind != isBare {
			v := m.joining(c, false)
			if out := m.run(t, v, trouble{}); out.err != nil {
				m.fatal(t, "join %s: %v", c.name, out.err)
			}
			continue
		}
		if _, err := tm.Read(c.name); err != nil {
			continue
		}
		if out := m.run(t, m.leave(c), trouble{}); out.err != nil {
			m.fatal(t, "leave %s: %v", c.name, out.err)
		}
	}
	m.run(t, m.tick(m.callers[1]), trouble{})
}

// workAll completes what can be completed.
func (m *machine) workAll(t *rapid.T) {
	_, b := m.observer()
	ctx := t.Context()
	ann := m.callers[2]
	for range 200 {
		progress := false
		list, err := b.Tasks()
		if err != nil {
			m.fatal(t, "%v", err)
		}
		for _, v := range list {
			who := ann
			if v.Assignee == "bob" {
				who = m.callers[3]
			}
			switch v.State {
			case fsboard.StateReady:
				v, err := b.Claim(ctx, fsboard.ClaimRequest{ID: v.ID, Worker: who.name, SpawnID: who.spawn, Max: 99})
				if err != nil {
					m.fatal(t, "claim %v: %v", v, err)
				}
				m.mu.Lock()
				m.try("complete " + v.ID + " " + who.spawn)
				m.try("fail " + v.ID + " " + who.spawn)
				m.mu.Unlock()
				status := ""
				if v.Verify == "false" {
					status = "failed"
				}
				if _, err := b.Submit(ctx, fsboard.SubmitRequest{ID: v.ID, Worker: who.name, SpawnID: who.spawn, Status: status}); err != nil {
					m.fatal(t, "submit %s: %v", v.ID, err)
				}
				progress = true
			case fsboard.StateWaiting:
				m.wall, m.boot = m.wall.Add(10*time.Minute), m.boot+10*time.Minute
				progress = true
			case fsboard.StateClaimed, fsboard.StateSubmitted, fsboard.StateVerifying:
				m.fatal(t, "%s is %s by %s (%+v), whose life is over", v.ID, v.State, v.ClaimedBy, v.Claim)
			}
		}
		if !progress {
			return
		}
	}
	m.fatal(t, "there is always something left to do")
}

// readAll has everybody read all mail: what was sent to a life that is there
// has been seen in the end.
func (m *machine) readAll(t *rapid.T) {
	for _, c := range append([]*caller{m.callers[0]}, m.teammates()...) {
		tm, _ := m.observer()
		if _, err := tm.Read(c.name); err != nil && c.kind != isLeader {
			continue
		}
		v := verb{who: c, name: "recv of " + c.name, run: func(k *call) error {
			who, err := k.mailer()
			if err != nil {
				return err
			}
			_, left, problems, err := k.t.Receive(k.ctx, team.ReceiveRequest{Who: who, Show: func(msg *inbox.Message) error {
				k.show(msg, who)
				return nil
			}})
			if err == nil && (len(problems) > 0 || left > 0) {
				err = errs.New(errs.Internal, "%d are left, %v", left, problems)
			}
			return err
		}}
		if out := m.run(t, v, trouble{}); out.err != nil {
			m.fatal(t, "recv of %s: %v", c.name, out.err)
		}
	}
}

// atRest checks what is true when nothing is left to do.
func (m *machine) atRest(t *rapid.T) {
	tm, b := m.observer()
	ctx := t.Context()
	if err := notYet(b.Fix(ctx)); err != nil {
		m.fatal(t, "%v", err)
	}
	if err := tm.Fix(ctx, b); err != nil {
		m.fatal(t, "%v", err)
	}
	var wrong []string
	findings, err := b.Check()
	more, err2 := tm.Check()
	for _, f := range append(findings, more...) {
		if f.Severity != fsboard.SeverityInfo && f.Code != "rejected" && f.Code != "rejected_report" {
			wrong = append(wrong, fmt.Sprintf("doctor: %s: %s: %s", f.Code, f.Path, f.Message))
		}
	}
	if err != nil || err2 != nil {
		wrong = append(wrong, fmt.Sprint(err, err2))
	}
	for _, dir := range []string{"claims", "submissions"} {
		names, _ := os.ReadDir(b.Dir() + "/" + dir)
		for _, n := range names {
			if !strings.HasPrefix(n.Name(), ".") {
				wrong = append(wrong, dir+"/"+n.Name()+" is left")
			}
		}
	}
	wrong = append(wrong, m.owed(tm, b)...)
	m.mu.Lock()
	defer m.mu.Unlock()
	wrong = append(wrong, m.settled(tm, b)...)
	for _, f := range m.mail(tm) {
		if f.place == "inbox/new" || f.place == "outbox/new" || f.place == "kept" {
			if f.box != "eve" {
				wrong = append(wrong, fmt.Sprintf("%s lies in %s of %s", f.m.ID, f.place, f.box))
			}
		}
	}
	events, _, _ := b.History(fsboard.HistoryFilter{})
	for id, s := range m.submit {
		n := 0
		for i := range events {
			if events[i].Submission == id && events[i].Event != fsboard.EventDropped {
				n++
			}
		}
		if n == 0 && m.tries["cancel "+s.task] == 0 {
			wrong = append(wrong, fmt.Sprintf("submission %s of %s was told and never decided", id, s.task))
		}
	}
	if len(wrong) > 0 {
		m.fatal(t, "%s", strings.Join(wrong, "\n"))
	}
}

// owed checks that each notice that the board owes to somebody who is there was
// published, once.
func (m *machine) owed(tm *team.Team, b *fsboard.Board) (wrong []string) {
	events, _, err := b.History(fsboard.HistoryFilter{})
	if err != nil {
		return []string{err.Error()}
	}
	for i := range events {
		if events[i].Rev <= m.endedRev {
			continue // given, and gone with the session
		}
		for _, n := range events[i].Notices {
			if n.To != team.LeaderName {
				if now, err := tm.Read(n.To); err != nil || now.SpawnID != n.SpawnID || now.Status == team.StatusStopped {
					continue
				}
			}
			if there, _, err := tm.Box(n.To).Has(n.ID); err != nil || !there {
				wrong = append(wrong, fmt.Sprintf("the notice %s of %s of %s to %s was never given: %v", n.ID, events[i].Event, events[i].Task, n.To, err))
			}
		}
	}
	return wrong
}

// settled checks that the leader was told of each watched task that has ended,
// as often as it had asked, and not more often than it may have.
func (m *machine) settled(tm *team.Team, b *fsboard.Board) (wrong []string) {
	told := map[string]int{}
	for _, f := range m.mail(tm) {
		if f.box != team.LeaderName || f.m.Event != "settled" {
			continue
		}
		for n := 1; n <= len(m.tried)+1; n++ {
			id := fmt.Sprint("t_", n)
			if strings.Contains(string(f.m.Body)+" ", id+" ") || strings.Contains(string(f.m.Body), id+":") {
				told[id]++
			}
		}
	}
	for n := 1; n <= len(m.tried)+1; n++ {
		id := fmt.Sprint("t_", n)
		task, err := b.Show(id)
		if err != nil {
			continue
		}
		if told[id] < m.watched[id] && task.State.Terminal() {
			wrong = append(wrong, fmt.Sprintf("%s is %s, was watched %d times, and told of %d times", id, task.State, m.watched[id], told[id]))
		}
		if told[id] > m.tries["watch "+id] {
			wrong = append(wrong, fmt.Sprintf("%s was told of %d times, to be watched was tried %d times", id, told[id], m.tries["watch "+id]))
		}
	}
	return wrong
}
