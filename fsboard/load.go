package fsboard

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// headSize is more than a usual line 1. With many holders it is longer, up to
// maxHead; beyond that the board is read whole.
const headSize, maxHead = 4096, 1 << 20

// cached is the last snapshot that was read or written, and what its file was
// then. Nobody changes it any more; whoever wants to works on a fork.
type cached struct {
	id    fileID
	line1 string
	snap  *snapshot
}

// fileID tells whether a path still holds the same bytes: a replaced snapshot
// has another inode, one that was edited in place another time or size.
type fileID struct {
	dev, ino uint64
	size     int64
	modified time.Time
}

func identify(path string) (fileID, bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return fileID{}, false
	}
	id := fileID{size: info.Size(), modified: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.dev, id.ino = uint64(st.Dev), uint64(st.Ino)
	}
	return id, true
}

// load returns the snapshot; nil without an error when the board has no state
// yet. Its tasks are for reading only; put replaces one.
func (b *Board) load() (*snapshot, error) {
	if s := b.recall(); s != nil {
		return s, nil
	}
	before, known := identify(b.Path())
	data, err := fsx.ReadFile(b.Path(), maxSnapshot)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, b.checkAbsent()
	case err != nil:
		return nil, readError(b.Path(), err)
	}
	s, err := parseSnapshot(data)
	if err != nil {
		if format := formatOf(data); format > Format {
			return nil, b.tooNew(format)
		}
		return nil, corrupt(b.Path(), err)
	}
	if err := b.checkHead(&s.head); err != nil {
		return nil, err
	}
	if after, ok := identify(b.Path()); ok && known && after == before {
		first := data[:min(len(data), headSize)]
		if nl := bytes.IndexByte(first, '\n'); nl >= 0 {
			first = first[:nl+1]
		}
		b.remember(s, before, string(first))
	}
	return s.fork(), nil
}

// recall returns the cached snapshot if its file has not changed.
func (b *Board) recall() *snapshot {
	b.mu.Lock()
	c := b.cache
	b.mu.Unlock()
	if c.snap == nil {
		return nil
	}
	// The file is opened as well: on a network file system that is what makes
	// another host's change show.
	first, err := fsx.ReadHead(b.Path(), len(c.line1))
	if err != nil || string(first) != c.line1 {
		return nil
	}
	if id, ok := identify(b.Path()); !ok || id != c.id {
		return nil
	}
	return c.snap.fork()
}

// remember caches a snapshot that nobody will change any more.
func (b *Board) remember(s *snapshot, id fileID, line1 string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cache = cached{id: id, line1: line1, snap: s}
}

// tooNew is the refusal to write a snapshot of a newer format.
func (b *Board) tooNew(format int) error {
	return errs.New(errs.Failure, "it has format %d, and this version of teams writes format %d", format, Format).
		WithPath(b.Path()).WithHint("use the version of teams that wrote it")
}

// checkHead refuses a snapshot without format beside files of ours: some other
// tool, or a broken restore, put it there. Markers alone are no sign of us:
// pi-agent-teams has them too.
func (b *Board) checkHead(h *head) error {
	if h.Format > 0 {
		return nil
	}
	found, err := b.companion(false)
	if err != nil {
		return err
	}
	if found != "" {
		return corrupt(b.Path(), fmt.Errorf("it has no format, but %s is here", found))
	}
	return nil
}

// readFirst reads the beginning of the snapshot, all of line 1 unless that is
// longer than maxHead.
func (b *Board) readFirst() ([]byte, error) {
	for n := headSize; ; n *= 16 {
		data, err := fsx.ReadHead(b.Path(), n)
		if err != nil || len(data) < n || n >= maxHead || bytes.IndexByte(data, '\n') >= 0 {
			return data, err
		}
	}
}

// readHead reads line 1 of the snapshot; nil when the board has no state.
func (b *Board) readHead() (*head, error) {
	data, err := b.readFirst()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, b.checkAbsent()
	}
	if err != nil {
		return nil, readError(b.Path(), err)
	}
	for i, c := range data {
		if c != '\n' {
			continue
		}
		if h, err := parseHead(data[:i]); err == nil {
			return &h, nil
		}
		break
	}
	s, err := b.load()
	if err != nil || s == nil {
		return nil, err
	}
	return &s.head, nil
}

// revision returns the present revision for a second look.
func (b *Board) revision() (int64, error) {
	data, err := fsx.ReadHead(b.Path(), headSize)
	if err != nil {
		return 0, readError(b.Path(), err)
	}
	if rev, ok := revisionOf(data); ok {
		return rev, nil
	}
	h, err := b.readHead()
	if err != nil {
		return 0, err
	}
	if h == nil {
		return 0, corrupt(b.Path(), errors.New("it vanished"))
	}
	return h.Revision, nil
}
