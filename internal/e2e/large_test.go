package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/team"
)

// TestLargeSession works on a board of 10,000 tasks whose history goes back for
// years. The figures are for internal/bench; here everything must still answer,
// long before it would count as hanging, and an idle tick writes nothing.
func TestLargeSession(t *testing.T) {
	s := newSite(t)
	tasks, days := 10_000, 100
	if *long {
		days = 1000
	}
	s.growBoard(tasks, days)
	s.ok("join", "ann", "-q")
	limit := func(what string, f func()) {
		t.Helper()
		begin := time.Now()
		f()
		d := time.Since(begin)
		t.Logf("%s: %v", what, d.Round(time.Millisecond))
		if d > 30*time.Second {
			t.Errorf("%s took %v", what, d)
		}
	}
	var list struct {
		Tasks []task
		Total int
	}
	limit("task list", func() {
		e, _ := s.json("task", "list", "--limit", "20")
		if json.Unmarshal(e.Data, &list) != nil || list.Total != tasks || len(list.Tasks) != 20 {
			t.Errorf("%d of %d tasks", len(list.Tasks), list.Total)
		}
	})
	limit("claim and submit", func() {
		ann := s.as("ann")
		id := ann.ok("claim", "-q")
		ann.ok("submit", id, "-q")
	})
	limit("tick", func() { s.ok("tick") })
	before := tree(t, s.root)
	limit("idle tick", func() { s.ok("tick") })
	if after := tree(t, s.root); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("an idle tick has written")
	}
	limit("log", func() {
		e, _ := s.json("log", "--since", "36h")
		var log struct{ Events []event }
		if json.Unmarshal(e.Data, &log) != nil || len(log.Events) < 2 || len(log.Events) > tasks {
			t.Errorf("%d events of the last days", len(log.Events))
		}
	})
	limit("doctor", func() { s.healthy() })
}

// growBoard makes a board of many tasks, of which one was added and completed on
// each of the last days.
func (s *site) growBoard(tasks, days int) {
	s.t.Helper()
	if s.add("the first") != "t_1" {
		s.t.Fatal("there is a board already")
	}
	p := team.Place{Root: s.root, Session: team.SessionKey(s.project), Project: s.project, Cwd: s.project}
	tm := team.Open(p)
	tm.Name = "lee"
	lee, err := tm.Worker(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := tm.Board(team.BoardOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	now := time.Now()
	restore := fsx.SetNow(func() time.Time { return now })
	defer restore()
	today := now
	for day := days; day > 0; day-- {
		now = today.Add(-time.Duration(day) * 24 * time.Hour)
		list, err := b.Add(s.t.Context(), fsboard.NewTask{Subject: fmt.Sprint("of day ", day)})
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err = b.Claim(s.t.Context(), fsboard.ClaimRequest{ID: list[0].ID, Worker: lee.Name, SpawnID: lee.SpawnID}); err == nil {
			_, err = b.Submit(s.t.Context(), fsboard.SubmitRequest{ID: list[0].ID, Worker: lee.Name, SpawnID: lee.SpawnID})
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	now = today
	restore()
	var batch strings.Builder
	for i := range tasks - days - 1 {
		fmt.Fprintf(&batch, `{"subject":"work %d","priority":%d}`+"\n", i, i%5)
	}
	if r := s.runIn(batch.String(), "task", "add", "--batch", "-", "-q"); r.code != 0 {
		s.t.Fatal(clip(r.err))
	}
}
