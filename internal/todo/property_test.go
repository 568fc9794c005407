package todo

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed6990a682/teams/internal/errs"
)

// items draws a list that may be written.
func items() *rapid.Generator[[]Item] {
	return rapid.Custom(func(t *rapid.T) []Item {
		var out []Item
		phases := []string{"", "one", "the two"}
		contents := rapid.SliceOfNDistinct(rapid.SampledFrom(strings.Fields("a b c d e-f g[x] #h — 1. ## [>]")), 0, 6, rapid.ID).Draw(t, "contents")
		for _, content := range contents {
			it := Item{Content: "x " + content, Status: rapid.SampledFrom(Statuses()).Draw(t, "status"), Phase: rapid.SampledFrom(phases).Draw(t, "phase")}
			if it.Status == Blocked {
				it.Blocker = rapid.SampledFrom([]string{"y", "y - z", "t_4, says ann"}).Draw(t, "blocker")
			}
			out = append(out, it)
		}
		return out
	})
}

// What Markdown writes is read back as it was.
func TestMarkdownRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := items().Draw(t, "items")
		got, err := Parse(Markdown(want))
		if err != nil {
			t.Fatalf("%v\n%s", err, Markdown(want))
		}
		if !slices.EqualFunc(got, want, Item.same) {
			t.Fatalf("%s became\n%s", Markdown(want), Markdown(got))
		}
	})
}

// Whatever is done in whatever order: ids and contents are unique, an id never
// stands for something else, a person's word stands, one item at most is in
// progress, and a reader sees what the writer saw.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newList(t)
		names := map[string]string{}
		said := map[string]bool{} // contents that a person has marked as done
		check := func(ch Change) {
			seen, current := map[string]bool{}, 0
			for _, it := range ch.Items {
				if seen[it.ID] || seen[it.Content] {
					rt.Fatalf("twice:\n%s", show(ch.Items))
				}
				seen[it.ID], seen[it.Content] = true, true
				if old := names[it.ID]; old != "" && old != it.Content {
					rt.Fatalf("%s was %q and is %q", it.ID, old, it.Content)
				}
				names[it.ID] = it.Content
				if said[it.Content] && it.Status != Completed {
					rt.Fatalf("a person's word about %q does not stand:\n%s", it.Content, show(ch.Items))
				}
				if it.Status == InProgress {
					current++
				}
			}
			if current > 1 {
				rt.Fatalf("%d in progress:\n%s", current, show(ch.Items))
			}
			read, err := l.Read()
			if err != nil || len(read.Problems) > 0 || read.ID != ch.ID || !slices.Equal(read.Items, ch.Items) {
				rt.Fatalf("read %+v, %v\nafter %+v", read, err, ch)
			}
		}
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			now, err := l.Read()
			if err != nil {
				rt.Fatal(err)
			}
			var ch Change
			switch what := rapid.IntRange(0, 3).Draw(rt, "what"); {
			case what < 2 || len(now.Items) == 0:
				ch, err = l.Write(context.Background(), items().Draw(rt, "items"), agent)
			case what == 2:
				it := rapid.SampledFrom(now.Items).Draw(rt, "item")
				op := rapid.SampledFrom([]string{OpDone, OpDrop, OpRemove, OpUnblock}).Draw(rt, "op")
				w := rapid.SampledFrom([]Writing{agent, person}).Draw(rt, "who")
				ch, err = l.Edit(context.Background(), op, it.ID, w)
				if err == nil && w.Human {
					said[it.Content] = op == OpDone || said[it.Content] && !ch.Changed
				}
				if errs.CodeOf(err) == errs.Conflict {
					continue
				}
			default:
				ch, err = l.Rewind(context.Background(), rapid.SampledFrom(now.Snapshots).Draw(rt, "to").ID, agent)
			}
			if err != nil {
				rt.Fatal(err)
			}
			check(ch)
		}
	})
}
