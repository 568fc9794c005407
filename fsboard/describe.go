package fsboard

import (
	"fmt"
	"strings"
)

// Describe says in a few words what the event was, without the task's id.
func (e *Event) Describe() string {
	switch e.Event {
	case EventAdded, EventImported:
		return e.Event + by(e.By)
	case EventClaimed:
		return "claimed by " + e.Worker
	case EventClaimRefused:
		return fmt.Sprintf("claim of %s refused: %s", e.Worker, words(e.Reason))
	case EventRenewed:
		return "lease renewed by " + e.Worker
	case EventReleased:
		return fmt.Sprintf("released from %s: %s", e.Worker, words(e.Reason))
	case EventCompleted:
		if e.Run > 0 {
			return fmt.Sprintf("completed by %s, gate run %d passed", e.Worker, e.Run)
		}
		return "completed by " + e.Worker
	case EventGateFailed:
		return fmt.Sprintf("gate run %d of %s: %s; it stays claimed", e.Run, e.Worker, words(e.Verdict))
	case EventFailed:
		reason, _, _ := strings.Cut(e.Reason, "\n")
		return fmt.Sprintf("attempt of %s failed: %s", e.Worker, reason)
	case EventEscalation:
		return fmt.Sprintf("needs the leader: %s (gate run %d of %s)", words(e.Reason), e.Run, e.Worker)
	case EventDropped:
		return "submission of " + e.Worker + " dropped" + because(e.Reason)
	case EventEdited:
		if len(e.Fields) > 0 {
			return "edited: " + strings.Join(e.Fields, ", ")
		}
		return "changed" + because(words(e.Reason))
	case EventCancelled:
		return "cancelled" + because(e.Reason)
	case EventRejected:
		return "a marker was rejected: " + e.Message
	case EventClock:
		return "a time that lay ahead was set to now, since the clock went back"
	case EventRepaired:
		if e.Task == "" {
			return "the board was rebuilt: " + e.Message
		}
		return "restored by the repair"
	case EventRestored:
		return "brought back from the archive"
	}
	return words(e.Event)
}

// words makes a stable word readable.
func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

func by(who string) string {
	if who == "" || who == Leader {
		return ""
	}
	return " by " + who
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + words(reason)
}
