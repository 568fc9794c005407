package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// reasons is what teams task why tells about a task.
func (s *site) reasons(id string) (state string, out []struct{ Code, Message, Task, Hint string }) {
	s.t.Helper()
	e, r := s.json("task", "why", id)
	var d struct {
		State   string
		Reasons []struct{ Code, Message, Task, Hint string }
	}
	if r.code != 0 || json.Unmarshal(e.Data, &d) != nil {
		s.t.Fatalf("why %s: %s", id, r)
	}
	return d.State, d.Reasons
}

// TestRefusedDependencies adds and edits dependencies that cannot be: nothing
// changes, and the message shows what is wrong.
func TestRefusedDependencies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const chain = 30
	s.add("first")
	for i := 2; i <= chain; i++ {
		s.add("next", "--depends-on", fmt.Sprintf("t_%d", i-1))
	}
	before := read(t, s.board("board.json"))
	for _, c := range []struct {
		code, text string
		args       []string
	}{
		{"cycle", "t_1 cannot wait for itself", []string{"task", "edit", "t_1", "--depends-on", "t_1"}},
		{"cycle", "t_1 -> t_2 -> t_1", []string{"task", "edit", "t_1", "--depends-on", "t_2"}},
		{"cycle", "t_1 -> t_30 -> t_29 -> t_28", []string{"task", "edit", "t_1", "--depends-on", "t_30"}},
		{"cycle", "t_4 -> t_17", []string{"task", "edit", "t_4", "--depends-on", "t_3,t_17"}},
		{"unknown_dependency", "t_99", []string{"task", "edit", "t_2", "--depends-on", "t_1,t_99"}},
		{"unknown_dependency", "t_99", []string{"task", "add", "x", "--depends-on", "t_99"}},
		{"unknown_dependency", "nonsense", []string{"task", "add", "x", "--depends-on", "nonsense"}},
		{"cycle", "t_31", []string{"task", "add", "its own id", "--depends-on", "t_31"}},
		{"usage", "t_1 twice", []string{"task", "add", "x", "--depends-on", "t_1,t_1"}},
		{"usage", "t_1 twice", []string{"task", "edit", "t_9", "--depends-on", "t_1", "--depends-on", "1"}},
	} {
		e := s.fails(64, c.code, c.args...)
		if !strings.Contains(e.Error.Message, c.text) {
			t.Errorf("%q: %s", c.args, e.Error.Message)
		}
	}
	var many []string
	for i := range 33 {
		many = append(many, fmt.Sprintf("t_%d", i%chain+1))
	}
	s.fails(64, "usage", "task", "add", "x", "--depends-on", strings.Join(many, ","))
	for _, batch := range []string{
		`{"subject":"a","key":"a","dependsOn":["b"]}` + "\n" + `{"subject":"b","key":"b"}`,
		`{"subject":"a","key":"a"}` + "\n" + `{"subject":"b","dependsOn":["a","t_77"]}`,
	} {
		if r := s.runIn(batch, "task", "add", "--batch", "-"); r.code != 64 {
			t.Errorf("batch: %s", r)
		}
	}
	if read(t, s.board("board.json")) != before {
		t.Error("something was written")
	}
	e := s.fails(2, "blocked", "claim", "t_30", "--as", "ann")
	if !strings.Contains(e.Error.Message, "t_29") {
		t.Error(e.Error.Message)
	}
	s.healthy()
}

// TestHopelessDependencies waits for tasks that will not be completed: why
// names the culprit, however far away, and its hint is a command that helps.
func TestHopelessDependencies(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"cancelled", "failed"} {
		s := newSite(t)
		culprit := s.add("culprit", "--max-attempts", "1")
		direct := s.add("direct", "--depends-on", culprit)
		far := s.add("far", "--depends-on", direct)
		if end == "cancelled" {
			s.ok("task", "cancel", culprit)
		} else {
			s.ok("claim", culprit, "--as", "ann")
			s.ok("submit", "--as", "ann", "--failed")
		}
		if e := s.fails(3, "board_drained", "claim", "--as", "bob"); e.Error.Hint == "" {
			t.Error("no hint")
		}
		s.fails(2, "blocked", "claim", direct, "--as", "bob")
		state, why := s.reasons(direct)
		if state != "blocked" || len(why) != 1 || why[0].Task != culprit || why[0].Code != "dependency_"+end {
			t.Fatalf("%s: %s %+v", end, state, why)
		}
		_, farWhy := s.reasons(far)
		if len(farWhy) != 1 || !strings.Contains(farWhy[0].Message, "because of "+culprit) {
			t.Errorf("%s: far away: %+v", end, farWhy)
		}
		for _, hint := range []string{farWhy[0].Hint, why[0].Hint} {
			if r := s.sh(hint); r.code != 0 {
				t.Errorf("%s: the hint %q: %s", end, hint, r)
			}
		}
		s.ok("claim", culprit, "--as", "bob")
		s.ok("submit", "--as", "bob")
		s.ok("claim", direct, "--as", "bob")
		s.healthy()
	}
}

// TestArchivedDependency depends on an archived task, which comes back.
func TestArchivedDependency(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	done := s.add("done")
	s.ok("claim", done, "--as", "ann")
	s.ok("submit", "--as", "ann", "--result", "kept")
	cancelled := s.add("cancelled")
	s.ok("task", "cancel", cancelled)
	s.ok("gc", "--older-than", "1ns")
	if n := len(s.tasks()); n != 0 {
		t.Fatalf("%d tasks are not archived", n)
	}
	s.fails(4, "task_ended", "claim", done, "--as", "ann")
	a := s.add("waits for the done one", "--depends-on", done)
	if got := s.show(a); got.State != "ready" {
		t.Errorf("%+v", got)
	}
	if got := s.show(done); got.State != "completed" || got.Result != "kept" || len(s.tasks()) != 2 {
		t.Errorf("%+v", got)
	}
	b := s.add("waits for the cancelled one", "--depends-on", cancelled)
	state, why := s.reasons(b)
	if state != "blocked" || len(why) != 1 || why[0].Task != cancelled {
		t.Fatalf("%s %+v", state, why)
	}
	if r := s.sh(why[0].Hint); r.code != 0 {
		t.Errorf("%s", r)
	}
	if got := s.show(cancelled); got.State != "ready" {
		t.Errorf("%+v", got)
	}
	// What the board depends on is not archived.
	s.ok("gc", "--older-than", "1ns")
	if got := s.tasks(); len(got) != 4 {
		t.Errorf("archived from under a dependent: %v", got)
	}
	s.healthy()
}

// TestWhyHints follows every hint of why: each is a command that works.
func TestWhyHints(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"ann", "bob"} {
		s.ok("join", name, "-q")
	}
	holder := s.command("sleep", "100")
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	s.ok("join", "mortal", "-q", "--pid", fmt.Sprint(holder.Process.Pid))
	mortal := s.life("mortal", s.spawn("mortal"))
	first := s.add("first")
	ids := map[string]string{
		"dependency": s.add("waits", "--depends-on", first),
		"assignee":   s.add("assigned", "--assignee", "nobody"),
		"role":       s.add("role", "--role", "coder"),
		"completed":  s.add("done"),
		"cancelled":  s.add("cancelled"),
		"failed":     s.add("failed", "--max-attempts", "1"),
		"claimed":    s.add("claimed"),
		"not_before": s.add("waiting"),
		"submitted":  s.add("submitted", "--verify", "true"),
		"lease over": s.add("lease over"),
		"dead":       s.add("holder dead"),
	}
	s.ok("claim", ids["completed"], "--as", "ann")
	s.ok("submit", "--as", "ann")
	s.ok("task", "cancel", ids["cancelled"])
	s.ok("claim", ids["failed"], "--as", "ann")
	s.ok("submit", "--as", "ann", "--failed")
	s.ok("claim", ids["not_before"], "--as", "ann")
	s.ok("submit", "--as", "ann", "--failed")
	s.ok("claim", ids["claimed"], "--as", "ann")
	s.ok("claim", ids["submitted"], "--as", "bob")
	s.ok("submit", "--as", "bob", "--no-wait")
	s.ok("claim", ids["lease over"], "--as", "bob", "--lease", "1ms", "--max", "5")
	mortal.ok("claim", ids["dead"])
	_ = holder.Process.Kill()
	_ = holder.Wait()
	var hints []string
	for code, id := range ids {
		_, why := s.reasons(id)
		if len(why) == 0 {
			t.Errorf("%s: no reason", code)
			continue
		}
		if word := why[0].Code; !strings.Contains(code, " ") && code != "dead" && code != "submitted" && word != code {
			t.Errorf("%s: code %s", code, word)
		}
		helped := false
		for _, r := range why {
			if r.Message == "" {
				t.Errorf("%s: %+v", code, r)
			}
			if helped = helped || r.Hint != ""; r.Hint != "" {
				hints = append(hints, r.Hint)
			}
		}
		if !helped {
			t.Errorf("%s: no hint: %+v", code, why)
		}
		if text := s.ok("task", "why", id); text == "" {
			t.Errorf("%s: no text", code)
		}
	}
	// Each hint is tried on the board as it was told.
	restore := keepTree(t, s.root)
	for _, hint := range hints {
		restore()
		if strings.HasSuffix(hint, " --wait") { // it does wait
			hint += " --timeout 100ms"
		}
		if r := s.sh(hint); r.code != 0 {
			t.Errorf("the hint %q: %s", hint, r)
		}
	}
}
