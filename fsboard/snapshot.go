package fsboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"sync"

	"github.com/seed6990a682/teams/internal/rawjson"
)

// Format is the newest snapshot format that this package writes.
const Format = 1

// line is one task of the snapshot. raw is `"t_12":{…}` as it stands in the
// file; it is nil for a task that is not in the file. task is decoded when
// first asked for.
type line struct {
	num   int64
	raw   []byte
	off   int // where raw lies in the bytes that were read, -1 elsewhere
	task  *Task
	st    statusCode
	dirty bool // raw is not what task is
}

// snapshot is the frame of board.json with lazily decoded tasks. It may be
// shared: by those who only read it, and by lock sections, each of which works
// on a fork that copies the lines before it changes one.
type snapshot struct {
	mu     *sync.Mutex // guards the decoding of shared lines
	head   head
	data   []byte // what was read; unchanged lines are written from it in runs
	lines  []line // in numeric order
	events []byte // the JSON array of the last line
	shared bool   // lines are another's too
}

const (
	headTail = `"tasks":{`
	lastHead = `},"events":`
)

// newSnapshot returns the snapshot of a board that has no file yet.
func newSnapshot(project, session string) *snapshot {
	return &snapshot{
		mu:     new(sync.Mutex),
		head:   head{Format: Format, Project: project, Session: session, NextTask: 1, Holders: []string{}},
		events: []byte("[]"),
	}
}

// fork returns a snapshot that can be changed without s changing.
func (s *snapshot) fork() *snapshot {
	f := *s
	f.shared = true
	return &f
}

// own copies the lines before the first change.
func (s *snapshot) own() {
	if !s.shared {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(make([]line, 0, len(s.lines)+8), s.lines...)
	s.shared = false
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
	if nl < 0 || !bytes.HasSuffix(data[:nl], []byte(headTail)) {
		return parseWhole(data)
	}
	s, err := parseLines(data, nl)
	if err != nil {
		// It may have been formatted by somebody else and still be JSON.
		if whole, err := parseWhole(data); err == nil {
			return whole, nil
		}
	}
	return s, err
}

// parseLines is parseSnapshot for the layout that this package writes; nl is
// the end of line 1.
func parseLines(data []byte, nl int) (*snapshot, error) {
	h, err := parseHead(data[:nl])
	if err != nil {
		return nil, err
	}
	s := newSnapshot("", "")
	s.head, s.data, s.lines = h, data, make([]line, 0, bytes.Count(data, []byte{'\n'}))
	for pos := nl + 1; ; {
		row, end := data[pos:], len(data)
		if nl = bytes.IndexByte(row, '\n'); nl >= 0 {
			row, end = row[:nl], pos+nl+1
		}
		if bytes.HasPrefix(row, []byte(lastHead)) {
			events, ok := bytes.CutSuffix(row[len(lastHead):], []byte("}"))
			if !ok || !isArray(events) {
				return nil, errors.New("its last line is cut off")
			}
			if len(bytes.TrimSpace(data[end:])) > 0 {
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
		l.off = pos
		s.lines = append(s.lines, l)
		pos = end
	}
}

// isArray reports whether data is a JSON array.
func isArray(data []byte) bool {
	return json.Valid(data) && len(data) > 0 && data[0] == '['
}

// sorted puts the lines in order if they are not, and refuses an id that
// stands twice. The counter is behind no task: an id is never given again.
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
		break
	}
	if n := len(s.lines); n > 0 {
		s.head.NextTask = max(s.head.NextTask, s.lines[n-1].num+1)
	}
	return nil
}

// parseLine reads the number and the status of a task line. A line as this
// package writes it is not decoded; any other one is, and is written anew at
// the next commit.
func parseLine(raw []byte) (line, error) {
	const open, idKey, statusKey = `"t_`, `":{"id":"`, `","status":"`
	if !bytes.HasPrefix(raw, []byte(open)) || raw[len(raw)-1] != '}' {
		return parseForeignLine(raw)
	}
	num, end := int64(0), len(open)
	for end < len(raw) && end < 21 && raw[end]-'0' <= 9 {
		num = 10*num + int64(raw[end]-'0')
		end++
	}
	id := raw[1:end]
	rest, ok1 := bytes.CutPrefix(raw[end:], []byte(idKey))
	rest, ok2 := bytes.CutPrefix(rest, id)
	rest, ok3 := bytes.CutPrefix(rest, []byte(statusKey))
	if !ok1 || !ok2 || !ok3 || num == 0 || raw[len(open)] == '0' {
		return parseForeignLine(raw)
	}
	st := statusOf(rest[:max(bytes.IndexByte(rest[:min(len(rest), 16)], '"'), 0)])
	if st == noStatus {
		return parseForeignLine(raw)
	}
	return line{num: num, raw: raw, off: -1, st: st}, nil
}

// statusCode is a Status in one byte.
type statusCode uint8

const (
	noStatus statusCode = iota
	pending
	claimed
	completed
	failed
	cancelled
)

// statusOf returns the code of the status that b spells.
func statusOf(b []byte) statusCode {
	switch Status(b) {
	case Pending:
		return pending
	case Claimed:
		return claimed
	case Completed:
		return completed
	case Failed:
		return failed
	case Cancelled:
		return cancelled
	}
	return noStatus
}

func (c statusCode) terminal() bool { return c >= completed }

func parseForeignLine(raw []byte) (line, error) {
	var one map[string]*Task
	if err := json.Unmarshal(append(append([]byte{'{'}, raw...), '}'), &one); err != nil {
		return line{}, err
	}
	for id, t := range one {
		if len(one) == 1 {
			return adopt(id, t)
		}
	}
	return line{}, errors.New("it does not hold one task")
}

// adopt makes a line of a task that was decoded under the key id. It is
// written anew at the next commit.
func adopt(id string, t *Task) (line, error) {
	num, ok := taskNumber(id)
	if !ok || t == nil || t.ID != id {
		return line{}, fmt.Errorf("%q does not hold a task of that id", id)
	}
	if err := t.check(); err != nil {
		return line{}, fmt.Errorf("%s: %w", id, err)
	}
	raw, err := encodeLine(t)
	return line{num: num, raw: raw, off: -1, task: t, st: statusOf([]byte(t.Status)), dirty: true}, err
}

// encodeLine renders a task as it stands in the snapshot, without the comma.
func encodeLine(t *Task) ([]byte, error) {
	obj, err := t.encode()
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(obj)+len(t.ID)+3), '"')
	out = append(append(out, t.ID...), `":`...)
	return append(out, obj...), nil
}

// parseWhole decodes a snapshot that is one JSON value of any layout, such as
// one that was formatted by hand or written by pi-agent-teams.
func parseWhole(data []byte) (*snapshot, error) {
	var all struct {
		Format *int            `json:"format"`
		Tasks  json.RawMessage `json:"tasks"`
		Events json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	if len(all.Tasks) == 0 || all.Tasks[0] != '{' {
		return nil, errors.New("it has no tasks")
	}
	s := newSnapshot("", "")
	s.head = head{Holders: []string{}}
	extra, err := rawjson.Decode(headFields, &s.head, data)
	if err != nil {
		return nil, err
	}
	delete(extra, "tasks")
	delete(extra, "events")
	s.head.extra = extra
	s.head.Format = 0 // of a tool that knows no format
	if all.Format != nil {
		s.head.Format = *all.Format
		if err := s.head.check(); err != nil {
			return nil, err
		}
	}
	if len(all.Events) > 0 {
		var compact bytes.Buffer
		if err := json.Compact(&compact, all.Events); err != nil {
			return nil, err
		}
		if s.events = compact.Bytes(); !isArray(s.events) {
			return nil, errors.New("its events are no list")
		}
	}
	s.head.NextTask = max(s.head.NextTask, 1)
	return s, s.parseTasks(all.Tasks)
}

// parseTasks decodes the tasks of a whole snapshot one by one: of two with the
// same key encoding/json would keep the last and lose the other.
func (s *snapshot) parseTasks(object []byte) error {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		t := new(Task)
		if err := dec.Decode(t); err != nil {
			return err
		}
		id, _ := key.(string)
		l, err := adopt(id, t)
		if err != nil {
			return err
		}
		s.lines = append(s.lines, l)
	}
	return s.sorted()
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
	return s.at(i)
}

// at returns the ith task for reading.
func (s *snapshot) at(i int) (*Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines[i].decode()
}

// decode returns the line's task.
func (l *line) decode() (*Task, error) {
	if l.task == nil {
		t, err := decodeTask(l.raw[bytes.IndexByte(l.raw, ':')+1:])
		if err == nil && t.ID != taskID(l.num) {
			err = fmt.Errorf("it names itself %q", t.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", taskID(l.num), err)
		}
		l.task = t
	}
	return l.task, nil
}

// status returns the stored state as it is in this lock section.
func (l *line) status() statusCode {
	if l.dirty {
		return statusOf([]byte(l.task.Status))
	}
	return l.st
}

// mentions reports whether the line may hold text; it is exact enough to skip
// lines that do not.
func (l *line) mentions(text []byte) bool {
	return l.raw == nil || l.dirty || bytes.Contains(l.raw, text)
}

// put stores a task, in place of the one with its id if there is one.
func (s *snapshot) put(t *Task) {
	s.own()
	num, _ := taskNumber(t.ID)
	i, ok := s.find(num)
	if !ok {
		s.lines = append(s.lines, line{})
		copy(s.lines[i+1:], s.lines[i:])
		s.lines[i] = line{num: num, off: -1}
	}
	s.lines[i].task, s.lines[i].st, s.lines[i].dirty = t, statusOf([]byte(t.Status)), true
}

// drop takes a task out of the snapshot.
func (s *snapshot) drop(num int64) {
	s.own()
	if i, ok := s.find(num); ok {
		s.lines = append(s.lines[:i], s.lines[i+1:]...)
	}
}

// encode returns the file's content in parts, and the new bytes of the lines
// that changed by their index. Lines that did not change are parts of the
// bytes that were read, neighbours together.
func (s *snapshot) encode() (parts [][]byte, changed map[int][]byte, err error) {
	first, err := s.head.line()
	if err != nil {
		return nil, nil, err
	}
	parts = append(parts, first)
	changed = map[int][]byte{}
	last := len(s.lines) - 1
	for i := 0; i <= last; i++ {
		l := &s.lines[i]
		if l.dirty || l.raw == nil {
			raw, err := encodeLine(l.task)
			if err != nil {
				return nil, nil, err
			}
			changed[i] = raw
			parts = append(parts, raw)
		} else {
			run := l.raw
			if l.off >= 0 {
				end := l.off + len(l.raw)
				for i < last && s.follows(i, end) {
					i++
					end = s.lines[i].off + len(s.lines[i].raw)
				}
				run = s.data[l.off:end]
			}
			parts = append(parts, run)
		}
		if i < last {
			parts = append(parts, []byte(",\n"))
		}
	}
	end := "\n" + lastHead
	if last < 0 {
		end = lastHead
	}
	return append(parts, []byte(end), s.events, []byte("}\n")), changed, nil
}

// follows reports whether the line behind i is unchanged and lies right behind
// the comma and the newline at end.
func (s *snapshot) follows(i, end int) bool {
	next := &s.lines[i+1]
	return !next.dirty && next.raw != nil && next.off == end+2 && s.data[end] == ','
}

// committed makes the lines clean, so that the snapshot can be used on.
func (s *snapshot) committed(changed map[int][]byte) {
	for i, raw := range changed {
		s.lines[i].raw, s.lines[i].off, s.lines[i].dirty = raw, -1, false
	}
}

// revisionOf reads the revision from the start of a line 1 that this package
// wrote, which is enough for a second look.
func revisionOf(first []byte) (int64, bool) {
	b, ok := bytes.CutPrefix(first, []byte(`{"format":`))
	if !ok {
		return 0, false
	}
	_, b, ok = bytes.Cut(b[:min(len(b), 64)], []byte(`,"revision":`))
	if !ok {
		return 0, false
	}
	digits, _, ok := bytes.Cut(b, []byte{','})
	if !ok {
		return 0, false
	}
	rev, err := strconv.ParseInt(string(digits), 10, 64)
	return rev, err == nil && rev >= 0
}
