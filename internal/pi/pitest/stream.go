package pitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// send streams a reply.
func (m *Model) send(w http.ResponseWriter, r *http.Request, reply Reply) {
	if reply.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Should-Retry", "false") // the client library of the real pi would try again by itself
		w.WriteHeader(reply.Status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": reply.Error}})
		return
	}
	if reply.Hang {
		m.count(1)
		defer m.count(-1)
		<-r.Context().Done()
		return
	}
	s := stream{w: w, r: r, pause: reply.Pause}
	w.Header().Set("Content-Type", "text/event-stream")
	s.delta(map[string]any{"role": "assistant", "content": ""}, nil)
	if reply.Thinking != "" {
		s.delta(map[string]any{"reasoning_content": reply.Thinking}, nil)
	}
	piece := reply.Piece
	if piece <= 0 {
		piece = 50
	}
	for text := reply.Text; text != ""; {
		n := min(piece, len(text))
		s.delta(map[string]any{"content": text[:n]}, nil)
		text = text[n:]
	}
	end := "stop"
	if reply.Run != "" {
		args, _ := json.Marshal(map[string]string{"command": reply.Run})
		end = "tool_calls"
		id := fmt.Sprintf("call_%d", time.Now().UnixNano())
		s.delta(map[string]any{"tool_calls": []any{map[string]any{
			"index": 0, "id": id, "type": "function", "function": map[string]any{"name": "bash", "arguments": ""},
		}}}, nil)
		s.delta(map[string]any{"tool_calls": []any{map[string]any{
			"index": 0, "function": map[string]any{"arguments": string(args)},
		}}}, nil)
	}
	s.delta(map[string]any{}, &end)
	tokens := reply.Tokens
	if tokens == 0 {
		tokens = 10
	}
	s.chunk(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "fake-1", "choices": []any{},
		"usage": map[string]any{"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5},
	})
	s.raw("[DONE]")
}

func (m *Model) count(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hanging += n
}

// stream writes server-sent events.
type stream struct {
	w     http.ResponseWriter
	r     *http.Request
	pause time.Duration
}

func (s *stream) delta(delta map[string]any, end *string) {
	if s.pause > 0 {
		select {
		case <-time.After(s.pause):
		case <-s.r.Context().Done():
			return
		}
	}
	s.chunk(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "fake-1",
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": end}},
	})
}

func (s *stream) chunk(v any) {
	data, err := json.Marshal(v)
	if err == nil {
		s.raw(string(data))
	}
}

func (s *stream) raw(data string) {
	if s.r.Context().Err() != nil {
		return
	}
	_, _ = fmt.Fprintf(s.w, "data: %s\n\n", data)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}
