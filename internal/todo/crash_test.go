package todo

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// A line that was torn at any byte counts for nothing, and the next writer ends
// it.
func TestTornLine(t *testing.T) {
	l := newList(t)
	l.write("- [>] a\n- [ ] b\n", agent)
	first := l.size()
	l.edit(OpDone, "a", person)
	whole, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	for n := first + 1; n < len(whole)-1; n++ {
		for _, end := range []string{"", "\x00\x00\x00"} {
			if err := os.WriteFile(l.path, append(whole[:n:n], end...), 0o600); err != nil {
				t.Fatal(err)
			}
			l.want("i_1 [>] a\ni_2 [ ] b\n")
			l.write("- [>] b\n", agent)
			l.want("i_2 [>] b\n")
			l.edit(OpDone, "b", agent)
			l.want("i_2 [x] b\n")
		}
	}
}

// Lines of others spoil only themselves, and are told of.
func TestForeignLines(t *testing.T) {
	l := newList(t)
	l.write("- [ ] a\n", agent)
	data, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	foreign := []string{`nonsense`, `{"kind":"dance","id":"s_8"}`, `{"kind":"edit","id":"s_9","op":"done","item":"i_77"}`, `{"kind":"rewind","id":"s_9","to":"s_77"}`, `{"kind":"snapshot","id":"s_9","items":[{"id":"i_1"}]}`, `[]`}
	if err := os.WriteFile(l.path, []byte(string(data)+"\n\n"+strings.Join(foreign, "\n")+"\n"+string(data)), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := l.Read()
	if err != nil || show(got.Items) != "i_1 [ ] a\n" || len(got.Problems) != len(foreign) {
		t.Errorf("%v %v %v", err, show(got.Items), got.Problems)
	}
	if want := "line 4 is no line"; len(got.Problems) > 0 && !strings.Contains(got.Problems[0].Error(), want) {
		t.Errorf("%v", got.Problems[0])
	}
}

// What is no regular file is not followed, not read as empty, and not replaced.
func TestStrangeFile(t *testing.T) {
	l := newList(t)
	l.write("- [ ] a\n", agent)
	if err := os.Rename(l.path, l.path+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(l.path+".moved", l.path); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(); err == nil {
		t.Error("a symlink is read")
	}
	if _, err := l.Edit(t.Context(), OpDone, "a", agent); err == nil {
		t.Error("a symlink is written to")
	}
}

// Several processes write at once, and nothing is lost.
func TestManyWriters(t *testing.T) {
	l := newList(t)
	const writers, each = 6, 8
	var text strings.Builder
	for i := range writers * each {
		fmt.Fprintf(&text, "- [ ] item %d\n", i)
	}
	l.write(text.String(), agent)
	root := strings.TrimSuffix(l.path, "/todo/ann.jsonl")
	var wg sync.WaitGroup
	for w := range writers {
		var ids []string
		for i := range each {
			ids = append(ids, fmt.Sprintf("i_%d", w*each+i+1))
		}
		cmd := exec.Command(os.Args[0], ids...)
		cmd.Env = append(os.Environ(), "TODO_ROOT="+root)
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	// The owner writes all the while, and knows nothing of it.
	for range 20 {
		l.write(text.String()+"- [ ] mine\n", agent)
		l.write(text.String(), agent)
	}
	wg.Wait()
	l.write(text.String(), agent)
	got, err := l.Read()
	if err != nil || len(got.Problems) > 0 {
		t.Fatal(err, got.Problems)
	}
	if n := Count(got.Items)[Completed]; n != writers*each {
		t.Errorf("%d of %d are done", n, writers*each)
	}
}
