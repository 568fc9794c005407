package team

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

var long = flag.Bool("long", false, "take every step of what is killed at each, not every seventh")

// atStep runs f, and act just before the nth system call that f makes. It says
// whether f made so many.
func atStep(n int64, act, f func()) (reached bool) {
	var calls atomic.Int64
	restore := fsx.SetFault(func(fsx.Op, string) error {
		if calls.Add(1) == n {
			reached = true
			act() // its own calls come out beyond n
		}
		return nil
	})
	defer restore()
	f()
	return reached
}

// errDied is the answer to every system call of a process that is dead.
var errDied = fmt.Errorf("dead: %w", syscall.EIO)

// diesAt runs f in a process that dies, as it were, before its nth system call:
// that one and all later ones do nothing. It says whether f made so many.
func diesAt(n int64, f func()) (died bool) {
	var calls atomic.Int64
	restore := fsx.SetFault(func(fsx.Op, string) error {
		if calls.Add(1) >= n {
			return errDied
		}
		return nil
	})
	defer restore()
	f()
	return calls.Load() >= n
}

// eachStep calls one for n = 1, 2, … until it says that there was no step n.
func eachStep(t *testing.T, one func(t *testing.T, n int64) (more bool)) {
	t.Helper()
	for n := int64(1); one(t, n); n++ {
		if t.Failed() {
			t.Fatalf("at step %d", n)
		}
		if n > 1000 {
			t.Fatal("no end")
		}
	}
}

// bare makes a shell of which no process is known.
func (t *Team) bare(tt *testing.T, name string) Identity {
	tt.Helper()
	return identityOf(must(t.Join(tt.Context(), JoinRequest{Name: name}))(tt))
}

// takeOver gives a name a new life, whatever it has.
func (t *Team) takeOver(tt *testing.T, name string) Identity {
	tt.Helper()
	return identityOf(must(t.Join(tt.Context(), JoinRequest{Name: name, Takeover: true}))(tt))
}

var theLeader = Identity{Name: LeaderName, Leader: true}

// send sends text, which must go well, and returns the message.
func (t *Team) send(tt *testing.T, from Identity, to, text string) *inbox.Message {
	tt.Helper()
	return t.sendWith(tt, SendRequest{From: from, To: []string{to}, Body: []byte(text)})
}

func (t *Team) sendWith(tt *testing.T, r SendRequest) *inbox.Message {
	tt.Helper()
	sent, err := t.Send(tt.Context(), r)
	if err != nil || len(sent) != 1 {
		tt.Fatalf("send %+v: %v, %v", r, sent, err)
	}
	return sent[0].Message
}

// recv receives all mail of a caller and returns it as lines.
func (t *Team) recv(tt *testing.T, who Identity) []string {
	tt.Helper()
	var got []string
	_, _, problems, err := t.Receive(tt.Context(), ReceiveRequest{Who: who, Show: func(m *inbox.Message) error {
		got = append(got, line(m))
		return nil
	}})
	if err != nil || len(problems) > 0 {
		tt.Fatalf("receive of %s: %v, %v", who.Name, problems, err)
	}
	return got
}

// line is a message in short: sender, event, first line.
func line(m *inbox.Message) string {
	return strings.Join(slices.DeleteFunc([]string{m.From, m.Event, inbox.Title(m.Body)}, func(s string) bool { return s == "" }), " ")
}

// lines are the messages that a listing has, in short.
func titles(list []*inbox.Message) []string {
	var out []string
	for _, m := range list {
		out = append(out, strings.TrimSpace(m.From+" "+m.Title))
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// matching counts the lines that contain a text.
func matching(list []string, text string) (n int) {
	for _, s := range list {
		if strings.Contains(s, text) {
			n++
		}
	}
	return n
}

// inParallel runs f n times at once.
func inParallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// Every system call is one step, and whatever f does after its death is undone.
func TestDiesAt(t *testing.T) {
	team := newTeam(t)
	if !diesAt(3, func() { _, err := team.EnsureSession(); wantDied(t, err) }) {
		t.Error("EnsureSession makes fewer than three calls")
	}
	if _, err := team.ReadSession(); err == nil {
		t.Error("a dead process has made a session")
	}
	must(team.EnsureSession())(t)
}

func wantDied(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("error %v, want that of the dead", err)
	}
}

func background() context.Context { return context.Background() }
