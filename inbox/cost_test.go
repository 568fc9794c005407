package inbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// fill puts messages into a directory, at little cost: they are one file under
// many names.
func fill(t testing.TB, b *Box, read bool, n int) {
	t.Helper()
	at := time.Date(2026, 11, 30, 13, 5, 1, 0, time.UTC)
	first := ""
	for i := range n {
		id := fmt.Sprintf("%s-bob-%06x", at.Add(time.Duration(i)*time.Second).Format(idTime), i)
		if first == "" {
			first = id
			put(t, b, read, id)
		} else if err := os.Link(b.file(first, read), b.file(id, read)); err != nil {
			t.Fatal(err)
		}
	}
}

// calls counts the system calls behind the seam, and those that touch cur/.
func calls(b *Box, f func()) (all, cur int) {
	defer fsx.SetFault(func(o fsx.Op, path string) error {
		all++
		if path == b.sub(true) || filepath.Dir(path) == b.sub(true) {
			cur++
		}
		return nil
	})()
	f()
	return all, cur
}

// TestReadMailCostsNothing: 10,000 read messages do not change what the listing
// and the reception of 3 unread ones cost.
func TestReadMailCostsNothing(t *testing.T) {
	few, many := newBox(t), newBox(t)
	fill(t, many, true, 10_000)
	for what, f := range map[string]func(*Box){
		"List": func(b *Box) {
			if list, problems, err := b.List(false); len(list) != 3 || len(problems) > 0 || err != nil {
				t.Errorf("%d %v %v", len(list), problems, err)
			}
		},
		"IDs": func(b *Box) {
			if ids, err := b.IDs(false); len(ids) != 3 || err != nil {
				t.Errorf("%d %v", len(ids), err)
			}
		},
		"Receive, Keep": func(b *Box) {
			if ids, _ := receive(t, b, Receiving{Keep: true}); len(ids) != 3 {
				t.Errorf("%q", ids)
			}
		},
		"Receive": func(b *Box) {
			if ids, _ := receive(t, b, Receiving{}); len(ids) != 3 {
				t.Errorf("%q", ids)
			}
		},
	} {
		var all, cur [2]int
		for i, b := range []*Box{few, many} {
			os.RemoveAll(b.sub(false))
			if err := b.Create(); err != nil {
				t.Fatal(err)
			}
			publish(t, b, "x", "y", "z")
			all[i], cur[i] = calls(b, func() { f(b) })
			for _, id := range []string{"x", "y", "z"} {
				os.Remove(b.file(id, true))
			}
		}
		if all[0] != all[1] {
			t.Errorf("%s: %d calls beside none, %d beside 10,000", what, all[0], all[1])
		}
		if cur[1] > 0 && what != "Receive" || cur[1] > 1 { // its one fsync
			t.Errorf("%s looks at the read messages %d times", what, cur[1])
		}
		t.Logf("%s: %d calls", what, all[1])
	}
	// And they can be listed when that is wanted.
	if list, problems, err := many.List(true); len(list) != 10_003-3 && len(list) != 10_003 || len(problems) > 0 || err != nil {
		t.Errorf("all: %d %v %v", len(list), problems, err)
	}
}

// TestManyUnread: an unread message costs a listing the same whether it is one
// of few or of many.
func TestManyUnread(t *testing.T) {
	var per [2]int
	for i, n := range []int{100, 2000} {
		b := newBox(t)
		fill(t, b, false, n)
		all, _ := calls(b, func() {
			if list, _, err := b.List(false); len(list) != n || err != nil {
				t.Errorf("%d %v", len(list), err)
			}
		})
		per[i] = all / n
	}
	if per[1] > per[0] {
		t.Errorf("%d and %d calls a message", per[0], per[1])
	}
}

func BenchmarkPublish(b *testing.B) {
	box := newBox(b)
	for i := 0; b.Loop(); i++ {
		publish(b, box, fmt.Sprintf("%09d", i))
	}
}

func BenchmarkNextID(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		if _, _, err := NextID(b.Context(), dir, "ann"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList3(b *testing.B) {
	for _, read := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("beside%d", read), func(b *testing.B) {
			box := newBox(b)
			fill(b, box, true, read)
			publish(b, box, "x", "y", "z")
			for b.Loop() {
				if list, _, err := box.List(false); len(list) != 3 || err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkListAll10000(b *testing.B) {
	box := newBox(b)
	fill(b, box, true, 10_000)
	for b.Loop() {
		if list, _, err := box.List(true); len(list) != 10_000 || err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReceive(b *testing.B) {
	box := newBox(b)
	publish(b, box, "m")
	for b.Loop() {
		if n, _, err := box.Receive(Receiving{Show: func(*Message) error { return nil }}); n != 1 || err != nil {
			b.Fatal(n, err)
		}
		if err := os.Rename(box.file("m", true), box.file("m", false)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeAndSplit(b *testing.B) {
	h := fullHeader()
	for b.Loop() {
		head, err := h.Encode()
		if err != nil {
			b.Fatal(err)
		}
		splitHeader(head, true)
	}
}
