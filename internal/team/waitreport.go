package team

import (
	"context"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// WaitReport waits for the terminal report of a life and returns it.
// recipient_stopped: the life ended without one; awaiting_human: it has an open
// question to a person, and says nothing before that is answered; ctx's error when that ends
// first. progress is told the state of the teammate; it may be nil.
func (t *Team) WaitReport(ctx context.Context, tm Teammate, poll time.Duration, progress func(Teammate)) (*inbox.Message, error) {
	w := t.NewMailWaiter(Identity{Name: LeaderName, Leader: true}, poll)
	defer w.Close()
	for {
		over, err := t.lifeOver(tm.Name, tm.SpawnID) // first, so that what it said last is seen
		if err != nil {
			return nil, err
		}
		if _, _, err := t.DrainReports(ctx); err != nil {
			return nil, err
		}
		m, err := t.terminalReport(tm, "")
		if err != nil {
			return nil, err
		}
		if m != nil {
			whole, err := t.Box(LeaderName).Get(m.ID)
			if errs.CodeOf(err) == errs.NotFound {
				whole, err = t.Outbox(tm.Name).Get(m.ID)
			}
			if err != nil {
				return nil, err
			}
			return whole, t.consumed(tm, whole)
		}
		if over {
			return nil, errs.New(errs.RecipientStopped, "%s stopped without a terminal report", tm.Name).
				WithHint("teams handoff %s shows what it did", tm.Name)
		}
		if open := t.OpenAsks()[tm.Name]; len(open) > 0 && open[0].SpawnID == tm.SpawnID {
			return nil, errs.New(errs.AwaitingHuman, "%s waits for a person: %s", tm.Name, fsx.SafeLine(open[0].Question)).
				WithHint("%s", answerHint(open[0])).WithDetail("question", open[0].ID)
		}
		if progress != nil {
			if now, err := t.Read(tm.Name); err == nil {
				progress(now)
			}
		}
		if err := w.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// answerHint is a command that answers a question, as a shell takes it.
func answerHint(a Question) string {
	if len(a.Options) == 0 {
		return "teams answer " + a.ID + " TEXT"
	}
	return "teams answer " + a.ID + " 1 chooses its first option; teams asks shows all"
}

// consumed notes in the ledger that a report was handed to whoever waited.
func (t *Team) consumed(tm Teammate, m *inbox.Message) error {
	row := t.ledgerRow(tm, LedgerConsumed, "fg-settle")
	row.Outcome = m.Status
	return t.writeLedger(row)
}
