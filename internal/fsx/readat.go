package fsx

import (
	"io"

	"golang.org/x/sys/unix"
)

// File is a regular file that is open for reading here and there in it. What
// it reads is of one file, also when another one is put in its place meanwhile.
type File struct {
	path string
	fd   int
	size int64
}

// Open opens a regular file for ReadAt. Errors are those of ReadFile.
func Open(path string) (*File, error) {
	fd, size, err := openRead(path)
	if err != nil {
		return nil, err
	}
	return &File{path: path, fd: fd, size: size}, nil
}

// Size is the size that the file had when it was opened.
func (f *File) Size() int64 { return f.size }

// ReadAt implements [io.ReaderAt].
func (f *File) ReadAt(p []byte, off int64) (n int, err error) {
	got, err := fill(f.fd, f.path, p, off)
	if err == nil && len(got) < len(p) {
		err = io.EOF
	}
	return len(got), err
}

// Close closes the file, once.
func (f *File) Close() error { return pathErr("close", f.path, unix.Close(f.fd)) }
