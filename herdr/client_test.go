package herdr

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/herdr/herdrtest"
	"github.com/seed6990a682/teams/internal/errs"
)

// quick is a client of the fake with short deadlines.
func quick(s *herdrtest.Server) *Client {
	return &Client{Path: s.Path, First: 100 * time.Millisecond, Retry: 200 * time.Millisecond, Act: 500 * time.Millisecond}
}

// Whatever a socket does, a call ends in time with an error that says so.
func TestEveryBrokenSocket(t *testing.T) {
	faults := map[string]herdrtest.Fault{
		"silent": herdrtest.Silent, "dropped": herdrtest.Drop, "half": herdrtest.Half, "half and open": herdrtest.HalfOpen,
		"no newline": herdrtest.NoNewline, "garbage": herdrtest.Garbage(20), "1 MiB of garbage": herdrtest.Garbage(1 << 20),
		"endless": herdrtest.Endless, "another id": herdrtest.WrongID, "an array": func(c *herdrtest.Call) { c.Write([]byte("[]\n")) },
		"null": func(c *herdrtest.Call) { c.Write([]byte("null\n")) }, "empty lines": func(c *herdrtest.Call) { c.Write([]byte("\n\n\n")) },
		"no protocol": herdrtest.Answer(map[string]any{"type": "pong"}), "another shape": herdrtest.Answer(map[string]any{"protocol": "x"}),
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := herdrtest.New(t)
			s.Fault("", -1, f)
			begin := time.Now()
			_, err := quick(s).Ping(t.Context())
			if !IsUnavailable(err) || errs.Exit(errs.CodeOf(err)) != 1 || !strings.Contains(err.Error(), s.Path) {
				t.Errorf("%v", err)
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
			if n := len(s.Requests("")); n > 2 {
				t.Errorf("%d attempts", n)
			}
		})
	}
}

func TestNoSocket(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(dir, "stale")
	ln, err := net.Listen("unix", stale)
	if err != nil {
		t.Fatal(err)
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	ln.Close()
	for _, path := range []string{filepath.Join(dir, "missing"), file, stale, filepath.Join(dir, strings.Repeat("long/", 60), "sock"), dir} {
		if _, err := New(path).Ping(t.Context()); !IsUnavailable(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A socket whose path is longer than an address can hold is reached all the same.
func TestLongSocketPath(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, strings.Repeat("d", 100), strings.Repeat("e", 100))
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	s := herdrtest.New(t)
	if err := os.Rename(s.Path, filepath.Join(long, "s")); err != nil {
		t.Fatal(err)
	}
	if _, err := New(filepath.Join(long, "s")).Ping(t.Context()); err != nil {
		if _, statErr := os.Stat("/proc/self/fd"); statErr == nil {
			t.Error(err)
		}
	}
}

// One attempt that fails is no failure, and what must not be done twice is not.
func TestRetry(t *testing.T) {
	t.Parallel()
	s := herdrtest.New(t)
	_, _, pane := s.AddWorkspace()
	for _, f := range []herdrtest.Fault{herdrtest.Silent, herdrtest.Drop, herdrtest.Restart, herdrtest.Garbage(3)} {
		s.Fault("pane.get", 1, f)
		if p, err := quick(s).Pane(t.Context(), pane); err != nil || p.ID != pane {
			t.Errorf("%v %v", p, err)
		}
	}
	s.Forget()
	s.Fault("pane.split", 1, herdrtest.Deaf)
	if _, err := quick(s).SplitPane(t.Context(), Split{Target: pane, Direction: "down"}); !IsUnavailable(err) {
		t.Errorf("%v", err)
	}
	if n := len(s.Requests("pane.split")); n != 1 {
		t.Errorf("split was sent %d times", n)
	}
	// An answer, also an error, is not asked for again.
	s.Forget()
	_, err := quick(s).Pane(t.Context(), "w9:p9")
	if CodeOf(err) != CodePaneNotFound || errs.CodeOf(err) != errs.NotFound || !Gone(err) || len(s.Requests("")) != 1 {
		t.Errorf("%v after %d requests", err, len(s.Requests("")))
	}
}

// A restarted server is spoken to as if nothing had been.
func TestRestartBetweenCalls(t *testing.T) {
	t.Parallel()
	s := herdrtest.New(t)
	c := quick(s)
	if _, err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if _, err := c.Ping(t.Context()); !IsUnavailable(err) {
		t.Errorf("%v", err)
	}
	s.Start()
	if _, err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// A context that ends is not herdr's fault.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	s := herdrtest.New(t)
	s.Fault("", -1, herdrtest.Silent)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	if _, err := New(s.Path).Ping(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := New(s.Path).Ping(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestErrorsKeepTheirCode(t *testing.T) {
	t.Parallel()
	s := herdrtest.New(t)
	for code, want := range map[string]errs.Code{
		"pane_not_found": errs.NotFound, "agent_not_found": errs.NotFound, "timeout": errs.TimedOut, "agent_pane_busy": errs.Conflict,
		"agent_name_taken": errs.Conflict, "invalid_metadata_ttl": errs.Failure, "something_new": errs.Failure,
	} {
		s.Behave()
		s.Fault("", -1, herdrtest.Refuse(code, "the \x1b[31mreason"))
		_, err := New(s.Path).Ping(t.Context())
		var e *errs.Error
		if CodeOf(err) != code || errs.CodeOf(err) != want || !errors.As(err, &e) || e.Details["herdr"] != code {
			t.Errorf("%s: %v", code, err)
		}
	}
	// What cannot be read is answered without an id.
	s.Behave()
	if err := New(s.Path).once(t.Context(), time.Second, "no.such", nil, nil); CodeOf(err) != CodeInvalidRequest {
		t.Errorf("%v", err)
	}
	if _, err := New(s.Path).SplitPane(t.Context(), Split{Direction: "down"}); CodeOf(err) != CodeInvalidRequest {
		t.Errorf("a split without a target: %v", err)
	}
	if err := New(s.Path).SendInput(t.Context(), "w1:p1", strings.Repeat("x", 1<<20)); errs.CodeOf(err) != errs.Usage {
		t.Errorf("1 MiB: %v", err)
	}
}

func TestProtocols(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[int]bool{14: false, 16: false, 17: true, 20: true, 22: true, 99: true} {
		s := herdrtest.New(t, func(s *herdrtest.Server) { s.Protocol = protocol })
		c := New(s.Path)
		if got, err := c.modern(t.Context()); got != want || err != nil {
			t.Errorf("%d: %v %v", protocol, got, err)
		}
		if _, err := c.modern(t.Context()); err != nil || len(s.Requests("ping")) != 1 {
			t.Errorf("%d: %v, %d pings", protocol, err, len(s.Requests("ping")))
		}
	}
}

func TestLocate(t *testing.T) {
	env := func(kv ...string) func(string) string {
		return func(name string) string {
			for _, e := range kv {
				if v, ok := strings.CutPrefix(e, name+"="); ok {
					return v
				}
			}
			return ""
		}
	}
	for _, c := range []struct {
		flag string
		env  []string
		want string
		code errs.Code
	}{
		{"/x", []string{"HERDR_SOCKET_PATH=/y"}, "/x", ""},
		{"", []string{"HERDR_SOCKET_PATH=/y", "HERDR_SESSION=s", "HOME=/h"}, "/y", ""},
		{"", []string{"HERDR_SESSION=s", "HOME=/h"}, "/h/.config/herdr/sessions/s/herdr.sock", ""},
		{"", []string{"HERDR_SESSION=default", "HOME=/h"}, "/h/.config/herdr/herdr.sock", ""},
		{"", []string{"XDG_CONFIG_HOME=/c", "HOME=/h"}, "/c/herdr/herdr.sock", ""},
		{"", []string{"HERDR_SESSION=../x", "HOME=/h"}, "", errs.Usage},
		{"", []string{"HERDR_SESSION=" + strings.Repeat("a", 65), "HOME=/h"}, "", errs.Usage},
		{"", nil, "", errs.HerdrUnavailable},
	} {
		got, err := Locate(c.flag, env(c.env...))
		if got != c.want || errs.CodeOf(err) != c.code {
			t.Errorf("%v: %q %v", c, got, err)
		}
	}
	for _, off := range []string{"0", "off", "OFF", "false"} {
		if !Off("", env("TEAMS_HERDR="+off)) || Off("auto", env("TEAMS_HERDR="+off)) || !Off(off, env()) {
			t.Error(off)
		}
	}
	if Off("", env()) || FindHere(env()).Inside() || !FindHere(env("HERDR_PANE_ID=w1:p1")).Inside() {
		t.Error("the feature flag")
	}
	if got := Scrub([]string{"A=1", "HERDR_PANE_ID=x", "HERDR_ENV=1", "B=2"}); strings.Join(got, " ") != "A=1 B=2" {
		t.Error(got)
	}
}

// Both spellings of an event are one name; what is told of things that are gone,
// and what is lost, is for the reader to check.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := herdrtest.New(t)
	_, _, pane := s.AddWorkspace()
	s.Anchor(pane, "pi", StateIdle)
	ev, err := New(s.Path).Subscribe(t.Context(), Subscription{Type: "pane.agent_status_changed", Pane: pane}, Subscription{Type: "pane.closed"}, Subscription{Type: "pane.exited"})
	if err != nil {
		t.Fatal(err)
	}
	defer ev.Close()
	next := func(name, status string) {
		t.Helper()
		if e, err := ev.Next(); err != nil || e.Name != name || status != "" && e.Status != status {
			t.Errorf("%+v %v, want %s %s", e, err, name, status)
		}
	}
	next("pane.exited", "") // of a pane that is gone long since
	s.SetState(pane, StateWorking)
	next("pane.agent_status_changed", StateWorking)
	// One's own metadata comes back as a change of the state.
	if err := New(s.Path).ReportMetadata(t.Context(), Metadata{Pane: pane, Source: "x", Title: "t"}); err != nil {
		t.Fatal(err)
	}
	next("pane.agent_status_changed", StateWorking)
	s.Remove(pane)
	next("pane.closed", "")
	s.Stop()
	if _, err := ev.Next(); !IsUnavailable(err) {
		t.Errorf("%v", err)
	}
}

// herdr ends a waiting connection that is half closed or on which more is sent:
// the client does neither, and cancelling is closing.
func TestSubscriptionIsCancelled(t *testing.T) {
	t.Parallel()
	s := herdrtest.New(t)
	_, _, pane := s.AddWorkspace()
	ctx, cancel := context.WithCancel(t.Context())
	ev, err := New(s.Path).Subscribe(ctx, Subscription{Type: "pane.agent_status_changed", Pane: pane})
	if err != nil {
		t.Fatal(err)
	}
	defer ev.Close()
	time.AfterFunc(700*time.Millisecond, cancel) // longer than the deadline of a call
	if _, err := ev.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for i := range 2 {
		conn, err := net.Dial("unix", s.Path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(`{"id":"1","method":"events.subscribe","params":{"subscriptions":[{"type":"pane.closed"}]}}` + "\n"))
		buf := make([]byte, 200)
		if n, err := conn.Read(buf); err != nil || !strings.Contains(string(buf[:n]), "subscription_started") {
			t.Errorf("%s %v", buf[:n], err)
		}
		if i == 0 {
			_ = conn.(*net.UnixConn).CloseWrite()
		} else {
			_, _ = conn.Write([]byte("x"))
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		if n, err := conn.Read(buf); n != 0 || os.IsTimeout(err) {
			t.Errorf("the fake keeps the connection: %s %v", buf[:n], err)
		}
		conn.Close()
	}
}

// herdr's answers are anything: nothing panics.
func FuzzReply(f *testing.F) {
	for _, line := range []string{`{"id":"x","result":{}}`, `{"id":"","error":{"code":"a"}}`, `{"event":"pane_exited","data":{"pane_id":1}}`, `{}`, `nul`, `{"id":5}`, "\xff"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Skip()
		}
		go func() {
			_, _ = w.Write(append(line, '\n'))
			w.Close()
		}()
		s := &stream{c: New("/x"), ctx: context.Background(), f: r, id: "x", method: "m"}
		defer s.Close()
		if raw, err := s.result(); err == nil && len(raw) == 0 {
			t.Error("no result and no error")
		}
	})
}
