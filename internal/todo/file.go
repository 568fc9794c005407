package todo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// maxFile bounds what is read of a list's file.
const maxFile = 64 << 20

// File is the list of one owner.
type File struct {
	root, path  string
	lockTimeout time.Duration
}

// Open returns the list of the file path, below the directory root. It touches
// nothing. lockTimeout bounds the wait for other writers.
func Open(root, path string, lockTimeout time.Duration) *File {
	return &File{root: root, path: path, lockTimeout: lockTimeout}
}

// List is the state of a list.
type List struct {
	Items     []Item     // never nil
	ID        string     // of the present state; "" before the first write
	Snapshots []Snapshot // every state there was, oldest first
	// Problems are lines that are none of ours; each spoils only itself. A line
	// that a crash tore is no problem.
	Problems []error
}

// Writing says who writes a list.
type Writing struct {
	By     string // the name of the writer
	Human  bool   // it is a person
	Strict bool   // at most one item may be in progress; further ones become pending
}

// Change is what a write, an edit or a rewind has done.
type Change struct {
	List
	Changed    bool     // false: the list was so already, and nothing was written
	Item       *Item    // of an edit: the item, as it is or was
	Completed  []string // contents that became completed
	Reopened   []string // contents that were completed and are not any more
	Kept       []string // contents that stay completed because a person said so
	Normalized []string // what was written otherwise than asked, and why
}

// Read returns the list. A missing file is an empty list.
func (f *File) Read() (List, error) {
	all, err := f.read()
	if err != nil {
		return List{}, err
	}
	return f.list(all), nil
}

func (f *File) read() (*folded, error) {
	data, err := fsx.ReadFile(f.path, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return fold(data), nil
}

func (f *File) list(all *folded) List {
	l := List{Items: slices.Clone(all.items), ID: all.id, Snapshots: all.all}
	if l.Items == nil {
		l.Items = []Item{}
	}
	for _, n := range all.skipped {
		l.Problems = append(l.Problems, &fs.PathError{Op: "read", Path: f.path, Err: fmt.Errorf("line %d is no line of a list", n)})
	}
	return l
}

// change folds the file under its lock, asks make for a line, and appends it,
// durably. No line means that nothing has to change.
func (f *File) change(ctx context.Context, make func(*folded, int64) (*line, Change, error)) (Change, error) {
	if err := fsx.MkdirAll(f.root, filepath.Dir(f.path)); err != nil {
		return Change{}, err
	}
	lock, err := fsx.Acquire(ctx, strings.TrimSuffix(f.path, ".jsonl")+".lock", f.lockTimeout)
	if err != nil {
		return Change{}, err
	}
	defer lock.Unlock()
	all, err := f.read()
	if err != nil {
		return Change{}, err
	}
	now := fsx.Now().UnixMilli()
	l, ch, err := make(all, now)
	if err != nil {
		return ch, err
	}
	if l == nil {
		ch.List = f.list(all)
		return ch, nil
	}
	l.ID, l.At = "s_"+strconv.Itoa(all.nextLine), now
	data, err := json.Marshal(l)
	if err != nil {
		return ch, err
	}
	if !all.apply(l) {
		return ch, errs.New(errs.Internal, "the list cannot be changed so").WithPath(f.path)
	}
	if err := fsx.Append(f.path, append(data, '\n'), true); err != nil {
		return ch, err
	}
	ch.List, ch.Changed = f.list(all), true
	return ch, nil
}

// Write makes items, as Parse returns them, the list. It writes nothing when
// they are the list already.
func (f *File) Write(ctx context.Context, items []Item, w Writing) (Change, error) {
	items, err := tidy(items)
	if err != nil {
		return Change{}, err
	}
	return f.change(ctx, func(all *folded, now int64) (*line, Change, error) {
		ch, err := all.merge(items, w, now)
		if err != nil || all.id != "" && slices.EqualFunc(ch.Items, all.items, Item.same) || all.id == "" && len(items) == 0 {
			return nil, ch, err
		}
		return &line{Kind: kindSnapshot, By: w.By, Human: w.Human, Items: ch.Items}, ch, nil
	})
}

// Edit does op, one of the Op constants, to the item that query means (see
// [Find]). An edit that changes nothing writes nothing.
func (f *File) Edit(ctx context.Context, op, query string, w Writing) (Change, error) {
	return f.change(ctx, func(all *folded, now int64) (*line, Change, error) {
		i, err := Find(all.items, query)
		if err != nil {
			return nil, Change{}, err
		}
		it := all.items[i]
		ch := Change{Item: &it}
		switch {
		case op == OpDone && it.Status == Completed && (!w.Human || all.kept[it.ID]),
			op == OpDrop && it.Status == Abandoned,
			op == OpUnblock && it.Status != Blocked:
			return nil, ch, nil
		case op == OpDrop && it.Status == Completed && all.kept[it.ID] && !w.Human:
			return nil, ch, errs.New(errs.Conflict, "%q was marked as done by a person", it.Content)
		}
		l := &line{Kind: kindEdit, By: w.By, Human: w.Human, Op: op, Item: it.ID}
		l.At = now
		if after, ok := all.edit(i, l); ok && op != OpRemove {
			*ch.Item = after.items[i]
		}
		return l, ch, nil
	})
}

// Rewind makes the state that line id left the present one.
func (f *File) Rewind(ctx context.Context, id string, w Writing) (Change, error) {
	return f.change(ctx, func(all *folded, now int64) (*line, Change, error) {
		to, ok := all.states[id]
		if !ok {
			return nil, Change{}, errs.New(errs.NotFound, "the list has no snapshot %s", id).WithHint("teams todo list --snapshots")
		}
		l := &line{Kind: kindRewind, By: w.By, Human: w.Human, To: id}
		l.At = now
		after := all.rewound(to, l)
		if slices.EqualFunc(after.items, all.items, Item.same) && sameKept(after.kept, all.kept) {
			return nil, Change{}, nil
		}
		return l, Change{}, nil
	})
}

func sameKept(a, b map[string]bool) bool {
	for id, yes := range a {
		if yes && !b[id] {
			return false
		}
	}
	for id, yes := range b {
		if yes && !a[id] {
			return false
		}
	}
	return true
}
