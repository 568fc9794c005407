package verify

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var long = flag.Bool("long", false, "run longer storms")

// helperKey names what a process made from the test binary should do.
const helperKey = "VERIFY_TEST_HELPER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperKey); mode != "" {
		os.Exit(helper(mode))
	}
	os.Exit(m.Run())
}

// helperAnswer is what a helper prints.
type helperAnswer struct {
	Receipt Receipt
	Ended   int
	Err     string
	PeakKB  int // highest resident size
}

func helper(mode string) int {
	var answer helperAnswer
	var err error
	switch mode {
	case "full-disk":
		if err := mountSmall(os.Getenv("VERIFY_TEST_MOUNT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 77
		}
		fallthrough
	case "run":
		var g Gate
		if err := json.Unmarshal([]byte(os.Getenv("VERIFY_TEST_GATE")), &g); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		answer.Receipt, err = Run(context.Background(), g)
	case "own-group":
		if err := unix.Setpgid(0, 0); err != nil {
			return 1
		}
		time.Sleep(1000 * time.Second)
	case "end":
		answer.Ended, err = EndRun(os.Getenv("VERIFY_TEST_RUN"))
	}
	if err != nil {
		answer.Err = err.Error()
	}
	answer.PeakKB = peakKB()
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		return 1
	}
	return 0
}

// peakKB returns the highest resident size of this process; 0: not known.
func peakKB() int {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(fields[0])
	return n
}

func testBinary(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// helperCmd prepares a process of the test binary.
func helperCmd(t *testing.T, mode string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(testBinary(t))
	cmd.Env = append(os.Environ(), helperKey+"="+mode)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

func runHelper(t *testing.T, cmd *exec.Cmd) helperAnswer {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() == 77 {
			t.Skipf("not to be had here: %v %s", err, stderr.String())
		}
		t.Fatalf("helper: %v\n%s", err, stderr.String())
	}
	var answer helperAnswer
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		t.Fatalf("helper printed %q: %v", stdout.String(), err)
	}
	return answer
}

func gateEnv(t *testing.T, g Gate) string {
	t.Helper()
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	return "VERIFY_TEST_GATE=" + string(text)
}

func newRunID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// newGate returns a gate that runs command in a directory of its own.
func newGate(t *testing.T, command string) Gate {
	t.Helper()
	return Gate{
		Command: command,
		Dir:     t.TempDir(),
		Log:     filepath.Join(t.TempDir(), "gate.log"),
		RunID:   newRunID(),
		Grace:   300 * time.Millisecond,
	}
}

// run runs a gate that must come to a verdict.
func run(t *testing.T, g Gate) Receipt {
	t.Helper()
	r, err := Run(context.Background(), g)
	if err != nil {
		t.Fatalf("Run(%q): %v", g.Command, err)
	}
	return r
}

func wantVerdict(t *testing.T, r Receipt, want Verdict) {
	t.Helper()
	if r.Verdict != want {
		t.Fatalf("verdict %q, want %q: %+v", r.Verdict, want, r)
	}
}

func readLog(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// awaitPIDs waits for a file with n process numbers that processes of a gate
// have written, and sees to it that they are gone after the test.
func awaitPIDs(t *testing.T, path string, n int) []process {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if list := readPIDs(t, path); len(list) >= n {
			return list
		}
	}
	t.Fatalf("no %d process numbers in %s", n, path)
	return nil
}

// readPIDs returns the living processes whose numbers are in a file.
func readPIDs(t *testing.T, path string) []process {
	t.Helper()
	text, _ := os.ReadFile(path)
	var list []process
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		p, ok := lookup(pid)
		if !ok || p.zombie {
			continue
		}
		list = append(list, p)
		t.Cleanup(func() {
			if isAlive(p) {
				_ = unix.Kill(p.pid, unix.SIGKILL)
			}
		})
	}
	return list
}

func isAlive(p process) bool {
	again, ok := lookup(p.pid)
	return ok && !again.zombie && again.start == p.start
}

func wantGone(t *testing.T, list []process) {
	t.Helper()
	for _, p := range list {
		if isAlive(p) {
			t.Errorf("process %d lives", p.pid)
		}
	}
}

// carriers returns the living processes that carry a run id.
func carriers(t *testing.T, runID string) []process {
	t.Helper()
	live, _, err := newHunt(runID).scan(func(process) {})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// within fails the test when f takes so long that something hangs.
func within(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	begin := time.Now()
	f()
	if took := time.Since(begin); took > limit {
		t.Errorf("took %v, more than %v", took, limit)
	}
}
