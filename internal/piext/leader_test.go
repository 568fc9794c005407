package piext_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// bot is an exec teammate that reports when it is woken first.
const bot = `cat >> got.txt; [ -e said ] || { : > said; "$TEAMS" send leader 'done </agent-message> & more' --status completed; }`

func isReport(e event) bool {
	return e.Type == "message_start" && e.custom().CustomType == "agent-teams-report"
}

// A leader spawns a teammate, creates a task, and gets the report as a turn of
// its own; the end of Pi ends the session.
func TestLeaderSession(t *testing.T) {
	w := newWorld(t)
	w.install()
	s := w.start(w.env("TEAMS=" + w.teams))
	s.prompt("CALL teammate_spawn " + `{"name":"bot"`) // broken arguments are a failed call
	s.wait("the failure", func(e event) bool { return e.Type == "tool_execution_end" && e.IsError })
	s.wait("the end of the run", func(e event) bool { return e.Type == "agent_end" })
	end := s.call("teammate_spawn", map[string]any{"name": "bot", "agent": "worker", "prompt": "-look at @this\nplease", "command": []string{"sh", "-c", bot}})
	text := end.text()
	for _, want := range []string{"teammate_spawn spawned bot: worker\n\ncall:\n    teammate_spawn {", "\nreturn:\n    {\"name\":\"bot\"", "\ndetails:\n    teammate: bot\n    spawn id: ", "    return code: 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the model does not get %q:\n%s", want, text)
		}
	}
	if end.IsError {
		t.Fatalf("the spawn failed: %s", text)
	}

	report := s.wait("the report", isReport).custom()
	if want := "\" status=\"completed\">\ndone &lt;/agent-message> &amp; more\n</agent-message>"; !strings.HasPrefix(report.Content, `<agent-message from="bot" id="`) || !strings.HasSuffix(report.Content, want) {
		t.Errorf("the report is %q", report.Content)
	}
	s.wait("the line about the end", func(e event) bool { return e.note() == "Teammate @bot finished." })
	s.wait("the end of the turn", func(e event) bool { return e.Type == "agent_end" })
	last := w.model.requests()[len(w.model.requests())-1]
	if last.role != "user" || last.last != report.Content {
		t.Errorf("the model was asked about %q (%s)", last.last, last.role)
	}
	eventually(t, "the report is marked as read", func() bool {
		var mail struct{ Messages []struct{ From string } }
		w.data(&mail, "inbox")
		return !slices.ContainsFunc(mail.Messages, func(m struct{ From string }) bool { return m.From == "bot" })
	})
	got, err := os.ReadFile(filepath.Join(w.project, "got.txt"))
	if err != nil || !strings.Contains(string(got), "-look at @this\nplease") {
		t.Errorf("the teammate got %q, %v", got, err)
	}

	s.call("task_create", map[string]any{"subject": "--json of it", "description": "@file\nmore", "verify": "-x"})
	end = s.call("task_create", map[string]any{"subject": "second", "dependsOn": []string{"t_1"}})
	if !strings.Contains(end.text(), "task_create created t_2: second") {
		t.Errorf("the task: %s", end.text())
	}
	end = s.call("task_list", map[string]any{})
	for _, want := range []string{"t_1 [ready] --json of it · verify: -x\n    @file\n    more\n", "t_2 [blocked] second · depends on t_1 (unmet: t_1)\n", "@bot (worker) idle"} {
		if !strings.Contains(end.text(), want) {
			t.Errorf("task_list lacks %q:\n%s", want, end.text())
		}
	}

	tools := w.model.requests()[0].tools
	for _, name := range []string{"teammate_spawn", "teammate_shutdown", "send_message", "task_create", "task_list"} {
		if !slices.Contains(tools, name) {
			t.Errorf("the model has no %s: %v", name, tools)
		}
	}
	for _, name := range []string{"task_claim", "task_submit", "subagent", "todo_write"} {
		if slices.Contains(tools, name) {
			t.Errorf("the leader's model has %s", name)
		}
	}
	first := w.model.requests()[0].system
	if !strings.Contains(first, "# Leading a team") || !strings.Contains(first, "worker") {
		t.Errorf("the system prompt has no guidance:\n%s", first)
	}
	for i, r := range w.model.requests() {
		if r.system != first {
			t.Errorf("request %d has another system prompt:\n%s", i, r.system)
		}
	}

	var h harness
	w.data(&h, "harness", "status")
	if !h.Running {
		t.Fatal("no harness runs")
	}
	s.quit()
	var after listed
	w.data(&after, "list")
	if len(after.Teammates) > 0 || len(after.Tasks) != 2 {
		t.Errorf("after the end: %+v", after)
	}
	eventually(t, "the harness ends", func() bool { return !alive(h.PID) })
	var all struct{ Paths struct{ Team string } }
	w.data(&all, "where")
	if _, err := os.Stat(all.Paths.Team); !os.IsNotExist(err) {
		t.Errorf("the session is still there: %v", err)
	}
}

// Failures are thrown, so that Pi marks the call; partial results come before.
func TestFailedCall(t *testing.T) {
	w := newWorld(t)
	w.install()
	s := w.start(w.env())
	for _, c := range []struct {
		tool string
		args map[string]any
		want []string
	}{
		{"teammate_spawn", map[string]any{"name": "ann", "agent": "nobody"}, []string{"teammate_spawn failed: ", "\nhint: ", "\ncall:\n", "    error code: not_found\n    return code: 3"}},
		{"teammate_spawn", map[string]any{"name": "--all", "agent": "worker"}, []string{`the name "--all" cannot be used`, "return code: 64"}},
		{"teammate_shutdown", map[string]any{"name": "ann"}, []string{"error code: not_found"}},
		{"send_message", map[string]any{"to": "--json", "message": "x"}, []string{"send_message failed: "}},
		{"send_message", map[string]any{"to": "ann", "message": "x", "status": "completed"}, []string{"a status is only for"}},
		{"task_create", map[string]any{"subject": "x", "dependsOn": []string{"t_9"}}, []string{"error code: unknown_dependency"}},
	} {
		end := s.call(c.tool, c.args)
		if !end.IsError {
			t.Errorf("%s %v is no failure: %s", c.tool, c.args, end.text())
		}
		for _, want := range c.want {
			if !strings.Contains(end.text(), want) {
				t.Errorf("%s %v lacks %q:\n%s", c.tool, c.args, want, end.text())
			}
		}
	}
	// Without a terminal the console's command prints the list.
	s.prompt("/agent-teams")
	s.wait("the list", func(e event) bool { return strings.Contains(e.note(), "no tasks") })
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.lines, func(e event) bool {
		return e.Type == "tool_execution_update" && strings.Contains(e.raw, "spawning…")
	}) {
		t.Error("there was no partial result")
	}
}

// A reload keeps the session: teammates, the harness, and the mail.
func TestReload(t *testing.T) {
	w := newWorld(t)
	w.install()
	put(t, filepath.Join(w.root, "extensions", "again.ts"), `export default function (pi: any) {
	pi.registerCommand("again", { handler: async (_args: string, ctx: any) => { await ctx.reload(); } });
	pi.on("session_start", (event: any, ctx: any) => { ctx.ui.notify("started by " + event.reason, "info"); });
}
`)
	s := w.start(w.env())
	s.call("teammate_spawn", map[string]any{"name": "bot", "agent": "worker", "command": []string{"sh", "-c", "cat >> got.txt"}})
	var before, after harness
	w.data(&before, "harness", "status")
	var was, is listed
	w.data(&was, "list")

	s.prompt("/again")
	s.wait("the reload", func(e event) bool { return e.note() == "started by reload" })
	end := s.call("send_message", map[string]any{"to": "bot", "message": "still there?"})
	if end.IsError {
		t.Fatalf("send_message: %s", end.text())
	}
	w.data(&after, "harness", "status")
	w.data(&is, "list")
	if before.PID == 0 || after != before {
		t.Errorf("the harness was %+v and is %+v", before, after)
	}
	if len(is.Teammates) != 1 || is.Teammates[0].SpawnID != was.Teammates[0].SpawnID || is.Teammates[0].Status == "stopped" {
		t.Errorf("the team was %+v and is %+v", was, is)
	}
	// The mail is followed again.
	if out, err := w.run("shutdown", "bot"); err != nil {
		t.Fatal(out, err)
	}
	for _, args := range [][]string{{"task", "add", "held"}, {"claim", "--as", "carl"}} {
		if out, err := w.run(args...); err != nil {
			t.Fatal(out, err)
		}
	}
	w.report(t, "carl", "failed", "it broke")
	report := s.wait("a report", isReport).custom()
	if !strings.Contains(report.Content, `from="carl"`) {
		t.Errorf("the report is %q", report.Content)
	}
	s.quit()
	w.data(&is, "list")
	for _, tm := range is.Teammates {
		if tm.Status != "stopped" && tm.Name != "carl" {
			t.Errorf("%s lives after the end", tm.Name)
		}
	}
	// The session itself stays, since a shell holds a task; the harness does not.
	if !slices.ContainsFunc(is.Teammates, func(tm teammate) bool { return tm.Name == "carl" }) {
		t.Errorf("the session is gone: %+v", is.Teammates)
	}
	eventually(t, "the harness ends", func() bool { return !alive(before.PID) })
}

// report has a shell teammate report to the leader.
func (w *world) report(t *testing.T, name, status, text string) {
	t.Helper()
	if out, err := w.run("send", "--as", name, "--status", status, "leader", text); err != nil {
		t.Fatal(out, err)
	}
}

// Reports are gathered while the model is at work, and then come one teammate a
// turn; those that end nothing come not at all.
func TestOneTeammateATurn(t *testing.T) {
	w := newWorld(t)
	w.install()
	s := w.start(w.env())
	w.report(t, "ann", "in_progress", "on the way")
	s.prompt(`CALL bash {"command":"sleep 3"}`)
	s.wait("the start of bash", func(e event) bool { return e.Type == "tool_execution_start" })
	w.report(t, "ann", "completed", "one")
	w.report(t, "bob", "completed", "two")
	w.report(t, "ann", "failed", "three")
	first := s.wait("the first report", isReport).custom().Content
	if strings.Count(first, "<agent-message ") != 2 || !strings.Contains(first, "one\n") || !strings.Contains(first, "three\n") || strings.Contains(first, "on the way") {
		t.Errorf("the first turn is about %q", first)
	}
	second := s.wait("the second report", isReport).custom().Content
	if strings.Count(second, "<agent-message ") != 1 || !strings.Contains(second, `from="bob"`) {
		t.Errorf("the second turn is about %q", second)
	}
	s.wait("the end", func(e event) bool { return e.Type == "agent_end" })
	eventually(t, "what was delivered is read", func() bool {
		var mail struct {
			Messages []struct{ From, Status string }
		}
		w.data(&mail, "inbox")
		return len(mail.Messages) == 1 && mail.Messages[0].Status == "in_progress"
	})
}

// A second Pi in one project leads another session, also for its shell commands;
// when a Pi is killed, its mailbox can be led again.
func TestTwoLeaders(t *testing.T) {
	w := newWorld(t)
	w.install()
	one := w.start(w.env())
	one.call("task_create", map[string]any{"subject": "of the first"})
	two := w.start(w.env())
	note := two.wait("word of it", func(e event) bool { return strings.Contains(e.note(), "this one uses") }).note()
	if !strings.HasSuffix(note, "-2.") {
		t.Errorf("it says %q", note)
	}
	if end := two.call("task_list", map[string]any{}); !strings.Contains(end.text(), "no tasks") {
		t.Errorf("the second sees %s", end.text())
	}
	end := two.call("bash", map[string]any{"command": "teams where --json"})
	var where struct{ Data struct{ Session string } }
	if err := json.Unmarshal([]byte(end.text()), &where); err != nil || !strings.HasSuffix(where.Data.Session, "-2") {
		t.Errorf("its shell works on %q: %v\n%s", where.Data.Session, err, end.text())
	}
	two.quit()

	if err := syscall.Kill(one.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-one.exited
	three := w.start(w.env())
	if end := three.call("task_list", map[string]any{}); !strings.Contains(end.text(), "of the first") {
		t.Errorf("the third sees %s", end.text())
	}
	three.quit()
}

// A team that was there before is not ended with a Pi that came to it.
func TestTeamOfSomebodyElse(t *testing.T) {
	w := newWorld(t)
	w.install()
	if out, err := w.run("spawn", "bot", "worker", "--host", "exec", "--", "true"); err != nil {
		t.Fatal(out, err)
	}
	s := w.start(w.env())
	if end := s.call("task_list", map[string]any{}); !strings.Contains(end.text(), "@bot") {
		t.Errorf("the roster: %s", end.text())
	}
	s.quit()
	var is listed
	w.data(&is, "list")
	if len(is.Teammates) != 1 || is.Teammates[0].Status != "idle" {
		t.Errorf("after the end: %+v", is)
	}
}
