package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watchesEnv makes the test binary a program that takes all the inotify
// instances that its user may have, says so, and waits for the end of its input.
const watchesEnv = "TEAMS_E2E_WATCHES"

func init() {
	if os.Getenv(watchesEnv) == "" {
		return
	}
	n := 0
	for ; n < 1<<16; n++ {
		if _, err := unix.InotifyInit1(unix.IN_CLOEXEC); err != nil {
			break
		}
	}
	fmt.Println(n)
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

// TestWaitByPolling takes all inotify instances away: recv --wait says once that
// it polls, and gets its mail all the same.
func TestWaitByPolling(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can use up what belongs to a user that nobody else is")
	}
	s := newSite(t)
	s.ok("join", "ann", "-q")
	s.ok("join", "bob", "-q")
	const uid = 61234
	s.giveTo(uid)
	user := *s.with("TEAMS_POLL=20ms")
	user.uid = uid

	// The test binary lies where the user may not go.
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := s.base + "/watches"
	// Copied by another process: a descriptor of this one, open for writing, could
	// be inherited by a process that another test starts, and keep it from being run.
	if out, err := exec.Command("cp", exe, program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := user.command(program)
	cmd.Env = append(cmd.Env, watchesEnv+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	hog := start(t, cmd)
	defer func() { in.Close(); hog.kill() }()
	line := make([]byte, 32)
	k, err := out.Read(line)
	if n, aerr := strconv.Atoi(strings.TrimSpace(string(line[:k]))); err != nil || aerr != nil || n < 8 || n == 1<<16 {
		t.Skipf("the limit on inotify instances cannot be reached: %q", line[:k])
	}

	ann, bob := user.as("ann"), user.as("bob")
	for _, who := range []*site{bob, &user} {
		p := who.start("recv", "--wait", "--timeout", "30s")
		if p.ended(1500 * time.Millisecond) { // many polls, and a look after the second
			t.Fatalf("%s", p.wait())
		}
		ann.send(map[bool]string{true: "bob", false: "leader"}[who == bob], "at last")
		if r := p.wait(); r.code != 0 || !strings.Contains(r.out, "at last") || strings.Count(r.err, "looked at every 20ms") != 1 || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s", r)
		}
	}
	if r := bob.run("recv", "--wait", "--timeout", "100ms", "--json"); r.code != 124 || !json.Valid([]byte(r.out)) || strings.Count(r.err, "looked at every") != 1 {
		t.Errorf("%s", r)
	}
}
