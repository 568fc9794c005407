package crashtest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// fault is an error that a system call may meet.
type fault struct {
	call  string
	errno syscall.Errno
	name  string
	quick bool
}

func faults() []fault {
	return []fault{
		{"fsync", syscall.EIO, "EIO", true},
		{"write", syscall.ENOSPC, "ENOSPC", true},
		{"pwrite64", syscall.ENOSPC, "ENOSPC", false},
		{"renameat", syscall.EXDEV, "EXDEV", true},
		{"renameat", syscall.EIO, "EIO", false},
		{"renameat2", syscall.EIO, "EIO", false},
		{"linkat", syscall.EIO, "EIO", true},
		{"linkat", syscall.EPERM, "EPERM", false},
		{"unlinkat", syscall.EIO, "EIO", true},
		{"mkdirat", syscall.ENOSPC, "ENOSPC", true},
		{"flock", syscall.EINTR, "EINTR", true},
		{"openat", syscall.EMFILE, "EMFILE", false},
		{"openat", syscall.EIO, "EIO", false},
	}
}

// TestFault makes each system call about the session fail, one in each run.
// Either the command ends with 1 and says which file it was and why; or it ends
// as ever, and then what it told of is durable all the same, by the model of
// [Disk]: the failure was about a hint, or about what the next command makes
// good. In both cases nothing is half there, what was there before still is,
// and the next commands work. An interrupted call is made again.
func TestFault(t *testing.T) {
	need(t)
	for _, sc := range scenarios() {
		if !*long && !slices.Contains([]string{"task add", "claim", "submit"}, sc.name) {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			f := &failer{sc: &sc, w: sc.template(t), start: time.Now()}
			f.run(t)
		})
	}
}

// failer lets one command meet one failure after the other.
type failer struct {
	sc     *scenario
	w      *world
	before *sight
	start  time.Time

	runs, failed, harmless int
	late                   map[string]int // failures of a command that had happened
}

func (f *failer) run(t *testing.T) {
	var err error
	if f.before, err = look(f.w.place()); err != nil {
		t.Fatal(err)
	}
	if f.sc.damage != nil {
		f.sc.damage(f.w)
	}
	f.late = map[string]int{}
	for _, fault := range faults() {
		if !fault.quick && !*long {
			continue
		}
		if fault.call == "openat" && fault.errno == syscall.EIO && f.sc.damage != nil {
			continue // such a file counts as lost, and repair says so
		}
		if fault.call != "openat" || !f.sc.threads {
			f.each(t, fault, "")
			continue
		}
		// A gate opens a file for each process of the machine, in its children too.
		for _, path := range f.opened(t) {
			f.each(t, fault, path)
		}
	}
	late := 0
	for _, what := range slices.Sorted(maps.Keys(f.late)) {
		late += f.late[what]
		t.Logf("told as failed although it happened: %s (%d)", what, f.late[what])
	}
	counts.add("fault %-28s %4d failures: %3d told (%d after it had happened), %3d harmless, %v", f.sc.name,
		f.runs, f.failed, late, f.harmless, time.Since(f.start).Round(time.Second/10))
}

// opened lists the files of the session that an undisturbed run opens.
func (f *failer) opened(t *testing.T) []string {
	w := f.w.clone(f.w.b.scratch())
	defer w.remove()
	_, calls := w.trace(f.sc, tracing{})
	var out []string
	for i := range calls {
		c := &calls[i]
		path := w.short(c.Path())
		if c.Kind() == "open" && w.ours(c) && !fsx.IsTemp(filepath.Base(path)) && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// each lets the command fail at each occurrence of a call, or of those on a path.
func (f *failer) each(t *testing.T, fault fault, path string) {
	tail := 1
	if f.sc.threads && path == "" && *long {
		tail = 3
	}
	for n, through := 1, 0; through < tail && !t.Failed(); n++ {
		if n > 600 {
			t.Fatalf("%s: no end", fault.call)
		}
		switch hit, ours := f.once(t, fault, path, n); {
		case !hit:
			through++
		case ours:
			through = 0
		}
	}
}

// once lets the nth occurrence fail. hit says whether there was one, ours
// whether it was about the session.
func (f *failer) once(t *testing.T, fault fault, path string, n int) (hit, ours bool) {
	w := f.w.clone(f.w.b.scratch())
	w.t = t
	defer w.remove()
	disk, err := NewDisk(w.root)
	if err != nil {
		t.Fatal(err)
	}
	o := tracing{inject: fmt.Sprintf("%s:error=%s:when=%d", fault.call, fault.name, n), data: true}
	if path != "" {
		o.path = filepath.Join(w.root, path)
	}
	r, calls := w.trace(f.sc, o)
	var at *Call
	mute := false // another thread met the failure where it told of it, or in the Go runtime
	for i := range calls {
		if c := &calls[i]; c.Injected {
			hit = true
			if w.ours(c) {
				at = c
			}
			mute = mute || !w.ours(c) && !strings.HasPrefix(c.Path(), "/proc/")
		}
	}
	if at == nil {
		return hit, false
	}
	f.runs++
	what := fmt.Sprintf("%s on %s", o.inject, w.short(at.Path()))
	defer func() {
		if t.Failed() {
			t.Logf("%s: exit %d: %s%s\nthe state is kept in %s", what, r.code, r.stdout, r.stderr, w.keep())
		}
	}()
	if err := disk.Play(calls); err != nil && path == "" {
		t.Errorf("the model does not follow: %v", err)
		return true, true
	}
	told := r.code == f.sc.code && f.sc.told(&r)
	stage := w.survived(f.sc, f.before, told)
	switch {
	case told:
		if f.harmless++; path == "" { // else not all calls were recorded
			f.durable(t, disk, len(calls))
		}
	case fault.errno == syscall.EINTR:
		t.Error("an interrupted call was not made again")
	case mute:
		f.failed++
	default:
		f.failed++
		f.explained(t, w, &r, at, fault)
		if stage == happened && f.sc.stage(f.before) != happened {
			f.late[fault.call+" "+w.short(final(at.Path()))]++
		}
	}
	if !t.Failed() {
		f.sc.next(w, f.sc, stage, n%2 == 1)
		w.settled()
	}
	return true, true
}

// durable checks what a command told of against the worst power cut.
func (f *failer) durable(t *testing.T, d *Disk, at int) {
	w := *f.w
	w.t, w.root = t, w.b.scratch()
	defer w.remove()
	if err := d.Least(at).WriteTo(w.root); err != nil {
		t.Fatal(err)
	}
	w.survived(f.sc, f.before, true)
	if t.Failed() {
		t.Log("that is after a power cut; the command told of a success that was not durable")
	}
}

// explained checks that a failure was told with its reason and a path that
// people know.
func (f *failer) explained(t *testing.T, w *world, r *result, at *Call, fault fault) {
	all := r.stdout + r.stderr
	if r.code != 1 {
		t.Errorf("exit %d, want 1", r.code)
	}
	if !strings.Contains(all, fault.errno.Error()) {
		t.Errorf("the reason %q is not told", fault.errno.Error())
	}
	path := at.Path()
	if at.Kind() != "unlink" { // doctor removes what others left, and names it
		path = final(path)
	}
	if !strings.Contains(all, path) && !strings.Contains(all, filepath.Dir(path)) {
		t.Errorf("the path %s is not told", w.short(path))
	}
	if base := filepath.Base(at.Path()); path != at.Path() && strings.Contains(all, base) {
		t.Errorf("a temporary name is told")
	}
}

// final is the name that a file will have.
func final(path string) string {
	dir, base := filepath.Split(path)
	if !fsx.IsTemp(base) {
		return path
	}
	if i := strings.LastIndexByte(base, '.'); len(base)-i-1 == 16 && i > 0 {
		return dir + base[1:i] // ours
	}
	return dir + strings.TrimRight(base[1:], "0123456789") // renameio's
}
