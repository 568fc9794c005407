package fsx

import (
	"math/rand/v2"
	"strings"

	"golang.org/x/sys/unix"
)

// tempFile is a file on its way to its name.
type tempFile struct {
	op    string // for errors
	fd    int    // -1 when closed
	name  string
	path  string // the name it will have; what errors and the seam speak of
	dir   string
	id    fileID
	inUse bool // the temporary name is still there
}

const tempDigits = 16

// newTemp creates ".<base>.<16 hex digits>" beside path, with mode 0600. The
// digits need not be secret: O_EXCL lets nobody prepare the name.
func newTemp(op, path string) (*tempFile, error) {
	dir, base, err := split(path)
	if err != nil {
		return nil, err
	}
	t := &tempFile{op: op, path: path, dir: dir}
	for try := 0; ; try++ {
		t.name = tempName(dir, base)
		t.fd, err = openFD(t.name, path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
		if err == nil {
			break
		}
		if err != unix.EEXIST || try == 100 {
			return nil, err
		}
	}
	t.inUse = true
	var st unix.Stat_t
	if err = fstat(t.fd, &st); err == nil {
		err = fixMode(t.fd, &st)
	}
	if err != nil {
		t.discard()
		return nil, err
	}
	t.id = idOf(&st)
	return t, nil
}

func tempName(dir, base string) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, len(dir)+len(base)+tempDigits+3)
	b = append(b, dir...)
	if dir[len(dir)-1] != '/' {
		b = append(b, '/')
	}
	b = append(b, '.')
	b = append(b, base...)
	b = append(b, '.')
	for r, i := rand.Uint64(), 0; i < tempDigits; i++ {
		b = append(b, digits[r&15])
		r >>= 4
	}
	return string(b)
}

func (t *tempFile) close() error {
	if t.fd < 0 {
		return nil
	}
	err := unix.Close(t.fd)
	t.fd = -1
	if err == unix.EINTR { // the descriptor is gone all the same
		err = nil
	}
	return err
}

// unlink removes the temporary name.
func (t *tempFile) unlink() {
	if !t.inUse {
		return
	}
	t.inUse = false
	// Whether this works does not change what the caller is told: a left-over
	// is skipped by every reader and swept later.
	_ = call(OpUnlink, t.name, func() error { return unix.Unlink(t.name) })
}

// discard closes the file and removes its temporary name, as far as either is
// still to be done.
func (t *tempFile) discard() {
	t.close()
	t.unlink()
}

// isAt reports whether path is this very file.
func (t *tempFile) isAt(path string) (bool, error) {
	var st unix.Stat_t
	if err := lstat(path, &st); err != nil {
		if err == unix.ENOENT {
			err = nil
		}
		return false, err
	}
	return idOf(&st) == t.id, nil
}

// IsTemp reports whether name is that of a temporary file of this package: a
// dot-name that ends in the random digits of Publish or Replace. A crash leaves
// such files behind; one that is old may be removed.
func IsTemp(name string) bool {
	if len(name) < 3 || name[0] != '.' {
		return false
	}
	if i := strings.LastIndexByte(name, '.'); i > 1 && len(name)-i-1 == tempDigits {
		return strings.Trim(name[i+1:], "0123456789abcdef") == ""
	}
	// renameio puts a decimal number of up to 19 digits behind the base name;
	// fewer than 10 of them come once in 10^9 files.
	rest := strings.TrimRight(name, "0123456789")
	return len(rest) > 1 && len(name)-len(rest) >= 10
}
