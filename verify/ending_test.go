package verify

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"golang.org/x/sys/unix"
)

// What outlives the shell holds up nothing and is ended, however it left.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"holds the pipe":           "sleep 1000 & echo $! >pids; echo done",
		"holds the pipe, setsid":   "setsid sh -c 'echo $$ >pids; exec sleep 1000' & until [ -s pids ]; do sleep 0.01; done; echo done",
		"quiet, setsid":            "setsid sh -c 'echo $$ >pids; exec sleep 1000' >/dev/null 2>&1 & until [ -s pids ]; do sleep 0.01; done; echo done",
		"double fork":              "(setsid sh -c '(echo $$ >pids; sleep 1000) &' >/dev/null 2>&1 &); until [ -s pids ]; do sleep 0.01; done; echo done",
		"ignores TERM":             "(trap '' TERM; exec sleep 1000) & echo $! >pids; echo done",
		"ignores TERM, setsid":     "(trap '' TERM; exec setsid sleep 1000) & echo $! >pids; echo done",
		"clean environment":        "env -i sleep 1000 & echo $! >pids; echo done",
		"own group, no run id":     "env -i VERIFY_TEST_HELPER=own-group \"$SELF\" & echo $! >pids; sleep 0.2; echo done",
		"is stopped":               "sleep 1000 & echo $! >pids; kill -STOP $!; echo done",
		"floods the pipe":          "yes & echo $! >pids; echo done",
		"many":                     "i=0; while [ $i -lt 50 ]; do setsid sleep 1000 & echo $! >>pids; i=$((i+1)); done; echo done",
		"a shell that has its own": "setsid sh -c 'setsid sh -c \"sleep 1000; :\"; :' & echo $! >pids; echo done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, command)
			g.Extra = []string{"SELF=" + testBinary(t)}
			var r Receipt
			within(t, 10*time.Second, func() { r = run(t, g) })
			wantVerdict(t, r, Passed)
			if left := readPIDs(t, filepath.Join(g.Dir, "pids")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if left := carriers(t, g.RunID); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if text := readLog(t, g.Log); name != "floods the pipe" && text != "done\n" {
				t.Errorf("log %q", text)
			}
			if !strings.Contains(r.Reason, "left behind") {
				t.Errorf("reason %q", r.Reason)
			}
		})
	}
}

// A process that only needs a moment to finish has it.
func TestLeftBehindFinishes(t *testing.T) {
	t.Parallel()
	g := newGate(t, "(sleep 0.03; echo late) & echo early")
	r := run(t, g)
	if got := readLog(t, g.Log); got != "early\nlate\n" || r.Reason != "" {
		t.Errorf("log %q, %+v", got, r)
	}
}

// What is left behind has less time than a gate that is ended.
func TestLeftBehindGrace(t *testing.T) {
	t.Parallel()
	g := newGate(t, "(trap '' TERM; exec sleep 1000) & exit 0")
	g.Grace = 100 * time.Second
	within(t, 20*time.Second, func() { wantVerdict(t, run(t, g), Passed) })
}

// A deadline loses nothing that is in the pipe already.
func TestSweep(t *testing.T) {
	t.Parallel()
	pipe, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer stdout.Close() // open all the time: no end of file
	s := supervision{pipe: pipe, out: newOutput(nil, 0)}
	holds := s.widenPipe()
	if err := pipe.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := stdout.Write(make([]byte, holds)); n != holds || err != nil {
		t.Fatalf("the pipe takes %d of %d: %v", n, holds, err)
	}
	s.drain()
	s.sweep(holds)
	if s.out.bytes != int64(holds) {
		t.Errorf("took %d of %d", s.out.bytes, holds)
	}
	s.sweep(holds)
}

// What the shell printed last is kept, although somebody else floods the pipe
// and does not let it run dry.
func TestLastWords(t *testing.T) {
	t.Parallel()
	g := newGate(t, "(trap '' TERM; exec yes) & sleep 0.01; printf '<last words>'; exit 3")
	g.MaxLog = 256 << 20
	r := run(t, g)
	wantVerdict(t, r, Failed)
	if !strings.Contains(readLog(t, g.Log), "<last words>") {
		t.Errorf("they are not in the log: %+v", r)
	}
}

// A process that cannot be found holds the pipe: it is let go, not waited for.
func TestStrangerHoldsThePipe(t *testing.T) {
	t.Parallel()
	g := newGate(t, "env -i setsid sh -c 'echo $$ >pids; while :; do echo x; sleep 0.02; done' & until [ -s pids ]; do sleep 0.01; done; exit 3")
	within(t, 10*time.Second, func() { wantVerdict(t, run(t, g), Failed) })
	// A write to the pipe without a reader has ended it meanwhile, if the
	// shell did not take the signal otherwise; the clean-up of the test ends it
	// in any case.
	readPIDs(t, filepath.Join(g.Dir, "pids"))
}

// Processes that fork while they are being killed are all ended.
func TestForkStorm(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"one that forks": "setsid sh -c 'trap \"\" TERM; while :; do setsid sleep 1000 & sleep 0.01; done' >/dev/null 2>&1 & sleep 0.3",
		// Each process starts its successor in a session of its own and ends.
		"a chain": "cat >hop <<'EOF'\ntrap '' TERM\nsleep 0.02\nsetsid sh ./hop &\nEOF\nsetsid sh ./hop >/dev/null 2>&1 & sleep 0.3",
		"three chains": "cat >hop <<'EOF'\ntrap '' TERM\nsetsid sh ./hop &\nEOF\n" +
			"for i in 1 2 3; do setsid sh ./hop >/dev/null 2>&1 & done; sleep 0.3",
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, command)
			within(t, 20*time.Second, func() { wantVerdict(t, run(t, g), Passed) })
			time.Sleep(50 * time.Millisecond)
			if left := carriers(t, g.RunID); len(left) > 0 {
				t.Errorf("left: %v", left)
				_, _ = EndRun(g.RunID)
			}
		})
	}
}

// start runs a gate beside the test and waits until its processes are there.
func startBeside(t *testing.T, g Gate, n int) (live []process, wait func() Receipt) {
	t.Helper()
	var r Receipt
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() { r, _ = Run(ctx, g) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	live = awaitPIDs(t, filepath.Join(g.Dir, "pids"), n)
	return live, func() Receipt { wg.Wait(); return r }
}

func TestEndRunSparesOtherRuns(t *testing.T) {
	t.Parallel()
	const command = "setsid sh -c 'echo $$ >>pids; exec sleep 1000' & echo $$ >>pids; wait"
	mine, other := newGate(t, command), newGate(t, command)
	// An id that begins or ends like the other, or is mentioned, is another.
	other.RunID = mine.RunID + "0"
	other.Extra = []string{"NOTE=TEAMS_GATE=" + mine.RunID, "XTEAMS_GATE=" + mine.RunID}
	myLive, wait := startBeside(t, mine, 2)
	otherLive, _ := startBeside(t, other, 2)
	ended, err := EndRun(mine.RunID)
	if err != nil || ended != 2 {
		t.Errorf("ended %d, %v", ended, err)
	}
	wantGone(t, myLive)
	if r := wait(); r.Verdict != Killed || r.Signal != "SIGTERM" {
		t.Errorf("got %+v", r)
	}
	for _, p := range otherLive {
		if !isAlive(p) {
			t.Errorf("process %d of another run is gone", p.pid)
		}
	}
}

func TestEndRunKills(t *testing.T) {
	t.Parallel()
	g := newGate(t, "trap '' TERM; setsid sh -c 'echo $$ >>pids; while :; do sleep 1; done' & echo $$ >>pids; while :; do sleep 1; done")
	live, wait := startBeside(t, g, 2)
	hunt := newHunt(g.RunID)
	// EndRun itself, without its 5 s.
	if ended, err := hunt.end(0, 200*time.Millisecond); err != nil || ended < 2 {
		t.Errorf("ended %d, %v", ended, err)
	}
	wantGone(t, live)
	if r := wait(); r.Verdict != Killed || r.Signal != "SIGKILL" {
		t.Errorf("got %+v", r)
	}
}

// A stopped process outside the session gets to its SIGTERM.
func TestEndRunStopped(t *testing.T) {
	t.Parallel()
	g := newGate(t, "setsid sh -c 'trap \"echo ended; exit\" TERM; echo $$ >>pids; kill -STOP $$; sleep 1000' & wait; sleep 0.2")
	g.Grace = 100 * time.Second
	live, wait := startBeside(t, g, 1)
	for p := live[0]; !p.stopped; p, _ = lookup(p.pid) {
		time.Sleep(time.Millisecond)
	}
	h := newHunt(g.RunID)
	h.send(live[0], false)
	wait()
	if got := readLog(t, g.Log); got != "ended\n" {
		t.Errorf("log %q", got)
	}
}

func TestEndRunOfNothing(t *testing.T) {
	t.Parallel()
	if ended, err := EndRun(newRunID()); ended != 0 || err != nil {
		t.Errorf("ended %d, %v", ended, err)
	}
	for _, id := range []string{"", " ", "a\x00b", "a=b", "a\n"} {
		if _, err := EndRun(id); errs.CodeOf(err) != errs.Usage {
			t.Errorf("EndRun(%q): %v", id, err)
		}
	}
}

// The process that calls EndRun is spared even when it carries the id.
func TestEndRunSparesItself(t *testing.T) {
	t.Parallel()
	id := newRunID()
	sleeper := exec.Command("sleep", "1000")
	sleeper.Env = append(os.Environ(), "TEAMS_GATE="+id)
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = sleeper.Wait(); close(done) }()
	answer := runHelper(t, helperCmd(t, "end", "TEAMS_GATE="+id, "VERIFY_TEST_RUN="+id))
	if answer.Ended != 1 || answer.Err != "" {
		t.Errorf("got %+v", answer)
	}
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Error("the other one lives")
		_ = sleeper.Process.Kill()
	}
}

// A process of another user cannot be read and is no reason to fail.
func TestEndRunAsSomebodyElse(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	id := newRunID()
	sleeper := exec.Command("sleep", "1000")
	sleeper.Env = []string{"TEAMS_GATE=" + id}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	// The test binary may lie where only root can reach it.
	data, err := os.ReadFile(testBinary(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "verify")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "test")
	if err := os.WriteFile(binary, data, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, binary} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := helperCmd(t, "end", "VERIFY_TEST_RUN="+id)
	cmd.Path, cmd.Dir = binary, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	answer := runHelper(t, cmd)
	if answer.Ended != 0 || answer.Err != "" {
		t.Errorf("got %+v", answer)
	}
	if p, ok := lookup(sleeper.Process.Pid); !ok || p.zombie {
		t.Error("it ended a process of root")
	}
}

// The decider is killed while its gate runs: the gate is left, and EndRun ends
// it by its id, and the gate of another decider not.
func TestDeciderKilled(t *testing.T) {
	t.Parallel()
	const command = "setsid sh -c 'trap \"\" HUP; echo $$ >>pids; exec sleep 1000' & sleep 1000 & echo $$ $! >>pids; wait"
	g, other := newGate(t, command), newGate(t, command)
	decider := helperCmd(t, "run", gateEnv(t, g))
	if err := decider.Start(); err != nil {
		t.Fatal(err)
	}
	live := awaitPIDs(t, filepath.Join(g.Dir, "pids"), 3)
	otherLive, _ := startBeside(t, other, 3)
	_ = decider.Process.Kill()
	_ = decider.Wait()
	for _, p := range live {
		if !isAlive(p) {
			t.Fatalf("process %d was to outlive its decider", p.pid)
		}
	}
	ended, err := EndRun(g.RunID)
	if err != nil || ended != 3 {
		t.Errorf("ended %d, %v", ended, err)
	}
	wantGone(t, live)
	for _, p := range otherLive {
		if !isAlive(p) {
			t.Errorf("process %d of another run is gone", p.pid)
		}
	}
	if ended, err := EndRun(g.RunID); err != nil || ended != 0 {
		t.Errorf("again: ended %d, %v", ended, err)
	}
}

// A number that has been given to another process meanwhile is not signalled.
func TestSignalLooksAgain(t *testing.T) {
	t.Parallel()
	id := newRunID()
	sleeper := exec.Command("sleep", "1000")
	sleeper.Env = append(os.Environ(), "TEAMS_GATE="+id)
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	p, ok := lookup(sleeper.Process.Pid)
	if !ok {
		t.Fatal("not found")
	}
	for name, try := range map[string]struct {
		id   string
		seen process
	}{
		"other start time": {id, process{pid: p.pid, start: p.start - 1}},
		"other run":        {newRunID(), p},
		"older than run":   {id, p},
	} {
		h := newHunt(try.id)
		if name == "older than run" {
			h.since = p.start + 1
		}
		h.signal(try.seen, unix.SIGKILL)
		if len(h.signaled) > 0 || !isAlive(p) {
			t.Errorf("%s: signalled", name)
		}
	}
	newHunt(id).signal(p, unix.SIGKILL)
	if _ = sleeper.Wait(); isAlive(p) {
		t.Error("the right one was not signalled")
	}
}

func TestHasEntry(t *testing.T) {
	t.Parallel()
	const entry = "TEAMS_GATE=ab"
	for block, want := range map[string]bool{
		"":                                     false,
		"TEAMS_GATE=ab":                        true,
		"TEAMS_GATE=ab\x00":                    true,
		"A=1\x00TEAMS_GATE=ab\x00B=2\x00":      true,
		"TEAMS_GATE=abc\x00":                   false,
		"XTEAMS_GATE=ab\x00":                   false,
		"A=TEAMS_GATE=ab\x00":                  false,
		"TEAMS_GATE=a\x00b\x00":                false,
		"TEAMS_GATE=abTEAMS_GATE=ab\x00":       false,
		"TEAMS_GATE=abc\x00TEAMS_GATE=ab":      true,
		"A=TEAMS_GATE=ab\x00TEAMS_GATE=ab\x00": true,
	} {
		if got := hasEntry([]byte(block), []byte(entry)); got != want {
			t.Errorf("hasEntry(%q) = %v", block, got)
		}
	}
}

// The environment of a process is found however long it is.
func TestEndRunLargeEnvironment(t *testing.T) {
	t.Parallel()
	id := newRunID()
	sleeper := exec.Command("sleep", "1000")
	for i := range 10 {
		sleeper.Env = append(sleeper.Env, fmt.Sprintf("PAD%d=%s", i, strings.Repeat("x", 100<<10)))
	}
	sleeper.Env = append(sleeper.Env, "TEAMS_GATE="+id)
	if err := sleeper.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = sleeper.Process.Kill() }()
	go func() { _ = sleeper.Wait() }()
	if ended, err := EndRun(id); ended != 1 || err != nil {
		t.Errorf("ended %d, %v", ended, err)
	}
}
