package team

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// joins are the ways of taking a name that nobody has had.
var joins = map[string]func(*testing.T, *Team) error{
	"join": func(t *testing.T, team *Team) error {
		_, err := team.Join(t.Context(), JoinRequest{Name: "ann"})
		return err
	},
	"work": func(t *testing.T, team *Team) error {
		_, lock, err := team.JoinHeld(t.Context(), JoinRequest{Name: "ann"})
		if err == nil {
			defer lock.Unlock()
		}
		return err
	},
}

// TestRefusedJoinLeavesNothing: a full disk refuses a name at any call, and what
// was made for it is gone.
func TestRefusedJoinLeavesNothing(t *testing.T) {
	for how, join := range joins {
		t.Run(how, func(t *testing.T) {
			refused := 0
			for n := 1; ; n++ {
				team := newTeam(t)
				must(team.EnsureSession())(t)
				calls := 0
				restore := fsx.SetFault(func(op fsx.Op, path string) error {
					if op == fsx.OpWrite || op == fsx.OpMkdir || op == fsx.OpLink {
						if calls++; calls >= n {
							return syscall.ENOSPC
						}
					}
					return nil
				})
				err := join(t, team)
				restore()
				if err == nil {
					break
				}
				refused++
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("call %d: %v", n, err)
				}
				if _, err := os.Lstat(team.TeammateDir("ann")); !errors.Is(err, fs.ErrNotExist) {
					t.Fatalf("call %d: the directory is still there: %v", n, err)
				}
				if err := join(t, team); err != nil {
					t.Fatal(err)
				}
			}
			if refused < 10 {
				t.Errorf("only %d calls", refused)
			}
		})
	}
}

// What somebody else has put into a directory stays.
func TestTakeBackSparesWhatIsUsed(t *testing.T) {
	for what, use := range map[string]func(*testing.T, *Team){
		"a record": func(t *testing.T, team *Team) { must(team.Join(t.Context(), JoinRequest{Name: "ann"}))(t) },
		"mail":     func(t *testing.T, team *Team) { writeFile(t, filepath.Join(team.InboxDir("ann"), "new", "x.md"), "x") },
		"a lock": func(t *testing.T, team *Team) {
			lock, _, err := fsx.TryAcquire(team.AliveLock("ann"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { lock.Unlock() })
		},
	} {
		t.Run(what, func(t *testing.T) {
			team := newTeam(t)
			if err := team.makeDirs("ann"); err != nil {
				t.Fatal(err)
			}
			use(t, team)
			if err := team.takeBack("ann", false); err != nil {
				t.Error(err)
			}
			if !fileExists(team.InboxDir("ann")) {
				t.Error("it is gone")
			}
		})
	}
}

// TestTakeBackBesideJoins: whoever is told to have a name has it, however many
// others take its empty directories back meanwhile.
func TestTakeBackBesideJoins(t *testing.T) {
	for how, join := range joins {
		t.Run(how, func(t *testing.T) {
			for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
				team := newTeam(t)
				must(team.EnsureSession())(t)
				var wg sync.WaitGroup
				joined := make(chan struct{})
				for range 2 {
					wg.Go(func() {
						for {
							select {
							case <-joined:
								return
							default:
								if err := team.takeBack("ann", false); err != nil {
									t.Error(err)
								}
							}
						}
					})
				}
				err := join(t, team)
				close(joined)
				wg.Wait()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := team.Read("ann"); err != nil || !fileExists(filepath.Join(team.InboxDir("ann"), "new")) {
					t.Fatalf("it has no mailbox, or no record: %v", err)
				}
			}
		})
	}
}

// TestDoctorRemovesBareNames: the directories of a name that never lived are told
// of when they are old, and removed.
func TestDoctorRemovesBareNames(t *testing.T) {
	team := newTeam(t)
	for _, name := range []string{"old", "fresh", "mail"} {
		if err := team.makeDirs(name); err != nil {
			t.Fatal(err)
		}
	}
	must(team.Join(t.Context(), JoinRequest{Name: "ann"}))(t)
	writeFile(t, filepath.Join(team.InboxDir("mail"), "new", "x.md"), "x")
	mkdirs(t, team.TeamDir(), "watches")
	long := time.Now().Add(-time.Hour)
	for _, name := range []string{"old", "mail", "ann", "watches"} {
		if err := os.Chtimes(team.TeammateDir(name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	told := 0
	for _, f := range must(team.Check())(t) {
		if f.Code == "left_temp" {
			told++
			if f.Path != team.TeammateDir("old") || !f.Fixable {
				t.Errorf("%+v", f)
			}
		}
	}
	if told != 1 {
		t.Errorf("told of %d directories", told)
	}
	b := must(team.Board(BoardOptions{}))(t)
	if err := team.Fix(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"old": false, "fresh": true, "mail": true, "ann": true, "watches": true} {
		if got := fileExists(filepath.Join(team.TeamDir(), name)); got != want {
			t.Errorf("%s is there: %v", name, got)
		}
	}
}
