package verify

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// How the shell finds itself: session, group, descriptors.
func TestSetup(t *testing.T) {
	t.Parallel()
	g := newGate(t, `echo $$; cat /proc/$$/stat; readlink /proc/$$/fd/0; grep flags /proc/$$/fdinfo/1`)
	wantVerdict(t, run(t, g), Passed)
	lines := strings.Split(strings.TrimSpace(readLog(t, g.Log)), "\n")
	if len(lines) != 4 {
		t.Fatalf("log %q", lines)
	}
	pid, stat := lines[0], strings.Fields(lines[1])
	if stat[4] != pid || stat[5] != pid {
		t.Errorf("shell %s has group %s and session %s", pid, stat[4], stat[5])
	}
	if ppid := strconv.Itoa(os.Getpid()); stat[3] != ppid {
		t.Errorf("parent %s, want %s", stat[3], ppid)
	}
	if lines[2] != "/dev/null" {
		t.Errorf("stdin is %s", lines[2])
	}
	flags, err := strconv.ParseInt(strings.Fields(lines[3])[1], 8, 64)
	if err != nil || flags&unix.O_NONBLOCK != 0 {
		t.Errorf("%q: stdout does not block (%v)", lines[3], err)
	}
}

// A gate has no descriptors but its own three and those that this process was
// given itself.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	g := newGate(t, "echo $$ >pids; exec sleep 1000")
	live, _ := startBeside(t, g, 1)
	for comm := ""; comm != "sleep\n"; {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", live[0].pid))
		if err != nil {
			t.Fatal(err)
		}
		comm = string(text)
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", live[0].pid))
	if err != nil || len(entries) < 3 {
		t.Fatalf("%d descriptors, %v", len(entries), err)
	}
	for _, entry := range entries {
		fd, _ := strconv.Atoi(entry.Name())
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); fd > 2 && (err != nil || flags&unix.FD_CLOEXEC != 0) {
			t.Errorf("descriptor %d is open in the gate (%v)", fd, err)
		}
	}
}

// Runs leave no descriptor open and no child unreaped. Not parallel: it counts
// what is of the whole process.
func TestNoLeaks(t *testing.T) {
	count := func() (fds, children int) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		pids, err := processIDs()
		if err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())) {
				children++
			}
		}
		return len(entries), children
	}
	once := func() {
		run(t, newGate(t, "sleep 1000 & exit 1"))
		slow := newGate(t, "sleep 1000")
		slow.Timeout = 1
		run(t, slow)
		none := newGate(t, "true")
		none.Dir = "/no/such/directory"
		run(t, none)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, _ = Run(ctx, newGate(t, "true"))
	}
	once()
	fds, children := count()
	for range 4 {
		once()
	}
	if f, c := count(); f > fds || c > children {
		t.Errorf("descriptors %d -> %d, children %d -> %d", fds, f, children, c)
	}
}

// The numbers that say who is young follow each process that is started.
func TestLastPID(t *testing.T) {
	before, ok := lastPID()
	if !ok {
		t.Skip("not known here")
	}
	g := newGate(t, "echo $$")
	run(t, g)
	pid, err := strconv.Atoi(strings.TrimSpace(readLog(t, g.Log)))
	if err != nil {
		t.Fatal(err)
	}
	after, _ := lastPID()
	if after >= before && (pid <= before || pid > after) {
		t.Errorf("%d is not above %d and at most %d", pid, before, after)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	p, ok := lookup(os.Getpid())
	group, _ := unix.Getpgid(0)
	session, _ := unix.Getsid(0)
	if !ok || p.pid != os.Getpid() || p.group != group || p.session != session || p.start == 0 || p.zombie || p.kernel {
		t.Errorf("got %+v, want group %d and session %d", p, group, session)
	}
	if !isLeader(os.Getpid()) {
		t.Error("this process is taken for a thread")
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if tid, _ := strconv.Atoi(task.Name()); tid != os.Getpid() && isLeader(tid) {
			t.Errorf("thread %d is taken for a process", tid)
		}
	}
	if _, ok := lookup(1 << 30); ok {
		t.Error("found a process that cannot be")
	}
}
