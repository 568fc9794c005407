package fsx

import (
	"bufio"
	"io"
	"os"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// Replace gives the file path the given content, atomically and durably, and
// creates it if it is missing. A reader sees the old content or the new one.
// A target that is not a regular file is refused with ErrIrregular. Whoever
// reads, changes and replaces needs a lock of its own.
//
// The error is ErrUncertain when the new content is visible, or may be, but
// the directory could not be made durable.
func Replace(path string, data []byte) error {
	return replace(path, len(data), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// ReplaceParts is Replace with the concatenation of parts, which is not built
// in memory.
func ReplaceParts(path string, parts [][]byte) error {
	return replace(path, total(parts), func(w io.Writer) error {
		return writeParts(w, parts)
	})
}

// ReplaceHint is ReplaceParts without fsync: a reader still sees either all of
// the old content or all of the new one, but after a power cut the file may be
// old, empty or missing. It is for caches whose readers check their content.
func ReplaceHint(path string, parts [][]byte) error {
	if err := checkTarget("replace", path); err != nil {
		return err
	}
	t, err := newTemp("replace", path)
	if err != nil {
		return pathErr("replace", path, err)
	}
	defer t.discard()
	if err := writeParts(fdWriter{t.fd, path}, parts); err != nil {
		return pathErr("replace", path, err)
	}
	if err := t.close(); err != nil {
		return pathErr("replace", path, err)
	}
	// The old file is swapped out and then removed, where that can be done: a
	// rename onto it makes ext4 write the new content to the disk at once.
	swapped := true
	err = call(OpRename, path, func() error { return swap(t.name, path) })
	switch err {
	case unix.ENOENT, unix.EINVAL, unix.ENOSYS, unix.ENOTSUP:
		swapped = false
		err = call(OpRename, path, func() error { return unix.Rename(t.name, path) })
	}
	if err != nil {
		ours, lerr := t.isAt(path)
		switch {
		case ours:
		case lerr != nil:
			return &uncertain{"replace", path, lerr}
		default:
			return pathErr("replace", path, err)
		}
	}
	t.inUse = swapped
	return nil
}

// replace runs the steps of Replace. renameio makes the file, and fsyncs and
// renames it; the checks before, the look after an error and the fsync of the
// directory are ours.
func replace(path string, size int, write func(w io.Writer) error) error {
	dir, _, err := split(path)
	if err != nil {
		return pathErr("replace", path, err)
	}
	if err := checkTarget("replace", path); err != nil {
		return err
	}
	var f *renameio.PendingFile
	err = call(OpOpen, path, func() (err error) {
		// Without a directory of ours renameio would probe for one.
		f, err = renameio.NewPendingFile(path,
			renameio.WithTempDir(dir), renameio.WithStaticPermissions(fileMode))
		return err
	})
	if err != nil {
		return pathErr("replace", path, err)
	}
	temp, done := f.Name(), false
	defer func() {
		if !done {
			_ = call(OpUnlink, temp, f.Cleanup)
		}
	}()
	written, err := f.Stat()
	if err != nil {
		return pathErr("replace", path, err)
	}
	if err := write(pendingWriter{f, path}); err != nil {
		return pathErr("replace", path, err)
	}
	// One call of renameio makes both system calls, so the seam is asked about
	// both beforehand.
	err = call(OpFsync, path, func() error { return nil })
	if err != nil {
		return pathErr("replace", path, err)
	}
	err = call(OpRename, path, f.CloseAtomicallyReplace)
	if err != nil {
		now, lerr := os.Lstat(path)
		switch {
		case lerr == nil && os.SameFile(written, now):
		case lerr != nil && !os.IsNotExist(lerr):
			return &uncertain{"replace", path, bare(lerr)}
		default:
			return pathErr("replace", path, err)
		}
	}
	done = true
	if err := FsyncDir(dir); err != nil {
		return &uncertain{"replace", path, bare(err)}
	}
	return nil
}

// checkTarget refuses to replace anything but a regular file.
func checkTarget(op, path string) error {
	var st unix.Stat_t
	switch err := lstat(path, &st); {
	case err == unix.ENOENT:
		return nil
	case err != nil:
		return pathErr(op, path, err)
	case !isRegular(&st):
		return irregular(op, path, kindOf(uint32(st.Mode)), "regular file")
	}
	return nil
}

// pendingWriter writes behind the seam.
type pendingWriter struct {
	f    *renameio.PendingFile
	path string
}

// pushSize is how much of a large file is written at a time. The system brings
// it to the disk while the rest is copied, so that fsync has less to wait for.
const pushSize = 512 << 10

func (w pendingWriter) Write(p []byte) (n int, err error) {
	for {
		m, err := w.write(p[n:min(len(p), n+pushSize)])
		n += m
		if err != nil || n == len(p) {
			return n, err
		}
		push(w.f.Fd())
	}
}

func (w pendingWriter) write(p []byte) (n int, err error) {
	err = call(OpWrite, w.path, func() (err error) {
		n, err = w.f.Write(p)
		return err
	})
	return n, err
}

func total(parts [][]byte) (n int) {
	for _, p := range parts {
		n += len(p)
	}
	return n
}

// writeParts writes parts through one buffer, which holds all of them when
// they are few.
func writeParts(w io.Writer, parts [][]byte) error {
	if len(parts) == 1 {
		_, err := w.Write(parts[0])
		return err
	}
	b := bufio.NewWriterSize(w, min(max(total(parts), 16), 64<<10))
	for _, p := range parts {
		if _, err := b.Write(p); err != nil {
			return err
		}
	}
	return b.Flush()
}
