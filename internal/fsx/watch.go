package fsx

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watcher tells that something may have changed in some directories. C gets a
// value, and holds at most one that was not yet received, when names come, go
// or change there; dot-names and lock files do not count. A value means "look",
// never what to look for. C is not closed.
//
// Where the system gives no events (none left, a directory that is not there
// yet, a shared file system), C gets a value every poll interval instead.
type Watcher struct {
	C <-chan struct{}

	c       chan struct{}
	stop    chan struct{}
	ended   chan struct{}
	once    sync.Once
	polling atomic.Bool

	events  *fsnotify.Watcher // nil: all by polling
	watched []string          // by events
	pending []string          // to be watched as soon as they can be
}

// NewWatcher watches the directories paths, without what lies below them; for
// any other file, its directory. poll is the interval where there are no events,
// 2 s if it is zero or less. It always returns a Watcher that works; Close ends
// it.
func NewWatcher(poll time.Duration, paths ...string) *Watcher {
	if poll <= 0 {
		poll = 2 * time.Second
	}
	c := make(chan struct{}, 1)
	w := &Watcher{C: c, c: c, stop: make(chan struct{}), ended: make(chan struct{})}
	if !sharedMode.Load() {
		w.events, _ = fsnotify.NewWatcher() // else: polling
	}
	for _, p := range paths {
		p = filepath.Clean(p)
		if fi, err := os.Stat(p); err == nil && !fi.IsDir() {
			p = filepath.Dir(p)
		}
		w.pending = append(w.pending, p)
	}
	w.watch()
	go w.run(poll)
	return w
}

// Polling reports whether C, for some of the paths at least, merely ticks.
func (w *Watcher) Polling() bool { return w.polling.Load() }

// Close ends the watcher; C gets no further value. It may be called twice.
func (w *Watcher) Close() {
	w.once.Do(func() { close(w.stop) })
	<-w.ended
}

func (w *Watcher) run(poll time.Duration) {
	defer close(w.ended)
	var events chan fsnotify.Event
	var failures chan error
	if w.events != nil {
		defer w.events.Close()
		events, failures = w.events.Events, w.events.Errors
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		var tick <-chan time.Time
		if w.polling.Load() {
			tick = ticker.C
		}
		select {
		case <-w.stop:
			return
		case e := <-events:
			if w.lost(e) || counts(e) {
				w.signal()
			}
		case <-failures: // such as events that were dropped
			w.signal()
		case <-tick:
			w.watch()
			w.signal()
		}
	}
}

// watch asks for the events of the pending paths.
func (w *Watcher) watch() {
	left := w.pending[:0]
	for _, p := range w.pending {
		if w.events == nil || w.events.Add(p) != nil {
			left = append(left, p)
			continue
		}
		w.watched = append(w.watched, p)
	}
	w.pending = left
	w.polling.Store(len(left) > 0)
}

// lost notes that a watched directory is no longer under its name: it is
// looked for at every interval from then on.
func (w *Watcher) lost(e fsnotify.Event) bool {
	if !e.Has(fsnotify.Remove) && !e.Has(fsnotify.Rename) {
		return false
	}
	i := slices.Index(w.watched, e.Name)
	if i < 0 {
		return false
	}
	_ = w.events.Remove(e.Name) // a renamed one would tell of its new place
	w.watched = slices.Delete(w.watched, i, i+1)
	w.pending = append(w.pending, e.Name)
	w.polling.Store(true)
	return true
}

func (w *Watcher) signal() {
	select {
	case w.c <- struct{}{}:
	default:
	}
}

// counts leaves out what every operation does on its way: temporary files, and
// the holders that are written into lock files. A harness that takes a lock
// when it is woken would wake itself for ever.
func counts(e fsnotify.Event) bool {
	name := filepath.Base(e.Name)
	return name[0] != '.' && !strings.HasSuffix(name, ".lock") && e.Op != fsnotify.Chmod
}
