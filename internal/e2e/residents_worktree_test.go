package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// makesWork is shell that leaves every kind of change in a worktree, however
// often it is run.
const makesWork = `echo new > made.txt; mkdir -p sub; echo deep > 'sub/a file.txt'; printf 'one\ntwo\n' > file.txt; echo staged > staged.txt; git add staged.txt; echo done`

// commits checks that a branch has the work of makesWork, by the teammate.
func (s *site) commits(branch, author string) {
	s.t.Helper()
	for path, want := range map[string]string{"made.txt": "new\n", "sub/a file.txt": "deep\n", "file.txt": "one\ntwo\n", "staged.txt": "staged\n"} {
		if r := start(s.t, s.command("git", "show", branch+":"+path)).wait(); r.out != want {
			s.t.Errorf("%s on %s: %s", path, branch, r)
		}
	}
	if r := start(s.t, s.command("git", "log", "-1", "--format=%an", branch)).wait(); strings.TrimSpace(r.out) != author {
		s.t.Errorf("the author on %s: %s", branch, r)
	}
}

// diffNotice is the one notice of what became of a worktree.
func (s *site) diffNotice(want ...string) {
	s.t.Helper()
	list := s.toldOf("diff", 1)
	for _, w := range want {
		if len(list) > 0 && !strings.Contains(list[0].Body, w) {
			s.t.Errorf("the notice lacks %q:\n%s", w, list[0].Body)
		}
	}
}

// TestWorktreeWorkSurvives ends teammates with work that they did not commit, in
// each way in which one ends: it is on the branch, and the leader is told.
func TestWorktreeWorkSurvives(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"shutdown", "shutdown --now in its turn", "host killed, then shutdown", "host killed, then tick", "host killed in its turn, then shutdown"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newTeam(t)
			s.git()
			script := makesWork
			if strings.Contains(how, "turn") {
				script += "; touch " + filepath.Join(s.base, "made") + "; sleep 600"
			}
			s.ok("spawn", "bot", "tree", "do it", "--", "sh", "-c", script)
			if strings.Contains(how, "turn") {
				eventually(t, "the work is there", func() bool { return exists(filepath.Join(s.base, "made")) })
			} else {
				s.idle("bot", 1)
			}
			r := s.resident("bot")
			if data := read(t, filepath.Join(r.Worktree, "made.txt")); data != "new\n" {
				t.Errorf("in the worktree: %q", data)
			}
			if exists(filepath.Join(s.project, "made.txt")) {
				t.Error("it worked in the project")
			}
			if strings.Contains(how, "killed") {
				s.killHost("bot")
			}
			switch {
			case strings.Contains(how, "tick"):
				s.ok("tick")
			case strings.Contains(how, "--now"):
				s.ok("shutdown", "bot", "--now")
			default:
				s.ok("shutdown", "bot")
			}
			s.commits(r.Branch, "bot")
			if exists(r.Worktree) {
				t.Error("the directory is still there")
			}
			s.diffNotice(r.Branch, "made.txt", "sub/a file.txt", "+two", "git")
			s.ok("tick")
			s.toldOf("diff", 1)
			s.noProcess()
			s.healthy()
			s.ok("spawn", "bot", "tree", "--", "true")
			if next := s.resident("bot"); next.Branch == r.Branch {
				t.Error("the branch is used again")
			}
			s.commits(r.Branch, "bot")
		})
	}
}

// TestWorktreeFullDisk has no room for the commit: the directory is kept with
// what is in it, and the leader is told where it is.
func TestWorktreeFullDisk(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("only root on Linux can mount a tmpfs")
	}
	s := newTeam(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "tmpfs", s.project).CombinedOutput(); err != nil {
		t.Skipf("a tmpfs cannot be mounted here: %s", out)
	}
	t.Cleanup(func() {
		s.quit()
		if out, err := exec.Command("umount", "-l", s.project).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	s.roles()
	s.git()
	s.ok("spawn", "bot", "tree", "do it", "--", "sh", "-c", makesWork)
	s.idle("bot", 1)
	r := s.resident("bot")
	stuffing := filepath.Join(s.project, "stuffing")
	s.sh("cat /dev/zero > " + stuffing + " 2>/dev/null")
	s.ok("shutdown", "bot")
	if data := read(t, filepath.Join(r.Worktree, "made.txt")); data != "new\n" {
		t.Errorf("in the worktree: %q", data)
	}
	s.diffNotice("not committed", r.Worktree, "no space left")
	if now := s.resident("bot"); now.Status != "stopped" || now.Worktree != r.Worktree || now.Error == "" {
		t.Errorf("%+v", now)
	}
	if r := s.run("doctor"); !strings.Contains(r.out, "worktree_left") {
		t.Errorf("doctor: %s", r)
	}
	for range 3 { // not again at once
		s.ok("tick")
	}
	s.diffNotice("not committed")
	if err := os.Remove(stuffing); err != nil {
		t.Fatal(err)
	}
	s.ok("doctor", "--fix")
	s.commits(r.Branch, "bot")
	if exists(r.Worktree) {
		t.Error("the worktree is left")
	}
	if list := s.toldOf("diff", 2); len(list) == 2 && !strings.Contains(list[1].Body, "is put away") {
		t.Errorf("told %q", list[1].Body)
	}
	if now := s.resident("bot"); now.Error != "" {
		t.Errorf("%+v", now)
	}
	s.ok("spawn", "bot", "tree", "--", "true")
	s.healthy()
}

// TestWorktreeWaitsForSubmission keeps the directory of a dead teammate until its
// submission is decided: the gate runs there.
func TestWorktreeWaitsForSubmission(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"host killed", "shutdown"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newTeam(t)
			s.git()
			s.add("task", "--verify", "test -f made.txt && git status --porcelain | grep -q made.txt && pwd > "+filepath.Join(s.base, "gate"))
			s.ok("spawn", "bot", "tree", "do it", "--", "sh", "-c", makesWork+"; teams claim t_1 -q && teams submit t_1 -q --no-wait")
			s.idle("bot", 1)
			if state := s.show("t_1").State; state != "submitted" {
				t.Fatalf("the task is %s", state)
			}
			r := s.resident("bot")
			if how == "shutdown" {
				s.ok("shutdown", "bot")
			} else {
				s.killHost("bot")
				s.ok("tick")
				if !exists(r.Worktree) && s.show("t_1").State != "completed" {
					t.Fatal("the directory went before the gate")
				}
				s.ok("tick")
			}
			if task := s.show("t_1"); task.State != "completed" {
				t.Errorf("the task is %s: %+v", task.State, task.LastGate)
			}
			if got := strings.TrimSpace(read(t, filepath.Join(s.base, "gate"))); got != r.Worktree {
				t.Errorf("the gate ran in %s", got)
			}
			if exists(r.Worktree) {
				t.Error("the directory is still there")
			}
			s.commits(r.Branch, "bot")
			s.diffNotice("made.txt")
			s.healthy()
		})
	}
}
