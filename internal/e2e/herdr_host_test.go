package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/herdr/herdrtest"
	"github.com/seed6990a682/teams/internal/team"
)

// A teammate in a pane of herdr: its first message and later mail are submitted
// there, its state is that of the pane, and shutdown closes the pane.
func TestHerdrHost(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var prompts []string
	h := herdrtest.New(t, func(s *herdrtest.Server) {
		s.OnPrompt = func(s *herdrtest.Server, pane, text string) {
			mu.Lock()
			prompts = append(prompts, text)
			mu.Unlock()
			s.SetState(pane, "working")
			go func() {
				time.Sleep(1500 * time.Millisecond)
				s.SetState(pane, "idle")
			}()
		}
	})
	s := newTeam(t).with("HERDR_SOCKET_PATH="+h.Path, "TEAMS_HERDR_MAX_PANES=1")
	s.ok("spawn", "ann", "worker", "look at the parser", "--host", "herdr", "--label", "parser")
	s.becomes("ann", "working", func(r resident) bool { return r.Status == "working" })
	s.becomes("ann", "idle after a turn", func(r resident) bool { return r.Status == "idle" && r.Turns > 0 })
	s.ok("send", "ann", "and at the lexer")
	s.becomes("ann", "idle again", func(r resident) bool { return r.Status == "idle" && r.Turns >= 2 }) // it was asked for its report too
	mu.Lock()
	all := strings.Join(prompts, "\n")
	if len(prompts) < 2 || prompts[0] != "You are ann, a teammate of role worker.\n\nlook at the parser" || !strings.Contains(all, `event="unfinished"`) || !strings.Contains(all, `<agent-message from="leader"`) {
		t.Errorf("prompts: %q", prompts)
	}
	mu.Unlock()
	if n := s.as("ann").mail("inbox").Unread; n != 0 {
		t.Errorf("%d unread", n)
	}
	if lease := read(t, filepath.Join(s.root, "panes", "1.json")); !strings.Contains(lease, `"role": "worker"`) {
		t.Errorf("%s", lease)
	}
	// No more panes than the cap, and nothing left of who was refused.
	r := s.exits(4, "spawn", "bob", "worker", "--host", "herdr")
	if !strings.Contains(r.err, "ann") {
		t.Errorf("%s", r)
	}
	if exists(s.team("bob")) {
		t.Error("bob is left")
	}
	for _, out := range []string{s.ok("list"), s.ok("status", "ann"), s.ok("activity", "ann"), s.ok("ledger")} {
		for _, p := range h.Panes() {
			if strings.Contains(out, p.ID) {
				t.Errorf("a pane id is shown: %s", out)
			}
		}
	}
	s.ok("shutdown", "ann")
	if n := len(h.Panes()); n != 0 {
		t.Errorf("%d panes are left", n)
	}
	s.ok("spawn", "bob", "worker", "--host", "herdr")

	// A pane that is closed by hand ends its teammate, which is told once.
	for _, p := range h.Panes() {
		h.Remove(p.ID)
	}
	b := s.becomes("bob", "stopped", func(r resident) bool { return r.Status == "stopped" })
	if !strings.Contains(b.Error, "pane was closed") {
		t.Errorf("%q", b.Error)
	}
	s.noProcess()
}

// A revived teammate comes back to where its pane was asked for, which the
// ledger remembers.
func TestHerdrResume(t *testing.T) {
	t.Parallel()
	h := herdrtest.New(t)
	s := newTeam(t).with("HERDR_SOCKET_PATH=" + h.Path)
	s.ok("spawn", "ann", "worker", "--host", "herdr", "--tab", "reviews", "--grace", "1m")
	s.ok("spawn", "bob", "worker", "--host", "herdr", "--placement", "workspace")
	pane := map[string]string{}
	for _, name := range []string{"ann", "bob"} {
		row := s.ledgerRow(name)
		if pane[name] = row.PaneID; row.PaneID == "" || row.TabID == "" || row.WorkspaceID == "" {
			t.Errorf("where %s is: %+v", name, row)
		}
		s.ok("shutdown", name)
		if row := s.ledgerRow(name); row.Status != "closed" || row.PaneID != pane[name] {
			t.Errorf("where %s was: %+v", name, row)
		}
		s.ok("resume", s.ledgerRow(name).TaskID)
	}
	if row := s.ledgerRow("ann"); row.Status != "running" || row.TabName != "reviews" || row.GraceMs != 60000 {
		t.Errorf("%+v", row)
	}
	if row := s.ledgerRow("bob"); row.Status != "running" || row.Placement != "workspace" {
		t.Errorf("%+v", row)
	}
	if tabs := h.Tabs(); !slices.Contains(slices.Collect(maps.Values(tabs)), "reviews") {
		t.Errorf("tabs: %v", tabs)
	}
	s.ok("shutdown", "--all")
	s.noProcess()
}

// ledgerRow is the row of the ledger that is about a name.
func (s *site) ledgerRow(name string) team.LedgerRow {
	s.t.Helper()
	var list struct{ Rows []team.LedgerRow }
	e, r := s.json("ledger")
	if err := json.Unmarshal(e.Data, &list); err != nil {
		s.t.Fatalf("%v: %s", err, r)
	}
	for _, row := range list.Rows {
		if row.Name == name {
			return row
		}
	}
	s.t.Fatalf("the ledger has no %s", name)
	return team.LedgerRow{}
}

// Without herdr such a spawn is refused and leaves nothing; other verbs do not
// notice.
func TestHerdrHostAway(t *testing.T) {
	t.Parallel()
	s := newTeam(t).with("HERDR_SOCKET_PATH=/nonexistent/herdr.sock", "HERDR_PANE_ID=w1:p1")
	e := s.fails(1, "herdr_unavailable", "spawn", "ann", "worker", "--host", "herdr")
	if e.Error.Hint == "" {
		t.Errorf("%+v", e)
	}
	if exists(filepath.Join(s.root, "teammate")) {
		t.Error("something is left")
	}
	s.noProcess()
	s.add("a task")
	s.spawnExec("ann", "", "cat")
	s.ok("tick", "-q")
	s.ok("shutdown", "ann")
	if _, err := os.Stat(s.root); err != nil {
		t.Fatal(err)
	}
}

// A pane that herdr does not close when its teammate ends is closed once it
// answers again, and the name and the place are free then.
func TestHerdrSilentShutdown(t *testing.T) {
	t.Parallel()
	h := herdrtest.New(t)
	s := newTeam(t).with("HERDR_SOCKET_PATH="+h.Path, "TEAMS_HERDR_MAX_PANES=2")
	for _, prune := range []string{"tick", "herdr prune"} {
		s.ok("spawn", "ann", "worker", "--host", "herdr")
		s.ok("spawn", "bob", "worker", "--host", "herdr")
		h.Fault("", -1, herdrtest.Silent)
		begin := time.Now()
		s.ok("shutdown", "ann", "--now")
		if took := time.Since(begin); took > 3500*time.Millisecond {
			t.Errorf("the end took %s", took)
		}
		s.ok("tick", "-q")
		h.Behave()
		s.ok(strings.Fields(prune)...)
		if n := len(h.Panes()); n != 1 {
			t.Errorf("%s leaves %d panes", prune, n)
		}
		s.ok("spawn", "ann", "worker", "--host", "herdr")
		s.ok("shutdown", "--all")
		if n := len(h.Panes()); n != 0 {
			t.Errorf("%d panes are left", n)
		}
	}
	s.noProcess()
}
