package todo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestMain lets the test program stand for another writer of a list: with
// TODO_ROOT it marks the items that its arguments name as done, and ends.
func TestMain(m *testing.M) {
	root := os.Getenv("TODO_ROOT")
	if root == "" {
		os.Exit(m.Run())
	}
	f := Open(root, filepath.Join(root, "todo", "ann.jsonl"), 20*time.Second)
	for _, item := range os.Args[1:] {
		if _, err := f.Edit(context.Background(), OpDone, item, Writing{By: "leader", Human: true}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// list is a list in a directory of its own.
type list struct {
	*File
	t    *testing.T
	path string
}

func newList(t *testing.T) *list {
	root := t.TempDir()
	path := filepath.Join(root, "todo", "ann.jsonl")
	return &list{Open(root, path, 10*time.Second), t, path}
}

var (
	agent  = Writing{By: "ann", Strict: true}
	person = Writing{By: "leader", Human: true, Strict: true}
)

func (l *list) write(text string, w Writing) Change {
	l.t.Helper()
	items, err := Parse(text)
	if err != nil {
		l.t.Fatal(err)
	}
	ch, err := l.Write(context.Background(), items, w)
	if err != nil {
		l.t.Fatal(err)
	}
	return ch
}

func (l *list) edit(op, item string, w Writing) Change {
	l.t.Helper()
	ch, err := l.Edit(context.Background(), op, item, w)
	if err != nil {
		l.t.Fatal(err)
	}
	return ch
}

func (l *list) rewind(id string, w Writing) Change {
	l.t.Helper()
	ch, err := l.Rewind(context.Background(), id, w)
	if err != nil {
		l.t.Fatal(err)
	}
	return ch
}

// want compares the list, ids and Markdown, with what it should be.
func (l *list) want(text string) {
	l.t.Helper()
	got, err := l.Read()
	if err != nil || len(got.Problems) > 0 {
		l.t.Fatal(err, got.Problems)
	}
	if have := show(got.Items); have != text {
		l.t.Errorf("the list is\n%sand should be\n%s", have, text)
	}
}

func show(items []Item) (s string) {
	for _, it := range items {
		s += it.ID + " " + Mark(it.Status) + " " + it.Content
		if it.Blocker != "" {
			s += " — " + it.Blocker
		}
		if it.Phase != "" {
			s += " (" + it.Phase + ")"
		}
		s += "\n"
	}
	return s
}
