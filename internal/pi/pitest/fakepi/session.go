package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// message is one message of the conversation, as it goes over the wire.
type message struct {
	Role       string  `json:"role"`
	ToolCallID string  `json:"toolCallId,omitempty"`
	ToolName   string  `json:"toolName,omitempty"`
	Content    []block `json:"content"`
	API        string  `json:"api,omitempty"`
	Provider   string  `json:"provider,omitempty"`
	Model      string  `json:"model,omitempty"`
	Usage      *usage  `json:"usage,omitempty"`
	StopReason string  `json:"stopReason,omitempty"`
	IsError    *bool   `json:"isError,omitempty"`
	Timestamp  int64   `json:"timestamp"`
	Error      string  `json:"errorMessage,omitempty"`
}

// block is a part of a message.
type block struct {
	Type      string         `json:"type"`
	Text      *string        `json:"text,omitempty"`
	Thinking  *string        `json:"thinking,omitempty"`
	ID        string         `json:"id,omitempty"`
	Name      string         `json:"name,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`
}

type usage struct {
	Input      int   `json:"input"`
	Output     int   `json:"output"`
	CacheRead  int   `json:"cacheRead"`
	CacheWrite int   `json:"cacheWrite"`
	Total      int   `json:"totalTokens"`
	Cost       costs `json:"cost"`
}

type costs struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

func now() int64 { return time.Now().UnixMilli() }

func textBlock(s string) block { return block{Type: "text", Text: &s} }

func userMessage(text string) message {
	return message{Role: "user", Content: []block{textBlock(text)}, Timestamp: now()}
}

// text joins the text blocks.
func (m *message) text() (s string) {
	for _, b := range m.Content {
		if b.Type == "text" && b.Text != nil {
			s += *b.Text
		}
	}
	return s
}

// sessionFile is the file of the conversation.
type sessionFile struct {
	path    string
	id      string
	leaf    string
	next    int
	waiting [][]byte // until the first assistant message
	written bool
}

type entry struct {
	Type      string   `json:"type"`
	Version   int      `json:"version,omitempty"`
	ID        string   `json:"id"`
	ParentID  *string  `json:"parentId,omitempty"`
	Timestamp string   `json:"timestamp"`
	Cwd       string   `json:"cwd,omitempty"`
	Message   *message `json:"message,omitempty"`
}

// openSession reads the session file. As with pi, a line that cannot be read is
// left out, and what came before it is not found any more.
func (p *pi) openSession() error {
	s := &p.session
	s.path = p.args.session
	s.id = fmt.Sprintf("01a2-%d", time.Now().UnixNano())
	data, err := os.ReadFile(s.path)
	entries := make(map[string]entry)
	var header *entry
	for line := range bytes.Lines(bytes.TrimSpace(data)) {
		var e entry
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		if header == nil {
			if e.Type != "session" {
				break
			}
			header = &e
			continue
		}
		entries[e.ID] = e
		s.leaf = e.ID
		s.next++
	}
	if header == nil {
		cwd, _ := os.Getwd()
		s.add(entry{Type: "session", Version: 3, ID: s.id, Cwd: cwd}, false)
		if err == nil && s.path != "" { // pi writes over what is no session
			_ = os.WriteFile(s.path, nil, 0o600)
		}
		return nil
	}
	s.id, s.written = header.ID, true
	if info, err := os.Stat(header.Cwd); err != nil || !info.IsDir() {
		return words("Stored session working directory does not exist: " + header.Cwd)
	}
	_ = os.Chdir(header.Cwd)
	for id := s.leaf; ; {
		e, ok := entries[id]
		if !ok {
			break
		}
		if e.Message != nil {
			p.messages = append([]message{*e.Message}, p.messages...)
		}
		if e.ParentID == nil {
			break
		}
		id = *e.ParentID
	}
	return nil
}

// add appends an entry to the file, all at once from the first assistant
// message on.
func (s *sessionFile) add(e entry, assistant bool) {
	e.Timestamp = time.Now().UTC().Format(time.RFC3339Nano)
	line, err := json.Marshal(e)
	if err != nil || s.path == "" {
		return
	}
	s.waiting = append(s.waiting, append(line, '\n'))
	if !s.written && !assistant {
		return
	}
	s.written = true
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return
	}
	defer f.Close()
	for _, line := range s.waiting {
		_, _ = f.Write(line)
	}
	s.waiting = nil
}

func (s *sessionFile) message(m message) {
	s.next++
	parent := s.leaf
	e := entry{Type: "message", ID: fmt.Sprintf("%08x", s.next), Message: &m}
	if parent != "" {
		e.ParentID = &parent
	}
	s.leaf = e.ID
	s.add(e, m.Role == "assistant")
}
