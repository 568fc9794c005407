package todo

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

// A write replaces the list; what has the same content has the same id, also
// after it was not there for a while.
func TestWrite(t *testing.T) {
	l := newList(t)
	l.want("")
	ch := l.write("# plan\n\n## one\n- [>] a\n* [ ] b\n\n## two\n1. [x] c\n- [-] d\n[!] e — f — g\n", agent)
	if !ch.Changed || ch.ID != "s_1" {
		t.Errorf("%+v", ch)
	}
	l.want("i_1 [>] a (one)\ni_2 [ ] b (one)\ni_3 [x] c (two)\ni_4 [-] d (two)\ni_5 [!] e — f — g (two)\n")
	ch = l.write("- [x] b\n- [ ] new\n- [ ] c\n", agent)
	if strings.Join(ch.Completed, ",") != "b" || strings.Join(ch.Reopened, ",") != "c" {
		t.Errorf("%+v", ch)
	}
	l.want("i_2 [x] b\ni_6 [ ] new\ni_3 [ ] c\n")
	l.write("- [ ] a\n- [ ] new\n", agent)
	l.want("i_1 [ ] a\ni_6 [ ] new\n")
	// In JSON an item can be worded anew; its old words are another one then.
	l.write(`{"items":[{"id":"i_1","content":"a, but better","status":"in_progress"},{"content":"a"}]}`, agent)
	l.want("i_1 [>] a, but better\ni_7 [ ] a\n")
	l.write("- [ ] a\n- [ ] a, but better\n", agent)
	l.want("i_7 [ ] a\ni_1 [ ] a, but better\n")
	l.write("", agent)
	l.want("")
	if _, err := l.Write(context.Background(), []Item{{ID: "i_99", Content: "x", Status: Pending}}, agent); errs.CodeOf(err) != errs.Usage {
		t.Errorf("an unknown id: %v", err)
	}
	l.want("")
}

// What is there already is not written again.
func TestNoChange(t *testing.T) {
	l := newList(t)
	if ch := l.write("", agent); ch.Changed {
		t.Error("an empty list is no change")
	}
	l.write("- [>] a\n- [!] b — c\n", agent)
	l.edit(OpDone, "a", person)
	size := l.size()
	for _, ch := range []Change{
		l.write("- [x] a\n- [!] b — c\n", agent),
		l.write("- [ ] a\n- [!] b — c\n", agent), // the person's word stands
		l.edit(OpDone, "a", person),
		l.edit(OpDone, "a", agent),
		l.edit(OpUnblock, "a", agent),
		l.rewind("s_2", agent),
		l.rewind("s_2", person),
		l.rewind("s_1", agent), // the same, because a stays done
	} {
		if ch.Changed || ch.ID != "s_2" {
			t.Errorf("%+v", ch)
		}
	}
	if l.size() != size {
		t.Errorf("the file grew from %d to %d", size, l.size())
	}
}

func (l *list) size() int {
	l.t.Helper()
	data, err := os.ReadFile(l.path)
	if err != nil {
		l.t.Fatal(err)
	}
	return len(data)
}

// What a person has marked as done stays done, whatever its owner writes.
func TestHumanDone(t *testing.T) {
	l := newList(t)
	l.write("- [>] a\n- [ ] b\n", agent)
	if ch := l.edit(OpDone, "a", person); ch.Item.DoneBy != Human || ch.Item.Status != Completed || ch.Item.CompletedAt == 0 {
		t.Errorf("%+v", ch.Item)
	}
	ch := l.write("- [>] a\n- [>] b\n", agent)
	if strings.Join(ch.Kept, ",") != "a" || ch.Normalized != nil {
		t.Errorf("%+v", ch)
	}
	l.want("i_1 [x] a\ni_2 [>] b\n")
	l.write("- [>] b\n", agent)
	l.write("- [!] a — x\n- [>] b\n", agent)
	l.want("i_1 [x] a\ni_2 [>] b\n")
	l.rewind("s_1", agent)
	l.want("i_1 [x] a\ni_2 [ ] b\n")
	if _, err := l.Edit(context.Background(), OpDrop, "a", agent); errs.CodeOf(err) != errs.Conflict {
		t.Errorf("the owner drops it: %v", err)
	}
	// A teammate's own done is no such word.
	l.edit(OpDone, "b", agent)
	l.write("- [ ] a\n- [ ] b\n", agent)
	l.want("i_1 [x] a\ni_2 [ ] b\n")
	// A person can take it back.
	l.rewind("s_1", person)
	l.want("i_1 [>] a\ni_2 [ ] b\n")
	l.write("- [ ] a\n- [ ] b\n", agent)
	l.want("i_1 [ ] a\ni_2 [ ] b\n")
	l.edit(OpDone, "a", person)
	l.edit(OpRemove, "a", person)
	l.write("- [ ] a\n", agent)
	l.want("i_1 [ ] a\n")
}

// A teammate has one item in progress at most; a leader may have several.
func TestStrict(t *testing.T) {
	l := newList(t)
	ch := l.write("- [ ] z\n- [>] a\n- [>] b\n- [>] c\n", agent)
	l.want("i_1 [ ] z\ni_2 [>] a\ni_3 [ ] b\ni_4 [ ] c\n")
	if len(ch.Normalized) != 2 || ch.Normalized[0] != `"b" is pending, because "a" is in progress` {
		t.Errorf("%q", ch.Normalized)
	}
	l.write("- [>] a\n- [>] b\n", Writing{By: "leader"})
	l.want("i_2 [>] a\ni_3 [>] b\n")
}

// Edits change one item; rewind goes to the state after any line.
func TestEditsAndRewind(t *testing.T) {
	l := newList(t)
	l.write("- [>] a\n- [!] b — a key\n- [ ] c\n", agent)
	l.edit(OpUnblock, "b", person)
	l.edit(OpDrop, "c", person)
	l.edit(OpRemove, "a", person)
	l.want("i_2 [ ] b\ni_3 [-] c\n")
	l.rewind("s_3", person)
	l.want("i_1 [>] a\ni_2 [ ] b\ni_3 [-] c\n")
	l.rewind("s_1", agent)
	l.want("i_1 [>] a\ni_2 [!] b — a key\ni_3 [ ] c\n")
	l.rewind("s_4", agent)
	l.want("i_2 [ ] b\ni_3 [-] c\n")
	if _, err := l.Rewind(context.Background(), "s_99", agent); errs.CodeOf(err) != errs.NotFound {
		t.Errorf("%v", err)
	}
	got, err := l.Read()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range got.Snapshots {
		all = append(all, s.ID+" "+s.Kind+" "+s.What)
	}
	want := "s_1 snapshot |s_2 edit unblock b|s_3 edit drop c|s_4 edit rm a|s_5 rewind to s_3|s_6 rewind to s_1|s_7 rewind to s_4"
	if strings.Join(all, "|") != want {
		t.Errorf("%s", strings.Join(all, "|"))
	}
}

func TestFind(t *testing.T) {
	items := []Item{{ID: "i_1", Content: "Write the parser"}, {ID: "i_2", Content: "write the printer"}, {ID: "i_3", Content: "parser"}, {ID: "i_4", Content: "Deploy"}}
	for query, want := range map[string]string{
		"i_1": "i_1", "parser": "i_3", "PARSER": "i_3", "write  the parser": "i_1", "dep": "i_4", "write the pr": "i_2", "printer": "i_2", "ploy": "i_4",
	} {
		i, err := Find(items, query)
		if err != nil || items[i].ID != want {
			t.Errorf("%q: %v %v", query, i, err)
		}
	}
	_, err := Find(items, "write")
	var known *errs.Error
	if !errors.As(err, &known) || known.Code != errs.Usage || !strings.Contains(known.Msg, "i_1 Write the parser; i_2 write the printer") {
		t.Errorf("%v", err)
	}
	if list, _ := known.Details["candidates"].([]Item); len(list) != 2 {
		t.Errorf("%v", known.Details)
	}
	for _, query := range []string{"nothing", "i_9"} {
		if _, err := Find(items, query); errs.CodeOf(err) != errs.NotFound {
			t.Errorf("%q: %v", query, err)
		}
	}
	if _, err := Find(items, " "); errs.CodeOf(err) != errs.Usage {
		t.Errorf("%v", err)
	}
}

func TestParseErrors(t *testing.T) {
	long := strings.Repeat("x", 31)
	for text, want := range map[string]string{
		"- [ ] a\nplain\n":                   "line 2 is neither",
		"- a":                                "line 1 is neither",
		"- [?] a":                            "line 1 is neither",
		"- [ ]":                              "item 1 has no content",
		"- [ ] a\n- [x]  a ":                 `"a" stands there twice`,
		"- [!] a":                            "blocked without a blocker",
		"## " + long + "\n- [ ] a":           "longer than 30",
		`[{"content":"a","status":"doing"}]`: `status "doing"`,
		`[{"content":"a","blocker":"b"}]`:    "only a blocked item",
		`[{"content":"a","prio":1}]`:         "unknown field",
		`[{"content":" "}]`:                  "item 1 has no content",
		`{"list":[]}`:                        "unknown field",
		`{}`:                                 "no items",
		`{"items":[],"todos":[]}`:            "both",
		`[] []`:                              "more text",
		`[{"content":"a","id":"i_1"},{"content":"b","id":"i_1"}]`: "the id i_1 stands there twice",
		`{"items":`: "cannot be read",
	} {
		_, err := Parse(text)
		if errs.CodeOf(err) != errs.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"", "\n", "[]", `{"todos":[]}`, "# only a title\n---\n"} {
		if items, err := Parse(text); err != nil || len(items) != 0 {
			t.Errorf("%q: %v %v", text, items, err)
		}
	}
	// What a list says of its items can be written back.
	data, _ := json.Marshal([]Item{{ID: "i_1", Content: "a", Status: Completed, CompletedAt: 5, DoneBy: "ann"}})
	if items, err := Parse(string(data)); err != nil || items[0].ID != "i_1" {
		t.Errorf("%v %v", items, err)
	}
}
