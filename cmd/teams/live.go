package main

import (
	"io"
	"sync"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
)

// Live is the line that says what a waiting command waits for, and for how
// long. It stands on standard error, and only when that is a terminal.
type Live struct {
	e     *Env
	start time.Time
	stop  chan struct{}

	mu    sync.Mutex
	text  string
	shown bool
	done  bool
}

// Live shows a line until Done; printing anything removes it. There is one at
// a time.
func (e *Env) Live(text string) *Live {
	l := &Live{e: e, start: time.Now(), stop: make(chan struct{}), text: text}
	if e.Quiet || !isTerminal(e.stderr) || e.Getenv("TERM") == "dumb" {
		l.done = true
		return l
	}
	e.mu.Lock()
	e.live = l
	e.mu.Unlock()
	e.Go(l.run)
	return l
}

// Set changes the text.
func (l *Live) Set(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = text
	if l.shown {
		l.draw()
	}
}

// Done removes the line for good. It may be called more than once.
func (l *Live) Done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.done {
		l.done = true
		close(l.stop)
		l.erase()
	}
}

// run shows the line after a moment, so that what does not wait shows none,
// and renews its time every second.
func (l *Live) run() {
	timer := time.NewTimer(300 * time.Millisecond)
	defer timer.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-timer.C:
		}
		l.mu.Lock()
		if !l.done {
			l.draw()
		}
		l.mu.Unlock()
		timer.Reset(time.Second)
	}
}

func (l *Live) draw() {
	width, _ := terminalWidth(l.e.stderr)
	waited := " " + render.Duration(time.Since(l.start).Truncate(time.Second))
	text := render.Truncate(fsx.SafeLine(l.text), width-1-render.Width(waited))
	io.WriteString(l.e.stderr, "\r\x1b[K"+text+waited)
	l.shown = true
}

func (l *Live) erase() {
	if l.shown {
		io.WriteString(l.e.stderr, "\r\x1b[K")
		l.shown = false
	}
}

// clearLive removes the live line before something else is printed; it comes
// back with its next second.
func (e *Env) clearLive() {
	e.mu.Lock()
	l := e.live
	e.mu.Unlock()
	if l != nil {
		l.mu.Lock()
		l.erase()
		l.mu.Unlock()
	}
}
