package fsboard

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/fsx"
)

// glimpseBoard writes a board of n tasks with lines of very different lengths;
// some numbers are missing, as after an archive.
func glimpseBoard(t *testing.T, n int) (*Board, []*Task) {
	t.Helper()
	b := openTest(t, Options{})
	if err := b.create(); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	s := newSnapshot("/p", "s")
	s.head.Revision = 7
	var tasks []*Task
	num := int64(0)
	for range n {
		num += 1 + int64(rng.IntN(2))*int64(rng.IntN(5))
		task := newTask()
		task.ID, task.Status, task.Subject = taskID(num), Pending, fmt.Sprintf("task %d", num)
		switch rng.IntN(30) {
		case 0:
			task.Description = strings.Repeat("a long description, ", 500+rng.IntN(5000))
		case 1:
			task.Description = strings.Repeat(`"t_5":{"id":"t_5","status":"`, 50)
		}
		for d := rng.IntN(4); d > 0 && len(tasks) > 0; d-- {
			dep := tasks[rng.IntN(len(tasks))]
			task.DependsOn = appendNew(task.DependsOn, dep.ID)
			dep.Status = Completed
		}
		tasks = append(tasks, task)
	}
	for _, task := range tasks {
		s.put(task)
	}
	s.head.NextTask = num + 1
	parts, _, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.Path(), bytes.Join(parts, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return b, tasks
}

// A glimpse shows of a task what the whole board shows of it.
func TestGlimpseAgreesWithTheBoard(t *testing.T) {
	b, tasks := glimpseBoard(t, 700)
	whole, err := b.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		s, ok := b.findLines(task.ID)
		if !ok {
			t.Fatalf("%s is not found", task.ID)
		}
		if len(s.lines) != 1+len(task.DependsOn) {
			t.Errorf("%s: %d lines, it has %d dependencies", task.ID, len(s.lines), len(task.DependsOn))
		}
		got, err := s.task(task.ID)
		want, werr := whole.task(task.ID)
		if err != nil || werr != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(s.head, whole.head) {
			t.Fatalf("%s: %+v %v, want %+v %v", task.ID, got, err, want, werr)
		}
		if got, want := s.unmet(got), whole.unmet(want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s waits for %q, in the glimpse for %q", task.ID, want, got)
		}
	}
	// What is not there is for load to say.
	there := map[string]bool{}
	for _, task := range tasks {
		there[task.ID] = true
	}
	for n := int64(0); n < whole.head.NextTask+3; n++ {
		if _, ok := b.findLines(taskID(n)); ok != there[taskID(n)] {
			t.Errorf("t_%d is found: %t", n, ok)
		}
	}
}

// Whatever has another form than this package writes is left to load, and so
// is judged by it.
func TestGlimpseLeavesOddFilesToLoad(t *testing.T) {
	b, tasks := glimpseBoard(t, 700)
	good, err := os.ReadFile(b.Path())
	if err != nil {
		t.Fatal(err)
	}
	id := tasks[350].ID
	key := []byte("\n\"" + id + `":`)
	dangling := tasks[349]
	for name, data := range map[string][]byte{
		"cut off":             good[:len(good)-100],
		"empty":               {},
		"NUL":                 make([]byte, len(good)),
		"spaces in the line":  bytes.Replace(good, key, append(bytes.Clone(key), ' '), 1),
		"another id":          bytes.Replace(good, key, []byte("\n\"t_x\":"), 1),
		"no head":             good[bytes.IndexByte(good, '\n')+1:],
		"head of no snapshot": bytes.Replace(good, []byte(`"format":1`), []byte(`"format":"x"`), 1),
	} {
		if err := os.WriteFile(b.Path(), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, ok := b.findLines(id); ok {
			t.Errorf("%s: found %+v", name, s.lines[0])
		}
		s, err := b.glimpse(id)
		whole, werr := b.load()
		if (err == nil) != (werr == nil) {
			t.Errorf("%s: %v, load says %v", name, err, werr)
		}
		if err == nil && len(s.lines) != len(whole.lines) {
			t.Errorf("%s: %d lines, load has %d", name, len(s.lines), len(whole.lines))
		}
	}
	if err := os.WriteFile(b.Path(), good, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.findLines(dangling.ID); !ok {
		t.Errorf("%s is not found in a file that is as it should be", dangling.ID)
	}
	if err := os.WriteFile(b.Path(), good[:glimpseFrom/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := b.findLines("t_1"); ok {
		t.Error("a small board is not read whole")
	}
}

// Line 1 grows with the holders, and is read all the same.
func TestLongFirstLine(t *testing.T) {
	b, tasks := glimpseBoard(t, 300)
	s, err := b.load()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		s.head.Holders = append(s.head.Holders, fmt.Sprintf("worker-with-a-long-name-%d", i))
	}
	parts, _, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	if len(parts[0]) < headSize {
		t.Fatalf("line 1 has %d bytes", len(parts[0]))
	}
	if err := os.WriteFile(b.Path(), bytes.Join(parts, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	reads := 0
	defer fsx.SetFault(func(op fsx.Op, _ string) error {
		if op == fsx.OpOpen {
			reads++
		}
		return nil
	})()
	h, err := b.readHead()
	if err != nil || len(h.Holders) != 400 || reads > 2 {
		t.Errorf("%d holders after %d files were opened, %v", len(h.Holders), reads, err)
	}
	if _, ok := b.findLines(tasks[7].ID); !ok {
		t.Error("a glimpse does not find its task")
	}
}
