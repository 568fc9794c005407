package team

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Killed at each system call in turn, a call leaves what the next one can use.
func TestKilledAtEachCall(t *testing.T) {
	for _, c := range []struct{ before, op string }{
		{"", "join ann"},
		{"", "as ann"},
		{"", "held ann"},
		{"leave ann", "join ann"},
		{"leave ann", "held ann"},
		{"bare ann", "leave ann"},
	} {
		t.Run(c.before+","+c.op, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				if n > 400 {
					t.Fatal("no end")
				}
				if killOnce(t, c.before, c.op, n) {
					t.Logf("%d calls", n-1)
					return
				}
			}
		})
	}
}

// killOnce runs op in a process that is killed at its nth call, and checks what
// is left. It says whether the process came through.
func killOnce(t *testing.T, before, op string, n int) (through bool) {
	team, ctx := newTeam(t), t.Context()
	var last Teammate
	if before != "" {
		last = must(team.Join(ctx, JoinRequest{Name: "ann"}))(t)
		if before == "leave ann" {
			last = must(team.Leave(ctx, "ann", "", nil))(t)
		}
	}
	h := startHelper(t, team.Root, fmt.Sprintf("H_KILL=%d", n))
	h.send(op)
	r, through := h.read()
	h.kill()
	if through && r.Code != "" {
		t.Fatalf("%+v", r)
	}

	_, problems, err := team.List()
	if len(problems) != 0 || err != nil {
		t.Fatalf("call %d: problems %v, %v", n, problems, err)
	}
	tm, err := team.Read("ann")
	switch {
	case errors.Is(err, fs.ErrNotExist) && last.SpawnID == "" && !through:
	case err != nil:
		t.Fatalf("call %d: %v", n, err)
	case through && r.Spawn != tm.SpawnID:
		t.Fatalf("call %d: told %s, the record has %s", n, r.Spawn, tm.SpawnID)
	case last.SpawnID != "" && tm.SpawnID != last.SpawnID && tm.PreviousSpawnID != last.SpawnID:
		t.Fatalf("call %d: %+v follows %+v", n, tm, last)
	}
	// The next calls work, and a name is never lost.
	if op == "leave ann" {
		if left := must(team.Leave(ctx, "ann", last.SpawnID, nil))(t); left.Status != StatusStopped {
			t.Fatalf("call %d: %+v", n, left)
		}
	}
	if op != "as ann" {
		if _, err := team.Join(ctx, JoinRequest{Name: "ann"}); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
	}
	id, err := team.as("ann", "").Worker(ctx)
	if err != nil {
		t.Fatalf("call %d: %v", n, err)
	}
	if op == "as ann" && through && id.SpawnID != r.Spawn {
		t.Fatalf("%+v, told %+v", id, r)
	}
	if names := must(fsx.List(team.TeammateDir("ann")))(t); strings.Contains(strings.Join(names, " "), "tmp-") {
		t.Fatalf("%v", names)
	}
	return through
}

// An error of the system is told with its path and reason, and leaves no record
// that cannot be read.
func TestFailingCalls(t *testing.T) {
	for _, op := range []fsx.Op{fsx.OpOpen, fsx.OpWrite, fsx.OpFsync, fsx.OpLink, fsx.OpMkdir, fsx.OpFlock, fsx.OpRename} {
		for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EACCES} {
			for _, old := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v,%d,%v", op, errno, old), func(t *testing.T) {
					team, ctx := newTeam(t), t.Context()
					var last Teammate
					if old {
						must(team.Join(ctx, JoinRequest{Name: "ann"}))(t)
						last = must(team.Leave(ctx, "ann", "", nil))(t)
					}
					made := false
					restore := fsx.SetFault(func(o fsx.Op, path string) error {
						if o == op {
							made = true
							return errno
						}
						return nil
					})
					_, err := team.Join(ctx, JoinRequest{Name: "ann"})
					restore()
					if !made {
						return // this way does without that call
					}
					if err == nil {
						t.Fatal("no error")
					}
					if !strings.Contains(err.Error(), team.Root) || !errors.Is(err, errno) || errs.Exit(errs.CodeOf(err)) != 1 {
						t.Errorf("%v of code %s", err, errs.CodeOf(err))
					}
					tm, err := team.Read("ann")
					if old && (err != nil || tm.SpawnID != last.SpawnID) {
						t.Errorf("%+v, %v", tm, err)
					}
					if !old && !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("%+v, %v", tm, err)
					}
					must(team.Join(ctx, JoinRequest{Name: "ann"}))(t)
				})
			}
		}
	}
}

// A record that is there but not known to be durable is not reported as done,
// and does not stand in the way of the next call.
func TestUncertainJoin(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		if _, err := os.Lstat(team.TeammateFile("ann")); err == nil && op == fsx.OpFsyncDir {
			return syscall.EIO
		}
		return nil
	})
	_, err := team.Join(ctx, JoinRequest{Name: "ann"})
	restore()
	if !errors.Is(err, fsx.ErrUncertain) || errs.Exit(errs.CodeOf(err)) != 1 {
		t.Fatalf("%v", err)
	}
	if id := must(team.as("ann", "").Worker(ctx))(t); id.SpawnID == "" {
		t.Errorf("%+v", id)
	}
}
