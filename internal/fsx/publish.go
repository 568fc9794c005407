package fsx

import (
	"bufio"
	"io"

	"golang.org/x/sys/unix"
)

// Publish creates the file path with the given content, exclusively and
// durably: whoever sees the file sees all of it, and one that exists is never
// changed. If there is one, the error is fs.ErrExist. The caller owns the
// question whether that other file is what it wanted.
//
// The error is ErrUncertain when the file is there, or may be, but its
// directory could not be made durable.
func Publish(path string, data []byte) error {
	return publish("publish", path, data, true)
}

// publish is Publish under the name of another operation; without sync nothing
// is made durable.
func publish(op, path string, data []byte, sync bool) error {
	t, err := newTemp(op, path)
	if err != nil {
		return pathErr(op, path, err)
	}
	defer t.discard()
	if err := writeFD(t.fd, path, data); err != nil {
		return pathErr(op, path, err)
	}
	return t.publish(sync)
}

// PublishFunc is Publish for content that write produces. write is called
// once; if it returns an error, nothing is published and that error is
// returned as it is. The writer is buffered and may not be used after write
// has returned.
func PublishFunc(path string, write func(w io.Writer) error) error {
	t, err := newTemp("publish", path)
	if err != nil {
		return pathErr("publish", path, err)
	}
	defer t.discard()
	w := bufio.NewWriterSize(fdWriter{t.fd, path}, 64<<10)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return pathErr("publish", path, err)
	}
	return t.publish(true)
}

// publish links the written file to its name.
func (t *tempFile) publish(sync bool) error {
	if sync {
		if err := fsyncFD(t.fd, t.path); err != nil {
			return pathErr(t.op, t.path, err)
		}
	}
	if err := t.link(); err != nil {
		return err
	}
	t.unlink() // before the fsync, so that one is enough for both names
	if sync {
		if err := FsyncDir(t.dir); err != nil {
			return &uncertain{t.op, t.path, bare(err)}
		}
	}
	return nil
}

// link gives the file its name. A network file system may carry the call out,
// lose the answer, and report EEXIST to the repetition; an interrupted call
// may have been carried out too. So no error is believed, and no call repeated,
// before a look.
func (t *tempFile) link() error {
	for {
		err := fault(OpLink, t.path)
		if err == nil {
			err = unix.Linkat(unix.AT_FDCWD, t.name, unix.AT_FDCWD, t.path, 0)
		}
		if err == nil {
			return nil
		}
		ours, lerr := t.isAt(t.path)
		if ours {
			return nil
		}
		// A second link can only be ours: somebody was quick to move the
		// published file away.
		var st unix.Stat_t
		if fstat(t.fd, &st) == nil && st.Nlink > 1 {
			return nil
		}
		switch {
		case lerr != nil:
			return &uncertain{t.op, t.path, lerr}
		case err != unix.EINTR:
			return pathErr(t.op, t.path, err)
		}
	}
}
