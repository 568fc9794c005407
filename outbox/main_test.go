package outbox

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

var long = flag.Bool("long", false, "run the storms for longer")

// patience bounds waits that only end when something is broken.
const patience = 60 * time.Second

// TestMain runs the test binary as one of the other processes of a test when
// OUTBOX_HELPER says so.
func TestMain(m *testing.M) {
	if mode := os.Getenv("OUTBOX_HELPER"); mode != "" {
		if err := helper(mode, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, mode+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// helper is what another process does. args[0] is the root.
func helper(mode string, args []string) error {
	o, leader := at(args[0])
	number := func(i int) int { n, _ := strconv.Atoi(args[i]); return n }
	switch mode {
	case "send": // from, to: the numbers of reports
		for i := number(1); i < number(2); i++ {
			if err := o.Send(numbered(i)); err != nil {
				return err
			}
		}
		return nil
	case "drain": // until stdin ends and nothing is left: prints what it did
		ended := make(chan struct{})
		go func() { io.Copy(io.Discard, os.Stdin); close(ended) }()
		for last := false; ; {
			d, err := o.Drain(leader, judge)
			if err = errors.Join(append(d.Problems, err)...); err != nil {
				return err
			}
			for _, m := range d.Delivered {
				fmt.Println("delivered", m.ID)
			}
			for _, m := range d.Rejected {
				fmt.Println("rejected", m.ID)
			}
			for _, id := range d.Dropped {
				fmt.Println("dropped", id)
			}
			if last {
				return nil
			}
			select {
			case <-ended:
				last = true
			default:
			}
		}
	case "die": // n, what, argument: do it, killed before the n-th system call
		n := number(1)
		fsx.SetFault(func(fsx.Op, string) error {
			if n--; n == 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return nil
		})
		switch args[2] {
		case "drain":
			_, err := o.Drain(leader, judge)
			return err
		case "send":
			return o.Send(report(args[3], "ann", "life"))
		}
	}
	return fmt.Errorf("no helper %q", mode)
}

// judge is how tests decide: the reports are ann's, of the present life.
func judge(m *inbox.Message) string {
	switch {
	case m.From != "ann":
		return "it is from " + m.From
	case m.Spawn != "life":
		return "it is of a life that is over"
	}
	return ""
}

// at is the outbox and the leader's mailbox that tests use below a root.
func at(root string) (*Outbox, *inbox.Box) {
	dir := filepath.Join(root, "teammate", "s")
	return Open(root, filepath.Join(dir, "ann", "outbox")), inbox.Open(root, filepath.Join(dir, "leader", "inbox"))
}

func newPair(t testing.TB) (*Outbox, *inbox.Box) {
	t.Helper()
	o, leader := at(t.TempDir())
	if err := errors.Join(o.Create(), leader.Create()); err != nil {
		t.Fatal(err)
	}
	return o, leader
}

// quickPair is newPair without the fsyncs, for tests that need many.
func quickPair(t testing.TB) (*Outbox, *inbox.Box) {
	t.Helper()
	o, leader := at(t.TempDir())
	for _, dir := range []string{"new", "rejected"} {
		if err := os.MkdirAll(filepath.Join(o.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"new", "cur"} {
		if err := os.MkdirAll(filepath.Join(leader.Dir(), dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return o, leader
}

// put is send without the fsyncs. where is a directory of messages.
func put(t testing.TB, where string, list ...*inbox.Message) {
	t.Helper()
	for _, m := range list {
		head, err := m.Encode()
		if err == nil {
			err = os.WriteFile(filepath.Join(where, m.ID+ext), append(head, m.Body...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// mixed is what a drain can meet: reports to deliver and to reject, a copy to
// drop, and what is no report.
func mixed(t testing.TB) (*Outbox, *inbox.Box) {
	t.Helper()
	o, leader := quickPair(t)
	put(t, filepath.Join(leader.Dir(), "new"), report("0", "ann", "life"))
	put(t, filepath.Join(o.dir, "new"), report("0", "ann", "life"), report("1", "ann", "life"), report("2", "ann", "past"), report("4", "ann", "life"))
	if err := os.Mkdir(o.waiting("3"), 0o700); err != nil {
		t.Fatal(err)
	}
	return o, leader
}

func report(id, from, spawn string) *inbox.Message {
	m := &inbox.Message{Body: []byte("report " + id)}
	m.ID, m.From, m.To, m.Kind, m.Spawn, m.Title = id, from, "leader", inbox.KindReport, spawn, "report"
	return m
}

// numbered is the i-th report of a storm; every fifth one is stale.
func numbered(i int) *inbox.Message {
	spawn := "life"
	if i%5 == 4 {
		spawn = "past"
	}
	return report(fmt.Sprintf("%06d", i), "ann", spawn)
}

func send(t testing.TB, o *Outbox, list ...*inbox.Message) {
	t.Helper()
	for _, m := range list {
		if err := o.Send(m); err != nil {
			t.Fatal(err)
		}
	}
}

// drain drains without problems.
func drain(t testing.TB, o *Outbox, leader *inbox.Box) Drained {
	t.Helper()
	d, err := o.Drain(leader, judge)
	if err = errors.Join(append(d.Problems, err)...); err != nil {
		t.Error(err)
	}
	return d
}

func idsOf(list []*inbox.Message) (ids []string) {
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

func wantIDs(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// want compares what waits, what was rejected and what the leader has.
func want(t testing.TB, o *Outbox, leader *inbox.Box, waiting, rejected, unread, read string) {
	t.Helper()
	for _, c := range []struct {
		what, want string
		ids        func() ([]string, error)
	}{
		{"waiting", waiting, o.IDs},
		{"rejected", rejected, o.Rejected},
		{"unread", unread, func() ([]string, error) { return leader.IDs(false) }},
		{"read", read, func() ([]string, error) { return leader.IDs(true) }},
	} {
		ids, err := c.ids()
		if got := strings.Join(ids, " "); got != c.want || err != nil {
			t.Errorf("%s: %q, want %q (%v)", c.what, got, c.want, err)
		}
	}
}

// step runs op, and before the n-th system call that it makes f. It answers
// false when there are fewer.
func step(n int, op func(), f func()) bool {
	count, inside := 0, false
	restore := fsx.SetFault(func(fsx.Op, string) error {
		if inside {
			return nil
		}
		if count++; count == n {
			inside = true
			f()
			inside = false
		}
		return nil
	})
	defer restore()
	op()
	return count >= n
}

// peer is another process of a test.
type peer struct {
	*exec.Cmd
	in        io.WriteCloser
	out, errs bytes.Buffer
}

// start starts a peer; it is killed at the end of the test if it still runs.
func start(t testing.TB, mode string, args ...string) *peer {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{Cmd: exec.Command(exe, args...)}
	// The race detector lets every process sleep for 1 s at its end.
	p.Env = append(os.Environ(), "OUTBOX_HELPER="+mode, "GORACE=atexit_sleep_ms=0")
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	p.Stdout, p.Stderr = &p.out, &p.errs
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.ProcessState == nil {
			p.Process.Kill()
			p.Wait()
		}
	})
	return p
}

// end ends the peer's input and waits for it.
func (p *peer) end() ([]string, error) {
	p.in.Close()
	timer := time.AfterFunc(patience, func() { p.Process.Kill() })
	defer timer.Stop()
	err := p.Wait()
	return strings.FieldsFunc(p.out.String(), func(r rune) bool { return r == '\n' }), err
}

func (p *peer) finish(t testing.TB) []string {
	t.Helper()
	lines, err := p.end()
	if err != nil {
		t.Errorf("%v: %v: %s", p.Args[1:], err, p.errs.String())
	}
	return lines
}

// killed runs something in a process that is killed before its n-th system
// call. It answers false when there are fewer.
func killed(t testing.TB, o *Outbox, n int, what, id string) bool {
	t.Helper()
	p := start(t, "die", o.root, strconv.Itoa(n), what, id)
	_, err := p.end()
	if err == nil {
		return false
	}
	if p.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%s, step %d: %v: %s", what, n, err, p.errs.String())
	}
	return true
}
