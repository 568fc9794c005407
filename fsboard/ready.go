package fsboard

import (
	"bytes"
	"sort"
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/internal/fsx"
)

// candidate is one line of the ready list: a pending task that no dependency
// blocks.
type candidate struct {
	id        string
	num       int64
	epoch     int64
	priority  int
	notBefore int64
	role      string
	assignee  string
	tags      string
}

const readyMagic = "# revision "

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
	return append(b, fsx.SafeLine(t.Subject)...)
}

// readyRows returns the rows of a ready list. It is used only when it is whole
// and of the given revision; otherwise ok is false. Rows are parsed when they
// are looked at: a long list costs a claim no more than the rows it passes.
func readyRows(data []byte, revision int64) (rows [][]byte, ok bool) {
	if readyRevision(data) != revision || data[len(data)-1] != '\n' || bytes.IndexByte(data, 0) >= 0 {
		return nil, false
	}
	rest := data[bytes.IndexByte(data, '\n')+1:]
	rows = make([][]byte, 0, bytes.Count(rest, []byte{'\n'}))
	for len(rest) > 0 {
		end := bytes.IndexByte(rest, '\n')
		rows = append(rows, rest[:end])
		rest = rest[end+1:]
	}
	return rows, true
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

// rowKey reads what a row is sorted by.
func rowKey(row []byte) (num int64, priority int, ok bool) {
	id, rest, ok1 := bytes.Cut(row, []byte{'\t'})
	_, rest, ok2 := bytes.Cut(rest, []byte{'\t'})
	if !ok1 || !ok2 || len(id) < 3 || len(rest) < 2 || rest[1] != '\t' {
		return 0, 0, false
	}
	for _, c := range id[2:] {
		if c < '0' || c > '9' {
			return 0, 0, false
		}
		num = num*10 + int64(c-'0')
	}
	return num, int(rest[0] - '0'), true
}

func parseCandidate(row []byte) (c candidate, ok bool) {
	f := strings.SplitN(string(row), "\t", 8)
	if len(f) != 8 {
		return c, false
	}
	var e1, e2, e3 error
	c.id, c.role, c.assignee, c.tags = f[0], f[4], f[5], f[6]
	c.num, ok = taskNumber(c.id)
	c.epoch, e1 = strconv.ParseInt(f[1], 10, 64)
	c.priority, e2 = strconv.Atoi(f[2])
	c.notBefore, e3 = strconv.ParseInt(f[3], 10, 64)
	return c, ok && e1 == nil && e2 == nil && e3 == nil
}

// candidates computes the rows of the ready list from the snapshot.
func (s *snapshot) candidates() ([][]byte, error) {
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
	rows := make([][]byte, len(list))
	for i, t := range list {
		rows[i] = readyLine(t)
	}
	return rows, nil
}

// readReady returns the rows of the ready list if its file is of a revision.
func (b *Board) readReady(revision int64) ([][]byte, bool) {
	data, err := fsx.ReadFile(b.readyPath(), maxSnapshot)
	if err != nil {
		return nil, false
	}
	return readyRows(data, revision)
}

// writeReady brings the ready list to the snapshot's revision: by changing
// what this section touched when the file is of the revision before, else from
// the whole snapshot. The list is a hint; failures are made good by the next
// fold.
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
	if rows, err := t.snap.candidates(); err == nil {
		_ = t.b.storeReady(t.snap.head.Revision, rows)
	}
}

func (b *Board) storeReady(revision int64, rows [][]byte) error {
	size := 64
	for _, row := range rows {
		size += len(row) + 1
	}
	out := append(make([]byte, 0, size), readyMagic+strconv.FormatInt(revision, 10)+"\n"...)
	for _, row := range rows {
		out = append(append(out, row...), '\n')
	}
	return fsx.ReplaceHint(b.readyPath(), [][]byte{out})
}

// patchReady applies the touched tasks to rows, and what depends on those that
// became completed or ceased to be.
func (t *tx) patchReady(rows [][]byte) ([][]byte, bool) {
	changed := make(map[int64]bool, len(t.touched))
	for num, before := range t.touched {
		changed[num] = true
		now := noStatus
		if i, there := t.snap.find(num); there {
			now = t.snap.lines[i].status()
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
	var added []*Task
	for num := range changed {
		i, there := t.snap.find(num)
		if !there || t.snap.lines[i].status() != pending {
			continue
		}
		task, err := t.snap.at(i)
		if err != nil {
			return nil, false
		}
		if !t.snap.isBlocked(task) {
			added = append(added, task)
		}
	}
	sort.Slice(added, func(i, j int) bool {
		a, b := added[i], added[j]
		return a.Priority < b.Priority || a.Priority == b.Priority && less(a.ID, b.ID)
	})
	out := make([][]byte, 0, len(rows)+len(added))
	for _, row := range rows {
		num, priority, ok := rowKey(row)
		if !ok {
			return nil, false
		}
		for len(added) > 0 && (added[0].Priority < priority || added[0].Priority == priority && number(added[0].ID) < num) {
			out = append(out, readyLine(added[0]))
			added = added[1:]
		}
		if !changed[num] {
			out = append(out, row)
		}
	}
	for _, task := range added {
		out = append(out, readyLine(task))
	}
	return out, true
}

// number is taskNumber of an id that is known to be one.
func number(id string) int64 { n, _ := taskNumber(id); return n }

// less orders ids by their number.
func less(a, b string) bool { return number(a) < number(b) }

// dependents returns the ids of the tasks that directly depend on id. Lines
// that do not mention it are not decoded.
func (s *snapshot) dependents(id string) ([]string, error) {
	text := []byte(`"` + id + `"`)
	num, _ := taskNumber(id)
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
