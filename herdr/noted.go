package herdr

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/seed6990a682/teams/internal/fsx"
)

// Noted is a problem with herdr that a verb met and went on. Times are epoch ms.
type Noted struct {
	At     int64  `json:"at"`
	Socket string `json:"socket"`
	Error  string `json:"error"`
}

func (s *Leases) notedPath() string { return filepath.Join(s.Dir(), "problem"+recordSuffix) }

// Note keeps a problem for teams herdr status, the newest only. The same one is
// noted once. It never fails: what cannot be kept is not.
func (s *Leases) Note(socket string, err error) {
	if err == nil {
		return
	}
	if old := s.LastNoted(); old != nil && old.Socket == socket && old.Error == err.Error() {
		return
	}
	data, encErr := encodeRecord(&Noted{At: nowMs(), Socket: socket, Error: err.Error()}, nil)
	if encErr != nil || fsx.MkdirAll(s.Root, s.Dir()) != nil {
		return
	}
	_ = fsx.ReplaceHint(s.notedPath(), [][]byte{data})
}

// LastNoted is the problem that was noted last, nil when there is none.
func (s *Leases) LastNoted() *Noted {
	n := new(Noted)
	_, err := readRecord(s.notedPath(), n)
	if err != nil || n.Error == "" {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			_ = fsx.Remove(s.notedPath())
		}
		return nil
	}
	return n
}

// ForgetNoted ends the note.
func (s *Leases) ForgetNoted() { _ = fsx.Remove(s.notedPath()) }
