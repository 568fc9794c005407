package pi

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// events reads everything.
func events(r io.Reader) (list []event) {
	for l := newLexer(r); ; {
		ev, ok := readEvent(l)
		if !ok {
			return list
		}
		list = append(list, ev)
	}
}

// However the bytes arrive, the events are the same.
func TestPieces(t *testing.T) {
	text := strings.Join(recorded(t), "")
	whole := events(strings.NewReader(text))
	single := events(iotest.OneByteReader(strings.NewReader(text)))
	half := events(iotest.DataErrReader(iotest.HalfReader(strings.NewReader(text))))
	if len(whole) != strings.Count(text, "\n") || len(single) != len(whole) || len(half) != len(whole) {
		t.Fatalf("%d, %d and %d events of %d lines", len(whole), len(single), len(half), strings.Count(text, "\n"))
	}
	for i, ev := range whole {
		if compact(ev) != compact(single[i]) || compact(ev) != compact(half[i]) || ev.text != single[i].text {
			t.Errorf("%+v\n%+v", ev, single[i])
		}
	}
}

// A line that is cut anywhere harms only itself.
func TestCutLines(t *testing.T) {
	const next = `{"type":"agent_start"}` + "\n"
	for n, line := range recorded(t) {
		line = strings.TrimSuffix(line, "\n")
		step := 1 + len(line)/40
		for i := n % step; i < len(line); i += step {
			list := events(strings.NewReader(line[:i] + "\n" + next))
			if len(list) != 2 || list[1].kind != "agent_start" {
				t.Fatalf("cut at %d: %d events: %.300s", i, len(list), line)
			}
			if list := events(strings.NewReader(next + line[:i])); len(list) != 1 { // the process ended
				t.Fatalf("cut at %d: %d events", i, len(list))
			}
		}
	}
}

func TestStrings(t *testing.T) {
	for _, text := range []string{
		"", "plain", "a\"b\\c/d\b\f\n\r\t", "\u2028\u2029", "𝄞 ü 漢", "\x00\x1f\x7f", strings.Repeat("x", 200000) + "𝄞", strings.Repeat("𝄞", 70000),
	} {
		for _, html := range []bool{true, false} {
			var b strings.Builder
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(html)
			if err := e.Encode(map[string]any{"type": "message_start", "message": map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "image", "data": "text"}, map[string]any{"type": "text", "text": text},
			}}}); err != nil {
				t.Fatal(err)
			}
			list := events(iotest.HalfReader(strings.NewReader(b.String())))
			// Keys are sorted here: the type comes last, and the role behind the content.
			if len(list) != 1 || list[0].kind != "message_start" {
				t.Fatalf("%.50q: %+v", text, list)
			}
			line := `{"type":"message_start","message":{"role":"user","content":` + quote(text, html) + "}}\n"
			if ev := events(strings.NewReader(line))[0]; ev.text != digestOf(text) || len(ev.head) > maxHead || !strings.HasPrefix(text, ev.head) {
				t.Errorf("%.50q: %+v", text, ev)
			}
		}
	}
	for line, want := range map[string]string{
		`"\ud834\udd1e"`: "𝄞", `"\ud834"`: "\uFFFD", `"\ud834x"`: "\uFFFDx", `"\ud834\n"`: "\uFFFD\n", `"\udd1e"`: "\uFFFD",
		`"\ud834\ud834\udd1e"`: "\uFFFD𝄞", `17.5`: "17.5", `null`: "", `true`: "true", `{"a":["b"]}`: "", `[1]`: "",
	} {
		if got, err := newLexer(strings.NewReader(line + "\n")).text(1000); got != want || err != nil {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
	for _, bad := range []string{`"a`, `"\x"`, `"\u12"`, "\"a\nb\"", ``, `:`, `,`, `}`} {
		if got, err := newLexer(strings.NewReader(bad + "\n")).text(1000); err == nil {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

func quote(text string, html bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(text)
	return strings.TrimSpace(b.String())
}

// Whatever comes, the reader goes on with the next line, and of a line that is
// an object it sees the type that encoding/json sees.
func FuzzReadEvent(f *testing.F) {
	for _, line := range recorded(f)[:40] {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"type":"response","id":5,"data":{"model":[]},"type":"x"}`))
	f.Add([]byte(`{"message":{"content":[[{"text":1}]],"role":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		line := strings.ReplaceAll(string(data), "\n", " ")
		list := events(iotest.HalfReader(strings.NewReader(line + "\n" + `{"type":"agent_start"}` + "\n")))
		if len(list) != 2 || list[1].kind != "agent_start" {
			t.Fatalf("%d events", len(list))
		}
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(line), &m) != nil {
			return
		}
		var kind string
		if json.Unmarshal(m["type"], &kind) == nil && strings.Count(line, `"type"`) == 1 && len(kind) <= maxWord && !strings.Contains(line, `\`) && strings.ToValidUTF8(line, "") == line {
			if list[0].kind != kind {
				t.Fatalf("type %q, want %q", list[0].kind, kind)
			}
		}
	})
}

func BenchmarkUpdates(b *testing.B) {
	partial := strings.Repeat("The quick brown fox. ", 500)
	line := `{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"fox","partial":{"content":[{"type":"text","text":"` +
		partial + `"}]}},"message":{"content":[{"type":"text","text":"` + partial + `"}]}}` + "\n"
	end := `{"type":"tool_execution_end","toolCallId":"x","toolName":"bash","result":{"content":[{"type":"text","text":"` + partial + partial + `"}]},"isError":true}` + "\n"
	for _, c := range []struct{ name, line string }{{"update", line}, {"tool", end}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.line)))
			text := strings.Repeat(c.line, 100)
			for b.Loop() {
				if n := len(events(strings.NewReader(text))); n != 100 {
					b.Fatal(n)
				}
			}
			b.SetBytes(int64(len(text)))
		})
	}
}
