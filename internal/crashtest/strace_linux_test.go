package crashtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// traced are the calls that change what is on disk, lock it or make it durable,
// the openings, and the end.
const traced = "openat,write,pwrite64,fsync,fdatasync,linkat,renameat,renameat2,unlinkat,mkdirat,ftruncate,flock,fchmod,fchmodat,exit_group"

// tracing says what strace does to a command.
type tracing struct {
	inject string // one injection, such as fsync:error=EIO:when=3
	path   string // only calls on this path are counted and recorded
	data   bool   // record all that is written
}

// trace runs the command of a scenario under strace and returns how it ended
// and what it did.
func (w *world) trace(sc *scenario, o tracing) (result, []Call) {
	w.t.Helper()
	log := w.root + ".trace"
	defer os.Remove(log)
	args := []string{"-f", "-qq", "-y", "-o", log, "-e", "signal=none", "-e", "trace=" + traced, "-s", "80"}
	if o.data {
		args[len(args)-1] = "16777216"
	}
	if o.inject != "" {
		args = append(args, "-e", "inject="+o.inject)
	}
	if o.path != "" {
		args = append(args, "-P", o.path)
	}
	args = append(append(args, w.bin), w.args(sc.as, sc.args)...)
	r := w.exec(sc.as, w.b.strace, args...)
	f, err := os.Open(log)
	if err != nil {
		w.t.Fatalf("strace left no trace: %v %s", err, r.stderr)
	}
	defer f.Close()
	calls, err := Parse(f)
	if err != nil {
		w.t.Fatal(err)
	}
	return r, calls
}

// ours reports whether a call is about the session.
func (w *world) ours(c *Call) bool { return strings.HasPrefix(c.Path(), w.root+"/") }

// changes reports whether a call changes what the next command sees. An open
// that creates is left out: whether it did cannot be told from the call, and
// the state after it is that before the next call.
func (c *Call) changes() bool {
	switch c.Kind() {
	case "write", "link", "rename", "unlink", "mkdir", "truncate":
		return true
	}
	return false
}

// changed counts the changes of the session that were carried out.
func (w *world) changed(calls []Call) int {
	n := 0
	for i := range calls {
		if calls[i].changes() && calls[i].OK() && w.ours(&calls[i]) {
			n++
		}
	}
	return n
}

// names lists the system calls about the session that a run made.
func (w *world) names(calls []Call) []string {
	var out []string
	for i := range calls {
		if w.ours(&calls[i]) && !slices.Contains(out, calls[i].Name) {
			out = append(out, calls[i].Name)
		}
	}
	slices.Sort(out)
	return out
}

// short is a path below the root as seen from there.
func (w *world) short(path string) string {
	rel, err := filepath.Rel(w.root, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return rel
}
