package pi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/pi/pitest"
)

// exchangeDir has what the real pi said to what: a file for each exchange, in
// which > is a line to pi and < one from it, with times, ids and paths replaced.
const exchangeDir = "../../testdata/pi/exchanges"

// exchanges are held with one pi, in this order. Each ends with pi idle.
var exchanges = []struct {
	name string
	hold func(r *raw)
}{
	{"state", func(r *raw) { r.state("s0") }},
	{"tool", func(r *raw) {
		r.send(`{"id":"p1","type":"prompt","message":"THINK hm\\nyes\nRUN echo hi; exit 4"}`)
		r.event("agent_end")
	}},
	{"steer", func(r *raw) {
		r.send(`{"id":"p1","type":"prompt","message":"RUN while ! test -e steered; do sleep 0.02; done"}`)
		r.event("tool_execution_start")
		r.send(`{"id":"p2","type":"prompt","message":"steer me","streamingBehavior":"steer"}`)
		r.response("p2")
		r.send(`{"id":"p3","type":"prompt","message":"follow me","streamingBehavior":"followUp"}`)
		r.response("p3")
		r.send(`{"id":"p4","type":"prompt","message":"no behaviour"}`)
		r.response("p4")
		if err := os.WriteFile(filepath.Join(r.cmd.Dir, "steered"), nil, 0o600); err != nil {
			r.t.Fatal(err)
		}
		r.event("agent_end")
	}},
	{"abort-tool", func(r *raw) {
		r.send(`{"id":"p1","type":"prompt","message":"RUN sleep 100"}`)
		r.event("tool_execution_start")
		r.send(`{"id":"a1","type":"abort"}`)
		r.response("a1")
	}},
	{"abort-model", func(r *raw) {
		r.send(`{"id":"p1","type":"prompt","message":"HANG"}`)
		r.wait("the prompt", func(m map[string]any) bool { return m["type"] == "message_end" })
		time.Sleep(300 * time.Millisecond) // until the model was asked
		r.send(`{"id":"a1","type":"abort"}`)
		r.response("a1")
		r.send(`{"id":"a2","type":"abort"}`)
		r.response("a2")
	}},
	{"retry", func(r *raw) {
		r.send(`{"id":"p1","type":"prompt","message":"ERROR 503 1"}`)
		r.event("auto_retry_end")
		r.event("agent_end")
	}},
	{"retry-fails", func(r *raw) {
		r.send(`{"id":"p1","type":"prompt","message":"ERROR 429"}`)
		r.event("auto_retry_end")
	}},
	{"error", func(r *raw) {
		r.send(`{"id":"p1","type":"prompt","message":"ERROR 400"}`)
		r.event("agent_end")
	}},
	{"mistakes", func(r *raw) {
		r.send(`{"id":"x","type":"nope"}`)
		r.event("response")
		r.send(`{"id":`)
		r.event("response")
		r.send("")
		r.event("response")
		r.send(`{"id":"m","type":"set_model","provider":"fake","modelId":"zzz"}`)
		r.response("m")
	}},
	{"compaction", func(r *raw) {
		r.send(`{"id":"p1","type":"prompt","message":"USAGE 9900"}`)
		r.event("compaction_end")
	}},
	{"overflow", func(r *raw) {
		r.send(`{"id":"p1","type":"prompt","message":"OVERFLOW 1"}`)
		r.event("compaction_end")
		r.event("agent_end")
	}},
	{"queue-while-idle", func(r *raw) {
		r.send(`{"id":"f","type":"steer","message":"left"}`)
		r.response("f")
		r.send(`{"id":"p1","type":"prompt","message":"SAY first"}`)
		r.event("agent_end")
	}},
}

// The test double says what the real pi has said, and the real one still does:
// line by line, as far as the client looks at it.
func TestExchanges(t *testing.T) {
	settings := pitest.Settings{Retries: 1, RetryDelay: 200 * time.Millisecond, ContextWindow: 10000, Compaction: true, KeepRecent: 10}
	both(t, func(t *testing.T, b backend) {
		r, _ := rawRig(t, b, settings)
		for _, x := range exchanges {
			r.log = nil
			x.hold(r)
			log := r.log
			r.settled()
			log = normal(log, r.cmd.Dir)
			path := filepath.Join(exchangeDir, x.name+".txt")
			if *update && b.name == "real" {
				if err := os.WriteFile(path, []byte(strings.Join(log, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := strings.Split(strings.TrimSuffix(read(t, path), "\n"), "\n")
			if got, want := gist(t, log), gist(t, want); got != want {
				t.Errorf("%s: got\n%s\nrecorded\n%s", x.name, got, want)
			}
		}
	})
}

// normal replaces what differs each time.
func normal(log []string, dir string) []string {
	var out []string
	for _, line := range log {
		mark, text := line[:2], line[2:]
		var v any
		if json.Unmarshal([]byte(text), &v) != nil || mark == "> " {
			out = append(out, line)
			continue
		}
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		out = append(out, mark+string(rewrite(d, dir)))
	}
	return out
}

// rewrite copies one JSON value with its order of keys.
func rewrite(d *json.Decoder, dir string) []byte {
	var b bytes.Buffer
	var value func(key string)
	value = func(key string) {
		tok, _ := d.Token()
		switch tok := tok.(type) {
		case json.Delim:
			b.WriteRune(rune(tok))
			for first := true; d.More(); first = false {
				if !first {
					b.WriteByte(',')
				}
				name := ""
				if tok == '{' {
					k, _ := d.Token()
					name, _ = k.(string)
					fmt.Fprintf(&b, "%q:", name)
				}
				value(name)
			}
			end, _ := d.Token()
			b.WriteRune(rune(end.(json.Delim)))
		case json.Number:
			if key == "timestamp" {
				tok = "1700000000000"
			}
			b.WriteString(tok.String())
		case string:
			switch key {
			case "id", "toolCallId":
				if strings.HasPrefix(tok, "call_") {
					tok = "call_1"
				}
			case "sessionId", "firstKeptEntryId":
				tok = "01a2"
			case "baseUrl":
				tok = "http://127.0.0.1:1/v1"
			}
			s, _ := json.Marshal(strings.ReplaceAll(tok, dir, "/dir"))
			b.Write(s)
		default:
			s, _ := json.Marshal(tok)
			b.Write(s)
		}
	}
	value("")
	return b.Bytes()
}

// gist is what the client sees of an exchange. Pieces of a message are put
// together, since it does not matter how an answer was cut.
func gist(t *testing.T, log []string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range log {
		if line[0] == '>' {
			fmt.Fprintln(&b, line)
			continue
		}
		ev, ok := readEvent(newLexer(strings.NewReader(line[2:] + "\n")))
		if !ok || ev.kind == "" {
			t.Fatalf("no event: %s", line)
		}
		switch ev.kind {
		case "tool_execution_update":
			continue
		case "message_update":
			if ev.delta == "" || ev.update != "text_delta" && ev.update != "thinking_delta" {
				continue
			}
		}
		word, _, _ := strings.Cut(ev.err, ":") // what JSON.parse says is its own
		ev.err = word
		ev.text.sum = [32]byte{}
		for i := range ev.queued {
			ev.queued[i].sum = [32]byte{}
		}
		ev.callID = ""
		if ev.state != nil {
			ev.state.sessionID = "" // of each its own
		}
		state := ""
		if ev.state != nil {
			state = fmt.Sprintf("%+v", *ev.state)
			ev.state = nil
		}
		fmt.Fprintf(&b, "< %s %s%s\n", ev.kind, compact(ev), state)
	}
	return b.String()
}

// compact writes the fields of an event that are not zero.
func compact(ev event) string {
	var words []string
	add := func(name string, v any, set bool) {
		if set {
			words = append(words, fmt.Sprintf("%s=%v", name, v))
		}
	}
	add("id", ev.id, ev.id != "")
	add("command", ev.command, ev.command != "")
	add("success", ev.success, ev.success)
	add("err", ev.err, ev.err != "")
	add("role", ev.role, ev.role != "")
	add("size", ev.text.size, ev.text.size > 0)
	add("head", ev.head, ev.head != "")
	add("stop", ev.stop, ev.stop != "")
	add("usage", ev.usage, ev.usage != Usage{})
	add("update", ev.update, ev.update != "")
	add("delta", ev.delta, ev.delta != "")
	add("tool", ev.tool, ev.tool != "")
	add("args", ev.args, len(ev.args) > 0)
	add("isError", ev.isError, ev.isError)
	add("reason", ev.reason, ev.reason != "")
	add("willRetry", ev.willRetry, ev.willRetry)
	add("attempt", ev.attempt, ev.attempt > 0)
	add("attempts", ev.attempts, ev.attempts > 0)
	add("delay", ev.delayMs, ev.delayMs > 0)
	add("queued", len(ev.queued), ev.kind == "queue_update")
	return strings.Join(words, " ")
}

// recorded returns the lines of pi in all exchanges.
func recorded(t testing.TB) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(exchangeDir, "*.txt"))
	if err != nil || len(files) != len(exchanges) {
		t.Fatalf("%d exchanges in %s, %v", len(files), exchangeDir, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if text, ok := strings.CutPrefix(line, "< "); ok {
				list = append(list, text)
			}
		}
	}
	return list
}

// The streaming reader sees what encoding/json sees.
func TestRecordedLines(t *testing.T) {
	seen := map[string]bool{}
	for _, line := range recorded(t) {
		var m struct {
			Type, ID, Command, Error, ErrorMessage, FinalError, ToolName, Reason string
			Success, IsError, WillRetry                                          bool
			Attempt                                                              int64
			Steering, FollowUp                                                   []string
			Message                                                              struct {
				Role, StopReason, ErrorMessage string
				Content                        []struct{ Type, Text string }
				Usage                          struct {
					Input, Output, TotalTokens int64
					Cost                       struct{ Total float64 }
				}
			}
			AssistantMessageEvent struct{ Type, Delta string }
			Data                  struct {
				Model                             struct{ ID, Provider string }
				IsStreaming                       bool
				SessionFile                       string
				MessageCount, PendingMessageCount int64
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		seen[m.Type] = true
		ev, ok := readEvent(newLexer(strings.NewReader(line)))
		check := func(what string, got, want any) {
			if got != want {
				t.Errorf("%s is %v, want %v: %.200s", what, got, want, line)
			}
		}
		check("ok", ok, true)
		check("type", ev.kind, m.Type)
		check("id", ev.id, m.ID)
		check("success", ev.success, m.Success)
		switch m.Type {
		case "message_start":
			check("role", ev.role, m.Message.Role)
			if m.Message.Role == "user" {
				check("text", ev.text, digestOf(m.Message.Content[0].Text))
			}
		case "message_end":
			if m.Message.Role == "assistant" {
				check("stop", ev.stop, m.Message.StopReason)
				check("error", ev.err, m.Message.ErrorMessage)
				check("tokens", ev.usage.Total, m.Message.Usage.TotalTokens)
				check("cost", ev.usage.Cost, m.Message.Usage.Cost.Total)
			}
		case "message_update":
			check("update", ev.update, m.AssistantMessageEvent.Type)
			if strings.HasPrefix(ev.update, "t") && strings.HasSuffix(ev.update, "t_delta") {
				check("delta", ev.delta, m.AssistantMessageEvent.Delta)
			}
		case "queue_update":
			var want []digest
			for _, s := range append(m.Steering, m.FollowUp...) {
				want = append(want, digestOf(s))
			}
			check("queue", slices.Equal(ev.queued, want), true)
		case "response":
			check("command", ev.command, m.Command)
			check("error", ev.err, m.Error)
			if m.Command == "get_state" {
				want := m.Data
				check("state", *ev.state, stateData{
					model: want.Model.ID, provider: want.Model.Provider, streaming: want.IsStreaming, sessionFile: want.SessionFile,
					sessionID: ev.state.sessionID, messages: want.MessageCount, pending: want.PendingMessageCount,
				})
			}
		case "tool_execution_start", "tool_execution_end":
			check("tool", ev.tool, m.ToolName)
			check("isError", ev.isError, m.IsError)
		case "auto_retry_start", "auto_retry_end":
			check("attempt", ev.attempt, m.Attempt)
			check("error", ev.err, m.ErrorMessage+m.FinalError)
		case "compaction_start", "compaction_end":
			check("reason", ev.reason, m.Reason)
			check("willRetry", ev.willRetry, m.WillRetry)
		}
	}
	for _, kind := range []string{"agent_start", "agent_end", "message_start", "message_update", "queue_update", "auto_retry_start", "auto_retry_end", "compaction_start", "compaction_end", "tool_execution_end", "response"} {
		if !seen[kind] {
			t.Errorf("no %s was recorded", kind)
		}
	}
}
