package fsboard

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/rawjson"
)

// maxMarker bounds a marker file; a result has at most 1 MiB, which JSON may
// blow up to six times that.
const maxMarker = 8 << 20

// unparseableGrace is how long a marker that does not parse is left alone: a
// tool that writes in place may still be at it. One whose time lies ahead by
// more than clockSlack is not.
const unparseableGrace = 30 * time.Second

// maxLeaseMs bounds what a marker may ask for: a hundred years.
const maxLeaseMs = 100 * 365 * 24 * 3600 * 1000

// Marker is a claim or a submission on disk. The names up to timestamp are
// those of pi-agent-teams 0.7.0; its markers lack the rest.
type Marker struct {
	TaskID    string `json:"taskId"`
	Worker    string `json:"worker"`
	SpawnID   string `json:"spawnId"`
	Status    string `json:"status,omitempty"` // of a submission: completed or failed
	Result    string `json:"result,omitempty"`
	Timestamp int64  `json:"timestamp"` // epoch ms

	Submission string `json:"submission,omitempty"` // its own id
	Token      string `json:"token,omitempty"`
	Epoch      *int64 `json:"epoch,omitempty"` // of a claim: the epoch in which the task was seen pending
	PID        int    `json:"pid,omitempty"`
	Host       string `json:"host,omitempty"`
	LeaseMs    int64  `json:"leaseMs,omitempty"`
	BootID     string `json:"bootId,omitempty"`
	BootMs     int64  `json:"bootMs,omitempty"` // boot clock at the claim

	modTime time.Time
	foreign bool // its token or submission id is the hash of its bytes
}

// errVanished says that a marker was removed between a listing and its reading.
var errVanished = errors.New("the marker is gone")

// markerProblem says why a file cannot be used as a marker.
type markerProblem struct {
	reason string
	wait   bool // it may still become one
}

func (p *markerProblem) Error() string { return p.reason }

func nameProblem() *markerProblem { return &markerProblem{reason: "its name is no task id"} }

// readMarker reads the marker of a task. The error is errVanished, a
// *markerProblem, or what kept the file from being read.
func readMarker(path, id string) (*Marker, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errVanished
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &markerProblem{reason: "it is no regular file"}
	}
	if info.Size() > maxMarker {
		return nil, &markerProblem{reason: fmt.Sprintf("it has %d bytes, more than %d", info.Size(), maxMarker)}
	}
	data, err := fsx.ReadFile(path, maxMarker)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errVanished
	}
	if err != nil {
		return nil, err
	}
	m := new(Marker)
	if _, err := rawjson.Decode(markerFields, m, data); err != nil {
		// The clock is read now: a marker that came while others were read is
		// not from the future.
		age := fsx.Now().Sub(info.ModTime())
		wait := age > -clockSlack*time.Millisecond && age < unparseableGrace
		return nil, &markerProblem{reason: "it is no JSON that can be used: " + err.Error(), wait: wait}
	}
	switch {
	case m.TaskID != id:
		return nil, &markerProblem{reason: fmt.Sprintf("it names task %q", m.TaskID)}
	case m.Worker == "":
		return nil, &markerProblem{reason: "it names no worker"}
	case m.Status != "" && m.Status != "completed" && m.Status != "failed":
		return nil, &markerProblem{reason: fmt.Sprintf("its status %q is neither completed nor failed", m.Status)}
	}
	m.modTime = info.ModTime()
	m.LeaseMs = min(max(m.LeaseMs, 0), maxLeaseMs)
	sum := sha256.Sum256(data)
	if m.Token == "" {
		m.Token, m.foreign = hex.EncodeToString(sum[:]), true
	}
	if m.Submission == "" {
		m.Submission = hex.EncodeToString(sum[:])
	}
	return m, nil
}

// markerIDs lists the task ids that have a file in dir (claims, submissions).
// Names that are no ids are returned apart.
func (b *Board) markerIDs(dir string) (ids, others []string, err error) {
	names, err := fsx.List(b.path(dir))
	if err != nil {
		return nil, nil, fmt.Errorf("list %s: %w", dir, err)
	}
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		if ok && ValidID(id) {
			ids = append(ids, id)
		} else {
			others = append(others, name)
		}
	}
	return ids, others, nil
}

// found is one file of a marker directory.
type found struct {
	id      string
	path    string
	marker  *Marker
	problem *markerProblem
}

// markers reads a marker directory, oldest marker first. A file that cannot be
// read at all is left out and reported, so that it spoils only itself.
func (b *Board) markers(dir string) (all []found, unreadable []error, err error) {
	ids, others, err := b.markerIDs(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		path := b.path(dir, id+".json")
		m, err := readMarker(path, id)
		var p *markerProblem
		switch {
		case err == nil:
			all = append(all, found{id: id, path: path, marker: m})
		case errors.As(err, &p):
			all = append(all, found{id: id, path: path, problem: p})
		case !errors.Is(err, errVanished):
			unreadable = append(unreadable, fmt.Errorf("read marker: %w", err))
		}
	}
	for _, name := range others {
		all = append(all, found{path: b.path(dir, name), problem: nameProblem()})
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, c := all[i].marker, all[j].marker
		if a == nil || c == nil {
			return a != nil
		}
		return a.modTime.Before(c.modTime)
	})
	return all, unreadable, nil
}

// publishMarker publishes a marker by link. fs.ErrExist: another is there.
func publishMarker(path string, m *Marker) error {
	data, err := rawjson.Append(nil, markerFields, m, nil)
	if err == nil {
		data, err = onLines(data)
	}
	if err != nil {
		return err
	}
	return fsx.Publish(path, data)
}

// leaderMarker is a marker taken in the leader's name.
func (t *tx) leaderMarker(id string) *Marker {
	return &Marker{TaskID: id, Worker: Leader, Timestamp: t.now, Token: fsx.RandomID(), PID: os.Getpid(), Host: fsx.Host()}
}

// rejection is a file that is to be moved to rejected/.
type rejection struct {
	path, id, reason string
}

// maxRejected bounds rejected/; the oldest are removed beyond it.
const maxRejected = 100

// moveRejected moves a file that cannot be used out of the way, never
// following it, and writes the reason beside it.
func (b *Board) moveRejected(r rejection) error {
	base := r.id
	if base == "" {
		base = strings.Map(func(c rune) rune {
			if c < ' ' || c == '/' || c > '~' {
				return '_'
			}
			return c
		}, strings.TrimLeft(strings.TrimSuffix(filepath.Base(r.path), ".json"), "."))
		base = base[:min(len(base), 64)]
	}
	name := base + "." + fsx.RandomID()[:12]
	if err := fsx.Move(r.path, b.path("rejected", name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reject marker: %w", err)
	}
	_ = fsx.Append(b.path("rejected", name+".reason"), []byte(fsx.SafeLine(r.reason)+"\n"), false)
	return b.trimRejected()
}

// trimRejected keeps the maxRejected files that were rejected last.
func (b *Board) trimRejected() error {
	names, err := fsx.List(b.path("rejected"))
	if err != nil || len(names) <= maxRejected {
		return err
	}
	type old struct {
		name string
		at   time.Time
	}
	var files []old
	for _, name := range names {
		if strings.HasSuffix(name, ".reason") {
			continue
		}
		// The file may have any time; that of its reason is when it came here.
		info, err := os.Lstat(b.path("rejected", name+".reason"))
		if err != nil {
			info, err = os.Lstat(b.path("rejected", name))
		}
		if err == nil {
			files = append(files, old{name, info.ModTime()})
		}
	}
	sort.SliceStable(files, func(i, j int) bool { return files[i].at.After(files[j].at) })
	var problems []error
	for _, f := range files[min(len(files), maxRejected):] {
		problems = append(problems, os.RemoveAll(b.path("rejected", f.name)), fsx.Remove(b.path("rejected", f.name+".reason")))
	}
	return errors.Join(problems...)
}
