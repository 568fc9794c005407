package term

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/internal/fsx"
)

// How much of the output is kept: stretches of stretchSize bytes, the last
// keepStretches of them, and the one that is being written.
const (
	stretchSize   = 256 << 10
	keepStretches = 4
)

// stretch is a file of output.
type stretch struct {
	name  string
	start int64 // the place of its first byte in all of the output
	alt   bool  // the alternate screen was on there
}

const stretchPrefix = "out."

func stretchName(start int64, alt bool) string {
	name := strconv.FormatInt(start, 10)
	name = stretchPrefix + strings.Repeat("0", max(0, 18-len(name))) + name
	if alt {
		name += ".a"
	}
	return name
}

// stretches lists the files of output in their order.
func stretches(dir string) ([]stretch, error) {
	names, err := fsx.List(dir)
	if err != nil {
		return nil, err
	}
	var out []stretch
	for _, name := range names { // sorted, as the places are
		digits, ok := strings.CutPrefix(name, stretchPrefix)
		if !ok {
			continue
		}
		digits, alt := strings.CutSuffix(digits, ".a")
		if start, err := strconv.ParseInt(digits, 10, 64); err == nil {
			out = append(out, stretch{name, start, alt})
		}
	}
	return out, nil
}

// recorder writes output. It keeps track of the alternate screen, so that
// whoever begins to read at a stretch knows of it.
type recorder struct {
	dir   string
	f     *os.File
	size  int64 // of f
	at    int64 // all of the output so far
	state screen
	tail  []byte // of an escape sequence that is not complete
}

func newRecorder(dir string) (*recorder, error) {
	r := &recorder{dir: dir}
	return r, r.next()
}

// next begins another stretch and drops the oldest.
func (r *recorder) next() error {
	f, err := os.OpenFile(filepath.Join(r.dir, stretchName(r.at, r.state.Alt)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if r.f != nil {
		r.f.Close()
	}
	r.f, r.size = f, 0
	list, err := stretches(r.dir)
	if err != nil {
		return err
	}
	for i := 0; i < len(list)-keepStretches-1; i++ {
		if err := fsx.Remove(filepath.Join(r.dir, list[i].name)); err != nil {
			return err
		}
	}
	return nil
}

// Write appends output.
func (r *recorder) Write(b []byte) (int, error) {
	// A stretch begins where no sequence is broken off, so that it can be read
	// on its own.
	if r.size >= stretchSize && len(r.tail) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n, err := r.f.Write(b)
	r.size, r.at = r.size+int64(n), r.at+int64(n)
	r.watch(b[:n])
	return n, err
}

// watch follows the alternate screen.
func (r *recorder) watch(b []byte) {
	all := b
	if len(r.tail) > 0 {
		all = append(r.tail, b...)
	}
	_, used := clean(all, &r.state, 1<<30)
	r.tail = append([]byte(nil), all[used:]...)
}

// Close ends the recording.
func (r *recorder) Close() error { return r.f.Close() }

// place is where somebody is in the output.
type place struct {
	At     int64  `json:"at"`
	Screen screen `json:"screen"`
	Seen   bool   `json:"seen"` // false before the first read
}

// errScrolled says that the output at a place is gone.
var errScrolled = errors.New("the output has scrolled")

// readAt reads at most n bytes of output from a place on.
func readAt(dir string, at int64, n int) ([]byte, error) {
	for try := 0; ; try++ {
		list, err := stretches(dir)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		if at < list[0].start {
			return nil, errScrolled
		}
		i := len(list) - 1
		for i > 0 && list[i].start > at {
			i--
		}
		var out []byte
		for ; i < len(list) && len(out) < n; i++ {
			b, err := readPart(filepath.Join(dir, list[i].name), at+int64(len(out))-list[i].start, n-len(out))
			if errors.Is(err, fs.ErrNotExist) && try < 10 {
				out = nil
				break // dropped meanwhile: look again
			}
			if err != nil {
				return nil, err
			}
			out = append(out, b...)
			if i+1 < len(list) && at+int64(len(out)) < list[i+1].start && len(out) < n {
				return nil, errScrolled // cannot be: a stretch that is too short
			}
		}
		if out != nil || i == len(list) {
			return out, nil
		}
	}
}

func readPart(path string, from int64, n int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	m, err := f.ReadAt(b, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b[:m], nil
}

// end returns where the output ends now, and what is known of the screen there.
func end(dir string) (place, error) {
	list, err := stretches(dir)
	if err != nil || len(list) == 0 {
		return place{}, err
	}
	last := list[len(list)-1]
	p := place{At: last.start, Screen: screen{Alt: last.alt}}
	raw, err := readAt(dir, p.At, stretchSize*4)
	if err != nil {
		return p, err
	}
	_, _ = clean(raw, &p.Screen, 1<<30)
	p.At += int64(len(raw))
	return p, nil
}
