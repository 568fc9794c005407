package piext_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/piext"
)

// A teammate without bash reports, claims and submits with its tools; the
// resident's variant needs no installation.
func TestTeammateWithoutBash(t *testing.T) {
	w := newWorld(t)
	extension := filepath.Join(t.TempDir(), "teams.ts")
	if err := piext.WriteResident(extension, w.teams); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"task", "add", "first", "--verify", "test -e made"},
		{"task", "add", "second"},
	} {
		if out, err := w.run(args...); err != nil {
			t.Fatal(out, err)
		}
	}
	var joined struct{ Env map[string]string }
	w.data(&joined, "join", "ann", "--agent", "worker")
	if len(joined.Env) == 0 {
		w.data(&joined, "env", "ann")
	}
	env := w.env()
	for name, value := range joined.Env {
		env = append(env, name+"="+value)
	}
	s := w.start(env, "-ne", "-ns", "-e", extension, "--tools", "read,write,send_message,task_list,task_claim,task_submit")

	if end := s.call("task_list", map[string]any{}); end.IsError || !strings.Contains(end.text(), "t_1 [ready] first") {
		t.Fatalf("task_list: %s", end.text())
	}
	tools := slices.Clone(w.model.requests()[0].tools)
	slices.Sort(tools)
	if want := []string{"read", "send_message", "task_claim", "task_list", "task_submit", "write"}; !slices.Equal(tools, want) {
		t.Errorf("the tools are %v", tools)
	}
	if strings.Contains(w.model.requests()[0].system, "# Working in a team") {
		t.Error("a resident gets its guidance twice")
	}
	if end := s.call("task_claim", map[string]any{}); end.IsError || !strings.Contains(end.text(), "task_claim claimed t_1 [claimed] first") {
		t.Fatalf("task_claim: %s", end.text())
	}
	if end := s.call("task_claim", map[string]any{"taskId": "t_9"}); !end.IsError {
		t.Errorf("a second claim: %s", end.text())
	}
	if end := s.call("task_submit", map[string]any{"taskId": "t_1", "status": "completed", "result": "-made it"}); !end.IsError || !strings.Contains(end.text(), "gate_failed") {
		t.Errorf("task_submit without what the gate wants: %s", end.text())
	}
	put(t, filepath.Join(w.project, "made"), "")
	if end := s.call("task_submit", map[string]any{"taskId": "t_1", "status": "completed", "result": "-made it"}); end.IsError || !strings.Contains(end.text(), "t_1 is completed (gate: passed)") {
		t.Errorf("task_submit: %s", end.text())
	}
	if end := s.call("send_message", map[string]any{"to": "leader", "message": "all is done", "status": "completed"}); end.IsError {
		t.Errorf("send_message: %s", end.text())
	}
	if end := s.call("send_message", map[string]any{"to": "leader", "message": "and more"}); end.IsError || !strings.Contains(end.text(), "It has no status") {
		t.Errorf("send_message without a status: %s", end.text())
	}
	s.quit()

	var is listed
	w.data(&is, "list")
	if is.Tasks[0].State != "completed" || is.Tasks[0].Result != "-made it" {
		t.Errorf("the board: %+v", is.Tasks)
	}
	if len(is.Teammates) != 1 || is.Teammates[0].Status == "stopped" {
		t.Errorf("the end of a teammate's Pi is not that of the session: %+v", is.Teammates)
	}
	var mail struct {
		Messages []struct{ From, Status, Title string }
	}
	w.data(&mail, "inbox")
	if len(mail.Messages) != 2 || mail.Messages[0].Status != "completed" {
		t.Errorf("the leader's mail: %+v", mail.Messages)
	}
}

// An installed extension gives a hand-started worker its guidance; that of a
// project beside a global one is not loaded twice.
func TestWorkerByHand(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.install("--project")
	s := w.start(w.env("TEAMS_NAME=ann"))
	if end := s.call("task_list", map[string]any{}); end.IsError {
		t.Errorf("task_list: %s", end.text())
	}
	if !strings.Contains(w.model.requests()[0].system, "# Working in a team") {
		t.Error("it has no guidance")
	}
	s.quit()
}
