package team

import (
	"context"
	"fmt"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// DefaultStall is how long a working resident may be silent before the leader
// is told.
const DefaultStall = 30 * time.Minute

// silentFor is how long a resident has neither given output nor got a prompt.
// Within one boot it is measured by the clock of that, which nobody sets.
func silentFor(tm Teammate) time.Duration {
	if tm.ActiveBootMs > 0 && tm.BootID != "" && tm.BootID == fsx.BootID() && tm.Host == fsx.Host() {
		if now := bootMillis(); now > 0 {
			return time.Duration(max(now-tm.ActiveBootMs, 0)) * time.Millisecond
		}
	}
	return time.Duration(max(nowMillis()-tm.ActiveAt, 0)) * time.Millisecond
}

// tickStall tells the leader of residents that have been silent for long, once
// for each episode. That is all that happens to them: silence is not death.
func (t *Team) tickStall(ctx context.Context, all []Teammate, stall time.Duration, r *TickReport) {
	if stall <= 0 {
		return
	}
	for _, tm := range all {
		if !tm.Resident() || tm.ActiveAt == 0 || tm.Status != StatusWorking && tm.Status != StatusStarting || t.Liveness(tm) != fsx.Alive {
			continue
		}
		silent := silentFor(tm)
		if silent < stall {
			continue
		}
		told, err := t.notify(ctx, notice{
			to: LeaderName, key: fmt.Sprintf("stalled-%s-%s-%d.%d", tm.Name, digest(tm.SpawnID)[:lifeDigits], tm.ActiveBootMs, tm.ActiveAt),
			event: eventStalled, about: tm.Name, body: stallBody(tm, silent),
		})
		r.problem(stepStall, err)
		if told {
			r.Done = append(r.Done, Done{stepStall, eventStalled, tm.Name, fmt.Sprintf("%s has been silent for %s", tm.Name, silent.Round(time.Second))})
		}
	}
}

func stallBody(tm Teammate, silent time.Duration) string {
	last := tm.Activity
	if last == "" {
		last = "none is known"
	}
	return fmt.Sprintf("%s is %s and has been silent for %s. Its last activity: %s\n"+
		"It may be busy, and nothing was done about it. Your choices:\n"+
		"- wait: teams activity %[1]s --follow\n"+
		"- steer it: teams send %[1]s -\n"+
		"- abort its turn: teams interrupt %[1]s\n"+
		"- end it: teams shutdown %[1]s\n"+
		"- give its work to a successor: teams handoff %[1]s | teams spawn NAME %[5]s -\n",
		tm.Name, tm.Status, silent.Round(time.Second), last, orWord(tm.Agent, "AGENT"))
}
