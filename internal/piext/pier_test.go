package piext_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The tools of pier are there when they were asked for, with their actions.
func TestPierTools(t *testing.T) {
	w := newWorld(t)
	w.install("--tools", "pier")
	s := w.start(w.env("PATH=" + filepath.Dir(w.pi) + string(os.PathListSeparator) + os.Getenv("PATH")))
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
	// A terminal keeps what was set in it.
	if end := s.call("terminal", map[string]any{"action": "open"}); end.IsError || !strings.Contains(end.text(), "terminal id: term-1\n") {
		t.Errorf("terminal open: %s", end.text())
	}
	s.call("terminal", map[string]any{"action": "send", "terminal_id": "term-1", "text": "X=40"})
	s.call("terminal", map[string]any{"action": "send", "terminal_id": "term-1", "text": "echo it-is-$((X + 2))"})
	eventually(t, "the terminal says it", func() bool {
		return strings.Contains(s.call("terminal", map[string]any{"action": "read", "terminal_id": "term-1"}).text(), "it-is-42")
	})
	if end := s.call("terminal", map[string]any{"action": "close", "terminal_id": "term-1"}); end.IsError {
		t.Errorf("terminal close: %s", end.text())
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
	s.wait("the end of the run", func(e event) bool { return e.Type == "agent_end" })

	// A subagent in the foreground answers with its report, which is then read.
	end = s.call("subagent", map[string]any{"description": "Look at it!", "prompt": `CALL send_message {"to":"leader","message":"I have looked","status":"completed"}`})
	if end.IsError || !strings.HasPrefix(end.text(), "I have looked\n\ncall:\n    subagent ") || !strings.Contains(end.text(), "agent id: look-at-it\n") {
		t.Errorf("the subagent: %s", end.text())
	}
	eventually(t, "its report is read", func() bool {
		var mail struct{ Total int }
		w.data(&mail, "inbox")
		return mail.Total == 0
	})
	if end = s.call("subagent", map[string]any{"action": "list"}); !strings.Contains(end.text(), "look-at-it [") {
		t.Errorf("the list: %s", end.text())
	}
	s.quit()
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.lines, isReport) {
		t.Error("the report of a subagent in the foreground began a turn too")
	}
}
