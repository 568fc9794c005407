package todo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
)

// titleCells is how wide a title is at most.
const titleCells = 80

const (
	closedAge = time.Hour       // how old a finished list is when only its age counts
	paceAge   = 5 * time.Minute // how old the last completion may be to tell a pace
	paceCount = 5               // how many completions tell it
)

// Title is the list in one line, for the title of a pane:
//
//	▶1 ○3 ■0 ✓2 (2/6 ~4m) · write the parser
//
// with what is in progress, pending, blocked and completed, how much of what is
// not abandoned is done, and how long the rest takes at the pace of the latest
// completions. It is empty for a list without work.
func Title(items []Item, now time.Time) string {
	n := Count(items)
	done, all := n[Completed], len(items)-n[Abandoned]
	if all == 0 {
		return ""
	}
	var times []int64
	for _, it := range items {
		if it.Status == Completed && it.CompletedAt > 0 {
			// What lies ahead was completed just now, by another clock.
			times = append(times, min(it.CompletedAt, now.UnixMilli()))
		}
	}
	slices.Sort(times)
	var last time.Duration // since the last completion
	if len(times) > 0 {
		last = time.Duration(now.UnixMilli()-times[len(times)-1]) * time.Millisecond
	}
	if done == all && len(times) > 0 && last >= closedAge {
		return fmt.Sprintf("✓%d done %s", done, age(last))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "▶%d ○%d ■%d ✓%d (%d/%d", n[InProgress], n[Pending], n[Blocked], done, done, all)
	if done == all {
		b.WriteString(" ✓")
	} else if left := pace(times, last) * time.Duration(all-done); left > 0 {
		b.WriteString(" " + estimate(left))
	}
	b.WriteByte(')')
	if i := slices.IndexFunc(items, func(it Item) bool { return it.Status == InProgress }); i >= 0 {
		b.WriteString(" · " + items[i].Content)
	}
	return render.Truncate(fsx.SafeLine(b.String()), titleCells)
}

// pace is the time between the latest completions, 0 when they do not tell.
func pace(times []int64, last time.Duration) time.Duration {
	times = times[max(0, len(times)-paceCount):]
	if len(times) < 2 || last > paceAge {
		return 0
	}
	return time.Duration(times[len(times)-1]-times[0]) * time.Millisecond / time.Duration(len(times)-1)
}

func estimate(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "<1m"
	case d < time.Hour-30*time.Second:
		return fmt.Sprintf("~%dm", int(d.Round(time.Minute)/time.Minute))
	}
	return "~" + strings.TrimSuffix(strconv.FormatFloat(d.Hours(), 'f', 1, 64), ".0") + "h"
}

func age(d time.Duration) string {
	if d < 48*time.Hour {
		return fmt.Sprintf("%dh", int(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
}
