package team

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/worktree"
)

// treeTeam is a team in a repository, with a worktree for ann's life s1.
func treeTeam(t *testing.T) (*Team, string) {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	dir := must(filepath.EvalSymlinks(t.TempDir()))(t)
	app := newRepo(t, dir, "app")
	mkdirs(t, dir, "root", "agents")
	team := Open(Place{Root: mkdirs(t, dir, "root"), Session: "s", Project: app, Cwd: app})
	plan := must(worktree.NewPlan(t.Context(), worktree.Request{
		Project: app, Name: "ann", Owner: "s1", Holder: team.TeammateFile("ann")}))(t)
	must(worktree.Create(t.Context(), plan))(t)
	return team, plan.Path
}

func (t *Team) wantCollected(test *testing.T, what, path, why string) {
	test.Helper()
	for _, dry := range []bool{true, false} {
		removed, kept, err := t.CollectWorktrees(test.Context(), dry)
		if err != nil {
			test.Fatalf("%s: %v", what, err)
		}
		if why == "" {
			if len(removed) != 1 || removed[0] != path || len(kept) != 0 {
				test.Errorf("%s, dry %v: removed %q, kept %v", what, dry, removed, kept)
			}
		} else if len(removed) != 0 || len(kept) != 1 || !strings.Contains(kept[0].Why, why) {
			test.Errorf("%s, dry %v: removed %q, kept %v, want %q", what, dry, removed, kept, why)
		}
		if _, err := os.Lstat(path); (err != nil) != (why == "" && !dry) {
			test.Errorf("%s, dry %v: %v", what, dry, err)
		}
	}
}

// Whoever has not ended keeps the worktree, whatever session or root it is of.
func TestWorktreeInUse(t *testing.T) {
	for what, c := range map[string]struct {
		why string
		do  func(t *testing.T, team *Team, path string)
	}{
		"nobody": {"", func(t *testing.T, team *Team, path string) {}},
		"what is no session": {"", func(t *testing.T, team *Team, path string) {
			for _, top := range []string{"teammate", "tasks"} {
				if err := os.Symlink("/elsewhere", filepath.Join(mkdirs(t, team.Root, top), "other")); err != nil {
					t.Fatal(err)
				}
			}
		}},
		"a living life": {"ann uses it", func(t *testing.T, team *Team, path string) {
			putRecord(t, team, Teammate{Name: "ann", Kind: KindPi, Status: StatusIdle, Worktree: path, Host: fsx.Host()})
		}},
		"a life that died and was not put away": {"ann uses it", func(t *testing.T, team *Team, path string) {
			putRecord(t, team, Teammate{Name: "ann", Kind: KindPi, Status: StatusStopping, Host: fsx.Host()})
		}},
		"a life that is over": {"", func(t *testing.T, team *Team, path string) {
			putRecord(t, team, Teammate{Name: "ann", Kind: KindPi, Status: StatusStopped, Worktree: path})
		}},
		"a later life": {"", func(t *testing.T, team *Team, path string) {
			putRecord(t, team, Teammate{Name: "ann", Kind: KindPi, Status: StatusIdle, SpawnID: "s2", Worktree: path + "0", Cwd: path + "0"})
		}},
		"somebody who stands there": {"bob uses it", func(t *testing.T, team *Team, path string) {
			putRecord(t, team, Teammate{Name: "bob", Kind: KindShell, Status: StatusIdle, SpawnID: "s3", Cwd: filepath.Join(path, "sub")})
		}},
		"another session": {"bob uses it", func(t *testing.T, team *Team, path string) {
			other := Open(Place{Root: team.Root, Session: "other", Project: team.Project, Cwd: team.Cwd})
			putRecord(t, other, Teammate{Name: "bob", Kind: KindExec, Status: StatusWorking, Worktree: path})
		}},
		"an unreadable record": {"cannot be read", func(t *testing.T, team *Team, path string) {
			writeFile(t, team.TeammateFile("ann"), "garbage")
		}},
		"an unreadable record of another": {"", func(t *testing.T, team *Team, path string) {
			writeFile(t, team.TeammateFile("bob"), "garbage")
		}},
		"an unreadable board": {"the board of session s cannot be read", func(t *testing.T, team *Team, path string) {
			writeFile(t, filepath.Join(team.BoardDir(), "board.json"), "garbage")
		}},
		"the board of another session": {"the gate of t_1 runs in it", func(t *testing.T, team *Team, path string) {
			other := Open(Place{Root: team.Root, Session: "other", Project: team.Project, Cwd: team.Cwd})
			putRecord(t, other, Teammate{Name: "bob", Kind: KindShell, Status: StatusIdle, Worktree: path})
			b := must(other.Board(BoardOptions{}))(t)
			must(b.Add(t.Context(), fsboard.NewTask{Subject: "x", Verify: "true"}))(t)
			must(b.Claim(t.Context(), fsboard.ClaimRequest{Worker: "bob", SpawnID: "s1", Max: 1}))(t)
			must(b.Fold(t.Context(), false))(t)
			putRecord(t, other, Teammate{Name: "bob", Kind: KindShell, Status: StatusStopped, Worktree: path})
		}},
		"a submission": {"the gate of t_1 runs in it", func(t *testing.T, team *Team, path string) {
			putRecord(t, team, Teammate{Name: "ann", Kind: KindShell, Status: StatusIdle, Worktree: path})
			b := must(team.Board(BoardOptions{}))(t)
			must(b.Add(t.Context(), fsboard.NewTask{Subject: "x", Verify: "true"}))(t)
			must(b.Claim(t.Context(), fsboard.ClaimRequest{Worker: "ann", SpawnID: "s1", Max: 1}))(t)
			must(b.Fold(t.Context(), false))(t)
			putRecord(t, team, Teammate{Name: "ann", Kind: KindShell, Status: StatusStopped, Worktree: path})
		}},
	} {
		t.Run(what, func(t *testing.T) {
			team, path := treeTeam(t)
			c.do(t, team, path)
			list := must(team.Worktrees(t.Context()))(t)
			if len(list) != 1 || list[0].Path != path || list[0].InUse != (c.why != "") || list[0].Teammate != "ann" || list[0].Dirty || !list[0].Merged {
				t.Errorf("%+v", list)
			}
			team.wantCollected(t, what, path, c.why)
		})
	}
	t.Run("another root", func(t *testing.T) {
		team, path := treeTeam(t)
		putRecord(t, team, Teammate{Name: "ann", Kind: KindPi, Status: StatusIdle, Worktree: path})
		other := Open(Place{Root: mkdirs(t, t.TempDir(), "root"), Session: "s", Project: team.Project, Cwd: team.Cwd})
		other.wantCollected(t, "in use below another root", path, "ann uses it")
		if err := os.RemoveAll(team.Root); err != nil {
			t.Fatal(err)
		}
		other.wantCollected(t, "its root is not there", path, "is not there")
		mkdirs(t, team.Root, "agents")
		other.wantCollected(t, "its session is over", path, "")
	})
}

// A project that is no repository has no worktrees.
func TestWorktreesWithoutRepository(t *testing.T) {
	dir := mkdirs(t, t.TempDir(), "app")
	team := Open(Place{Root: mkdirs(t, t.TempDir(), "root"), Session: "s", Project: dir, Cwd: dir})
	if list, err := team.Worktrees(t.Context()); len(list) != 0 || err != nil {
		t.Error(list, err)
	}
	if removed, kept, err := team.CollectWorktrees(t.Context(), false); len(removed)+len(kept) != 0 || err != nil {
		t.Error(removed, kept, err)
	}
	team.Project = filepath.Join(dir, "gone")
	_, err := team.Worktrees(t.Context())
	wantCode(t, err, errs.Failure)
}

// TestGatePlace: a gate runs at the project's place in the worktree.
func TestGatePlace(t *testing.T) {
	team := newTeam(t)
	repo := realTemp(t)
	tree := mkdirs(t, repo, "app", ".pi", "worktrees", "ann-1")
	mkdirs(t, tree, "app", "src")
	for _, c := range []struct{ project, tree, want string }{
		{repo, "", ""},
		{repo, tree, tree},
		{filepath.Join(repo, "app"), tree, filepath.Join(tree, "app")},
		{filepath.Join(repo, "app", "src"), tree, filepath.Join(tree, "app", "src")},
		{filepath.Join(repo, "app", "new"), tree, filepath.Join(tree, "app")},
		{filepath.Join(repo, "other"), tree, tree},
		{filepath.Join(repo, "app"), filepath.Join(repo, "gone"), filepath.Join(repo, "gone")},
	} {
		if c.project == repo {
			mkdirs(t, repo, ".git")
		}
		team.Project = c.project
		if got := team.projectIn(c.tree); got != c.want {
			t.Errorf("%s in %q: %q, want %q", c.project, c.tree, got, c.want)
		}
	}
}
