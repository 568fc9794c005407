package herdr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/herdr/herdrtest"
	"github.com/seed6990a682/teams/internal/errs"
)

func newRuns(t *testing.T) *Runs {
	root := t.TempDir()
	return &Runs{Root: root, Dir: filepath.Join(root, "teammate", "app", "runs")}
}

func (r *Runs) must(t *testing.T, run Run) *Run {
	t.Helper()
	if err := r.Create(&run, nil); err != nil {
		t.Fatal(err)
	}
	return &run
}

func ptr[T any](v T) *T { return &v }

func TestRunRecords(t *testing.T) {
	runs := newRuns(t)
	if list, problems, err := runs.List(); err != nil || len(list)+len(problems) != 0 {
		t.Errorf("%v %v %v", list, problems, err)
	}
	a := runs.must(t, Run{Name: "Research Topic!"})
	b := runs.must(t, Run{Name: "research topic"})
	c := runs.must(t, Run{Name: "…"})
	if a.ID != "research-topic-1" || b.ID != "research-topic-2" || c.ID != "run-1" || a.Status != Spawned || a.StartedAt == 0 {
		t.Errorf("%+v %+v %+v", a, b, c)
	}
	// What another version has written stays.
	path := filepath.Join(runs.Dir, a.ID+".json")
	data, _ := os.ReadFile(path)
	data = []byte(strings.Replace(string(data), "{", "{\n  \"later\": {\"x\": [1]},", 1))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	before, after, err := runs.Set(t.Context(), a.ID, Change{Status: Running, Phase: ptr("Plan"), Total: ptr(4), Tokens: ptr(int64(9)), Cost: ptr(0.5)})
	if err != nil || before.Status != Spawned || after.Status != Running || after.Phase != "Plan" || after.Total != 4 || after.Done != 0 {
		t.Errorf("%+v %v", after, err)
	}
	data, _ = os.ReadFile(path)
	if !strings.Contains(string(data), `"later"`) || strings.Count(string(data), "\n") < 10 {
		t.Errorf("%s", data)
	}
	// Nothing changes, nothing is written.
	info, _ := os.Stat(path)
	if _, _, err := runs.Set(t.Context(), a.ID, Change{Phase: ptr("Plan")}); err != nil {
		t.Error(err)
	}
	if now, _ := os.Stat(path); !os.SameFile(info, now) {
		t.Error("it was written all the same")
	}
	for _, s := range []Status{Completed, Running} {
		_, _, err = runs.Set(t.Context(), a.ID, Change{Status: s})
	}
	if errs.CodeOf(err) != errs.Conflict {
		t.Errorf("%v", err)
	}
	if _, run, err := runs.Set(t.Context(), a.ID, Change{Status: Running, Reopen: true}); err != nil || run.Status != Running {
		t.Error(err)
	}
	// One bad record spoils only itself.
	if err := os.WriteFile(filepath.Join(runs.Dir, "bad-1.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, problems, err := runs.List()
	if err != nil || len(list) != 3 || len(problems) != 1 || list[0].ID != a.ID {
		t.Errorf("%v %v %v", list, problems, err)
	}
	if _, err := runs.Get("bad-1"); errs.CodeOf(err) != errs.Corrupt {
		t.Error(err)
	}
	if _, err := runs.Get("../x"); errs.CodeOf(err) != errs.Usage {
		t.Error(err)
	}
	if _, err := runs.Get("none-1"); errs.CodeOf(err) != errs.NotFound {
		t.Error(err)
	}
	if err := runs.Remove(t.Context(), b.ID); err != nil {
		t.Error(err)
	}
	if err := newRuns(t).Remove(t.Context(), "none-1"); err != nil {
		t.Error(err)
	}
}

func TestRunPause(t *testing.T) {
	runs := newRuns(t)
	a := runs.must(t, Run{Name: "a", Status: Running})
	_, run, err := runs.Pause(t.Context(), a.ID, ReasonUsageLimit)
	if err != nil || !run.Paused || run.Reason != "usage_limit" {
		t.Errorf("%+v %v", run, err)
	}
	if _, run, err = runs.Resume(t.Context(), a.ID); err != nil || run.Paused || run.Reason != "" || run.Status != Running {
		t.Errorf("%+v %v", run, err)
	}
	if _, _, err := runs.Update(t.Context(), a.ID, func(r *Run) error { r.Worktree, r.Paused = "/nowhere/at/all", true; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, _, err = runs.Resume(t.Context(), a.ID); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("its worktree is gone: %v", err)
	}
	if _, _, err := runs.Set(t.Context(), a.ID, Change{Status: Failed}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{
		func() error { _, _, err := runs.Pause(t.Context(), a.ID, ""); return err },
		func() error { _, _, err := runs.Resume(t.Context(), a.ID); return err },
	} {
		if errs.CodeOf(f()) != errs.Conflict {
			t.Error("a run that is over was paused or resumed")
		}
	}
}

// Changes made at once are all there.
func TestRunUpdatesAtOnce(t *testing.T) {
	runs := newRuns(t)
	a := runs.must(t, Run{Name: "a", Status: Running})
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 5 {
				if _, _, err := runs.Update(context.Background(), a.ID, func(r *Run) error { r.Done++; return nil }); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if run, err := runs.Get(a.ID); err != nil || run.Done != 40 {
		t.Errorf("%+v %v", run, err)
	}
}

func TestReconcile(t *testing.T) {
	runs := newRuns(t)
	alive, dead := self(t), self(t)
	dead.StartTime++
	other := dead
	other.Host = "elsewhere"
	for _, r := range []Run{
		{Name: "alive", Status: Running, Process: &alive}, {Name: "dead", Status: Running, Process: &dead}, {Name: "unknown", Status: Running, Process: &other},
		{Name: "none", Status: Running}, {Name: "asks", Status: NeedsHuman, Process: &dead}, {Name: "done", Status: Completed, Process: &dead},
		{Name: "paused", Status: Running, Paused: true, Process: &dead}, {Name: "closed", Status: PaneOpen, Own: true, Terminal: "gone"}, {Name: "foreign", Status: Running, Terminal: "gone"},
	} {
		runs.must(t, r)
	}
	changed, problems, err := runs.Reconcile(t.Context(), func(r *Run) bool { return r.Terminal == "gone" })
	if err != nil || len(problems) != 0 {
		t.Fatal(err, problems)
	}
	got := map[string]string{}
	for _, r := range changed {
		got[r.Name] = string(r.Status) + ", " + r.Reason
	}
	want := map[string]string{"dead": "failed, its process is gone", "paused": "failed, its process is gone", "closed": "failed, its pane is gone"}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if again, _, _ := runs.Reconcile(t.Context(), nil); len(again) != 0 {
		t.Errorf("%v", again)
	}
}

// newRepository makes a repository with one commit.
func newRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-q", "--allow-empty", "-m", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git: %v %s", err, out)
		}
	}
	return dir
}

func TestRunWorktrees(t *testing.T) {
	t.Parallel()
	dir := newRepository(t)
	ctx := t.Context()
	path, branch, err := AddRunWorktree(ctx, dir, "a-1")
	if err != nil || path != filepath.Join(dir, ".pi", "worktrees", "run-a-1") || branch != "pi/wf/run-a-1" {
		t.Fatal(path, branch, err)
	}
	if out, err := git(ctx, dir, "status", "--porcelain"); err != nil || out != "" {
		t.Errorf("the checkout shows %q %v", out, err)
	}
	if err := FreeRunWorktree(ctx, dir, "a-1"); err != fs.ErrExist {
		t.Error(err)
	}
	if _, _, err := AddRunWorktree(ctx, dir, "a-1"); err == nil {
		t.Error("made twice")
	}
	run := &Run{ID: "a-1", Worktree: path, Branch: branch, Repo: dir}
	if err := os.WriteFile(filepath.Join(path, "new"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := RemoveRunWorktree(ctx, run); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it is left")
	}
	// Nothing is lost: what was not committed is on the branch.
	if out, err := git(ctx, dir, "show", branch+":new"); err != nil || out != "x" {
		t.Errorf("%q %v", out, err)
	}
	if err := RemoveRunWorktree(ctx, run); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if path, branch, err = AddRunWorktree(ctx, dir, "b-1"); err != nil {
		t.Fatal(err)
	}
	if err := RemoveRunWorktree(ctx, &Run{ID: "b-1", Worktree: path, Branch: branch, Repo: dir}); err != nil {
		t.Error(err)
	}
	if err := FreeRunWorktree(ctx, dir, "b-1"); err != nil {
		t.Errorf("a branch without anything of its own is left: %v", err)
	}
	if err := FreeRunWorktree(ctx, t.TempDir(), "c-1"); err == nil || err == fs.ErrExist {
		t.Errorf("outside a repository: %v", err)
	}
	if out, _ := git(ctx, dir, "rev-parse", "--abbrev-ref", "HEAD"); out != "main" {
		t.Errorf("the checkout is on %s", out)
	}
}

// A worktree that cannot be made leaves nothing, and takes nothing with it that
// was there before.
func TestRunWorktreeFails(t *testing.T) {
	t.Parallel()
	dir := newRepository(t)
	hook := func(text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o755),
			os.WriteFile(filepath.Join(dir, ".git", "hooks", "post-checkout"), []byte("#!/bin/sh\n"+text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	state := func() string {
		t.Helper()
		trees, err1 := git(t.Context(), dir, "worktree", "list", "--porcelain")
		branches, err2 := git(t.Context(), dir, "branch", "--list", "--all")
		names, err3 := filepath.Glob(filepath.Join(dir, ".pi", "worktrees", "*"))
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(trees, branches, names)
	}
	was := state()
	hook("echo new > made-by-hook; echo no >&2; exit 1\n")
	if _, _, err := AddRunWorktree(t.Context(), dir, "a-1"); err == nil || !strings.Contains(err.Error(), "no") {
		t.Error(err)
	}
	if now := state(); now != was {
		t.Errorf("it was %s, it is %s", was, now)
	}
	if _, err := os.Lstat(filepath.Join(dir, ".pi")); err == nil {
		t.Error(".pi is left")
	}
	// Interrupted while a hook hangs.
	hook("echo x > " + filepath.Join(dir, "hangs") + "; sleep 1009\n")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if _, err := os.Lstat(filepath.Join(dir, "hangs")); err == nil {
				return
			}
		}
	}()
	begin := time.Now()
	if _, _, err := AddRunWorktree(ctx, dir, "a-1"); !errors.Is(err, context.Canceled) || time.Since(begin) > 30*time.Second {
		t.Error(err, time.Since(begin))
	}
	if now := state(); now != was {
		t.Errorf("it was %s, it is %s", was, now)
	}
	// A branch, a directory, and a whole worktree of that name.
	hook("")
	if _, err := git(t.Context(), dir, "branch", "pi/wf/run-b-1"); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, ".pi", "worktrees", "run-c-1", "kept")
	if err := errors.Join(os.MkdirAll(filepath.Dir(kept), 0o755), os.WriteFile(kept, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := AddRunWorktree(t.Context(), dir, "d-1"); err != nil {
		t.Fatal(err)
	}
	was = state()
	for _, id := range []string{"b-1", "c-1", "d-1"} {
		if _, _, err := AddRunWorktree(t.Context(), dir, id); err == nil {
			t.Errorf("%s was made", id)
		}
	}
	if now := state(); now != was {
		t.Errorf("it was %s, it is %s", was, now)
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Error(err)
	}
}

// A run with a pane of its own: its state, its line, and the end of the pane.
func TestStageOwnPane(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	runs := newRuns(t)
	r := s.request("wf")
	r.Kind = "" // a shell
	l := s.spawn(r)
	run := runs.must(t, Run{Name: "wf"})
	run.FromLease(l)
	st := &Stage{Client: s.sp.Client, Leases: s.sp.Leases, Here: s.here, AppliesTo: AppliesAuto}
	was := *run
	for _, step := range []struct {
		status                 Status
		state, display, mirror string
		notes                  int
	}{
		{Spawned, StateWorking, "• spawned", "◆ wf", 0}, {Running, StateWorking, "▶ Plan 1/2 · 3.2K tok", "◆ wf Plan 1/2 · 3.2K tok", 0},
		{NeedsHuman, StateBlocked, "? needs human", "? wf Plan 1/2 · 3.2K tok · Needs human", 1}, {Failed, StateBlocked, "✗ failed", "", 2},
		{Running, StateWorking, "▶ Plan 1/2 · 3.2K tok", "◆ wf Plan 1/2 · 3.2K tok", 2},
	} {
		run.Status = step.status
		if step.status == Running {
			run.Phase, run.Done, run.Total, run.Tokens = "Plan", 1, 2, 3200
		}
		if err := st.Changed(t.Context(), &was, run, []Run{*run}); err != nil {
			t.Errorf("%s: %v", step.status, err)
		}
		was = *run
		p, _ := s.Get(l.Pane)
		host, _ := s.Get(s.here.Pane)
		if p.State != step.state || p.Display != step.display || host.Display != step.mirror || len(s.Notes()) != step.notes || host.State != StateUnknown {
			t.Errorf("%s: %+v\n%+v\n%v", step.status, p, host, s.Notes())
		}
	}
	run.Status = Completed
	if err := st.Changed(t.Context(), &was, run, []Run{*run}); err != nil {
		t.Error(err)
	}
	if host, _ := s.Get(s.here.Pane); len(s.Panes()) != 1 || len(s.leases()) != 0 || host.Display != "" {
		t.Errorf("%+v %v", s.Panes(), s.leases())
	}
	if n := s.Notes(); n[len(n)-1].Sound != "done" || n[len(n)-1].Title != "Workflow complete: wf" {
		t.Errorf("%v", n)
	}
}

// A run on somebody else's pane shows a line there, and nothing more.
func TestStageForeignPane(t *testing.T) {
	s := newSite(t)
	_, pane := s.AddTab(s.here.Workspace, "x")
	p, _ := s.Get(pane)
	run := Run{ID: "wf-1", Name: "wf", Status: NeedsHuman, Pane: pane, Terminal: p.Terminal}
	st := &Stage{Client: s.sp.Client, Leases: s.sp.Leases, Here: s.here}
	for _, status := range []Status{NeedsHuman, Completed} {
		was := run
		was.Status, run.Status = Running, status
		if err := st.Changed(t.Context(), &was, &run, []Run{run}); err != nil {
			t.Error(err)
		}
	}
	if err := st.Stop(t.Context(), &run); err != nil {
		t.Error(err)
	}
	if p, ok := s.Get(pane); !ok || p.State != StateUnknown || len(s.Requests("pane.report_agent")) != 0 || len(s.Requests("pane.release_agent")) != 0 {
		t.Errorf("%+v", p)
	}
}

// However herdr behaves, showing takes no longer than its limit.
func TestStageIsBounded(t *testing.T) {
	for name, f := range map[string]herdrtest.Fault{"silent": herdrtest.Silent, "half": herdrtest.HalfOpen, "garbage": herdrtest.Garbage(1 << 20), "late": herdrtest.Late(300 * time.Millisecond)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.Fault("", -1, f)
			st := &Stage{Client: New(s.Path), Leases: s.sp.Leases, Here: s.here, Limit: 700 * time.Millisecond}
			run := Run{ID: "a-1", Name: "a", Status: Failed, Own: true, Pane: s.here.Pane, Terminal: "x", SpawnID: "y"}
			begin := time.Now()
			err := st.Changed(t.Context(), &Run{Status: Running}, &run, []Run{run})
			if took := time.Since(begin); took > 3*time.Second || !IsUnavailable(err) {
				t.Errorf("%v after %s", err, took)
			}
			st.Leases.Note(s.Path, err)
			st.Leases.Note(s.Path, err)
			if n := st.Leases.LastNoted(); n == nil || n.Socket != s.Path || n.Error != err.Error() {
				t.Errorf("%+v", n)
			}
			st.Leases.ForgetNoted()
			if n := st.Leases.LastNoted(); n != nil {
				t.Errorf("%+v", n)
			}
		})
	}
}

// A question blocks the cell, and its answer restores it; where Pi tells the
// state only the line and the notification are ours.
func TestStageQuestions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.request("bob")
	r.Kind = ""
	l := s.spawn(r)
	st := &Stage{Client: s.sp.Client, Leases: s.sp.Leases, Here: s.here}
	if err := st.Ask(t.Context(), l.SpawnID, "bob", "which port?"); err != nil {
		t.Error(err)
	}
	if p, _ := s.Get(l.Pane); p.State != StateBlocked || p.Display != "? which port?" || len(s.Notes()) != 1 || s.Notes()[0].Sound != "request" {
		t.Errorf("%+v %v", p, s.Notes())
	}
	if err := st.Answered(t.Context(), l.SpawnID, StateWorking); err != nil {
		t.Error(err)
	}
	if p, _ := s.Get(l.Pane); p.State != StateWorking || p.Display != "" {
		t.Errorf("%+v", p)
	}
	s.Anchor(l.Pane, "pi", StateWorking)
	if err := st.Ask(t.Context(), l.SpawnID, "bob", "again?"); err != nil {
		t.Error(err)
	}
	if p, _ := s.Get(l.Pane); p.State != StateWorking || p.Display != "? again?" {
		t.Errorf("%+v", p)
	}
	if err := st.Ask(t.Context(), "nobody", "x", "y"); err != nil {
		t.Error(err)
	}
}

// The states of a teammate's cell have one source, with its role, whoever reports
// them.
func TestStageSources(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]string{"reviewer": "pi-teams:reviewer:bob", "": "pi-teams:teammate:bob"} {
		s := newSite(t)
		r := s.request("bob")
		r.Kind, r.Role = "", role
		l := s.spawn(r)
		st := &Stage{Client: s.sp.Client, Leases: s.sp.Leases, Here: s.here}
		run := Run{ID: "wf-1", Name: "wf", Teammate: "bob", Status: Running}
		run.FromLease(l)
		if err := errors.Join(st.Report(t.Context(), l.SpawnID, StateBlocked, ""), st.Changed(t.Context(), &run, &run, nil)); err != nil {
			t.Error(err)
		}
		got := s.Requests("pane.report_agent")
		if len(got) != 2 {
			t.Fatalf("%v", got)
		}
		for _, q := range got {
			if q.Params["source"] != want {
				t.Errorf("%v, want %s", q.Params["source"], want)
			}
		}
	}
}
