package crashtest

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Disorder lists where the calls of one process break the order that a board in
// the directory dir, and all else below root, needs to survive a power cut:
//
//   - data is written, then the file fsynced, then linked or renamed to its
//     name, then the directory fsynced, then the answer given;
//   - nothing is written into a file that has its name already, but for logs and
//     locks;
//   - a new directory's parent is fsynced before the answer;
//   - history is fsynced, after the last line written to it, before the next
//     snapshot takes its name;
//   - a marker, and the record of a gate run, is removed only after the snapshot
//     has its name and that is durable.
//
// The ready list is a hint and is left out, and so is history where it is
// written after the snapshot, since the snapshot has the same events. answer is
// the index of the call that tells the outcome; history says that there was one
// before.
func Disorder(calls []Call, root, dir string, answer int, history bool) []string {
	o := &order{calls: calls, root: root, dir: dir, answer: answer, history: history}
	for i := range calls {
		if c := &calls[i]; c.OK() && strings.HasPrefix(c.Path(), root+"/") {
			o.check(i, c)
		}
	}
	return o.bad
}

type order struct {
	calls     []Call
	root, dir string
	answer    int
	history   bool
	bad       []string
}

func (o *order) complain(c *Call, format string, args ...any) {
	o.bad = append(o.bad, fmt.Sprintf("%s %s: %s", c.Name, strings.TrimPrefix(c.Path(), o.root+"/"), fmt.Sprintf(format, args...)))
}

func (o *order) check(i int, c *Call) {
	path := c.Path()
	switch c.Kind() {
	case "link", "rename":
		if o.hint(path) {
			return
		}
		if w := o.last(i, c.From(), "write", "truncate"); w >= 0 && !o.between(w, i, c.From(), "fsync") {
			o.complain(c, "its data was not fsynced before")
		}
		o.lasting(i, c)
		if path == o.snapshot() {
			o.settled(i, c)
		}
	case "mkdir":
		o.lasting(i, c)
	case "write":
		if !o.temporary(path) && !o.log(path) {
			o.complain(c, "it is written in place")
		}
	case "unlink":
		if !o.marker(path) {
			return
		}
		r := o.last(i, o.snapshot(), "link", "rename")
		if r < 0 || !o.between(r, i, o.dir, "fsync") {
			o.complain(c, "no snapshot was durable before")
		}
	}
}

func (o *order) snapshot() string { return filepath.Join(o.dir, "board.json") }

// lasting demands that a new name is durable before the answer.
func (o *order) lasting(i int, c *Call) {
	if !o.between(i, o.answer, filepath.Dir(c.Path()), "fsync") {
		o.complain(c, "its directory was not fsynced before the answer")
	}
}

// settled demands that the history of the revisions before is durable when a
// snapshot takes its name.
func (o *order) settled(i int, c *Call) {
	path := filepath.Join(o.dir, "history.jsonl")
	w := o.last(i, path, "write", "link")
	if w < 0 && !o.history {
		return
	}
	if !o.between(w, i, path, "fsync") {
		o.complain(c, "history was not fsynced before")
	}
}

// last returns the index of the last call of some kinds on a path before call
// i, -1 when there is none.
func (o *order) last(i int, path string, kinds ...string) int {
	for k := i - 1; k >= 0; k-- {
		c := &o.calls[k]
		for _, kind := range kinds {
			if c.OK() && c.Kind() == kind && c.Path() == path {
				return k
			}
		}
	}
	return -1
}

// between reports whether there is a call of a kind on a path that began after
// call from had ended, and ended before call to began. A bound that is no call
// does not bound.
func (o *order) between(from, to int, path, kind string) bool {
	for k := max(from+1, 0); k < min(to, len(o.calls)); k++ {
		c := &o.calls[k]
		if c.OK() && c.Kind() == kind && c.Path() == path && (from < 0 || c.Begin > o.calls[from].End) &&
			(to >= len(o.calls) || c.End < o.calls[to].Begin) {
			return true
		}
	}
	return false
}

func (o *order) hint(path string) bool {
	return path == filepath.Join(o.dir, "ready") || path == filepath.Join(o.dir, "history.jsonl")
}

// temporary reports whether a path has a name that readers skip.
func (o *order) temporary(path string) bool { return strings.HasPrefix(filepath.Base(path), ".") }

// log reports whether a file is written to under its name.
func (o *order) log(path string) bool {
	return strings.HasSuffix(path, ".lock") || strings.HasSuffix(path, ".log") || strings.HasSuffix(path, ".jsonl")
}

// marker reports whether a path is what may go only after its decision is
// durable.
func (o *order) marker(path string) bool {
	if o.temporary(path) {
		return false
	}
	switch filepath.Dir(path) {
	case filepath.Join(o.dir, "claims"), filepath.Join(o.dir, "submissions"):
		return true
	case filepath.Join(o.dir, "gates"):
		return strings.HasSuffix(path, ".run")
	}
	return false
}
