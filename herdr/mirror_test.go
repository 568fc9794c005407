package herdr

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/herdr/herdrtest"
)

// mirror is one of the fake, with a short throttle.
func mirror(t *testing.T, s *herdrtest.Server, pane string, set ...func(*Mirror)) *Mirror {
	m := &Mirror{Client: quick(s), Seq: NewSequences(t.TempDir(), ""), Pane: pane, AppliesTo: AppliesAuto, TTL: 1200 * time.Millisecond, Throttle: 60 * time.Millisecond}
	for _, f := range set {
		f(m)
	}
	m.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		select {
		case <-m.stop:
		default:
			m.Close(ctx)
		}
	})
	return m
}

// eventually waits until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it does not come to that", what)
		}
	}
}

func display(s *herdrtest.Server, pane string) string { p, _ := s.Get(pane); return p.Display }

// A burst is few pushes, the last of which has the last text; an unchanged text
// is pushed again before it expires, and a cleared one not.
func TestMirrorThrottles(t *testing.T) {
	t.Parallel()
	s := herdrtest.New(t)
	_, _, pane := s.AddWorkspace()
	m := mirror(t, s, pane)
	begin := time.Now()
	for i := range 200 {
		m.Set("line "+strings.Repeat("i", i%7), false)
		time.Sleep(time.Millisecond)
	}
	m.Set("the last", false)
	eventually(t, "the last", func() bool { return display(s, pane) == "the last" })
	most := int(time.Since(begin)/(60*time.Millisecond)) + 2
	if n := len(s.Requests("pane.report_metadata")); n > most || n < 2 {
		t.Errorf("%d pushes in %s", n, time.Since(begin))
	}
	// A living line never expires.
	for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if display(s, pane) != "the last" {
			t.Fatal("the line was gone")
		}
	}
	m.Set("", false)
	eventually(t, "clear", func() bool { return display(s, pane) == "" })
	time.Sleep(100 * time.Millisecond)
	n := len(s.Requests("pane.report_metadata"))
	m.Set("", false)
	time.Sleep(900 * time.Millisecond)
	if now := len(s.Requests("pane.report_metadata")); now != n {
		t.Errorf("%d pushes of nothing", now-n)
	}
	last := uint64(0)
	for _, r := range s.Requests("pane.report_metadata") {
		seq := uint64(r.Params["seq"].(float64))
		if seq <= last {
			t.Errorf("seq %d after %d", seq, last)
		}
		last = seq
	}
	if p, _ := s.Get(pane); p.State != "unknown" || len(s.Requests("pane.report_agent")) > 0 {
		t.Error("the state of the cell was touched")
	}
}

// What ends or needs somebody is shown at once.
func TestMirrorUrgent(t *testing.T) {
	t.Parallel()
	s := herdrtest.New(t)
	_, _, pane := s.AddWorkspace()
	m := mirror(t, s, pane, func(m *Mirror) { m.Throttle = time.Hour })
	m.Set("first", false)
	eventually(t, "first", func() bool { return display(s, pane) == "first" })
	m.Set("second", false)
	m.Set("? needs human", true)
	m.Notify(Notice{Title: "look", Sound: "request"})
	eventually(t, "urgent", func() bool { return display(s, pane) == "? needs human" && len(s.Notes()) == 1 })
}

// A mirror of a Pi pane is bound to Pi's integration, and to it only: elsewhere
// it would be hidden. The old generation gets its own field.
func TestMirrorAppliesTo(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{herdrtest.Old, herdrtest.Modern} {
		s := herdrtest.New(t, func(s *herdrtest.Server) { s.Protocol = protocol })
		_, _, pane := s.AddWorkspace()
		q := NewSequences(t.TempDir(), "")
		push := func(applies, line string) herdrtest.Pane {
			t.Helper()
			if err := quick(s).Push(t.Context(), q, pane, Source, applies, line, LiveTTL); err != nil {
				t.Fatal(err)
			}
			p, _ := s.Get(pane)
			return p
		}
		if p := push("herdr:pi", "hidden"); p.Display != "" {
			t.Errorf("without Pi the guard shows %q", p.Display)
		}
		if p := push(AppliesAuto, "seen"); p.Display != "seen" || protocol == herdrtest.Old && p.CustomStatus != "seen" || protocol != herdrtest.Old && p.Tokens["teams"] != "seen" {
			t.Errorf("%+v", p)
		}
		s.Anchor(pane, "pi", StateWorking)
		if p := push(AppliesAuto, strings.Repeat("x", 100)); len([]rune(p.Display)) != 80 || !strings.HasSuffix(p.Display, "…") || p.State != StateWorking {
			t.Errorf("%+v", p)
		}
		reqs := s.Requests("pane.report_metadata")
		if got := reqs[len(reqs)-1].Params; got["applies_to_source"] != "herdr:pi" || len([]rune(got["custom_status"].(string))) != 100 {
			t.Errorf("%v", got)
		}
		other := Metadata{Pane: pane, Source: "pi-teams-todo", Title: "a title of its own"}
		if err := quick(s).ReportMetadata(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		if p := push(AppliesAuto, "line"); p.Title != "a title of its own" || p.Display != "line" {
			t.Errorf("%+v", p)
		}
		other.Title, other.ClearTitle = "", true
		if err := quick(s).ReportMetadata(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		if p := push(AppliesAuto, ""); p.Display != "" || p.Title != "" || p.CustomStatus != "" || len(p.Tokens) != 0 {
			t.Errorf("after clearing: %+v", p)
		}
	}
}

// Nobody who sets a line waits for herdr, and an outage is told once.
func TestMirrorOutage(t *testing.T) {
	t.Parallel()
	s := herdrtest.New(t)
	_, _, pane := s.AddWorkspace()
	var mu sync.Mutex
	var told []error
	m := mirror(t, s, pane, func(m *Mirror) {
		m.AppliesTo = ""
		m.Noted = func(err error) { mu.Lock(); told = append(told, err); mu.Unlock() }
	})
	s.Fault("", -1, herdrtest.Silent)
	begin := time.Now()
	for range 50 {
		m.Set("x", true)
		m.Notify(Notice{Title: "x"})
		m.Set("y", true)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("setting took %s", took)
	}
	count := func(n int) func() bool {
		return func() bool { mu.Lock(); defer mu.Unlock(); return len(told) >= n }
	}
	eventually(t, "an error", count(1))
	s.Behave()
	s.Stop()
	time.Sleep(200 * time.Millisecond)
	s.Start()
	eventually(t, "recovery", func() bool { return display(s, pane) == "y" })
	eventually(t, "its end", count(2))
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 2 || !IsUnavailable(told[0]) || told[1] != nil {
		t.Errorf("%v", told)
	}
}

// Closing clears the pane, and ends in time when herdr does not answer.
func TestMirrorClose(t *testing.T) {
	t.Parallel()
	s := herdrtest.New(t)
	_, _, pane := s.AddWorkspace()
	m := mirror(t, s, pane)
	m.Set("line", false)
	eventually(t, "line", func() bool { return display(s, pane) == "line" })
	m.Close(t.Context())
	if display(s, pane) != "" {
		t.Error("the line is left")
	}
	m = mirror(t, s, pane)
	s.Fault("", -1, herdrtest.Silent)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	m.Close(ctx)
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("closing took %s", took)
	}
}

// Numbers grow over processes, restarts, and a clock that is set back.
func TestSequences(t *testing.T) {
	root := t.TempDir()
	dir := root + "/panes/seq"
	last := uint64(0)
	for i := range 5 {
		for _, q := range []*Sequences{NewSequences(root, dir), NewSequences(root, dir)} {
			seq := q.Next(t.Context(), "w1:p1", Source)
			if seq <= last || seq < 1_600_000_000_000_000 {
				t.Errorf("%d: %d after %d", i, seq, last)
			}
			last = seq
		}
	}
	q := NewSequences(root, dir)
	if a, b := q.Next(t.Context(), "w1:p1", "a"), q.Next(t.Context(), "w1:p1", "b"); a == 0 || b == 0 {
		t.Error(a, b)
	}
	q.forget(map[string]bool{})
	if n := NewSequences(root, dir).Next(t.Context(), "w1:p1", Source); n == 0 {
		t.Error(n)
	}
	// Without a directory that can be used they still grow.
	q = NewSequences("/dev/null", "/dev/null/x")
	if a, b := q.Next(t.Context(), "p", "s"), q.Next(t.Context(), "p", "s"); b <= a {
		t.Error(a, b)
	}
	var wg sync.WaitGroup
	seen := sync.Map{}
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			q := NewSequences(root, dir)
			for range 20 {
				if _, twice := seen.LoadOrStore(q.Next(context.Background(), "w1:p2", Source), true); twice {
					t.Error("a number was given twice")
				}
			}
		}()
	}
	wg.Wait()
}
