package herdr

import (
	"context"
	"sync"
	"time"
)

// Source is under which name our metadata stands on a pane.
const Source = "pi-teams"

// The times to live of a line.
const (
	LiveTTL = 20 * time.Second // while somebody keeps it up
	OnceTTL = 24 * time.Hour   // of one that is pushed once
)

// AppliesAuto has a mirror find out whether Pi's integration owns the pane:
// only there may a line be bound to it, elsewhere that would hide it.
const AppliesAuto = "auto"

// piSource is the source of herdr's integration of Pi.
const piSource = "herdr:pi"

// Push shows a line on a pane, or clears it with "". appliesTo is a source,
// [AppliesAuto], or "" for none. The cell's state is never touched. With a ttl of
// 0 the line stays.
func (c *Client) Push(ctx context.Context, q *Sequences, pane, source, appliesTo, line string, ttl time.Duration) error {
	titled := false // another source has given the pane a title
	if appliesTo == AppliesAuto {
		appliesTo = ""
		p, err := c.Pane(ctx, pane)
		if err != nil {
			return err
		}
		titled = p.Title != "" && p.Title != p.Display
		if p.Official() && p.Session.Source == piSource {
			appliesTo = piSource
		}
	}
	m := Metadata{Pane: pane, Source: source, AppliesTo: appliesTo, Seq: q.Next(ctx, pane, source), TTL: ttl.Milliseconds()}
	if line == "" {
		m.TTL = 0
		m.ClearTitle, m.ClearDisplay, m.ClearLabels, m.ClearCustomStatus = true, true, true, true
		m.Tokens = map[string]*string{"teams": nil}
	} else {
		short := Cut(line, 80) // where herdr cuts
		m.Display, m.CustomStatus = short, Cut(line, lineColumns)
		if !titled {
			m.Title = short
		}
		m.Tokens = map[string]*string{"teams": &short}
	}
	return c.ReportMetadata(ctx, m)
}

// Mirror keeps one line up on one pane. Its pushes are made one after the other
// by a goroutine of its own, so whoever sets the line never waits for herdr.
type Mirror struct {
	Client    *Client
	Seq       *Sequences
	Pane      string
	Source    string        // "": Source
	AppliesTo string        // a source, AppliesAuto, or "" for none
	TTL       time.Duration // 0: LiveTTL; renewed at its half
	Throttle  time.Duration // between two pushes; 0: 750 ms
	// Noted is told of the first error of an outage, and with nil of its end. It
	// is called by the goroutine.
	Noted func(error)

	mu    sync.Mutex
	want  string
	now   bool // the change does not wait
	set   bool // there was a Set
	notes []Notice
	wake  chan struct{}
	stop  chan struct{}
	done  chan struct{}
}

// Start begins. The fields are not changed any more.
func (m *Mirror) Start() {
	m.wake, m.stop, m.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go m.run()
}

// Set changes the line, "" clears it. With urgent it is pushed at once.
func (m *Mirror) Set(line string, urgent bool) {
	m.mu.Lock()
	m.want, m.now, m.set = line, m.now || urgent, true
	m.mu.Unlock()
	m.poke()
}

// Notify shows a notification, after what was set before it.
func (m *Mirror) Notify(n Notice) {
	if n.Title == "" {
		return
	}
	m.mu.Lock()
	if len(m.notes) < 16 { // herdr shows one a second at most
		m.notes = append(m.notes, n)
	}
	m.mu.Unlock()
	m.poke()
}

func (m *Mirror) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Close clears the line and ends, at the latest with ctx.
func (m *Mirror) Close(ctx context.Context) {
	m.Set("", true)
	close(m.stop)
	select {
	case <-m.done:
	case <-ctx.Done():
	}
}

// run pushes what is to be seen.
func (m *Mirror) run() {
	defer close(m.done)
	ttl, throttle := or(m.TTL, LiveTTL), or(m.Throttle, 750*time.Millisecond)
	source := m.Source
	if source == "" {
		source = Source
	}
	var (
		shown    string    // what herdr has
		known    bool      // whether that is so
		pushedAt time.Time // the last attempt
		down     bool
	)
	note := func(err error) {
		if down != (err != nil) && m.Noted != nil {
			m.Noted(err)
		}
		down = err != nil
	}
	for {
		m.mu.Lock()
		want, urgent, set, notes := m.want, m.now, m.set, m.notes
		m.notes = nil
		m.mu.Unlock()
		var due time.Time // of the next push, zero for none
		switch {
		case !set:
		case !known || want != shown:
			due = pushedAt.Add(throttle)
			if urgent {
				due = time.Time{}.Add(1)
			}
			if down { // not at each change while nobody answers
				due = pushedAt.Add(max(throttle, ttl/8))
			}
		case want != "":
			due = pushedAt.Add(ttl / 2)
		}
		stopping := false
		select {
		case <-m.stop:
			stopping = true
		default:
		}
		if !due.IsZero() && (!time.Now().Before(due) || stopping && (!known || want != shown)) {
			m.mu.Lock()
			if m.want == want {
				m.now = false
			}
			m.mu.Unlock()
			pushedAt = time.Now()
			err := m.Client.Push(context.Background(), m.Seq, m.Pane, source, m.AppliesTo, want, ttl)
			note(err)
			shown, known = want, err == nil
			if !stopping {
				m.tell(notes)
				continue
			}
		}
		m.tell(notes)
		if stopping {
			return
		}
		m.sleep(due)
	}
}

// sleep waits for due, if that is set, or until there is something new.
func (m *Mirror) sleep(due time.Time) {
	var timer <-chan time.Time
	if !due.IsZero() {
		t := time.NewTimer(time.Until(due))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-m.wake:
	case <-m.stop:
	case <-timer:
	}
}

func (m *Mirror) tell(notes []Notice) {
	for _, n := range notes {
		_, _ = m.Client.Notify(context.Background(), n.Title, n.Body, n.Sound, "")
	}
}
