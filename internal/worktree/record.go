package worktree

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// The states of a record.
const (
	creating = "creating" // Create is at work, or died; nobody has worked there
	ready    = "ready"    // Create told that it succeeded
)

// record is what is written down of a worktree of ours before it is made, and
// kept for as long as it is there.
type record struct {
	Path      string       `json:"path"`
	Branch    string       `json:"branch"`
	Base      string       `json:"base"` // the commit that the branch began at
	Owner     string       `json:"owner"`
	Holder    string       `json:"holder,omitempty"`
	State     string       `json:"state"`
	CreatedAt int64        `json:"createdAt"`         // epoch ms
	Before    []string     `json:"before,omitempty"`  // git's records that were there
	Made      []string     `json:"made,omitempty"`    // directories of the project that were missing, outer ones first
	Exclude   string       `json:"exclude,omitempty"` // what was to be added to info/exclude: a line, or a break and a line
	Git       *fsx.Process `json:"git,omitempty"`     // the git that makes it
}

// maxRecord bounds a record: it names git's records of all worktrees.
const maxRecord = 4 << 20

// recordsDir holds the records, one for each worktree.
func (r *repo) recordsDir() string { return filepath.Join(r.common, "teams-worktrees") }

// recordPath is the record of the worktree at path. The name alone identifies it
// in its repository, as it does the branch.
func (r *repo) recordPath(path string) string {
	return filepath.Join(r.recordsDir(), filepath.Base(path)+".json")
}

// readRecord reads the record of the worktree at path; nil when it has none.
func (r *repo) readRecord(path string) (*record, error) {
	file := r.recordPath(path)
	data, err := fsx.ReadFile(file, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rec record
	if err := json.Unmarshal(data, &rec); err != nil {
		return nil, &errs.Error{Code: errs.Corrupt, Path: file, Msg: "is not the record of a worktree: " + err.Error(), Err: err}
	}
	if !samePath(rec.Path, path) {
		return nil, nil // of another project in the same repository
	}
	return &rec, nil
}

// samePath compares a path with one that has been through JSON, which cannot
// hold every byte that a path can.
func samePath(recorded, path string) bool {
	if recorded == path {
		return true
	}
	through, err := json.Marshal(path)
	if err != nil {
		return false
	}
	var back string
	return json.Unmarshal(through, &back) == nil && back == recorded
}

func (rec *record) marshal() ([]byte, error) {
	data, err := json.MarshalIndent(rec, "", " ")
	return append(data, '\n'), err
}

// announce writes a new record; nothing is made before.
func (r *repo) announce(rec *record) error {
	data, err := rec.marshal()
	if err != nil {
		return err
	}
	if err := fsx.MkdirAll(r.common, r.recordsDir()); err != nil {
		return err
	}
	if err := fsx.Publish(r.recordPath(rec.Path), data); err != nil {
		_ = os.Remove(r.recordsDir())
		return err
	}
	return nil
}

// update rewrites a record.
func (r *repo) update(rec *record) error {
	data, err := rec.marshal()
	if err != nil {
		return err
	}
	return fsx.Replace(r.recordPath(rec.Path), data)
}

// drop removes the record of a worktree that is gone. The caller has made sure
// that it is of this worktree.
func (r *repo) drop(path string) error {
	if err := fsx.Remove(r.recordPath(path)); err != nil {
		return err
	}
	_ = os.Remove(r.recordsDir()) // if it was the last one
	return nil
}

// sweepRecords removes what a process that was killed has left among the
// records. The caller holds the lock, so nobody writes there.
func (r *repo) sweepRecords() {
	list, err := os.ReadDir(r.recordsDir())
	if err != nil {
		return
	}
	for _, d := range list {
		if fsx.IsTemp(d.Name()) || strings.HasPrefix(d.Name(), removing) {
			_ = os.RemoveAll(filepath.Join(r.recordsDir(), d.Name()))
		}
	}
	_ = os.Remove(r.recordsDir()) // if nothing is there
}
