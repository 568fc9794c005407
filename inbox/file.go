package inbox

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// MaxBody is the largest body, in bytes.
const MaxBody = 10 << 20

// maxHeader bounds a header, in bytes, both fences included.
const maxHeader = 64 << 10

// maxFile bounds what is read as a message: a body and its header.
const maxFile = MaxBody + maxHeader

// usualHeader is what is read first of a message whose body is not wanted.
const usualHeader = 4 << 10

// oneWrite is how large a message may be, in bytes, to be joined in memory and
// written at once.
const oneWrite = 64 << 10

// WriteTo publishes the message as a file of its own. fs.ErrExist: there is one.
func (m *Message) WriteTo(path string) error {
	head, err := m.encode()
	if err != nil {
		return err
	}
	if len(head)+len(m.Body) <= oneWrite {
		return fsx.Publish(path, append(head, m.Body...))
	}
	return fsx.PublishFunc(path, func(w io.Writer) error {
		for _, part := range [][]byte{head, m.Body} {
			if _, err := w.Write(part); err != nil {
				return &fs.PathError{Op: "publish", Path: path, Err: err}
			}
		}
		return nil
	})
}

// encode returns the header and refuses what could not be written.
func (m *Message) encode() ([]byte, error) {
	if len(m.Body) > MaxBody {
		return nil, TooLarge(int64(len(m.Body)))
	}
	return m.Encode()
}

// TooLarge is the error for a body over the limit.
func TooLarge(size int64) error {
	return errs.New(errs.Usage, "the body has %d bytes, at most %d are taken", size, MaxBody).
		WithHint("put it in a file and send the file's path")
}

// ReadFile reads the file of a message whole. The id is the file's name
// without its ending. A symlink or whatever else is no regular file is
// refused, and so is a file that is larger than any message.
func ReadFile(path string) (*Message, error) {
	data, err := fsx.ReadFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	h, body := splitHeader(data, true)
	m := &Message{Header: h, Body: data[body:], Size: int64(len(data) - body)}
	m.complete(idOfFile(path), m.Body)
	return m, nil
}

// PeekFile is ReadFile without the body, of which it reads a few bytes at most.
// The file may have any size.
func PeekFile(path string) (*Message, error) {
	data, err := fsx.ReadHead(path, usualHeader)
	if err != nil {
		return nil, err
	}
	size := int64(len(data))
	if len(data) == usualHeader {
		info, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		size = info.Size()
	}
	h, body := splitHeader(data, int64(len(data)) == size)
	if int64(len(data)) < size && (body == 0 || h.Title == "") {
		// The header is longer than usual; or there is none, or one without a
		// title, which is then made of the beginning of the body.
		if data, err = fsx.ReadHead(path, maxHeader+titleFrom); err != nil {
			return nil, err
		}
		h, body = splitHeader(data, int64(len(data)) == size)
	}
	m := &Message{Header: h, Size: size - int64(body)}
	m.complete(idOfFile(path), data[body:])
	return m, nil
}

func idOfFile(path string) string { return strings.TrimSuffix(filepath.Base(path), ext) }
