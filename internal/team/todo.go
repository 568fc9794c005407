package team

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/todo"
)

func (p Place) todoDir() string { return filepath.Join(p.TeamDir(), "todo") }

// TodoPath is the file of a teammate's list, or of that of [LeaderName].
func (p Place) TodoPath(name string) string { return filepath.Join(p.todoDir(), name+".jsonl") }

// TodoOwner is whose list the caller means: its own, or that of --as. Nobody
// joins by this. The error is of code usage for a name that nobody can have, and
// stale_identity for a caller whose life is over.
func (t *Team) TodoOwner() (string, error) {
	if err := t.CheckLife(); err != nil {
		return "", err
	}
	if t.asLeader() {
		return LeaderName, nil
	}
	return t.Name, CheckName(t.Name)
}

// todoFile opens the list of a name.
func (t *Team) todoFile(name string) (*todo.File, error) {
	if err := t.checkDirs("teammate", t.Session, "todo"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return todo.Open(t.Root, t.TodoPath(name), t.lockTimeout()), nil
}

// Todo returns the list of a name, as TodoOwner returns it.
func (t *Team) Todo(name string) (todo.List, error) {
	f, err := t.todoFile(name)
	if err != nil {
		return todo.List{}, err
	}
	return f.Read()
}

// TodoNames lists who has a list.
func (t *Team) TodoNames() ([]string, error) {
	names, err := fsx.List(t.todoDir())
	out := names[:0]
	for _, name := range names {
		if name, ok := strings.CutSuffix(name, ".jsonl"); ok {
			out = append(out, name)
		}
	}
	return out, err
}

// todoWriting says who writes the list of owner: a person, unless the shell is
// that of an agent. A teammate's list has one item in progress at most.
func (t *Team) todoWriting(owner string) todo.Writing {
	w := todo.Writing{By: t.envName, Human: t.Human(), Strict: owner != LeaderName}
	if w.By == "" {
		w.By = LeaderName
	}
	return w
}

// TodoWrite makes items the list of owner.
func (t *Team) TodoWrite(ctx context.Context, owner string, items []todo.Item) (todo.Change, error) {
	return t.changeTodo(owner, func(f *todo.File, w todo.Writing) (todo.Change, error) { return f.Write(ctx, items, w) })
}

// TodoEdit does op, one of the Op constants of package todo, to an item.
func (t *Team) TodoEdit(ctx context.Context, owner, op, query string) (todo.Change, error) {
	return t.changeTodo(owner, func(f *todo.File, w todo.Writing) (todo.Change, error) { return f.Edit(ctx, op, query, w) })
}

// TodoRewind makes an earlier state of the list current.
func (t *Team) TodoRewind(ctx context.Context, owner, id string) (todo.Change, error) {
	return t.changeTodo(owner, func(f *todo.File, w todo.Writing) (todo.Change, error) { return f.Rewind(ctx, id, w) })
}

// changeTodo makes a change, and tells whoever shows the list elsewhere.
func (t *Team) changeTodo(owner string, change func(*todo.File, todo.Writing) (todo.Change, error)) (todo.Change, error) {
	f, err := t.todoFile(owner)
	if err != nil {
		return todo.Change{}, err
	}
	if _, err := t.EnsureSession(); err != nil {
		return todo.Change{}, err
	}
	ch, err := change(f, t.todoWriting(owner))
	if err == nil && ch.Changed && t.OnTodo != nil {
		t.OnTodo(owner, todo.Title(ch.Items, fsx.Now()))
	}
	return ch, err
}
