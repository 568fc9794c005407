package inbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

var long = flag.Bool("long", false, "run the storms for longer")

// patience bounds waits that only end when something is broken.
const patience = 60 * time.Second

// TestMain runs the test binary as one of the other processes of a test when
// INBOX_HELPER says so.
func TestMain(m *testing.M) {
	if mode := os.Getenv("INBOX_HELPER"); mode != "" {
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
	b := at(args[0])
	number := func(i int) int { n, _ := strconv.Atoi(args[i]); return n }
	switch mode {
	case "ids": // dir, sender, times: under a clock that steps back and forth
		steps := 0
		fsx.SetNow(func() time.Time {
			steps++
			return time.Now().Add(time.Duration(steps%7-3) * time.Hour)
		})
		for range number(3) {
			id, _, err := NextID(context.Background(), args[1], args[2])
			if err != nil {
				return err
			}
			fmt.Println(id)
		}
		return nil
	case "send": // sender, times
		dir := filepath.Join(args[0], "from", args[1])
		if err := fsx.MkdirAll(args[0], dir); err != nil {
			return err
		}
		for i := range number(2) {
			id, sent, err := NextID(context.Background(), dir, args[1])
			if err != nil {
				return err
			}
			m := message(id, args[1], fmt.Sprintf("%s %d", args[1], i))
			m.Sent = sent.Format(time.RFC3339Nano)
			if err := b.Publish(m); err != nil {
				return err
			}
		}
		return nil
	case "receive": // until stdin ends and nothing is left: prints id and body
		ended := make(chan struct{})
		go func() { io.Copy(io.Discard, os.Stdin); close(ended) }()
		w := b.Watch(20 * time.Millisecond)
		defer w.Close()
		for {
			last := false
			select {
			case <-ended:
				last = true
			default:
			}
			n, problems, err := b.Receive(Receiving{Show: func(m *Message) error {
				_, err := fmt.Printf("%s %s\n", m.ID, m.Body)
				return err
			}})
			if err = errors.Join(append(problems, err)...); err != nil {
				return err
			}
			if last && n == 0 {
				return nil
			}
			if n == 0 {
				select {
				case <-w.C:
				case <-ended:
				case <-time.After(20 * time.Millisecond):
				}
			}
		}
	case "hang": // shows one message and waits
		_, _, err := b.Receive(Receiving{Show: func(m *Message) error {
			fmt.Println(m.ID)
			_, err := io.Copy(io.Discard, os.Stdin)
			return err
		}})
		return err
	case "flip": // id, times
		for i := range number(2) {
			f := b.Mark
			if i%2 == 1 {
				f = b.Unread
			}
			if err := f(args[1]); err != nil {
				return err
			}
		}
		return nil
	case "once": // key, id
		id, first, err := b.PublishOnce(filepath.Join(args[0], "noticed"), args[1], message(args[2], "harness", "told once"))
		fmt.Println(id, first)
		return err
	case "die": // n, what, argument: do it, killed before the n-th system call
		n := number(1)
		printTo = os.Stdout
		fsx.SetFault(func(fsx.Op, string) error {
			if n--; n == 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return nil
		})
		return operation(b, args[2], args[3])
	}
	return platformHelper(mode, args)
}

// printTo is where operations show messages: the output of a helper.
var printTo io.Writer = io.Discard

// operation is one of the things that tests interrupt at every step.
func operation(b *Box, what, id string) error {
	switch what {
	case "publish":
		return b.Publish(message(id, "ann", "hello"))
	case "once":
		_, _, err := b.PublishOnce(filepath.Join(b.root, "noticed"), "key", message(id, "harness", "hello"))
		return err
	case "mark":
		return b.Mark(id)
	case "unread":
		return b.Unread(id)
	case "trymark":
		_, err := b.TryMark(id)
		return err
	case "withdraw":
		_, err := b.Withdraw(id)
		return err
	case "receive", "receiveall":
		show := func(m *Message) error { fmt.Fprintln(printTo, m.ID); return nil }
		var problems []error
		var err error
		if what == "receive" {
			_, problems, err = b.Receive(Receiving{Show: show})
		} else {
			_, problems, err = b.ReceiveAll(Receiving{}, func(list []*Message) error {
				for _, m := range list {
					show(m)
				}
				return nil
			})
		}
		return errors.Join(append(problems, err)...)
	case "nextid":
		_, _, err := NextID(context.Background(), b.root, "ann")
		return err
	}
	return fmt.Errorf("no operation %q", what)
}

// at is the mailbox that tests use below a root.
func at(root string) *Box { return Open(root, filepath.Join(root, "teammate", "s", "ann", "inbox")) }

// newBox is an empty mailbox, made without the fsyncs of Create.
func newBox(t testing.TB) *Box {
	t.Helper()
	b := at(t.TempDir())
	for _, read := range []bool{false, true} {
		if err := os.MkdirAll(b.sub(read), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func message(id, from, body string) *Message {
	m := &Message{Body: []byte(body)}
	m.ID, m.From, m.To, m.Kind, m.Title = id, from, "ann", KindMessage, Title(m.Body)
	return m
}

// put is publish without the fsyncs, for tests that need many mailboxes.
func put(t testing.TB, b *Box, read bool, ids ...string) {
	t.Helper()
	for _, id := range ids {
		m := message(id, "bob", id)
		head, err := m.Encode()
		if err == nil {
			err = os.WriteFile(b.file(id, read), append(head, m.Body...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// publish publishes messages that consist of their ids.
func publish(t testing.TB, b *Box, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := b.Publish(message(id, "bob", id)); err != nil {
			t.Fatal(err)
		}
	}
}

// drop puts a file among the unread messages as a person would.
func drop(t testing.TB, b *Box, name, content string) string {
	t.Helper()
	path := filepath.Join(b.sub(false), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// want compares the unread and the read ids.
func want(t testing.TB, b *Box, unread, read string) {
	t.Helper()
	for i, w := range []string{unread, read} {
		ids, err := b.IDs(i == 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(ids, " "); got != w {
			t.Errorf("%s has %q, want %q", filepath.Base(b.sub(i == 1)), got, w)
		}
	}
}

// receive returns the ids that Receive shows.
func receive(t testing.TB, b *Box, r Receiving) (ids []string, problems []error) {
	t.Helper()
	r.Show = func(m *Message) error { ids = append(ids, m.ID); return nil }
	n, problems, err := b.Receive(r)
	if err != nil {
		t.Fatal(err)
	}
	if n != len(ids) {
		t.Errorf("%d shown, told %d", len(ids), n)
	}
	return ids, problems
}

func wantIDs(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func wantNone(t testing.TB, problems []error) {
	t.Helper()
	for _, err := range problems {
		t.Error("problem:", err)
	}
}

// names lists everything in the directories of a mailbox but tmp/.
func names(t testing.TB, b *Box) (all []string) {
	t.Helper()
	for _, read := range []bool{false, true} {
		entries, err := os.ReadDir(b.sub(read))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			all = append(all, filepath.Base(b.sub(read))+"/"+e.Name())
		}
	}
	return all
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

// failing runs op with its n-th system call failing. It answers the call, ""
// when there are fewer.
func failing(n int, fault error, op func()) (call string) {
	restore := fsx.SetFault(func(o fsx.Op, path string) error {
		if n--; n == 0 {
			call = string(o) + " " + filepath.Base(path)
			return fault
		}
		return nil
	})
	defer restore()
	op()
	return call
}

// peer is another process of a test.
type peer struct {
	*exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer
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
	p.Env = append(os.Environ(), "INBOX_HELPER="+mode, "GORACE=atexit_sleep_ms=0")
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stderr = &p.errs
	p.out = bufio.NewReader(out)
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

// line returns the next line that the peer prints.
func (p *peer) line(t testing.TB) string {
	t.Helper()
	timer := time.AfterFunc(patience, func() { p.Process.Kill() })
	defer timer.Stop()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.Wait()
		t.Fatalf("%v ended without an answer: %s", p.Args, p.errs.String())
	}
	return strings.TrimSpace(line)
}

// finish ends the peer's input, expects it to succeed and returns what it
// printed.
func (p *peer) finish(t testing.TB) []string {
	t.Helper()
	lines, err := p.end()
	if err != nil {
		t.Errorf("%v: %v: %s", p.Args[1:], err, p.errs.String())
	}
	return lines
}

func (p *peer) end() ([]string, error) {
	p.in.Close()
	timer := time.AfterFunc(patience, func() { p.Process.Kill() })
	defer timer.Stop()
	out, _ := io.ReadAll(p.out)
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), p.Wait()
}

// killed runs an operation in a process that is killed before its n-th system
// call, and returns what it printed. It answers false when there were fewer.
func killed(t testing.TB, b *Box, n int, what, id string) ([]string, bool) {
	t.Helper()
	p := start(t, "die", b.root, strconv.Itoa(n), what, id)
	lines, err := p.end()
	if err == nil {
		return lines, false
	}
	if p.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%s, step %d: %v: %s", what, n, err, p.errs.String())
	}
	return lines, true
}
