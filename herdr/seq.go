package herdr

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// Sequences numbers reports: strictly greater for each pane and source, over all
// processes that share a directory, restarts of herdr and steps of the clock.
// herdr answers a number that is not greater with ok and ignores the report.
type Sequences struct {
	root, dir string

	mu   sync.Mutex
	last map[string]uint64
}

// NewSequences keeps the numbers below dir, which is below root; both are made
// when first needed. Without a dir they are kept in memory.
func NewSequences(root, dir string) *Sequences { return &Sequences{root: root, dir: dir} }

// seqWait bounds the wait for another process that takes a number.
const seqWait = 200 * time.Millisecond

// Next returns the next number: at least the time in epoch µs. Where the
// directory cannot be used it is that of this process alone.
func (q *Sequences) Next(ctx context.Context, pane, source string) uint64 {
	key := escape(pane) + "," + escape(source)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.last == nil {
		q.last = map[string]uint64{}
	}
	seq := max(q.last[key]+1, uint64(max(fsx.Now().UnixMicro(), 1)))
	if q.dir != "" {
		seq = q.share(ctx, key, seq)
	}
	q.last[key] = seq
	return seq
}

// share agrees on a number with other processes.
func (q *Sequences) share(ctx context.Context, key string, seq uint64) uint64 {
	if fsx.MkdirAll(q.root, q.dir) != nil {
		return seq
	}
	lock, err := fsx.Acquire(ctx, filepath.Join(q.dir, "seq.lock"), seqWait)
	if err != nil {
		return seq
	}
	defer func() { _ = lock.Unlock() }()
	path := filepath.Join(q.dir, key)
	if b, err := fsx.ReadFile(path, 64); err == nil {
		if last, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err == nil && last < 1<<60 {
			seq = max(seq, last+1)
		}
	}
	// Lost in a power cut it does no harm: the time goes on.
	_ = fsx.ReplaceHint(path, [][]byte{strconv.AppendUint(nil, seq, 10), []byte("\n")})
	return seq
}

// forget removes the numbers of panes that are not among the known.
func (q *Sequences) forget(known map[string]bool) {
	if q == nil || q.dir == "" {
		return
	}
	names, _ := fsx.List(q.dir)
	for _, name := range names {
		pane, _, ok := strings.Cut(name, ",")
		if ok && !known[pane] {
			_ = fsx.Remove(filepath.Join(q.dir, name))
		}
	}
}

// escape makes part of a file name of an id or a source.
func escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; isWordByte(c) || c == '.' && i > 0 {
			b.WriteByte(c)
		} else {
			const hex = "0123456789ABCDEF"
			b.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
		}
	}
	return b.String()
}
