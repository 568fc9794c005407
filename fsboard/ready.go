package fsboard

import (
	"bytes"
	"iter"
	"sort"
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/internal/fsx"
)

// candidate is one line of the ready list: a pending task that no dependency
// blocks.
type candidate struct {
	id        string
	epoch     int64
	notBefore int64
	role      string
	assignee  string
	tags      string
}

const readyMagic = "# revision "

// readyList is the ready list of one revision: the file without its first
// line, whose rows are in claim order. It is handled as text: a long list costs
// a claim no more than a copy and the rows it looks at.
type readyList []byte

// readyLine renders a task for the ready list.
func readyLine(t *Task) []byte {
	b := make([]byte, 0, len(t.ID)+len(t.Role)+len(t.Assignee)+len(t.Subject)+64)
	b = append(append(b, t.ID...), '\t')
	b = append(strconv.AppendInt(b, t.Epoch, 10), '\t')
	b = append(strconv.AppendInt(b, int64(t.Priority), 10), '\t')
	b = append(strconv.AppendInt(b, t.NotBefore, 10), '\t')
	// A board of another tool may hold any text: no field may end the row.
	for _, field := range [...]string{t.Role, t.Assignee, strings.Join(t.Tags, ",")} {
		b = append(append(b, fsx.SafeLine(field)...), '\t')
	}
	return append(append(b, fsx.SafeLine(t.Subject)...), '\n')
}

// parseReady returns the list in a file's content if it is whole and of the
// given revision.
func parseReady(data []byte, revision int64) (readyList, bool) {
	if readyRevision(data) != revision || data[len(data)-1] != '\n' || bytes.IndexByte(data, 0) >= 0 {
		return nil, false
	}
	return data[bytes.IndexByte(data, '\n')+1:], true
}

// readyRevision returns the revision in line 1 of a ready list, -1 when there
// is none.
func readyRevision(data []byte) int64 {
	first, _, found := bytes.Cut(data, []byte{'\n'})
	digits, isReady := bytes.CutPrefix(first, []byte(readyMagic))
	rev, err := strconv.ParseInt(string(digits), 10, 64)
	if !found || !isReady || err != nil || rev < 0 {
		return -1
	}
	return rev
}

// rows yields the rows one by one, without their end.
func (l readyList) rows() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(l) > 0 {
			end := bytes.IndexByte(l, '\n')
			if !yield(l[:end]) {
				return
			}
			l = l[end+1:]
		}
	}
}

// rowKey reads what a row is sorted by.
func rowKey(row []byte) (priority int, num int64, ok bool) {
	id, rest, ok1 := bytes.Cut(row, []byte{'\t'})
	_, rest, ok2 := bytes.Cut(rest, []byte{'\t'})
	digits, _, ok3 := bytes.Cut(rest, []byte{'\t'})
	num, isID := taskNumber(string(id))
	priority, err := strconv.Atoi(string(digits))
	return priority, num, ok1 && ok2 && ok3 && isID && err == nil
}

func parseCandidate(row []byte) (c candidate, ok bool) {
	f := strings.SplitN(string(row), "\t", 8)
	if len(f) != 8 {
		return c, false
	}
	var e1, e2 error
	c.id, c.role, c.assignee, c.tags = f[0], f[4], f[5], f[6]
	c.epoch, e1 = strconv.ParseInt(f[1], 10, 64)
	c.notBefore, e2 = strconv.ParseInt(f[3], 10, 64)
	return c, ValidID(c.id) && e1 == nil && e2 == nil
}

// candidates computes the ready list from the snapshot.
func (s *snapshot) candidates() (readyList, error) {
	var list []*Task
	for i := range s.lines {
		if s.lines[i].status() != pending {
			continue
		}
		t, err := s.at(i)
		if err != nil {
			return nil, err
		}
		if !s.isBlocked(t) {
			list = append(list, t)
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Priority < list[j].Priority })
	rows := make(readyList, 0, 100*len(list))
	for _, t := range list {
		rows = append(rows, readyLine(t)...)
	}
	return rows, nil
}

// readReady returns the ready list if its file is of a revision.
func (b *Board) readReady(revision int64) (readyList, bool) {
	b.mu.Lock()
	known := b.ready
	b.mu.Unlock()
	if known.list != nil && known.rev == revision {
		return known.list, true
	}
	data, err := fsx.ReadFile(b.readyPath(), maxSnapshot)
	if err != nil {
		return nil, false
	}
	list, ok := parseReady(data, revision)
	if ok {
		b.knowReady(revision, list)
	}
	return list, ok
}

// knownReady is the last ready list that was read or written.
type knownReady struct {
	rev  int64
	list readyList
}

func (b *Board) knowReady(revision int64, list readyList) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = knownReady{revision, list}
}

// writeReady brings the ready list to the snapshot's revision: by changing
// what this section touched when the list of the revision before is there,
// else from the whole snapshot. The list is a hint; failures are made good by
// the next fold.
func (t *tx) writeReady(before int64) {
	list, ok := t.b.readReady(before)
	if ok {
		list, ok = t.patchReady(list)
	}
	if !ok {
		var err error
		if list, err = t.snap.candidates(); err != nil {
			return
		}
	}
	_ = t.b.storeReady(t.snap.head.Revision, list)
}

// readyIsOf reports, from its first line alone, whether the ready list is of a
// revision.
func (b *Board) readyIsOf(revision int64) bool {
	want := readyMagic + strconv.FormatInt(revision, 10) + "\n"
	data, err := fsx.ReadHead(b.readyPath(), len(want))
	return err == nil && string(data) == want
}

// checkReady writes the list anew when a killed writer left an older one.
func (t *tx) checkReady() {
	if t.fresh || t.b.readyIsOf(t.snap.head.Revision) {
		return
	}
	if list, err := t.snap.candidates(); err == nil {
		_ = t.b.storeReady(t.snap.head.Revision, list)
	}
}

func (b *Board) storeReady(revision int64, list readyList) error {
	first := strconv.AppendInt([]byte(readyMagic), revision, 10)
	b.knowReady(revision, list)
	return fsx.ReplaceHint(b.readyPath(), [][]byte{append(first, '\n'), list})
}

// maxPatched is how many rows are changed one by one; beyond it the list is
// computed anew.
const maxPatched = 100

// patchReady applies the touched tasks to a list, and what depends on those
// that became completed or ceased to be.
func (t *tx) patchReady(list readyList) (readyList, bool) {
	changed := make(map[int64]bool, len(t.touched))
	for num, before := range t.touched {
		changed[num] = true
		now := noStatus
		if i, there := t.snap.find(num); there {
			now = t.snap.lines[i].status()
		}
		if len(t.touched) > maxPatched {
			return nil, false
		}
		if (before == completed) == (now == completed) {
			continue
		}
		dependents, err := t.snap.dependents(taskID(num))
		if err != nil {
			return nil, false
		}
		for _, d := range dependents {
			changed[number(d)] = true
		}
	}
	if len(changed) > maxPatched {
		return nil, false
	}
	var cuts []cut
	for num := range changed {
		if from, to := list.row(taskID(num)); from < to {
			cuts = append(cuts, cut{from: from, to: to})
		}
		i, there := t.snap.find(num)
		if !there || t.snap.lines[i].status() != pending {
			continue
		}
		task, err := t.snap.at(i)
		if err != nil {
			return nil, false
		}
		if !t.snap.isBlocked(task) {
			at, ok := list.place(task)
			if !ok {
				return nil, false
			}
			cuts = append(cuts, cut{from: at, to: at, task: task})
		}
	}
	return list.apply(cuts), true
}

// cut replaces a part of a list by the row of a task, or by nothing.
type cut struct {
	from, to int
	task     *Task
}

// apply makes the cuts, which touch but do not overlap, in a copy.
func (l readyList) apply(cuts []cut) readyList {
	sort.Slice(cuts, func(i, j int) bool {
		a, b := cuts[i], cuts[j]
		switch {
		case a.from != b.from:
			return a.from < b.from
		case a.task == nil || b.task == nil:
			return a.task != nil && b.task == nil // a new row goes before the old one that is cut
		case a.task.Priority != b.task.Priority:
			return a.task.Priority < b.task.Priority
		}
		return less(a.task.ID, b.task.ID)
	})
	out := make(readyList, 0, len(l)+256*len(cuts))
	at := 0
	for _, c := range cuts {
		out = append(out, l[at:c.from]...)
		if c.task != nil {
			out = append(out, readyLine(c.task)...)
		}
		at = c.to
	}
	return append(out, l[at:]...)
}

// row returns where the row of a task lies; from and to are the same when it
// has none.
func (l readyList) row(id string) (from, to int) {
	key := []byte("\n" + id + "\t")
	if bytes.HasPrefix(l, key[1:]) {
		from = 0
	} else if from = bytes.Index(l, key) + 1; from == 0 {
		return 0, 0
	}
	return from, from + bytes.IndexByte(l[from:], '\n') + 1
}

// place returns where the row of a task belongs, by bisection.
func (l readyList) place(t *Task) (at int, ok bool) {
	num := number(t.ID)
	lo, hi := 0, len(l) // both are starts of rows, or the end
	for lo < hi {
		from := bytes.LastIndexByte(l[lo:(lo+hi)/2], '\n') + 1 + lo
		to := from + bytes.IndexByte(l[from:], '\n') + 1
		priority, n, ok := rowKey(l[from : to-1])
		if !ok {
			return 0, false
		}
		if priority < t.Priority || priority == t.Priority && n < num {
			lo = to
		} else {
			hi = from
		}
	}
	return lo, true
}

// number is taskNumber of an id, 0 for what is none.
func number(id string) int64 { n, _ := taskNumber(id); return n }

// less orders ids by their number.
func less(a, b string) bool { return number(a) < number(b) }

// dependents returns the ids of the tasks that directly depend on id. Lines
// that do not mention it are not decoded.
func (s *snapshot) dependents(id string) ([]string, error) {
	text := []byte(`"` + id + `"`)
	num := number(id)
	var out []string
	for i := range s.lines {
		l := &s.lines[i]
		if l.num == num || !l.mentions(text) {
			continue
		}
		t, err := s.at(i)
		if err != nil {
			return nil, err
		}
		for _, d := range t.DependsOn {
			if d == id {
				out = append(out, t.ID)
				break
			}
		}
	}
	return out, nil
}
