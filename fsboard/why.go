package fsboard

import (
	"fmt"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// Reason is one thing that keeps a task from being claimed.
type Reason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Task    string `json:"task,omitempty"` // the other task concerned
	Hint    string `json:"hint,omitempty"` // a command that would help
}

// Why tells exactly what keeps a task from being claimed, and what would help.
// A ready task gives only who may take it.
func (b *Board) Why(id string) (*TaskView, []Reason, error) {
	v, err := b.View()
	if err != nil {
		return nil, nil, err
	}
	t, err := v.Task(id)
	if err != nil {
		return nil, nil, err
	}
	if t == nil {
		if t, err = b.archivedView(id); err != nil {
			return nil, nil, err
		}
		if t == nil {
			return nil, nil, b.unknownTask(id)
		}
	}
	return t, v.Why(t), nil
}

// Why tells what keeps a task of this view from being claimed.
func (v *View) Why(t *TaskView) []Reason {
	switch t.State {
	case StateCompleted, StateFailed, StateCancelled:
		return []Reason{v.whyEnded(t)}
	case StateClaimed, StateSubmitted, StateVerifying:
		return v.whyHeld(t)
	}
	reasons := []Reason{}
	for _, id := range t.WaitingOn {
		reasons = append(reasons, v.whyWaits(t, id))
	}
	if t.NotBefore > v.now {
		left := (time.Duration(t.notBefore(v.now)-v.now) * time.Millisecond).Round(time.Second)
		reasons = append(reasons, Reason{Code: "not_before", Message: fmt.Sprintf("attempt %d of %d failed; it can be claimed again in %s", t.Attempt, t.MaxAttempts, left),
			Hint: "teams claim --wait"})
	}
	if t.Assignee != "" {
		r := Reason{Code: "assignee", Message: "only " + t.Assignee + " may claim it", Hint: "teams task edit " + t.ID + " --assignee ''"}
		switch v.b.o.Roster.Lookup(t.Assignee, "").Life {
		case LifeNoSuch:
			r.Message += ", and there is no such teammate yet"
		case LifeDead:
			r.Message += ", which has stopped"
		}
		reasons = append(reasons, r)
	}
	if t.Role != "" {
		reasons = append(reasons, Reason{Code: "role", Message: "only a teammate of agent " + t.Role + " may claim it", Hint: "teams task edit " + t.ID + " --role ''"})
	}
	return reasons
}

func (v *View) whyEnded(t *TaskView) Reason {
	r := Reason{Code: string(t.State), Message: fmt.Sprintf("it is %s", t.State), Hint: "teams task reopen " + t.ID}
	if t.Archived {
		r.Message += " and archived"
	}
	if t.ErrorMessage != "" {
		r.Message += ": " + fsx.SafeLine(t.ErrorMessage)
	}
	return r
}

// whyWaits explains one dependency that is not completed, down to the culprit.
func (v *View) whyWaits(t *TaskView, id string) Reason {
	r := Reason{Task: id, Code: "dependency"}
	dep, err := v.Task(id)
	switch {
	case err != nil || dep == nil:
		r.Code, r.Message = "dependency_missing", fmt.Sprintf("%s waits for %s, which is not on the board", t.ID, id)
		r.Hint = fmt.Sprintf("teams task edit %s --depends-on ''", t.ID)
		return r
	case dep.State == StateFailed, dep.State == StateCancelled:
		r.Code = "dependency_" + string(dep.State)
		r.Message = fmt.Sprintf("%s waits for %s, which is %s", t.ID, id, dep.State)
		r.Hint = "teams task reopen " + id
		return r
	}
	r.Message = fmt.Sprintf("%s waits for %s, which is %s", t.ID, id, dep.State)
	r.Hint = "teams task why " + id
	if dep.Status == Claimed {
		r.Message += " by " + dep.ClaimedBy
		return r
	}
	if culprits, err := v.snap.hopeless(&dep.Task); err == nil && len(culprits) > 0 {
		r.Message += fmt.Sprintf(" because of %s", culprits[0])
		r.Hint = "teams task why " + culprits[0]
	}
	return r
}

// whyHeld explains a task that somebody holds.
func (v *View) whyHeld(t *TaskView) []Reason {
	holder := Reason{Code: "claimed", Message: "it is claimed by " + t.ClaimedBy, Hint: "teams release " + t.ID}
	if c := t.Claim; c != nil {
		age := (time.Duration(max(v.now-c.ClaimedAt, 0)) * time.Millisecond).Round(time.Second)
		holder.Message += fmt.Sprintf(" since %s", age)
		if c.LeaseUntil > 0 {
			if left := c.leaseLeft(v.now, v.boot); left > 0 {
				holder.Message += fmt.Sprintf(", its lease ends in %s", (time.Duration(left) * time.Millisecond).Round(time.Second))
			} else {
				holder.Message += ", its lease is over"
				holder.Hint = "teams tick"
			}
		}
		switch v.b.o.Roster.Lookup(c.Worker, c.SpawnID).Life {
		case LifeDead:
			holder.Message += "; the holder is dead"
			holder.Hint = "teams tick"
		case LifeReplaced:
			holder.Message += "; the name has another life now"
			holder.Hint = "teams tick"
		}
	}
	if t.State != StateClaimed {
		holder.Hint = "" // what helps is to decide the submission
	}
	reasons := []Reason{holder}
	if t.State == StateClaimed {
		return reasons
	}
	r := Reason{Code: string(t.State), Message: "its submission waits for its verdict", Hint: "teams tick"}
	if t.State == StateVerifying {
		r.Message, r.Hint = "its gate is running", ""
		if run, err := v.b.readRun(t.ID); err == nil && run != nil {
			r.Message = fmt.Sprintf("gate run %d is running (pid %d on %s)", run.Number, run.PID, run.Host)
		}
	}
	if t.State == StateSubmitted {
		if g := t.Gate; g != nil && g.Host != "" && g.Host != fsx.Host() {
			r.Code, r.Message, r.Hint = "gate_elsewhere", "its gate runs on host "+g.Host, "run teams tick on "+g.Host
		} else if run, err := v.b.readRun(t.ID); err == nil && run != nil && !run.visible() {
			r.Code, r.Message = "gate_run_unseen", (&foreignRun{run: *run}).Error()
			r.Hint = "when it is gone for sure: rm " + v.b.gateRunPath(t.ID)
		}
	}
	return append(reasons, r)
}
