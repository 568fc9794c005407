package team

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// A question that nobody answers is told of twice: when it is open, and when it
// is not any more.
func TestUnansweredIsToldOnce(t *testing.T) {
	team := newTeam(t)
	var told []int
	team.OnAsks = func(_ context.Context, _ string, open []Question) { told = append(told, len(open)) }
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := team.Ask(ctx, Identity{Name: "ann"}, Ask{Question: "Which port?"}, 5*time.Millisecond, nil)
	wantCode(t, err, errs.TimedOut)
	if fmt.Sprint(told) != "[1 0]" {
		t.Errorf("told %v", told)
	}
	if mail, _, _ := team.Inbox(t.Context(), Identity{Name: LeaderName, Leader: true}, false); len(mail) != 0 {
		t.Errorf("%+v", mail[0])
	}
}
