package piext_test

import (
	"os"
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
		{"task", "add", "first", "--verify", "ls made"},
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
	if end := s.call("task_submit", map[string]any{"taskId": "t_1", "status": "completed", "result": "-made it"}); !end.IsError || !strings.Contains(end.text(), "error code: gate_failed") || !strings.Contains(end.text(), "No such file") {
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

// A resident of Pi without bash does a whole task with its tools, started by its
// leader's tool, and its leader hears of it. Nothing is installed: the leader was
// given its extension, and the host gives the resident's.
func TestResident(t *testing.T) {
	w := newWorld(t)
	extension := filepath.Join(t.TempDir(), "teams.ts")
	source, err := piext.Extension(piext.Options{Binary: w.teams})
	if err != nil {
		t.Fatal(err)
	}
	put(t, extension, string(source))
	put(t, filepath.Join(w.project, ".pi", "agents", "quiet.md"), "---\nname: quiet\ndescription: reads; use when there is no shell\ntools: read\n---\nRead.\n")
	s := w.start(w.env("PATH="+filepath.Dir(w.pi)+string(os.PathListSeparator)+os.Getenv("PATH")), "-e", extension)
	s.call("task_create", map[string]any{"subject": "by tools alone"})
	end := s.call("teammate_spawn", map[string]any{"name": "ann", "agent": "quiet", "prompt": `CALL task_claim {"taskId":"t_1"}
CALL task_submit {"taskId":"t_1","status":"completed","result":"read it"}
CALL send_message {"to":"leader","message":"t_1 is done","status":"completed"}`})
	if end.IsError {
		t.Fatalf("the spawn: %s", end.text())
	}
	report := s.wait("the report", isReport).custom().Content
	if !strings.Contains(report, `from="ann"`) || !strings.Contains(report, "t_1 is done") {
		t.Errorf("the report is %q", report)
	}
	var is listed
	w.data(&is, "list")
	if is.Tasks[0].State != "completed" || is.Tasks[0].ClaimedBy != "ann" || is.Tasks[0].Result != "read it" {
		t.Errorf("the task is %+v", is.Tasks[0])
	}
	for _, r := range w.model.requests() {
		if !slices.Contains(r.tools, "task_claim") {
			continue
		}
		tools := slices.Clone(r.tools)
		slices.Sort(tools)
		if want := []string{"read", "send_message", "task_claim", "task_list", "task_submit"}; !slices.Equal(tools, want) {
			t.Errorf("the resident's tools are %v", tools)
		}
		if n := strings.Count(r.system, "# Working in a team"); n != 1 {
			t.Errorf("it has its guidance %d times", n)
		}
	}
	s.quit()
	w.data(&is, "list")
	if len(is.Teammates) > 0 {
		t.Errorf("after the end: %+v", is.Teammates)
	}
}
