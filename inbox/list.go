package inbox

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/internal/fsx"
)

// IDs lists the ids of unread or read messages, in order. No unread message is
// listed without the earlier ones of its sender that are unread too, and
// "none" is the answer of two looks. What lies there under a name that is no
// id is left out; see Strays.
func (b *Box) IDs(read bool) ([]string, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	if read {
		return ListIDs(b.sub(true))
	}
	return inOrder(b.sub(false))
}

// NewIDs is IDs(false) for a directory that has only a new/.
func (b *Box) NewIDs() ([]string, error) {
	if err := b.CheckNew(); err != nil {
		return nil, err
	}
	return inOrder(b.sub(false))
}

// ListIDs lists the ids of the messages in one directory, sorted, by a single
// look: what comes or goes meanwhile may be missed. A missing directory has
// none.
func ListIDs(dir string) ([]string, error) {
	names, err := fsx.List(dir)
	if err != nil {
		return nil, err
	}
	ids := names[:0]
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, ext); ok && CheckID(id) == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids) // "a.md" and "a-b.md" sort otherwise than "a" and "a-b"
	return slices.Compact(ids), nil
}

// inOrder lists the ids in a directory that messages are published into. A
// single look can find a message and miss an earlier one of the same sender,
// which was published while the look was past its place already. A second look
// finds it.
func inOrder(dir string) ([]string, error) {
	ids, err := ListIDs(dir)
	if err == nil && len(ids) == 0 {
		ids, err = ListIDs(dir)
	}
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	again, err := ListIDs(dir)
	if err != nil {
		return nil, err
	}
	var newest map[string]string // of each sender
	var missed []string
	for _, id := range again {
		if _, ok := slices.BinarySearch(ids, id); ok {
			continue
		}
		if newest == nil {
			newest = make(map[string]string)
			for _, have := range ids {
				newest[IDSender(have)] = have
			}
		}
		if id < newest[IDSender(id)] {
			missed = append(missed, id)
		}
	}
	if len(missed) > 0 {
		ids = append(ids, missed...)
		slices.Sort(ids)
	}
	return ids, nil
}

// Query selects messages.
type Query struct {
	All bool // the read ones too
	// ID is asked before a message is opened, Match after that; nil takes all.
	// The messages that Match gets have no bodies.
	ID    func(id string) bool
	Match func(*Message) bool
}

// List returns the messages without their bodies, in order: the unread ones,
// and with all the read ones too. What cannot be read is a problem and leaves
// the others whole.
func (b *Box) List(all bool) (list []*Message, problems []error, err error) {
	return b.Find(Query{All: all})
}

// Find is List for the messages that q selects. With q.All a message that is
// marked or made unread once meanwhile is found all the same.
func (b *Box) Find(q Query) (found []*Message, problems []error, err error) {
	looks := []bool{false}
	if q.All {
		// In this order one that changes sides meanwhile is found.
		looks = []bool{false, true, false}
	}
	seen := map[string]bool{}
	for _, read := range looks {
		ids, err := b.IDs(read)
		if err != nil {
			return nil, nil, err
		}
		for _, id := range ids {
			if seen[id] || q.ID != nil && !q.ID(id) {
				continue
			}
			m, err := b.peek(id, read, q.All)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was marked, withdrawn, or removed
			}
			seen[id] = true
			switch {
			case err != nil:
				problems = append(problems, err)
			case q.Match == nil || q.Match(m):
				found = append(found, m)
			}
		}
	}
	slices.SortStableFunc(found, func(a, c *Message) int { return strings.Compare(a.ID, c.ID) })
	return found, problems, nil
}

// peek is Peek, on either side if the message was moved since it was listed.
func (b *Box) peek(id string, read, either bool) (*Message, error) {
	m, err := b.Peek(id, read)
	for range lookRounds {
		if !either || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		read = !read
		m, err = b.Peek(id, read)
	}
	return m, err
}

// Strays lists the paths of what lies among the messages under names that are
// no ids, and is therefore no message to anybody. Temporary files are none.
func (b *Box) Strays() ([]string, error) {
	if err := b.CheckNew(); err != nil {
		return nil, err
	}
	var strays []string
	for _, read := range []bool{false, true} {
		names, err := fsx.List(b.sub(read))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if id, ok := strings.CutSuffix(name, ext); !ok || CheckID(id) != nil {
				strays = append(strays, filepath.Join(b.sub(read), name))
			}
		}
	}
	return strays, nil
}
