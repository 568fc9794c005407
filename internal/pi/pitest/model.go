package pitest

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Directives are lines of the last user message, and say what the model does:
//
//	RUN command        calls the bash tool; answers "TOOL SAID: ..." with its result
//	SAY text           answers with the text
//	THINK text         thinks the text first; \n in it is a line feed
//	TEXT bytes [piece] answers with that many bytes in pieces of 50 or piece bytes
//	SLOW ms            waits that long before each piece
//	ERROR status [n]   fails with the HTTP status, at most n times (default: always)
//	HANG               answers nothing until the request is given up
//	OVERFLOW [n]       fails since the context is too long, at most n times
//	USAGE tokens       says that the request had so many tokens
//
// Without any of them the answer is "ok: " and the first line.
const Directives = "RUN SAY THINK TEXT SLOW ERROR OVERFLOW HANG USAGE"

// Message is one message of a request.
type Message struct {
	Role string
	Text string
}

// Request is what the model was asked.
type Request struct {
	Messages []Message
	Tools    []string
	Time     time.Time
}

// Last returns the text of the last message.
func (r Request) Last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Text
}

// Count says how many messages of role have the text.
func (r Request) Count(role, text string) (n int) {
	for _, m := range r.Messages {
		if m.Role == role && m.Text == text {
			n++
		}
	}
	return n
}

// Model is the scripted model server.
type Model struct {
	URL string // without a path

	mu       sync.Mutex
	requests []Request
	failed   map[string]int // failures so far, by message
	reply    func(Request) (Reply, bool)
	hanging  int
}

// Reply is what the model does with one request.
type Reply struct {
	Thinking string
	Text     string
	Piece    int           // bytes of Text sent at once; 0: 50
	Pause    time.Duration // before each piece
	Run      string        // command of a call of the bash tool
	Status   int           // HTTP status of a failure
	Error    string        // its words
	Hang     bool
	Tokens   int // of the request; 0: 10
}

// NewModel starts a model server, which ends with the test.
func NewModel(t testing.TB) *Model {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{URL: "http://" + listener.Addr().String(), failed: make(map[string]int)}
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{Handler: m, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("model server: %v", err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		_ = server.Close()
		<-done
	})
	return m
}

// Script makes f answer the requests that it says true for.
func (m *Model) Script(f func(Request) (Reply, bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reply = f
}

// Requests returns what was asked so far.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Request(nil), m.requests...)
}

// Hanging returns how many requests hang at this moment.
func (m *Model) Hanging() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hanging
}

// Settings are what pi's settings.json says beside the model.
type Settings struct {
	Retries       int // at most; 0: none
	RetryDelay    time.Duration
	ContextWindow int // of the model; 0: 1,000,000
	Compaction    bool
	KeepRecent    int // tokens that a compaction keeps
}

// AgentDir makes an agent directory whose only model is this one, for
// PI_CODING_AGENT_DIR.
func (m *Model) AgentDir(t testing.TB, s Settings) string {
	t.Helper()
	dir := t.TempDir()
	window := s.ContextWindow
	if window == 0 {
		window = 1_000_000
	}
	write(t, filepath.Join(dir, "models.json"), map[string]any{"providers": map[string]any{"fake": map[string]any{
		"baseUrl": m.URL + "/v1", "api": "openai-completions", "apiKey": "dummy",
		"compat": map[string]any{"supportsDeveloperRole": false, "supportsReasoningEffort": false},
		"models": []any{map[string]any{
			"id": "fake-1", "reasoning": true, "contextWindow": window, "maxTokens": 4096,
			"cost": map[string]any{"input": 1000, "output": 2000, "cacheRead": 0, "cacheWrite": 0},
		}},
	}}})
	write(t, filepath.Join(dir, "settings.json"), map[string]any{
		"defaultProvider": "fake", "defaultModel": "fake-1", "quietStartup": true, "defaultThinkingLevel": "off",
		"retry":      map[string]any{"enabled": s.Retries > 0, "maxRetries": s.Retries, "baseDelayMs": s.RetryDelay.Milliseconds()},
		"compaction": map[string]any{"enabled": s.Compaction, "reserveTokens": 1000, "keepRecentTokens": s.KeepRecent},
	})
	return dir
}

// Env returns an environment for a pi with that agent directory: that of this
// process without what would change pi, and with what it needs to reach the
// model.
func Env(agentDir string, more ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "TEAMS_") || strings.HasPrefix(name, "PI_") || strings.HasSuffix(name, "_API_KEY") {
			continue
		}
		env = append(env, kv)
	}
	env = append(env, "PI_CODING_AGENT_DIR="+agentDir, "PI_OFFLINE=1", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	return append(env, more...)
}

func write(t testing.TB, path string, v any) {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// ServeHTTP answers a request for a chat completion.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	var body struct {
		Stream   bool
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || !body.Stream {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	ask := Request{Time: time.Now()}
	for _, msg := range body.Messages {
		ask.Messages = append(ask.Messages, Message{msg.Role, contentText(msg.Content)})
	}
	for _, tool := range body.Tools {
		ask.Tools = append(ask.Tools, tool.Function.Name)
	}
	m.mu.Lock()
	m.requests = append(m.requests, ask)
	script := m.reply
	m.mu.Unlock()
	if script != nil {
		if reply, ok := script(ask); ok {
			m.send(w, r, reply)
			return
		}
	}
	m.send(w, r, m.obey(ask))
}

// contentText is the text of a message's content: a string, or blocks.
func contentText(raw json.RawMessage) string {
	var s string
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

// obey does what the directives say.
func (m *Model) obey(ask Request) (r Reply) {
	last := ask.Last()
	if n := len(ask.Messages); n > 0 && ask.Messages[n-1].Role == "tool" {
		r.Text = "TOOL SAID: " + last
		return r
	}
	for line := range strings.Lines(last) {
		word, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		first, second, _ := strings.Cut(rest, " ")
		number, _ := strconv.Atoi(first)
		other, _ := strconv.Atoi(second)
		switch word {
		case "RUN":
			r.Run = rest
		case "SAY":
			r.Text = rest
		case "THINK":
			r.Thinking = strings.ReplaceAll(rest, `\n`, "\n")
		case "TEXT":
			const pattern = "The quick brown fox jumps over the lazy dog. 0123\n"
			r.Text, r.Piece = strings.Repeat(pattern, number/len(pattern)+1)[:number], other
		case "SLOW":
			r.Pause = time.Duration(number) * time.Millisecond
		case "HANG":
			r.Hang = true
		case "USAGE":
			r.Tokens = number
		case "ERROR":
			if m.fails(last, other) {
				r.Status, r.Error = number, "scripted failure"
			}
		case "OVERFLOW":
			if m.fails(last, number) {
				r.Status, r.Error = http.StatusBadRequest, "prompt is too long: 213462 tokens > 200000 maximum"
			}
		}
	}
	if r == (Reply{Pause: r.Pause, Tokens: r.Tokens, Thinking: r.Thinking}) {
		first, _, _ := strings.Cut(last, "\n")
		r.Text = "ok: " + first
	}
	return r
}

// fails counts the failures for a message and tells whether it may fail once
// more; limit 0: always.
func (m *Model) fails(message string, limit int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if limit > 0 && m.failed[message] >= limit {
		return false
	}
	m.failed[message]++
	return true
}
