package todo

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzFold: a line of a list's file is applied or spoils only itself, and the
// lines that follow are read.
func FuzzFold(f *testing.F) {
	for _, text := range []string{
		`{"kind":"snapshot","id":"s_1","at":1,"by":"ann","items":[{"id":"i_1","content":"a","status":"pending"},{"id":"i_2","content":"b","status":"in_progress"}]}` + "\n" +
			`{"kind":"edit","id":"s_2","at":2,"by":"lee","human":true,"op":"done","item":"i_1"}` + "\n" + `{"kind":"rewind","id":"s_3","to":"s_1"}` + "\n",
		`{"kind":"snapshot","id":"s_1","items":[{"id":"i_1","content":"a","status":"odd"}]}`, `{"kind":"edit","op":"rm","item":"i_9"}`,
		"\x00\x00\n{}\nnull\n{\"kind\":", `{"kind":"rewind","id":"s_9223372036854775807","to":"s_0"}`,
	} {
		f.Add([]byte(text))
	}
	last := []byte("\n" + `{"kind":"snapshot","id":"s_77","at":9,"by":"ann","items":[{"id":"i_77","content":"the last one","status":"pending"}]}` + "\n")
	f.Fuzz(func(t *testing.T, data []byte) {
		one := fold(data)
		seen := map[string]bool{}
		for _, it := range one.items {
			if it.ID == "" || it.Content == "" || !known(it.Status) || seen[it.ID] || seen[it.Content] {
				t.Fatalf("%q has %+v", data, one.items)
			}
			seen[it.ID], seen[it.Content] = true, true
		}
		if len(one.skipped) > bytes.Count(data, []byte("\n"))+1 {
			t.Fatalf("%d lines of %q are skipped", len(one.skipped), data)
		}
		if bytes.Contains(data, []byte("77")) || bytes.Contains(data, []byte("the last one")) {
			return // it may be there already
		}
		two := fold(append(slices.Clone(data), last...))
		if len(two.items) != 1 || two.items[0].Content != "the last one" || two.id != "s_77" {
			t.Fatalf("%q hides what follows: %+v", data, two.items)
		}
	})
}

// FuzzParse: a list that a model wrote is read or refused, and what was read is
// written so that it reads the same again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"- [ ] a\n- [x] b\n- [>] c\n", `[{"content":"a","status":"pending"}]`, "1. [ ] a", "* [-] dropped (why)\n", "", "- [ ]", "- [ ] a\n- [ ] a\n", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		items, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(Markdown(items))
		if err != nil || !slices.EqualFunc(items, again, Item.same) {
			t.Fatalf("%q is read as\n%s\nand that as\n%s, %v", text, Markdown(items), Markdown(again), err)
		}
	})
}
