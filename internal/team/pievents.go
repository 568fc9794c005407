package team

import (
	"context"
	"strings"

	"github.com/seed6990a682/teams/internal/pi"
)

// onState notes that pi works, or is idle.
func (d *piDriver) onState(s pi.State) {
	ctx := context.Background()
	switch s {
	case pi.Working:
		d.noteOutput(ctx, func(tm *Teammate) {
			if tm.Status == StatusIdle {
				tm.Status = StatusWorking
			}
			tm.ActiveAt, tm.ActiveBootMs = nowMillis(), bootMillis()
		})
	case pi.Idle:
		d.logLine("")
		d.flush(ctx)
		d.noteOutput(ctx, func(tm *Teammate) {
			if tm.Status == StatusWorking {
				tm.Status = StatusIdle
			}
			tm.Activity = ""
		})
		_ = d.turnDone(ctx) // it tells the log what is wrong
	}
}

// onRunEnd keeps the words of a model that failed, until a run succeeds.
func (d *piDriver) onRunEnd(r pi.RunEnd) {
	text := ""
	if r.Failed() {
		text = "its last run failed: " + orWord(r.Error, r.Reason)
		d.log.Event("%s", text)
	}
	d.noteOutput(context.Background(), func(tm *Teammate) { tm.Error = text })
}

// onActivity writes what pi does to the log. A line of text that grows is
// written once, when another one follows.
func (d *piDriver) onActivity(a pi.Activity) {
	line := a.Line()
	if a.Dropped > 0 {
		d.log.Event("%d activities were not noted", a.Dropped)
	}
	switch a.Kind {
	case pi.Text, pi.Thinking:
		d.logLine(line)
	case pi.ToolEnded, pi.RunStarted, pi.Delivered:
	default:
		d.logLine("")
		d.log.Event("%s: %s", a.Kind, strings.TrimSpace(a.Tool+" "+a.Text))
	}
}

// logLine notes the present line of text, and writes the one before when this
// is another.
func (d *piDriver) logLine(line string) {
	d.mu.Lock()
	old := d.line
	d.line = line
	d.mu.Unlock()
	if old != "" && !strings.HasPrefix(line, old) {
		_, _ = d.log.Write([]byte(old + "\n"))
	}
}

// flush brings to the record what pi did and used since the last time. What it
// used counts for the task that it holds.
func (d *piDriver) flush(ctx context.Context) {
	d.mu.Lock()
	used := d.used
	d.used = pi.Usage{}
	d.mu.Unlock()
	if used == (pi.Usage{}) {
		d.noteOutput(ctx, nil)
		return
	}
	task := ""
	if held, err := d.b.Held(d.tm.Name, d.tm.SpawnID); err == nil && len(held) > 0 {
		task = held[0].ID
	}
	d.noteOutput(ctx, func(tm *Teammate) {
		if tm.Usage == nil {
			tm.Usage = new(Usage)
		}
		tm.Usage.add(used)
		tm.Turns += int(used.Turns)
		if task == "" {
			return
		}
		if tm.TaskUsage == nil {
			tm.TaskUsage = map[string]*Usage{}
		}
		if tm.TaskUsage[task] == nil {
			tm.TaskUsage[task] = new(Usage)
		}
		tm.TaskUsage[task].add(used)
	})
}

func (u *Usage) add(v pi.Usage) {
	u.Tokens += v.Total
	u.Cost += v.Cost
}
