package team

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// ActivityLog is the path of what a resident did, newest last.
func (p Place) ActivityLog(name string) string {
	return filepath.Join(p.TeamDir(), name, "activity.log")
}

const (
	maxActivityLog  = 1 << 20 // bytes of a log, then the older half goes
	maxActivityLine = 4 << 10 // bytes that are kept of one line
)

// activityLog is the log of one resident, and what is known of its latest
// output. It keeps its size whatever is written, and a disk that fails stops
// nobody: what cannot be written is dropped.
type activityLog struct {
	path string

	mu     sync.Mutex
	f      *os.File
	size   int64
	line   []byte    // the line that is being written, cut
	length int       // of that line, before the cut
	last   string    // the last line that is not blank
	at     time.Time // of the last output; zero: none
}

func openActivityLog(path string) *activityLog {
	l := &activityLog{path: path}
	l.open()
	return l
}

func (l *activityLog) open() {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return
	}
	l.f, l.size = f, info.Size()
}

// Write takes output of the teammate. It never fails.
func (l *activityLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = fsx.Now()
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		l.line = append(l.line, part[:min(len(part), max(maxActivityLine-len(l.line), 0))]...)
		l.length += len(part)
		if end < 0 {
			break
		}
		l.endLine()
		rest = rest[end+1:]
	}
	return len(p), nil
}

// Event notes what the host did, on a line of its own.
func (l *activityLog) Event(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.length > 0 {
		l.endLine()
	}
	text := fsx.SafeLine(fmt.Sprintf(format, args...))
	l.put([]byte("[" + fsx.Now().UTC().Format("2006-01-02T15:04:05Z") + "] " + text + "\n"))
}

// Flush ends an unfinished line.
func (l *activityLog) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.length > 0 {
		l.endLine()
	}
}

func (l *activityLog) endLine() {
	line := l.line
	if l.length > len(line) {
		line = append(line, fmt.Sprintf("…[truncated %d bytes]", l.length-len(l.line))...)
	}
	if text := strings.TrimSpace(strings.ToValidUTF8(string(l.line), "\uFFFD")); text != "" {
		l.last = text
	}
	l.put(append(line, '\n'))
	l.line, l.length = l.line[:0], 0
}

// put appends to the file, and drops its older half when it gets too long.
func (l *activityLog) put(data []byte) {
	if l.f == nil {
		l.open()
	}
	if l.f == nil {
		return
	}
	n, _ := l.f.Write(data)
	if l.size += int64(n); l.size <= maxActivityLog {
		return
	}
	tail, _, err := fsx.ReadTail(l.path, maxActivityLog/2)
	if err != nil {
		return
	}
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	if fsx.Replace(l.path, tail) == nil {
		l.f.Close()
		l.f = nil
		l.open()
	}
}

// Last returns the last line of output, cut, and when there was output last.
func (l *activityLog) Last() (string, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.last
	if l.length > 0 {
		if now := strings.TrimSpace(strings.ToValidUTF8(string(l.line), "\uFFFD")); now != "" {
			text = now
		}
	}
	return cutRunes(text, 200), l.at
}

func (l *activityLog) Close() {
	l.Flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f != nil {
		l.f.Close()
		l.f = nil
	}
}

// cutRunes cuts a text to at most n characters, with … in place of the rest.
func cutRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// Activity returns the end of a teammate's log, at most n bytes and cut at the
// start of a line, and the position behind it. It is empty when there is none.
func (t *Team) Activity(name string, n int64) (text string, end int64, err error) {
	if _, err := t.Find(name); err != nil {
		return "", 0, err
	}
	data, size, err := fsx.ReadTail(t.ActivityLog(name), n)
	if err != nil {
		if os.IsNotExist(err) {
			return "", 0, nil
		}
		return "", 0, err
	}
	if int64(len(data)) < size {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			data = data[i+1:]
		}
	}
	return string(data), size, nil
}

// readRange reads a part of a file that grows meanwhile: what comes after end is
// for the next look. It is shorter when the file was replaced by a shorter one.
func readRange(path string, from, end int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, from, end-from))
}

// FollowActivity hands over what a log has beyond a position, as it comes, until
// ctx ends or the teammate's life is over. A log that was shortened meanwhile
// goes on with its new end.
func (t *Team) FollowActivity(tm Teammate, at int64, poll time.Duration, show func(string) error, done <-chan struct{}) error {
	path := t.ActivityLog(tm.Name)
	w := fsx.NewWatcher(poll, path, filepath.Dir(path))
	defer w.Close()
	var file fs.FileInfo
	for {
		over, _ := t.lifeOver(tm.Name, tm.SpawnID) // first, so that the last lines are seen
		info, err := os.Lstat(path)
		switch {
		case os.IsNotExist(err):
		case err != nil:
			return err
		default:
			if file != nil && !os.SameFile(file, info) || info.Size() < at {
				at = info.Size() / 2 // the older half went; what was shown is in the rest
				at = max(at, info.Size()-maxActivityLine)
			}
			file = info
			if info.Size() > at {
				data, err := readRange(path, at, info.Size())
				if err != nil {
					return err
				}
				at += int64(len(data))
				if err := show(string(data)); err != nil {
					return err
				}
			}
		}
		if over {
			return nil
		}
		timer := time.NewTimer(longestWait)
		select {
		case <-w.C:
		case <-timer.C:
		case <-done:
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}
