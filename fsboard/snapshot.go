package fsboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
)

// Format is the newest snapshot format that this package writes.
const Format = 1

// head is line 1 of the snapshot without its opening of the tasks. It holds
// what an idle look needs, so that such a look reads nothing else.
type head struct {
	Format    int    `json:"format"`
	Revision  int64  `json:"revision"`
	Project   string `json:"project"`
	Session   string `json:"session"`
	NextTask  int64  `json:"nextTask"`
	UpdatedAt int64  `json:"updatedAt"`
	// Due is the earliest lease end or back-off on the wall clock. DueBoot is
	// the earliest lease end on the boot clock of one boot, LeaseDue the
	// earliest wall-clock end of the leases that are of another boot.
	Due      int64      `json:"due,omitempty"`
	DueBoot  *bootPoint `json:"dueBoot,omitempty"`
	LeaseDue int64      `json:"leaseDue,omitempty"`
	// Holders are the names that hold claims; HolderSpawns the lives of each.
	Holders      []string            `json:"holders"`
	HolderSpawns map[string][]string `json:"holderSpawns,omitempty"`

	extra rawFields
}

// bootPoint is a point on the boot clock of one boot.
type bootPoint struct {
	BootID string `json:"bootId"`
	Ms     int64  `json:"ms"`
}

type plainHead head

// line is one task of the snapshot. raw is `"t_12":{…}` as it stands in the
// file; it is nil for a task that is not in the file. task is decoded when
// first asked for.
type line struct {
	num   int64
	raw   []byte
	task  *Task
	dirty bool
}

// snapshot is the decoded frame of board.json with lazily decoded tasks.
type snapshot struct {
	head   head
	lines  []line // in numeric order
	events []byte // the JSON array of the last line
}

const (
	headTail = `"tasks":{`
	lastHead = `},"events":`
)

// newSnapshot returns the snapshot of a board that has no file yet.
func newSnapshot(project, session string) *snapshot {
	return &snapshot{head: head{Format: Format, Project: project, Session: session, NextTask: 1, Holders: []string{}}, events: []byte("[]")}
}

// parseHead decodes line 1, with or without its end of line.
func parseHead(line1 []byte) (head, error) {
	var h head
	line1 = bytes.TrimRight(line1, "\r\n")
	obj, ok := bytes.CutSuffix(line1, []byte(headTail))
	if !ok {
		return h, errors.New("line 1 is no snapshot head")
	}
	obj = append(bytes.TrimSuffix(bytes.TrimRight(obj, " "), []byte(",")), '}')
	extra, err := decodeKeeping(obj, (*plainHead)(&h))
	if err != nil {
		return h, fmt.Errorf("line 1: %w", err)
	}
	h.extra = extra
	return h, h.check()
}

func (h *head) check() error {
	if h.Format == 0 {
		return errors.New("it has no format")
	}
	if h.Revision < 0 || h.NextTask < 1 {
		return errors.New("line 1 has an impossible revision or nextTask")
	}
	if h.Holders == nil {
		h.Holders = []string{}
	}
	return nil
}

// parseSnapshot splits a snapshot into its lines without decoding the tasks.
// What was not written line by line is decoded whole. Every error means that
// the bytes are not a snapshot.
func parseSnapshot(data []byte) (*snapshot, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("it is empty")
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, fmt.Errorf("it has a NUL byte at offset %d", i)
	}
	nl := bytes.IndexByte(data, '\n')
	if nl < 0 || !bytes.HasSuffix(bytes.TrimRight(data[:nl], "\r"), []byte(headTail)) {
		return parseWhole(data)
	}
	h, err := parseHead(append([]byte(nil), data[:nl]...))
	if err != nil {
		return nil, err
	}
	s := &snapshot{head: h, lines: make([]line, 0, bytes.Count(data, []byte{'\n'}))}
	rest := data[nl+1:]
	for {
		nl = bytes.IndexByte(rest, '\n')
		var row []byte
		if nl < 0 {
			row, rest = rest, nil
		} else {
			row, rest = rest[:nl], rest[nl+1:]
		}
		if bytes.HasPrefix(row, []byte(lastHead)) {
			events, ok := bytes.CutSuffix(row[len(lastHead):], []byte("}"))
			if !ok || !json.Valid(events) || len(events) == 0 || events[0] != '[' {
				return nil, errors.New("its last line is cut off")
			}
			if len(bytes.TrimSpace(rest)) > 0 {
				return nil, errors.New("something follows its last line")
			}
			s.events = events
			return s, s.sorted()
		}
		if nl < 0 {
			return nil, errors.New("it is cut off")
		}
		l, err := parseLine(bytes.TrimSuffix(row, []byte(",")))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(s.lines)+2, err)
		}
		s.lines = append(s.lines, l)
	}
}

// sorted checks that the lines are in order, or puts them in order.
func (s *snapshot) sorted() error {
	for i := 1; i < len(s.lines); i++ {
		if s.lines[i].num > s.lines[i-1].num {
			continue
		}
		sort.SliceStable(s.lines, func(i, j int) bool { return s.lines[i].num < s.lines[j].num })
		for j := 1; j < len(s.lines); j++ {
			if s.lines[j].num == s.lines[j-1].num {
				return fmt.Errorf("it has %s twice", taskID(s.lines[j].num))
			}
		}
		return nil
	}
	return nil
}

// parseLine reads the number of a task line. A line as this package writes it
// is not decoded; any other one is, and is written anew at the next commit.
func parseLine(raw []byte) (line, error) {
	if !bytes.HasPrefix(raw, []byte(`"t_`)) || !bytes.HasSuffix(raw, []byte("}")) {
		return parseForeignLine(raw)
	}
	end := bytes.IndexByte(raw[3:], '"')
	if end <= 0 || end > 18 {
		return line{}, errors.New("no task id")
	}
	id := raw[1 : 3+end]
	num, ok := taskNumber(string(id))
	if !ok {
		return line{}, fmt.Errorf("%q is no task id", id)
	}
	after := raw[3+end+1:]
	if !canonicalBody(after, id) {
		return parseForeignLine(raw)
	}
	return line{num: num, raw: raw}, nil
}

// canonicalBody reports whether a line goes on, behind its key, as
// `:{"id":"t_12","status":"`.
func canonicalBody(b, id []byte) bool {
	for _, part := range [][]byte{[]byte(`:{"id":"`), id, []byte(`","status":"`)} {
		if !bytes.HasPrefix(b, part) {
			return false
		}
		b = b[len(part):]
	}
	return true
}

func parseForeignLine(raw []byte) (line, error) {
	var one map[string]*Task
	if err := json.Unmarshal(append(append([]byte{'{'}, raw...), '}'), &one); err != nil {
		return line{}, err
	}
	for id, t := range one {
		l, err := adopt(id, t)
		l.raw = raw
		return l, err
	}
	return line{}, errors.New("no task")
}

// adopt makes a line of a task that was decoded under the key id.
func adopt(id string, t *Task) (line, error) {
	num, ok := taskNumber(id)
	if !ok || t == nil || t.ID != id {
		return line{}, fmt.Errorf("%q does not hold a task of that id", id)
	}
	return line{num: num, task: t, dirty: true}, nil
}

// parseWhole decodes a snapshot that is one JSON value of any layout, such as
// one that was formatted by hand or written by pi-agent-teams.
func parseWhole(data []byte) (*snapshot, error) {
	var all struct {
		Tasks  map[string]*Task `json:"tasks"`
		Events json.RawMessage  `json:"events"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	if all.Tasks == nil {
		return nil, errors.New("it has no tasks")
	}
	s := newSnapshot("", "")
	extra, err := decodeKeeping(data, (*plainHead)(&s.head))
	if err != nil {
		return nil, err
	}
	delete(extra, "tasks")
	delete(extra, "events")
	s.head.extra = extra
	var probe struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return nil, err
	}
	s.head.Format = probe.Format // 0: of a tool that knows no format
	if len(all.Events) > 0 {
		var compact bytes.Buffer
		if err := json.Compact(&compact, all.Events); err != nil {
			return nil, err
		}
		s.events = compact.Bytes()
	}
	for id, t := range all.Tasks {
		l, err := adopt(id, t)
		if err != nil {
			return nil, err
		}
		s.lines = append(s.lines, l)
		s.head.NextTask = max(s.head.NextTask, l.num+1)
	}
	sort.Slice(s.lines, func(i, j int) bool { return s.lines[i].num < s.lines[j].num })
	return s, nil
}

// find returns the index of a task's line and whether it is there.
func (s *snapshot) find(num int64) (int, bool) {
	// Numbers are dense unless tasks were archived: look there first.
	if n := len(s.lines); n > 0 {
		if i := num - s.lines[0].num; i >= 0 && i < int64(n) && s.lines[i].num == num {
			return int(i), true
		}
	}
	i := sort.Search(len(s.lines), func(i int) bool { return s.lines[i].num >= num })
	return i, i < len(s.lines) && s.lines[i].num == num
}

// task returns a task for reading, nil when there is none.
func (s *snapshot) task(id string) (*Task, error) {
	num, ok := taskNumber(id)
	if !ok {
		return nil, nil
	}
	i, ok := s.find(num)
	if !ok {
		return nil, nil
	}
	return s.lines[i].decode()
}

// decode returns the line's task for reading.
func (l *line) decode() (*Task, error) {
	if l.task == nil {
		t, err := decodeTask(l.raw[bytes.IndexByte(l.raw, ':')+1:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", taskID(l.num), err)
		}
		l.task = t
	}
	return l.task, nil
}

// status returns the stored state without decoding more than it has to.
func (l *line) status() Status {
	if l.task != nil {
		return l.task.Status
	}
	const key = `"status":"`
	b := l.raw[bytes.Index(l.raw, []byte(key))+len(key):]
	switch end := bytes.IndexByte(b, '"'); string(b[:max(end, 0)]) {
	case string(Pending):
		return Pending
	case string(Claimed):
		return Claimed
	case string(Completed):
		return Completed
	case string(Failed):
		return Failed
	case string(Cancelled):
		return Cancelled
	}
	if t, err := l.decode(); err == nil {
		return t.Status
	}
	return ""
}

// mentions reports whether the line may hold text; it is exact enough to skip
// lines that do not.
func (l *line) mentions(text []byte) bool {
	return l.raw == nil || l.dirty || bytes.Contains(l.raw, text)
}

// put stores a task, in place of the one with its id if there is one.
func (s *snapshot) put(t *Task) {
	num, _ := taskNumber(t.ID)
	i, ok := s.find(num)
	if ok {
		s.lines[i].task, s.lines[i].dirty = t, true
		return
	}
	s.lines = append(s.lines, line{})
	copy(s.lines[i+1:], s.lines[i:])
	s.lines[i] = line{num: num, task: t, dirty: true}
}

// drop takes a task out of the snapshot.
func (s *snapshot) drop(num int64) {
	if i, ok := s.find(num); ok {
		s.lines = append(s.lines[:i], s.lines[i+1:]...)
	}
}

// headLine returns line 1 with its end of line.
func (h *head) line() ([]byte, error) {
	obj, err := encodeKeeping((*plainHead)(h), h.extra)
	if err != nil {
		return nil, err
	}
	obj = append(bytes.TrimSuffix(obj, []byte("}")), ',')
	return append(append(obj, headTail...), '\n'), nil
}

// encode returns the file's content in parts; unchanged lines are parts of the
// bytes that were read.
func (s *snapshot) encode() ([][]byte, error) {
	first, err := s.head.line()
	if err != nil {
		return nil, err
	}
	parts := append(make([][]byte, 0, 2*len(s.lines)+2), first)
	sep := []byte(",\n")
	for i := range s.lines {
		l := &s.lines[i]
		raw := l.raw
		if l.dirty || raw == nil {
			obj, err := l.task.encode()
			if err != nil {
				return nil, err
			}
			raw = append([]byte(`"`+taskID(l.num)+`":`), obj...)
		}
		if i == len(s.lines)-1 {
			sep = sep[1:]
		}
		parts = append(parts, raw, sep)
	}
	last := append([]byte(lastHead), s.events...)
	return append(parts, append(last, '}', '\n')), nil
}

// revisionOf reads the revision from the start of line 1, which is enough for
// a second look.
func revisionOf(first []byte) (int64, bool) {
	const key = `"revision":`
	i := bytes.Index(first, []byte(key))
	if i < 0 {
		return 0, false
	}
	b := first[i+len(key):]
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	if n == 0 || n == len(b) {
		return 0, false
	}
	rev, err := strconv.ParseInt(string(b[:n]), 10, 64)
	return rev, err == nil
}
