package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// The variables that set the clocks of teams-clock apart from the real ones.
const (
	wallEnv = "TEAMS_TEST_WALL" // a duration added to the wall clock
	bootEnv = "TEAMS_TEST_BOOT" // a duration added to the boot clock
	idEnv   = "TEAMS_TEST_BOOTID"
)

// clockMain is the command under other clocks.
func clockMain() {
	offset := func(name string) time.Duration {
		if os.Getenv(name) == "" {
			return 0
		}
		d, err := time.ParseDuration(os.Getenv(name))
		if err != nil {
			fmt.Fprintln(os.Stderr, name, err)
			os.Exit(99)
		}
		return d
	}
	wall, boot := offset(wallEnv), offset(bootEnv)
	real, err := fsx.BootClock()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	begin := time.Now()
	fsx.SetNow(func() time.Time { return time.Now().Add(wall) })
	fsx.SetBootClock(func() (time.Duration, error) { return real + boot + time.Since(begin), nil })
	if id := os.Getenv(idEnv); id != "" {
		fsx.SetBootID(id)
	}
	main()
}

// clocks is a session whose commands run under clocks that the test sets.
type clocks struct {
	t          *testing.T
	dir        string
	wall, boot time.Duration
	bootID     string
}

func newClocks(t *testing.T) *clocks {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "app", ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &clocks{t: t, dir: dir}
}

// pass lets time pass on both clocks.
func (c *clocks) pass(d time.Duration) { c.wall, c.boot = c.wall+d, c.boot+d }

// run runs one command and returns its output and exit code.
func (c *clocks) run(args ...string) (string, int) {
	c.t.Helper()
	cmd := exec.Command("teams-clock", args...)
	cmd.Dir = filepath.Join(c.dir, "app")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "TEAMS_ROOT=" + filepath.Join(c.dir, "root"), "GORACE=atexit_sleep_ms=0",
		wallEnv + "=" + c.wall.String(), bootEnv + "=" + c.boot.String(), idEnv + "=" + c.bootID,
	}
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		c.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (c *clocks) exits(code int, args ...string) string {
	c.t.Helper()
	out, got := c.run(args...)
	if got != code {
		c.t.Fatalf("wall %v, boot %v: teams %s: exit %d, want %d\n%s", c.wall, c.boot, strings.Join(args, " "), got, code, out)
	}
	return out
}

// state is the state of a task.
func (c *clocks) state(id string) string {
	c.t.Helper()
	var v struct {
		Data struct{ Task struct{ State string } }
	}
	if err := json.Unmarshal([]byte(c.exits(0, "task", "show", id, "--json")), &v); err != nil {
		c.t.Fatal(err)
	}
	return v.Data.Task.State
}

// states checks the states of several tasks.
func (c *clocks) states(want string, ids ...string) {
	c.t.Helper()
	for _, id := range ids {
		if got := c.state(id); got != want {
			c.t.Errorf("wall %v, boot %v: %s is %s, want %s", c.wall, c.boot, id, got, want)
		}
	}
}

const day = 24 * time.Hour

// TestLeaseClock sets the wall clock a day ahead and back under claims with a
// lease: none lapses by that, and each ends when its time has really passed.
func TestLeaseClock(t *testing.T) {
	t.Parallel()
	for _, first := range []time.Duration{day, -day} {
		c := newClocks(t)
		var ids []string
		for i := range 4 {
			id := fmt.Sprintf("t_%d", i+1)
			c.exits(0, "task", "add", "task")
			c.exits(0, "claim", id, "--as", fmt.Sprintf("w%d", i+1), "--lease", fmt.Sprintf("%dm", 60+i))
			ids = append(ids, id)
		}
		c.exits(0, "tick")
		for _, step := range []time.Duration{first, -first, -first, first} {
			c.wall += step
			c.exits(0, "tick")
			c.states("claimed", ids...)
			c.exits(4, "claim", "t_1", "--as", "other")
		}
		// One is renewed while the clock is wrong; the others are not.
		c.wall += first
		c.pass(50 * time.Minute)
		c.exits(0, "renew", "t_4", "--as", "w4")
		c.wall -= first
		c.exits(0, "tick")
		c.states("claimed", ids...)
		c.pass(15 * time.Minute)
		c.exits(0, "tick")
		c.states("ready", ids[:3]...)
		c.states("claimed", "t_4")
		c.exits(4, "submit", "t_1", "--as", "w1")
		c.pass(50 * time.Minute)
		// Without a tick: whoever wants it sees that the lease is over.
		c.exits(0, "claim", "t_4", "--as", "other")
		if out := c.exits(0, "doctor"); strings.Contains(out, "error") {
			t.Error(out)
		}
	}
}

// TestLeaseReboot starts the machine anew under a lease, with its clock right
// or a day off: the lease is measured by the wall clock then, and lasts at most
// its length.
func TestLeaseReboot(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{0, -day} {
		c := newClocks(t)
		c.bootID = "boot-1"
		c.exits(0, "task", "add", "task")
		c.exits(0, "claim", "t_1", "--as", "ann", "--lease", "1h")
		c.exits(0, "tick")
		c.pass(10 * time.Minute)
		c.bootID, c.boot = "boot-2", -day // another boot clock, of which nothing follows
		c.wall += off
		c.exits(0, "tick")
		c.states("claimed", "t_1")
		c.pass(40 * time.Minute)
		c.exits(0, "tick")
		c.states("claimed", "t_1")
		c.pass(25 * time.Minute)
		c.exits(0, "tick")
		c.states("ready", "t_1")
	}
	// A shell of before is gone with the boot; one without a process is not
	// known to be.
	c := newClocks(t)
	c.bootID = "boot-1"
	c.exits(0, "task", "add", "held by a process")
	c.exits(0, "task", "add", "held by nobody knows whom")
	c.exits(0, "join", "ann", "--pid", fmt.Sprint(os.Getpid()))
	out := c.exits(0, "env", "ann", "--json")
	var v struct{ Data struct{ SpawnID string } }
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("teams-clock", "claim", "t_1")
	cmd.Dir = filepath.Join(c.dir, "app")
	cmd.Env = []string{"HOME=" + c.dir, "TEAMS_ROOT=" + filepath.Join(c.dir, "root"), idEnv + "=boot-1", "TEAMS_NAME=ann", "TEAMS_SPAWN=" + v.Data.SpawnID}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.exits(0, "claim", "t_2", "--as", "bob")
	c.exits(0, "tick")
	c.states("claimed", "t_1", "t_2")
	c.bootID = "boot-2"
	c.exits(0, "tick")
	c.states("ready", "t_1")
	c.states("claimed", "t_2")
}

// TestBackoffClock sets the clock under a back-off: it lasts what it lasts,
// counted anew at most once when the clock went back.
func TestBackoffClock(t *testing.T) {
	t.Parallel()
	fail := func(c *clocks) {
		c.exits(0, "claim", "t_1", "--as", "ann")
		c.exits(0, "submit", "t_1", "--as", "ann", "--failed")
		c.states("waiting", "t_1")
	}
	// Made a day ahead, then the clock is set right.
	c := newClocks(t)
	c.wall = day
	c.exits(0, "task", "add", "task")
	fail(c)
	c.wall = 0
	c.states("waiting", "t_1")
	c.exits(2, "claim", "t_1", "--as", "bob")
	c.exits(0, "tick")
	c.states("waiting", "t_1")
	c.pass(20 * time.Second)
	c.exits(0, "tick") // counting anew with each look would never end
	c.states("waiting", "t_1")
	c.exits(2, "claim", "--as", "bob")
	c.pass(15 * time.Second)
	c.states("ready", "t_1")
	c.exits(0, "claim", "--as", "bob")

	// Made today, then the clock goes a day back, and no tick runs.
	c = newClocks(t)
	c.exits(0, "task", "add", "task")
	fail(c)
	c.wall = -day
	c.exits(2, "claim", "--as", "bob") // this folds
	c.pass(35 * time.Second)
	c.exits(0, "claim", "--as", "bob")

	// A day ahead it is over, and stays so.
	c = newClocks(t)
	c.exits(0, "task", "add", "task")
	fail(c)
	c.wall = day
	c.states("ready", "t_1")
	c.exits(0, "claim", "--as", "bob")
	c.wall = 0
	c.exits(0, "tick")
	c.states("claimed", "t_1")
	c.exits(0, "submit", "t_1", "--as", "bob", "--failed")
	c.pass(40 * time.Second)
	c.states("waiting", "t_1") // the second back-off is a minute
	c.pass(25 * time.Second)
	c.states("ready", "t_1")
}

// TestHistoryClock writes history under clocks that go to and fro: the order
// is that of the events, and nothing is lost.
func TestHistoryClock(t *testing.T) {
	t.Parallel()
	c := newClocks(t)
	for i, wall := range []time.Duration{0, day, -day, 0, 2 * day, -2 * day} {
		c.wall = wall
		id := fmt.Sprintf("t_%d", i+1)
		if out := c.exits(0, "task", "add", "task", "-q"); strings.TrimSpace(out) != id {
			t.Errorf("%s, want %s", out, id)
		}
		c.exits(0, "claim", id, "--as", "ann")
		c.exits(0, "submit", id, "--as", "ann")
		c.exits(0, "tick")
	}
	c.wall = 0
	out := c.exits(0, "log", "--json")
	var v struct {
		Data struct {
			Events []struct {
				Rev         int
				Event, Task string
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	last := 0
	var seen []string
	for _, e := range v.Data.Events {
		if e.Rev < last {
			t.Errorf("revision %d after %d", e.Rev, last)
		}
		last = e.Rev
		if e.Task != "" {
			seen = append(seen, e.Task+" "+e.Event)
		}
	}
	var want []string
	for i := range 6 {
		for _, event := range []string{"added", "claimed", "completed"} {
			want = append(want, fmt.Sprintf("t_%d %s", i+1, event))
		}
	}
	if strings.Join(seen, ", ") != strings.Join(want, ", ") {
		t.Errorf("events %v", seen)
	}
	// What was completed "tomorrow" is not old, what was completed the day
	// before yesterday is.
	if out := c.exits(0, "gc", "--older-than", "36h", "-q"); strings.TrimSpace(out) != "t_6" {
		t.Errorf("archived: %q", out)
	}
	if out := c.exits(0, "doctor"); strings.Contains(out, "error") {
		t.Error(out)
	}
}
