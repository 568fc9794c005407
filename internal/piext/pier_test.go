package piext_test

import (
	"slices"
	"strings"
	"testing"
)

// The tools of pier are there when they were asked for, with their actions.
func TestPierTools(t *testing.T) {
	w := newWorld(t)
	w.install("--tools", "pier")
	s := w.start(w.env())
	for _, c := range []struct {
		tool   string
		args   map[string]any
		failed bool
		want   string
	}{
		{"todo_write", map[string]any{"todos": []any{
			map[string]any{"content": "read", "status": "in_progress"},
			map[string]any{"content": "write", "status": "blocked", "blocker": "a decision"},
		}}, false, "Updated todo list: 0 pending, 1 in progress, 0 completed, 1 blocked."},
		{"todo_write", map[string]any{"todos": []any{
			map[string]any{"content": "read", "status": "in_progress"},
			map[string]any{"content": "write", "status": "blocked", "blocker": "a decision"},
		}}, false, "No change: todo list already matches."},
		{"subagent", map[string]any{"action": "list"}, false, "No background subagents started"},
		{"subagent", map[string]any{"description": "x"}, true, "spawn needs prompt"},
		{"subagent", map[string]any{"description": "x", "prompt": "y", "cwd": "/"}, true, "cwd belongs to the role"},
		{"subagent", map[string]any{"action": "interrupt", "agentId": "nobody"}, true, "error code: not_found"},
		{"subagent", map[string]any{"action": "resume", "taskId": "ffffffff"}, true, "return code: 3"},
		{"ask_user_question", map[string]any{"questions": []any{}}, true, "no_questions"},
		{"terminal", map[string]any{"action": "send", "text": "ls"}, true, "send needs terminal_id"},
	} {
		end := s.call(c.tool, c.args)
		if end.IsError != c.failed || !strings.Contains(end.text(), c.want) {
			t.Errorf("%s %v (failed: %t) lacks %q:\n%s", c.tool, c.args, end.IsError, c.want, end.text())
		}
	}
	// A person answers from anywhere.
	s.prompt(`CALL ask_user_question {"questions":[{"question":"Which port?","options":[{"label":"80"},{"label":"443 (Recommended)"}]}]}`)
	var asks struct {
		Asks []struct {
			ID      string
			Options []string
		}
	}
	eventually(t, "the question stands", func() bool { w.data(&asks, "asks"); return len(asks.Asks) == 1 })
	if !slices.Equal(asks.Asks[0].Options, []string{"80", "443"}) {
		t.Errorf("the options are %q", asks.Asks[0].Options)
	}
	if out, err := w.run("answer", asks.Asks[0].ID, "443"); err != nil {
		t.Fatal(out, err)
	}
	end := s.wait("the answer", func(e event) bool { return e.Type == "tool_execution_end" })
	if want := `User has answered your questions: "Which port?"="443"`; end.text() != want {
		t.Errorf("the answer is %q", end.text())
	}
	s.quit()
}
