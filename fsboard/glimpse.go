package fsboard

import (
	"bytes"
	"io"
	"strconv"

	"github.com/seed6990a682/teams/internal/fsx"
)

// glimpse returns the snapshot as far as one task needs it: its head, the
// task's line, and the lines of what the task depends on. A large board has its
// lines in the order of their numbers, so that these are found without reading
// the rest. Whatever is not as it should be is for load to judge, which reads
// everything; so is a task that was not found.
func (b *Board) glimpse(id string) (*snapshot, error) {
	if s := b.recall(); s != nil {
		return s, nil
	}
	if s, ok := b.findLines(id); ok {
		return s, nil
	}
	return b.load()
}

// glimpseFrom is the size from which a glimpse costs less than reading the
// board.
const glimpseFrom = 64 << 10

// findLines makes the snapshot of a glimpse.
func (b *Board) findLines(id string) (*snapshot, bool) {
	num, ok := taskNumber(id)
	if !ok {
		return nil, false
	}
	f, err := fsx.Open(b.Path())
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if f.Size() < glimpseFrom || !endsWhole(f) {
		return nil, false
	}
	lines := lineFinder{f: f}
	first, err := lines.line(0)
	if err != nil || !bytes.HasSuffix(first, []byte(headTail)) {
		return nil, false
	}
	lines.begin = int64(len(first)) + 1
	s := newSnapshot("", "")
	if s.head, err = parseHead(first); err != nil {
		return nil, false
	}
	l, ok := lines.find(num)
	if !ok {
		return nil, false
	}
	s.lines = append(s.lines, l)
	task, err := s.task(id)
	if err != nil || task == nil {
		return nil, false
	}
	for _, dep := range task.DependsOn {
		num, ok := taskNumber(dep)
		if !ok {
			return nil, false
		}
		if _, there := s.find(num); there {
			continue
		}
		if l, ok = lines.find(num); !ok {
			return nil, false
		}
		s.insert(l)
	}
	return s, true
}

// endsWhole reports whether the file ends as a snapshot does that is whole.
func endsWhole(f *fsx.File) bool {
	end := make([]byte, 3)
	_, err := f.ReadAt(end, f.Size()-int64(len(end)))
	return err == nil && string(end) == "]}\n"
}

// insert puts a line that is not there in its place.
func (s *snapshot) insert(l line) {
	i, _ := s.find(l.num)
	s.lines = append(s.lines, line{})
	copy(s.lines[i+1:], s.lines[i:])
	s.lines[i] = l
}

// lineFinder looks for lines of a file by bisection.
type lineFinder struct {
	f     *fsx.File
	begin int64 // of the first task's line
}

// probe is how much is read at a time. Most lines are shorter.
const probe = 4 << 10

// find returns the line of a task.
func (lf *lineFinder) find(num int64) (line, bool) {
	// The line begins at low or behind it, and before high.
	low, high := lf.begin, lf.f.Size()
	for high-low > probe {
		mid := low + (high-low)/2
		at, n, ok := lf.next(mid, high)
		switch {
		case !ok:
			return line{}, false
		case at >= high: // a line that is longer than what is left
			high = mid
		case n <= num:
			low = at
		default:
			high = at
		}
	}
	for at := low; at < high; {
		row, err := lf.line(at)
		if err != nil {
			return line{}, false
		}
		l, err := parseLine(bytes.TrimSuffix(row, []byte(",")))
		if err != nil || l.task != nil || l.num > num {
			return line{}, false // not there, or not as this package writes it
		}
		if l.num == num {
			return l, true
		}
		at += int64(len(row)) + 1
	}
	return line{}, false
}

// next returns where the first line behind off begins and the number of its
// task; the last line of the snapshot counts as one behind all tasks. A place
// at or behind high says that there is none before.
func (lf *lineFinder) next(off, high int64) (at, num int64, ok bool) {
	buf := make([]byte, probe)
	for at = off; at < high; at += int64(len(buf)) {
		n, err := lf.f.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return 0, 0, false
		}
		if nl := bytes.IndexByte(buf[:n], '\n'); nl >= 0 {
			if at += int64(nl) + 1; at >= high {
				return at, 0, true
			}
			num, ok = lf.number(at)
			return at, num, ok
		}
	}
	return at, 0, true
}

// number reads the number of the task whose line begins at off.
func (lf *lineFinder) number(off int64) (num int64, ok bool) {
	buf := make([]byte, 24)
	n, err := lf.f.ReadAt(buf, off)
	if err != nil && err != io.EOF {
		return 0, false
	}
	buf = buf[:n]
	if bytes.HasPrefix(buf, []byte(lastHead)) {
		return 1<<63 - 1, true
	}
	digits, ok1 := bytes.CutPrefix(buf, []byte(`"t_`))
	digits, _, ok2 := bytes.Cut(digits, []byte(`"`))
	num, err = strconv.ParseInt(string(digits), 10, 64)
	return num, ok1 && ok2 && err == nil
}

// line returns the line that begins at off, without its end.
func (lf *lineFinder) line(off int64) ([]byte, error) {
	for size := int64(probe); ; size *= 4 {
		buf := make([]byte, size)
		n, err := lf.f.ReadAt(buf, off)
		if nl := bytes.IndexByte(buf[:n], '\n'); nl >= 0 {
			return buf[:nl:nl], nil
		}
		if err != nil {
			return nil, err
		}
	}
}
