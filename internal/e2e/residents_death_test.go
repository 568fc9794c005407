package e2e

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/internal/fsx"
)

func quietCommand(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// TestHostKilledChildLives kills a host beside its living child: the leader is
// told once, the child goes on with its task and its slot, and shutdown ends it.
func TestHostKilledChildLives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		args         []string
	}{
		{"a child that ends when asked", "while :; do sleep 0.1; done", nil},
		{"a child that ignores TERM", "trap '' TERM; while :; do sleep 0.1; done", []string{"--now"}},
		{"a child that ignores TERM, with patience", "trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' & while :; do sleep 0.1; done", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newTeam(t)
			s.add("task")
			s.spawnExec("bot", "do it", s.claims()+c.script)
			s.holds()
			child := s.working("bot").Child.PID
			s.killHost("bot")
			for range 3 {
				s.ok("tick")
			}
			if list := s.toldOf("stopped", 1); !strings.Contains(list[0].Title, "has died") {
				t.Errorf("told %q", list[0].Title)
			}
			if !alive(child) || s.show("t_1").State != "claimed" {
				t.Fatal("a tick ended the child, or took its task")
			}
			s.fails(4, "name_taken", "spawn", "bot", "worker", "--", "true")
			s.with("TEAMS_MAX=1").fails(4, "conflict", "spawn", "ann", "worker", "--", "true")
			s.ok(append([]string{"shutdown", "bot"}, c.args...)...)
			if alive(child) {
				t.Fatal("the child lives on")
			}
			s.noProcess()
			if task := s.show("t_1"); task.State != "ready" {
				t.Errorf("the task is %s", task.State)
			}
			s.toldOf("stopped", 1)
			s.healthy()
			s.with("TEAMS_MAX=1").ok("spawn", "bot", "worker", "--", "true")
		})
	}
}

// TestHostAndChildKilled kills a host and its child beside a tool of theirs that
// lives on, as an agent does that ends when its host is gone: the tool may still
// work, so the task, the name and the worktree stay until somebody ends it, or it
// ends by itself.
func TestHostAndChildKilled(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *site, tool int){
		"shutdown": func(s *site, _ int) { s.ok("shutdown", "bot") },
		"doctor":   func(s *site, _ int) { s.ok("doctor", "--fix") },
		"by itself": func(s *site, tool int) {
			s.goOn("on")
			eventually(s.t, "the tool has ended", func() bool { return !alive(tool) })
			s.ok("tick")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTeam(t)
			s.git()
			s.add("task")
			pidfile := filepath.Join(s.base, "tool")
			s.ok("spawn", "bot", "tree", "do it", "--", "sh", "-c", s.claims()+"setsid sh -c 'echo $$ >"+pidfile+".new; mv "+pidfile+".new "+pidfile+"; echo more > late; "+s.until("on")+"' & exec sleep 600")
			s.holds()
			eventually(t, "the tool runs", func() bool { return exists(pidfile) })
			tool, err := strconv.Atoi(strings.TrimSpace(read(t, pidfile)))
			if err != nil {
				t.Fatal(err)
			}
			r := s.working("bot")
			s.killHost("bot")
			_ = syscall.Kill(r.Child.PID, syscall.SIGKILL)
			for range 3 {
				s.ok("tick")
			}
			if list := s.toldOf("stopped", 1); !strings.Contains(list[0].Title, "has died") {
				t.Errorf("told %q", list[0].Title)
			}
			if !alive(tool) || s.show("t_1").State != "claimed" || !exists(r.Worktree) {
				t.Fatalf("the tool lives %v, the task is %s, the worktree is there %v", alive(tool), s.show("t_1").State, exists(r.Worktree))
			}
			s.fails(4, "name_taken", "spawn", "bot", "worker", "--", "true")
			if r := s.exits(1, "doctor"); !strings.Contains(r.out+r.err, "orphaned") {
				t.Errorf("doctor: %s", r)
			}
			end(s, tool)
			if alive(tool) || s.show("t_1").State != "ready" || s.resident("bot").Status != "stopped" || exists(r.Worktree) {
				t.Errorf("the tool lives %v, the task is %s, bot %s, the worktree is there %v", alive(tool), s.show("t_1").State, s.resident("bot").Status, exists(r.Worktree))
			}
			if show := start(t, s.command("git", "show", r.Branch+":late")).wait(); show.out != "more\n" {
				t.Errorf("its work: %s", show)
			}
			s.noProcess()
			s.healthy()
		})
	}
}

// TestDoctorEndsOrphan finds the child of a dead host with doctor, which changes
// nothing, and ends it with --fix.
func TestDoctorEndsOrphan(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.add("task")
	s.spawnExec("bot", "do it", s.claims()+"exec sleep 600")
	s.holds()
	s.spawnExec("ann", "do it", "exec sleep 600")
	other := s.working("ann")
	child := s.working("bot").Child.PID
	s.killHost("bot")
	if r := s.run("doctor"); r.code == 0 || !strings.Contains(r.out+r.err, "bot") || !alive(child) {
		t.Errorf("doctor, the child lives %v: %s", alive(child), r)
	}
	r := s.run("doctor", "--fix")
	if alive(child) {
		t.Errorf("the child lives on: %s", r)
	}
	if task := s.show("t_1"); task.State != "ready" || s.resident("bot").Status != "stopped" {
		t.Errorf("the task is %s, %+v", task.State, s.resident("bot"))
	}
	if !alive(other.PID) || !alive(other.Child.PID) {
		t.Error("it ended another teammate")
	}
	s.healthy()
	s.ok("spawn", "bot", "worker", "--", "true")
}

// TestHostKilledChildEnds kills a host, and its child ends by itself after that:
// the next tick frees what it held and tells the leader.
func TestHostKilledChildEnds(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.add("task")
	s.spawnExec("bot", "do it", s.claims()+""+s.until("on"))
	s.holds()
	child := s.working("bot").Child.PID
	s.killHost("bot")
	s.goOn("on")
	eventually(t, "the child is gone", func() bool { return !alive(child) })
	for range 3 {
		s.ok("tick")
	}
	if list := s.toldOf("stopped", 1); !strings.Contains(list[0].Title, "bot (worker) has stopped") {
		t.Errorf("told %q", list[0].Title)
	}
	if r := s.resident("bot"); r.Status != "stopped" || r.Error == "" || s.show("t_1").State != "ready" {
		t.Errorf("%+v, the task is %s", r, s.show("t_1").State)
	}
	if got := s.running(); len(got) > 0 {
		t.Errorf("the ledger says that %q run", got)
	}
	s.ok("spawn", "bot", "worker", "--", "true")
	s.healthy()
}

// TestIdleHostKilled kills a host that does nothing: one notice from whoever
// looks first, however many look at once.
func TestIdleHostKilled(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.spawnExec("bot", "", "true")
	s.ok("send", "bot", "-q", "hello")
	s.idle("bot", 1)
	s.killHost("bot")
	var ticks []*proc
	for range 4 {
		ticks = append(ticks, s.start("tick"))
	}
	for _, p := range ticks {
		if r := p.wait(); r.code != 0 {
			t.Errorf("tick: %s", r)
		}
	}
	s.ok("tick")
	s.toldOf("stopped", 1)
	if r := s.resident("bot"); r.Status != "stopped" {
		t.Errorf("it is %s", r.Status)
	}
	s.healthy()
}

// TestReusedPid records another process's number, with a start time or a boot
// that is not its own: it is nobody's child, and nobody signals it.
func TestReusedPid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		forge  func(p map[string]any)
		finish []string
	}{
		{"other start time, tick", func(p map[string]any) { p["startTime"] = 7 }, []string{"tick"}},
		{"other start time, shutdown", func(p map[string]any) { p["startTime"] = 7 }, []string{"shutdown", "bot", "--now"}},
		{"other boot, tick", func(p map[string]any) { p["bootId"] = "00000000-0000-4000-8000-000000000000" }, []string{"tick"}},
		{"other boot, shutdown", func(p map[string]any) { p["bootId"] = "00000000-0000-4000-8000-000000000000" }, []string{"shutdown", "bot"}},
		{"other boot, next spawn", func(p map[string]any) { p["bootId"] = "00000000-0000-4000-8000-000000000000" }, []string{"spawn", "bot", "worker", "--", "true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newTeam(t)
			s.add("task")
			other, err := fsx.ProcessOf(bystander(t))
			if err != nil {
				t.Fatal(err)
			}
			s.spawnExec("bot", "do it", s.claims()+"exec sleep 600")
			s.holds()
			child := s.working("bot").Child.PID
			s.killHost("bot")
			_ = syscall.Kill(child, syscall.SIGKILL)
			eventually(t, "the child is gone", func() bool { return !alive(child) })
			s.rewrite("bot", func(rec map[string]any) {
				p := map[string]any{"pid": other.PID, "startTime": other.StartTime, "bootId": other.BootID, "pidNamespace": other.PIDNamespace, "host": other.Host}
				c.forge(p)
				rec["child"] = p
				rec["pid"], rec["startTime"], rec["bootId"] = p["pid"], p["startTime"], p["bootId"]
			})
			s.ok(c.finish...)
			if task := s.show("t_1"); task.State != "ready" {
				t.Errorf("the task is %s", task.State)
			}
			if !alive(other.PID) {
				t.Error("another process was ended")
			}
			if c.finish[0] != "spawn" {
				s.ok("spawn", "bot", "worker", "--", "true")
			}
			s.healthy()
		})
	}
}

// TestChildOnAnotherMachine keeps the tasks of a teammate whose child was
// recorded elsewhere: from here nobody knows.
func TestChildOnAnotherMachine(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.add("task")
	s.spawnExec("bot", "do it", s.claims()+"exec sleep 600")
	s.holds()
	child := s.working("bot").Child
	s.killHost("bot")
	_ = syscall.Kill(child.PID, syscall.SIGKILL)
	s.rewrite("bot", func(rec map[string]any) {
		rec["child"].(map[string]any)["host"] = "elsewhere"
		rec["host"] = "elsewhere"
	})
	s.ok("tick")
	if task := s.show("t_1"); task.State != "claimed" {
		t.Errorf("the task is %s", task.State)
	}
	s.fails(4, "conflict", "shutdown", "bot", "--now")
	s.fails(4, "name_taken", "spawn", "bot", "worker", "--", "true")
	s.rewrite("bot", func(rec map[string]any) {
		rec["child"].(map[string]any)["host"] = fsx.Host()
		rec["host"] = fsx.Host()
	})
	s.ok("shutdown", "bot")
}

// TestFlood lets a teammate print one line of 100 MB: its host stays small and
// its log too.
func TestFlood(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.spawnExec("bot", "do it", "head -c 104857600 /dev/zero | tr '\\0' x; echo; echo; yes 'a line of many' | head -n 200000; echo the end; "+s.until("on"))
	s.becomes("bot", "at its end", func(r resident) bool { return r.Activity == "the end" })
	host := s.resident("bot").PID
	peak := peakMemory(host)
	t.Logf("the host had at most %.1f MB", float64(peak)/(1<<20))
	if peak == 0 || peak > 30<<20 {
		t.Errorf("the host had %d bytes", peak)
	}
	data := read(t, s.team("bot", "activity.log"))
	if len(data) > 1<<20+64<<10 {
		t.Errorf("its log has %d bytes", len(data))
	}
	s.goOn("on")
	s.idle("bot", 1)
	s.ok("shutdown", "bot")
}

// TestLongLine keeps the beginning of a line that is too long, and says so.
func TestLongLine(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.spawnExec("bot", "do it", "head -c 100000 /dev/zero | tr '\\0' x; echo; printf 'no end of line'")
	s.idle("bot", 1)
	log := s.ok("activity", "bot")
	if !strings.Contains(log, "xxx…[truncated "+strconv.Itoa(100000-4096)+" bytes]\n") || !strings.Contains(log, "\nno end of line\n") && !strings.HasSuffix(log, "\nno end of line") {
		t.Errorf("the log: %s", clip(log[max(0, len(log)-300):]))
	}
}

// TestClosedOutput has a child that closes its output and lives: the turn goes
// on until it ends.
func TestClosedOutput(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.spawnExec("bot", "do it", "exec >&- 2>&-; touch "+filepath.Join(s.base, "closed")+"; "+s.until("on"))
	eventually(t, "it has closed its output", func() bool { return exists(filepath.Join(s.base, "closed")) })
	s.ok("tick")
	if r := s.working("bot"); !alive(r.Child.PID) {
		t.Error("the child was ended")
	}
	if n := s.as("bot").mail("inbox").Unread; n != 1 {
		t.Errorf("%d unread messages", n)
	}
	s.goOn("on")
	s.idle("bot", 1)
	s.noMail("bot")
}

// noMail waits until a teammate has read everything, which it has done in a
// moment once it is idle.
func (s *site) noMail(name string) {
	s.t.Helper()
	eventually(s.t, name+" has read all", func() bool { return files(s.t, s.team(name, "inbox", "new")) == 0 })
}

// TestOutputHeldOpen has a grandchild that holds the output: it holds no turn.
func TestOutputHeldOpen(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.spawnExec("bot", "do it", "sleep 600 & echo started")
	s.idle("bot", 1)
	s.noMail("bot")
	s.ok("shutdown", "bot")
	s.noProcess()
}

// TestSilentHost stops a host with SIGSTOP: shutdown says that it does not
// answer, and with --now ends it and its child.
func TestSilentHost(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("it waits twice for 10 s: -long")
	}
	s := newTeam(t)
	s.spawnExec("bot", "do it", "exec sleep 600")
	r := s.working("bot")
	_ = syscall.Kill(r.PID, syscall.SIGSTOP)
	s.fails(75, "busy", "shutdown", "bot")
	if !alive(r.Child.PID) {
		t.Error("the child was ended")
	}
	s.ok("shutdown", "bot", "--now")
	s.noProcess()

	// The same when it is stopped at its end, while a gate runs for it.
	s.add("a task", "--verify", "touch "+filepath.Join(s.base, "gate")+"; "+s.until("go"))
	s.spawnExec("cat", "do it", "teams claim -q && teams submit --no-wait -q; exec sleep 600")
	r = s.working("cat")
	eventually(t, "it has submitted", func() bool { return s.show("t_1").State == "submitted" })
	first := s.start("shutdown", "cat", "--now")
	eventually(t, "the gate runs", func() bool { return exists(filepath.Join(s.base, "gate")) })
	if got := s.resident("cat").Status; got != "stopping" {
		t.Errorf("cat is %s while it ends", got)
	}
	_ = syscall.Kill(r.PID, syscall.SIGSTOP)
	s.goOn("go")
	s.ok("shutdown", "cat", "--now")
	if r := first.wait(); r.code != 0 {
		t.Errorf("the first shutdown: %s", r)
	}
	if got := s.show("t_1").State; got != "completed" {
		t.Errorf("t_1 is %s", got)
	}
	s.noProcess()
	s.healthy()
}
