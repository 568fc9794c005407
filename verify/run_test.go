package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command string
		verdict       Verdict
		code          int
		signal        string
		reason        string // part of it
	}{
		{"passes", "exit 0", Passed, 0, "", ""},
		{"fails", "exit 3", Failed, 3, "", ""},
		{"last command decides", "false; true", Passed, 0, "", ""},
		{"killed", "kill -9 $$; sleep 10", Killed, -1, "SIGKILL", ""},
		{"killed by TERM", "kill -TERM $$; sleep 10", Killed, -1, "SIGTERM", ""},
		{"a command of it is killed", "sh -c 'kill -9 $$'; exit $?", Failed, 137, "", "SIGKILL"},
		{"not found", "/no/such/command --now", CouldNotStart, 127, "", "127"},
		{"not executable", "/etc/passwd", CouldNotStart, 126, "", "126"},
		{"syntax error", "if", Failed, 2, "", ""},
		{"newlines and quotes", "a='1 2'\n[ \"$a\" = '1 2' ]\n", Passed, 0, "", ""},
		{"reads stdin", "cat && read x || exit 5", Failed, 5, "", ""},
		{"closes its output and lives", "exec >&- 2>&-; sleep 0.3; exit 4", Failed, 4, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, tt.command)
			r := run(t, g)
			if r.Verdict != tt.verdict || r.ExitCode != tt.code || r.Signal != tt.signal ||
				!strings.Contains(r.Reason, tt.reason) || (tt.reason == "" && r.Reason != "") {
				t.Errorf("got %+v", r)
			}
			if r.Log != g.Log || r.FinishedAt == 0 {
				t.Errorf("log %q, finished %d", r.Log, r.FinishedAt)
			}
		})
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	g := newGate(t, "echo out; echo err >&2; printf end")
	r := run(t, g)
	const want = "out\nerr\nend"
	if got := readLog(t, g.Log); got != want {
		t.Errorf("log %q, want %q", got, want)
	}
	sum := sha256.Sum256([]byte(want))
	if r.OutputBytes != int64(len(want)) || r.OutputSHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("got %+v", r)
	}
	if info, _ := os.Stat(g.Log); info.Mode() != 0o600 {
		t.Errorf("mode of the log: %v", info.Mode())
	}
}

func TestNoOutput(t *testing.T) {
	t.Parallel()
	g := newGate(t, "true")
	r := run(t, g)
	sum := sha256.Sum256(nil)
	if r.OutputBytes != 0 || r.OutputSHA256 != hex.EncodeToString(sum[:]) || readLog(t, g.Log) != "" {
		t.Errorf("got %+v", r)
	}
	g.Log = ""
	if r := run(t, g); r.Verdict != Passed || r.Log != "" || r.Reason != "" {
		t.Errorf("without a log: %+v", r)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	g := newGate(t, "env")
	g.Env = []string{
		"PATH=" + os.Getenv("PATH"), "KEEP=a=b", "TEAMS_SPAWN=s1", "TEAMS_GATE=old", "TEAMS_NAME=old",
		"TEAMS_NAME=older", "PWD=/elsewhere", "broken", "=odd", "EMPTY=",
	}
	g.Extra = []string{"TEAMS_NAME=ann", "TEAMS_TASK=t_1", "TEAMS_GATE=forged", "TEAMS_SPAWN=forged"}
	run(t, g)
	got := strings.Split(strings.TrimSpace(readLog(t, g.Log)), "\n")
	got = slices.DeleteFunc(got, func(kv string) bool {
		return strings.HasPrefix(kv, "_=") || strings.HasPrefix(kv, "OLDPWD=") || strings.HasPrefix(kv, "SHLVL=")
	})
	slices.Sort(got)
	want := []string{
		"EMPTY=", "KEEP=a=b", "PATH=" + os.Getenv("PATH"), "PWD=" + g.Dir,
		"TEAMS_GATE=" + g.RunID, "TEAMS_NAME=ann", "TEAMS_TASK=t_1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("environment\n%q, want\n%q", got, want)
	}
}

func TestInheritedEnvironment(t *testing.T) {
	t.Setenv("TEAMS_SPAWN", "s1")
	t.Setenv("TEAMS_GATE", "outer")
	t.Setenv("VERIFY_TEST_KEPT", "yes")
	g := newGate(t, `[ -z "${TEAMS_SPAWN+x}" ] && [ "$TEAMS_GATE" = "$WANT" ] && [ "$VERIFY_TEST_KEPT" = yes ]`)
	g.Extra = []string{"WANT=" + g.RunID}
	wantVerdict(t, run(t, g), Passed)
}

func TestWorkingDirectory(t *testing.T) {
	t.Parallel()
	g := newGate(t, "pwd -P; : >made")
	wantVerdict(t, run(t, g), Passed)
	real, err := filepath.EvalSymlinks(g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := readLog(t, g.Log); got != real+"\n" {
		t.Errorf("ran in %q, want %q", got, real)
	}
	if _, err := os.Stat(filepath.Join(g.Dir, "made")); err != nil {
		t.Error(err)
	}
}

func TestCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Gate){
		"directory missing":     func(g *Gate) { g.Dir = filepath.Join(dir, "none") },
		"directory is a file":   func(g *Gate) { g.Dir = file },
		"directory below file":  func(g *Gate) { g.Dir = filepath.Join(file, "x") },
		"command too long":      func(g *Gate) { g.Command = ": " + strings.Repeat("x", 4<<20) },
		"environment too large": func(g *Gate) { g.Extra = slices.Repeat([]string{"A=" + strings.Repeat("x", 4<<20)}, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, "echo ran")
			change(&g)
			r := run(t, g)
			if r.Verdict != CouldNotStart || r.ExitCode != -1 || r.Reason == "" || r.OutputBytes != 0 {
				t.Errorf("got %+v", r)
			}
			if len(r.Reason) > 1000 {
				t.Errorf("reason of %d bytes", len(r.Reason))
			}
		})
	}
}

// A command of 100 KiB is long, and still one argument on every system.
func TestLongCommand(t *testing.T) {
	t.Parallel()
	g := newGate(t, "# "+strings.Repeat("x", 100<<10)+"\nexit 9")
	if r := run(t, g); r.Verdict != Failed || r.ExitCode != 9 {
		t.Errorf("got %+v", r)
	}
}

func TestRefusedGates(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Gate){
		"no command":       func(g *Gate) { g.Command = "" },
		"blank command":    func(g *Gate) { g.Command = " \n\t" },
		"NUL in command":   func(g *Gate) { g.Command = "true\x00; false" },
		"NUL in directory": func(g *Gate) { g.Dir += "\x00" },
		"NUL in log":       func(g *Gate) { g.Log += "\x00" },
		"NUL in env":       func(g *Gate) { g.Extra = []string{"A=\x00"} },
		"no run id":        func(g *Gate) { g.RunID = "" },
		"space in run id":  func(g *Gate) { g.RunID = "a b" },
		"long run id":      func(g *Gate) { g.RunID = strings.Repeat("a", 129) },
		"negative limit":   func(g *Gate) { g.Timeout = -1 },
		"negative log":     func(g *Gate) { g.MaxLog = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, ": >ran")
			change(&g)
			r, err := Run(context.Background(), g)
			if errs.CodeOf(err) != errs.Usage || r.Verdict != "" {
				t.Errorf("got %+v, %v", r, err)
			}
			if _, err := os.Stat(filepath.Join(g.Dir, "ran")); err == nil {
				t.Error("it ran")
			}
		})
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"sleeps":           "echo $$ >pids; sleep 1000",
		"waits for a job":  "sleep 1000 & echo $$ $! >pids; wait",
		"ignores TERM":     "trap '' TERM; sleep 1000 & echo $$ $! >pids; wait; sleep 1000",
		"exits 0 on TERM":  "trap 'exit 0' TERM; sleep 1000 & echo $$ $! >pids; wait",
		"is stopped":       "echo $$ >pids; kill -STOP $$; exit 0",
		"spins":            "echo $$ >pids; while :; do :; done",
		"floods":           "echo $$ >pids; while :; do echo 0123456789012345678901234567890123456789; done",
		"leaves the group": "setsid sh -c 'trap \"\" TERM; echo $$ >>pids; while :; do sleep 1; done' & echo $$ >>pids; wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, command)
			g.Timeout = 500 * time.Millisecond
			var before []process
			found := make(chan struct{})
			go func() {
				defer close(found)
				for len(before) == 0 {
					before, _, _ = newHunt(g.RunID).scan(func(process) {})
					time.Sleep(20 * time.Millisecond)
				}
			}()
			within(t, 10*time.Second, func() {
				r := run(t, g)
				wantVerdict(t, r, TimedOut)
				if !strings.Contains(r.Reason, "500ms") || r.DurationMs < 500 {
					t.Errorf("got %+v", r)
				}
			})
			<-found
			wantGone(t, before)
			if left := readPIDs(t, filepath.Join(g.Dir, "pids")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if left := carriers(t, g.RunID); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// What a gate does on SIGTERM is its own clean-up, and not hit once more.
func TestTimeLimitLetsCleanUp(t *testing.T) {
	t.Parallel()
	g := newGate(t, "trap 'sleep 0.6; echo cleaned; exit 1' TERM; sleep 1000 & wait")
	g.Timeout = 200 * time.Millisecond
	g.Grace = 10 * time.Second
	wantVerdict(t, run(t, g), TimedOut)
	if got := readLog(t, g.Log); !strings.HasSuffix(got, "cleaned\n") {
		t.Errorf("log %q", got)
	}
}

// The verdict comes from the exit: near the limit a gate has either passed or
// was ended by a signal, and never exits 0 and is blamed for its time.
func TestExitBesideTheLimit(t *testing.T) {
	t.Parallel()
	rounds := 30
	if *long {
		rounds = 500
	}
	for i := range rounds {
		g := newGate(t, "sleep 0.05")
		g.Timeout = 49*time.Millisecond + time.Duration(i%10)*500*time.Microsecond
		r := run(t, g)
		switch {
		case r.Verdict == Passed && r.ExitCode == 0 && r.Signal == "":
		case r.Verdict == TimedOut && r.ExitCode != 0:
		default:
			t.Fatalf("limit %v: %+v", g.Timeout, r)
		}
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	g := newGate(t, "echo begun; setsid sleep 1000 & sleep 1000 & echo $$ $! >pids; wait")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var live []process
	go func() {
		defer cancel()
		live = awaitPIDs(t, filepath.Join(g.Dir, "pids"), 2)
	}()
	within(t, 10*time.Second, func() {
		r, err := Run(ctx, g)
		if !errors.Is(err, ErrInterrupted) || errs.CodeOf(err) != errs.Interrupted || r.Verdict != "" {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	wantGone(t, live)
	if left := carriers(t, g.RunID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if got := readLog(t, g.Log); got != "begun\n" {
		t.Errorf("log %q", got)
	}
}

func TestInterruptedBefore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g := newGate(t, ": >ran")
	if _, err := Run(ctx, g); !errors.Is(err, ErrInterrupted) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(g.Dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

func TestBesideEachOther(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for i := range 24 {
		g := newGate(t, fmt.Sprintf("sleep 1000 & setsid sleep 1000 & echo gate %d; exit %d", i, i%3))
		wg.Go(func() {
			r, err := Run(context.Background(), g)
			if err != nil || r.ExitCode != i%3 {
				t.Errorf("gate %d: %+v, %v", i, r, err)
			}
			if got, want := readLog(t, g.Log), fmt.Sprintf("gate %d\n", i); got != want {
				t.Errorf("log %q, want %q", got, want)
			}
			if left := carriers(t, g.RunID); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	wg.Wait()
}
