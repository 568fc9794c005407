package herdr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/herdr/herdrtest"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// site is a fake with a caller in a pane of it, and a root.
type site struct {
	*herdrtest.Server
	t    *testing.T
	here Here
	sp   *Spawner
}

func newSite(t *testing.T, set ...func(*herdrtest.Server)) *site {
	s := herdrtest.New(t, set...)
	w, tab, pane := s.AddWorkspace()
	here := Here{Pane: pane, Tab: tab, Workspace: w}
	s.Focus(pane)
	return &site{s, t, here, &Spawner{Client: quick(s), Leases: &Leases{Root: t.TempDir()}, Here: here}}
}

func self(t *testing.T) fsx.Process {
	t.Helper()
	p, err := fsx.Self()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s *site) request(name string) SpawnRequest {
	return SpawnRequest{SpawnID: "spawn-" + name, Session: "app", Name: name, Owner: self(s.t), Cwd: "/abs", Kind: "pi", Ready: 3 * time.Second}
}

func (s *site) spawn(r SpawnRequest) *Lease {
	s.t.Helper()
	l, err := s.sp.Spawn(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

func (s *site) leases() []Lease {
	s.t.Helper()
	list, problems, err := s.sp.Leases.List()
	if err != nil || len(problems) > 0 {
		s.t.Fatal(err, problems)
	}
	return list
}

func TestSpawnPlacements(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		placement  string
		outside    bool
		sameTab    bool
		sameSpace  bool
		tabs       int
		wantMethod string
	}{
		{"", false, true, true, 1, "pane.split"}, {PlaceDown, false, true, true, 1, "pane.split"}, {PlaceRight, false, true, true, 1, "pane.split"},
		{PlaceTab, false, false, true, 2, "tab.create"}, {PlaceWorkspace, false, false, false, 2, "workspace.create"},
		{"", true, false, true, 2, "tab.create"},
	} {
		t.Run(fmt.Sprint(c.placement, c.outside), func(t *testing.T) {
			s := newSite(t)
			if c.outside {
				s.sp.Here = Here{}
			}
			r := s.request("bob")
			r.Placement, r.Label, r.Env = c.placement, "code review", map[string]string{"TEAMS_NAME": "bob"}
			l := s.spawn(r)
			p, ok := s.Get(l.Pane)
			if !ok || p.Terminal != l.Terminal || (p.Tab == s.here.Tab) != c.sameTab || (p.Workspace == s.here.Workspace) != c.sameSpace {
				t.Errorf("%+v", p)
			}
			if p.Name != "bob" || p.Agent != "pi" || p.Cwd != "/abs" || p.Label != "code review" || p.Env["TEAMS_NAME"] != "bob" || p.Env[EnvSpawnMark] != "spawn-bob" {
				t.Errorf("%+v", p)
			}
			if len(s.Tabs()) != c.tabs || len(s.Requests(c.wantMethod)) != 1 {
				t.Errorf("%v", s.Tabs())
			}
			if again := s.spawn(r); again.Pane != l.Pane || again.Number() != 1 || len(s.Panes()) != 2 {
				t.Errorf("a second time: %+v", again)
			}
			if err := s.sp.Close(t.Context(), r.SpawnID); err != nil || len(s.Panes()) != 1 || len(s.leases()) != 0 {
				t.Errorf("%v: %v %v", err, s.Panes(), s.leases())
			}
			if err := s.sp.Close(t.Context(), r.SpawnID); err != nil {
				t.Error(err)
			}
		})
	}
	s := newSite(t)
	s.sp.Here = Here{}
	for _, bad := range []SpawnRequest{{Placement: "left"}, {Placement: PlaceDown}, {Tab: strings.Repeat("x", 21)}} {
		if _, err := s.sp.Spawn(t.Context(), bad); errs.CodeOf(err) != errs.Usage {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// A worktree is herdr's own, and its workspace is where the pane is.
func TestSpawnWorktree(t *testing.T) {
	s := newSite(t)
	r := s.request("bob")
	r.Worktree = &NewWorktree{Cwd: "/r", Branch: "teams/bob-1", Path: "/wt/bob", Label: "bob"}
	l := s.spawn(r)
	p, _ := s.Get(l.Pane)
	if l.Worktree != "/wt/bob" || l.Branch != "teams/bob-1" || p.Cwd != "/wt/bob" || p.Workspace != l.WorktreeWorkspace || p.Env[EnvSpawnMark] == "" || len(s.Panes()) != 2 {
		t.Errorf("%+v\n%+v", l, s.Panes())
	}
	if err := s.sp.RemoveWorktree(t.Context(), l, false); err != nil {
		t.Error(err)
	}
	if err := s.sp.Close(t.Context(), r.SpawnID); err != nil || len(s.Panes()) != 1 {
		t.Errorf("%v: %v", err, s.Panes())
	}
}

// Whatever step fails, in whatever way, nothing is left behind.
func TestSpawnUndoes(t *testing.T) {
	methods := []string{"ping", "worktree.create", "pane.split", "agent.start", "agent.get", "record", "never ready", "gives up"}
	faults := map[string]herdrtest.Fault{"refused": herdrtest.Refuse("some_reason", "no"), "deaf": herdrtest.Deaf, "dropped": herdrtest.Drop, "half": herdrtest.Half}
	for _, method := range methods {
		for name, f := range faults {
			t.Run(method+" "+name, func(t *testing.T) {
				t.Parallel()
				if runtime.GOOS != "linux" && method == "pane.split" {
					t.Skip("what was made without an answer is found in /proc")
				}
				s := newSite(t, func(srv *herdrtest.Server) {
					srv.OnPane = func(_, _ string, env map[string]string) int { return sleeper(t, env) }
				})
				s.sp.Client.Act = 200 * time.Millisecond
				s.sp.Client.First, s.sp.Client.Retry = 50*time.Millisecond, 50*time.Millisecond
				r := s.request("bob")
				r.Ready = 300 * time.Millisecond
				r.Worktree = &NewWorktree{Cwd: "/r", Branch: "teams/bob-1", Path: "/wt/bob"}
				switch method {
				case "record":
					r.Record = func(l *Lease) error { return errs.New(errs.Conflict, "the record of %s is there", l.Name) }
				case "never ready":
					s.Launch = time.Hour
				case "gives up":
					s.FailLaunch = true
				default:
					s.Fault(method, 2, f)
				}
				_, err := s.sp.Spawn(t.Context(), r)
				if err == nil {
					t.Fatal("no error")
				}
				if strings.Contains(err.Error(), "undoing it failed") {
					t.Errorf("%v", err)
				}
				if n := len(s.Panes()); n != 1 || len(s.leases()) != 0 {
					t.Errorf("%v: %d panes, leases %v\n%+v", err, n, s.leases(), s.Panes())
				}
			})
		}
	}
}

// sleeper is a process with an environment, as the shell of a pane is.
func sleeper(t *testing.T, env map[string]string) int {
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	if err := cmd.Start(); err != nil {
		return 0
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

// An undo that fails is told of, and does not keep the others from being done. The
// lease of a pane that is left is kept, until that can be closed.
func TestSpawnUndoFails(t *testing.T) {
	s := newSite(t)
	s.FailLaunch = true
	s.Fault("pane.close", -1, herdrtest.Refuse("confirmation_required", "sure?"))
	_, err := s.sp.Spawn(t.Context(), s.request("bob"))
	var e *errs.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "closing the pane") || len(s.leases()) != 1 {
		t.Fatalf("%v, leases %v", err, s.leases())
	}
	if failed, _ := e.Details["undoFailed"].([]string); len(failed) != 1 {
		t.Errorf("%v", e.Details)
	}
	if l := s.leases()[0]; !l.Over || l.Pane == "" || l.Terminal == "" {
		t.Errorf("%+v", l)
	}
	if _, err := s.sp.Spawn(t.Context(), s.request("bob")); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("once more: %v", err)
	}
	s.Behave()
	if freed, err := s.sp.Prune(t.Context(), nil); err != nil || len(freed) != 1 || len(s.Panes()) != 1 {
		t.Errorf("%v %v, %d panes", freed, err, len(s.Panes()))
	}
}

// Without herdr a spawn says so, in time, and leaves nothing.
func TestSpawnWithoutHerdr(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Stop()
	if _, err := s.sp.Spawn(t.Context(), s.request("bob")); !IsUnavailable(err) || len(s.leases()) != 0 {
		t.Errorf("%v %v", err, s.leases())
	}
	s.Start()
	s.Fault("", -1, herdrtest.Silent)
	begin := time.Now()
	if _, err := s.sp.Spawn(t.Context(), s.request("bob")); !IsUnavailable(err) || time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %s", err, time.Since(begin))
	}
}

// The shell of a fresh pane needs a moment; the same pane is tried again.
func TestSpawnFreshShell(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(s *herdrtest.Server) { s.Fresh, s.Launch = 400*time.Millisecond, 200*time.Millisecond })
	l := s.spawn(s.request("bob"))
	if n := len(s.Requests("agent.start")); n < 2 || len(s.Panes()) != 2 {
		t.Errorf("%d starts, %d panes", n, len(s.Panes()))
	}
	if p, _ := s.Get(l.Pane); p.Name != "bob" {
		t.Errorf("%+v", p)
	}
}

// Servers up to 0.7.4 start an agent by what is typed into the pane.
func TestSpawnOldGeneration(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(srv *herdrtest.Server) {
		srv.Protocol = herdrtest.Old
		srv.OnInput = func(pane string, in herdrtest.Input) {
			if len(in.Keys) == 1 && in.Keys[0] == "Enter" {
				srv.Anchor(pane, "pi", StateIdle)
			}
		}
	})
	r := s.request("bob")
	r.Args = []string{"--append-system-prompt", "it's $HOME; `x`", ""}
	l := s.spawn(r)
	p, _ := s.Get(l.Pane)
	if len(p.Inputs) != 1 || p.Inputs[0].Text != `pi --append-system-prompt 'it'\''s $HOME; `+"`x`' ''" {
		t.Errorf("%+v", p.Inputs)
	}
	out, err := exec.Command("sh", "-c", "printf '%s|' "+strings.TrimPrefix(p.Inputs[0].Text, "pi ")).Output()
	if err != nil || string(out) != "--append-system-prompt|it's $HOME; `x`||" {
		t.Errorf("%s %v", out, err)
	}
	r = s.request("cid")
	r.Args = []string{"a\nb"}
	if _, err := s.sp.Spawn(t.Context(), r); errs.CodeOf(err) != errs.Usage || len(s.leases()) != 1 {
		t.Errorf("%v", err)
	}
}

// The name of an agent is taken in herdr when another session has one of that name.
func TestSpawnNameTaken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.spawn(s.request("bob"))
	other := s.request("bob")
	other.SpawnID, other.Session = "0b5e-4F3A-91c2", "other"
	l := s.spawn(other)
	if p, _ := s.Get(l.Pane); p.Name != "bob-3a91c2" || l.Agent != p.Name || l.Name != "bob" {
		t.Errorf("%+v %+v", p, l)
	}
	if list := s.leases(); len(list) != 2 || list[1].Agent != l.Agent {
		t.Errorf("%+v", list)
	}
	// Only once, and within what herdr takes.
	other.SpawnID += "-4F3A-91c2"
	if _, err := s.sp.Spawn(t.Context(), other); CodeOf(err) != CodeNameTaken || len(s.leases()) != 2 {
		t.Errorf("%v", err)
	}
	long := s.request(strings.Repeat("x", 32))
	s.spawn(long)
	long.SpawnID = "0123456789"
	if l := s.spawn(long); l.Agent != strings.Repeat("x", 25)+"-456789" {
		t.Errorf("%+v", l)
	}
}

// A command of one's own is typed once the shell waits for one.
func TestSpawnCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(srv *herdrtest.Server) {
		srv.Fresh = 300 * time.Millisecond
		srv.OnInput = func(pane string, _ herdrtest.Input) { srv.Run(pane, "worker") }
	})
	r := s.request("bob")
	r.Kind, r.Command = "", []string{"teams", "work", "--", "sh", "-c", "a b"}
	l := s.spawn(r)
	if p, _ := s.Get(l.Pane); len(p.Inputs) != 1 || p.Inputs[0].Text != "teams work -- sh -c 'a b'" || strings.Join(p.Inputs[0].Keys, "") != "Enter" {
		t.Errorf("%+v", p.Inputs)
	}
}

// The cap holds over sessions; it says who has the panes; numbers above a cap that
// was lowered count.
func TestCap(t *testing.T) {
	s := newSite(t)
	s.sp.Leases.Max = 3
	for _, name := range []string{"a", "b", "c"} {
		s.spawn(s.request(name))
	}
	_, err := s.sp.Spawn(t.Context(), s.request("d"))
	if errs.CodeOf(err) != errs.Conflict || errs.Exit(errs.CodeOf(err)) != 4 || !strings.Contains(err.Error(), "a of app, b of app, c of app") {
		t.Errorf("%v", err)
	}
	if err := s.sp.Close(t.Context(), "spawn-a"); err != nil {
		t.Fatal(err)
	}
	s.sp.Leases.Max = 2
	if _, err := s.sp.Spawn(t.Context(), s.request("d")); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("%v", err)
	}
	s.sp.Leases.Max = 3
	if l := s.spawn(s.request("d")); l.Number() != 1 {
		t.Errorf("number %d", l.Number())
	}
	// What cannot be read keeps its number.
	if err := os.WriteFile(s.sp.Leases.path(1), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.sp.Spawn(t.Context(), s.request("e")); errs.CodeOf(err) != errs.Conflict || !strings.Contains(err.Error(), "1.json") {
		t.Errorf("%v", err)
	}
	for value, want := range map[string]int{"": 4, "1": 1, "64": 64, "0": 0, "65": 0, "x": 0} {
		n, err := MaxPanes(func(string) string { return value })
		if n != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %d %v", value, n, err)
		}
	}
}

// What is under a recorded id may be somebody else's.
func TestPaneOfAnother(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*site, *Lease){
		"reused":    func(s *site, l *Lease) { s.Reuse(l.Pane) },
		"gone":      func(s *site, l *Lease) { s.Remove(l.Pane) },
		"restarted": func(s *site, l *Lease) { s.Restarted() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			l := s.spawn(s.request("bob"))
			change(s, l)
			before := len(s.Panes())
			c := &Control{Client: s.sp.Client}
			target := Target{Name: "bob", Pane: l.Pane, Terminal: l.Terminal}
			if err := c.Send(t.Context(), target, "rm -rf /"); err == nil || errs.CodeOf(err) != errs.NotFound {
				t.Errorf("send: %v", err)
			}
			if err := c.Keys(t.Context(), target, "Enter"); err == nil {
				t.Error("keys were sent")
			}
			if err := c.Focus(t.Context(), target); err == nil {
				t.Error("focused")
			}
			cell := &Cell{Client: s.sp.Client, Seq: s.sp.Leases.Sequences(), Pane: l.Pane, Terminal: l.Terminal, Source: "pi-teams:a:bob", Label: CellLabel}
			if err := errors.Join(cell.Report(t.Context(), StateBlocked), cell.Release(t.Context()), cell.Show(t.Context(), "x")); err != nil {
				t.Error(err)
			}
			if err := s.sp.Close(t.Context(), "spawn-bob"); err != nil {
				t.Error(err)
			}
			if p, ok := s.Get(l.Pane); len(s.Panes()) != before || ok && (len(p.Inputs) > 0 || p.State == StateBlocked || p.Display != "") {
				t.Errorf("touched: %+v", p)
			}
		})
	}
	// One that was moved is the same terminal under another id.
	s := newSite(t)
	l := s.spawn(s.request("bob"))
	now := s.Move(l.Pane)
	if err := s.sp.Close(t.Context(), "spawn-bob"); err != nil {
		t.Error(err)
	}
	if _, ok := s.Get(now); ok || len(s.Panes()) != 1 {
		t.Error("the moved pane is left")
	}
	// The caller's own is never closed.
	p, _ := s.Get(s.here.Pane)
	if err := s.sp.Client.CloseOwn(t.Context(), p.ID, p.Terminal, s.here); errs.CodeOf(err) != errs.Conflict || len(s.Panes()) != 1 {
		t.Errorf("%v", err)
	}
}

// Two processes that spawn over the cap: never more panes than leases, never more
// leases than the cap, and whoever is refused is told who has them.
func TestTwoProcessesSpawnOverTheCap(t *testing.T) {
	t.Parallel()
	rounds := 20
	if *long {
		rounds = 100
	}
	s := newSite(t)
	s.sp.Client = New(s.Path)
	root := s.sp.Leases.Root
	for round := range rounds {
		var procs []*exec.Cmd
		var outs []*strings.Builder
		for p := range 2 {
			cmd := exec.Command(os.Args[0], "-test.run=^TestSpawnHelper$")
			cmd.Env = append(os.Environ(), "HERDR_TEST_SPAWN=1", "HERDR_TEST_SOCKET="+s.Path, "HERDR_TEST_ROOT="+root, "HERDR_TEST_PANE="+s.here.Pane, fmt.Sprintf("HERDR_TEST_NAME=r%dp%d", round, p))
			out := new(strings.Builder)
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			procs, outs = append(procs, cmd), append(outs, out)
		}
		text := ""
		for i, cmd := range procs {
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v: %s", err, outs[i])
			}
			text += outs[i].String()
		}
		opened, refused := strings.Count(text, "opened "), strings.Count(text, "refused ")
		list := s.leases()
		if opened != 4 || refused != 2 || len(list) != 4 || len(s.Panes()) != 5 {
			t.Fatalf("round %d: %d opened, %d refused, %d leases, %d panes\n%s", round, opened, refused, len(list), len(s.Panes()), text)
		}
		seen := map[string]bool{}
		for i, l := range list {
			if l.Number() != i+1 || seen[l.Terminal] || l.Terminal == "" {
				t.Fatalf("round %d: %+v", round, list)
			}
			seen[l.Terminal] = true
			if err := s.sp.Close(t.Context(), l.SpawnID); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.Panes()) != 1 {
			t.Fatalf("round %d: panes are left", round)
		}
	}
}

// TestSpawnHelper is what the processes of the test above do.
func TestSpawnHelper(t *testing.T) {
	if os.Getenv("HERDR_TEST_SPAWN") == "" {
		t.Skip("only as a process of its own")
	}
	pane := os.Getenv("HERDR_TEST_PANE")
	sp := &Spawner{Client: New(os.Getenv("HERDR_TEST_SOCKET")), Leases: &Leases{Root: os.Getenv("HERDR_TEST_ROOT")}, Here: Here{Pane: pane, Tab: "w1:t1", Workspace: "w1"}}
	for i := range 3 {
		name := fmt.Sprintf("%sn%d", os.Getenv("HERDR_TEST_NAME"), i)
		_, err := sp.Spawn(context.Background(), SpawnRequest{SpawnID: name, Session: "s", Name: name, Owner: self(t), Cwd: "/", Kind: "pi"})
		switch {
		case err == nil:
			fmt.Println("opened", name)
		case errs.CodeOf(err) == errs.Conflict:
			fmt.Println("refused", name, err)
		default:
			t.Error(err)
		}
	}
}

// A pane is closed where it is, whichever herdr the caller knows of.
func TestCloseElsewhere(t *testing.T) {
	t.Parallel()
	s, other := newSite(t), newSite(t)
	l := s.spawn(s.request("ann"))
	other.sp.Leases = s.sp.Leases
	if err := other.sp.Close(t.Context(), "spawn-ann"); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Get(l.Pane); ok || len(s.leases()) != 0 {
		t.Errorf("the pane is open: %v, leases %v", ok, s.leases())
	}
}
