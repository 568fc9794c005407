package piext_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// asked is one request to the model.
type asked struct {
	system string
	last   string // text of the last message
	role   string // of the last message
	tools  []string
}

// model is a scripted model server. A line "CALL tool {args}" of the last
// message of a user is a call of that tool; other messages are answered in words.
type model struct {
	url string

	mu   sync.Mutex
	seen []asked
}

func newModel(t *testing.T) *model {
	t.Helper()
	m := new(model)
	server := httptest.NewServer(m)
	m.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return m
}

// agentDir makes an agent directory of pi whose only model is this one.
func (m *model) agentDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "models.json"), fmt.Sprintf(`{"providers":{"fake":{"baseUrl":"%s/v1","api":"openai-completions","apiKey":"dummy",
 "compat":{"supportsDeveloperRole":false,"supportsReasoningEffort":false},"models":[{"id":"fake-1"}]}}}`, m.url))
	put(t, filepath.Join(dir, "settings.json"), `{"defaultProvider":"fake","defaultModel":"fake-1","quietStartup":true,"retry":{"enabled":false}}`)
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (m *model) requests() []asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]asked(nil), m.seen...)
}

// words is the text of a message's content: a string, or blocks.
func words(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []struct{ Text string }
	_ = json.Unmarshal(raw, &blocks)
	for _, b := range blocks {
		s += b.Text
	}
	return s
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	var a asked
	for _, msg := range body.Messages {
		if msg.Role == "system" || msg.Role == "developer" {
			a.system += words(msg.Content)
		}
		a.role, a.last = msg.Role, words(msg.Content)
	}
	for _, tool := range body.Tools {
		a.tools = append(a.tools, tool.Function.Name)
	}
	m.mu.Lock()
	m.seen = append(m.seen, a)
	n := len(m.seen)
	m.mu.Unlock()

	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta map[string]any, end any) {
		data, _ := json.Marshal(map[string]any{
			"id": fmt.Sprint("chat", n), "object": "chat.completion.chunk", "model": "fake-1",
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": end}},
		})
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	}
	var calls []any
	if a.role == "user" {
		for line := range strings.Lines(a.last) {
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), "CALL ")
			if !ok {
				continue
			}
			name, args, _ := strings.Cut(rest, " ")
			calls = append(calls, map[string]any{
				"index": len(calls), "id": fmt.Sprintf("call_%d_%d", n, len(calls)), "type": "function",
				"function": map[string]any{"name": name, "arguments": args},
			})
		}
	}
	if len(calls) > 0 {
		send(map[string]any{"role": "assistant", "tool_calls": calls}, nil)
		send(map[string]any{}, "tool_calls")
	} else {
		send(map[string]any{"role": "assistant", "content": "I have read it."}, nil)
		send(map[string]any{}, "stop")
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}
