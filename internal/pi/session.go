package pi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Repair says what RepairSession found and did.
type Repair struct {
	Cwd       string // the directory that pi will work in when it resumes, whatever it is started in; "" when there is no session
	Entries   int    // lines of the session file
	Completed bool   // the last line was whole and lacked its end
	Cut       int64  // bytes taken off
	Kept      string // file that has them; "" when nothing was taken off
}

const (
	maxSessionHead = 1 << 20
	sessionChunk   = 64 << 10
)

// RepairSession prepares a session file for a resume. Pi appends to what is
// there: behind a line that a crash has cut, the next one cannot be read, and
// all that was said before it is lost on the following start. So a last line
// without its end is taken off and kept in a file beside it, or completed if it
// is whole. A file whose first line is not that of a session, which pi would
// write over, is moved aside. It must not be called while pi runs.
//
// A missing file is no error, and neither is an empty one. An error has code
// corrupt for what is no regular file, and otherwise is that of the file system.
func RepairSession(path string) (r Repair, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return r, err
	}
	if !info.Mode().IsRegular() {
		return r, errs.New(errs.Corrupt, "the session file is no regular file").WithPath(path)
	}
	size := info.Size()
	whole, err := lastLineFeed(f, size)
	if err != nil {
		return r, err
	}
	if whole < size {
		complete, err := isObject(io.NewSectionReader(f, whole, size-whole))
		switch {
		case err != nil:
			return r, err
		case complete:
			if _, err := f.WriteAt([]byte{'\n'}, size); err != nil {
				return r, err
			}
			r.Completed, size = true, size+1
		default:
			if r.Kept, err = keep(path, io.NewSectionReader(f, whole, size-whole)); err != nil {
				return r, err
			}
			if err := f.Truncate(whole); err != nil {
				return r, err
			}
			r.Cut, size = size-whole, whole
		}
		if err := f.Sync(); err != nil {
			return r, err
		}
	}
	if size == 0 {
		return r, nil
	}
	var ok bool
	if r.Cwd, ok, err = sessionHead(f, size); err != nil {
		return r, err
	}
	if !ok {
		kept, err := keep(path, io.NewSectionReader(f, 0, size))
		if err != nil {
			return r, err
		}
		r.Kept, r.Cut = kept, r.Cut+size
		return r, fsx.Remove(path)
	}
	r.Entries, err = countLines(io.NewSectionReader(f, 0, size))
	return r, err
}

// CopySession writes the conversation of a session file to a new one whose first
// line says that pi is to work in dir; all that follows is the same, and so is
// the file that it comes from. That one was repaired before, and no pi writes to
// it. The error is fs.ErrExist when to is there.
func CopySession(from, to, dir string) (err error) {
	f, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, min(info.Size(), maxSessionHead))
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	moved, err := withCwd(line, dir)
	if err != nil {
		return errs.New(errs.Corrupt, "the session file does not begin with the line of a session: %w", err).WithPath(from)
	}
	return fsx.PublishFunc(to, func(w io.Writer) error {
		if _, err := w.Write(moved); err != nil {
			return err
		}
		n := int64(len(line))
		_, err := io.Copy(w, io.NewSectionReader(f, n, info.Size()-n))
		return err
	})
}

// withCwd is the first line of a session file with another directory; its other
// members, and their order, stay.
func withCwd(line []byte, dir string) ([]byte, error) {
	cwd, err := json.Marshal(dir)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(err, errors.New("it is no object"))
	}
	var moved []byte
	done, found := int64(0), false // what of line is in moved
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if end := d.InputOffset(); name == "cwd" {
			moved = append(append(moved, line[done:end-int64(len(value))]...), cwd...)
			done, found = end, true
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if !found { // there are other members, or it would be no session
		end := d.InputOffset() - 1
		moved = append(append(append(moved, line[:end]...), `,"cwd":`...), cwd...)
		done = end
	}
	return append(moved, line[done:]...), nil
}

// guardSession makes the session file readable for its owner alone. Pi creates
// it when the model has answered for the first time, as the umask has it, and
// that may be meant for the files of the project.
func (p *Process) guardSession() {
	if p.guarded.Load() || p.c.Session == "" {
		return
	}
	f, err := os.OpenFile(p.c.Session, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return // not there yet
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		p.guarded.Store(f.Chmod(0o600) == nil)
	}
}

// lastLineFeed returns the offset behind the last line feed; 0 without one.
func lastLineFeed(f io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, sessionChunk)
	for end := size; end > 0; {
		from := max(end-sessionChunk, 0)
		piece := buf[:end-from]
		if _, err := f.ReadAt(piece, from); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(piece, '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// isObject tells whether r is one JSON object and nothing else.
func isObject(r io.Reader) (bool, error) {
	l := newLexer(r)
	if k, err := l.kind(); err != nil || k != '{' {
		return false, realError(l)
	}
	if err := l.object(func(string) error { return l.skip() }); err != nil {
		return false, realError(l)
	}
	_, err := l.kind() // there must be nothing more
	return err != nil, realError(l)
}

func realError(l *lexer) error {
	if l.err == nil || errors.Is(l.err, io.EOF) {
		return nil
	}
	return l.err
}

// keep writes r to a file beside path that was not there, and returns its path.
func keep(path string, r io.ReadSeeker) (string, error) {
	for n := 1; ; n++ {
		kept := fmt.Sprintf("%s.torn-%d", path, n)
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
		err := fsx.PublishFunc(kept, func(w io.Writer) error {
			_, err := io.Copy(w, r)
			return err
		})
		if !errors.Is(err, fs.ErrExist) {
			return kept, err
		}
	}
}

// sessionHead reads the first line. ok: it is that of a session.
func sessionHead(f io.ReaderAt, size int64) (cwd string, ok bool, err error) {
	head := make([]byte, min(size, maxSessionHead))
	if _, err := f.ReadAt(head, 0); err != nil {
		return "", false, err
	}
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	var first struct {
		Type string  `json:"type"`
		ID   *string `json:"id"`
		Cwd  string  `json:"cwd"`
	}
	if json.Unmarshal(line, &first) != nil || first.Type != "session" || first.ID == nil {
		return "", false, nil
	}
	return first.Cwd, true, nil
}

func countLines(r io.Reader) (n int, err error) {
	buf := make([]byte, sessionChunk)
	for {
		k, err := r.Read(buf)
		n += bytes.Count(buf[:k], []byte{'\n'})
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
