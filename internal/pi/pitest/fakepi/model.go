package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// wireMessage is a message as the model server takes it.
type wireMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// conversation is what the model is sent: without what was aborted or failed.
func (p *pi) conversation() []wireMessage {
	list := []wireMessage{{Role: "system", Content: "You are a coding assistant.\n\n" + strings.Join(p.args.prompts, "\n\n")}}
	for _, m := range p.messages {
		w := wireMessage{Role: m.Role, Content: m.text()}
		switch {
		case m.StopReason == "error" || m.StopReason == "aborted":
			continue
		case m.Role == "toolResult":
			w.Role, w.ToolCallID = "tool", m.ToolCallID
		}
		for _, b := range m.Content {
			if b.Type == "toolCall" {
				c := wireCall{ID: b.ID, Type: "function"}
				args, _ := json.Marshal(b.Arguments)
				c.Function.Name, c.Function.Arguments = b.Name, string(args)
				w.ToolCalls = append(w.ToolCalls, c)
			}
		}
		list = append(list, w)
	}
	return list
}

// askModel streams one answer of the model as events.
func (p *pi) askModel(r *run) message {
	list := p.conversation()
	started := false
	p.mu.Unlock()
	m, err := p.complete(r.ctx, list, func(m *message, kind, delta string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if kind == "start" {
			started = true
			p.out.emit(messageEvent{"message_start", *m})
			return
		}
		type piece struct {
			Type    string  `json:"type"`
			Index   int     `json:"contentIndex"`
			Delta   string  `json:"delta,omitempty"`
			Partial message `json:"partial"`
		}
		p.out.emit(struct {
			Type    string  `json:"type"`
			Event   piece   `json:"assistantMessageEvent"`
			Message message `json:"message"`
		}{"message_update", piece{kind, max(len(m.Content)-1, 0), delta, *m}, *m})
	})
	p.mu.Lock()
	switch {
	case r.ctx.Err() != nil:
		m.StopReason, m.Error = "aborted", "Request was aborted."
	case err != nil:
		m.StopReason, m.Error = "error", err.Error()
	}
	if !started {
		p.out.emit(messageEvent{"message_start", m})
	}
	p.end(m)
	if m.StopReason != "error" && p.attempt > 0 {
		p.retryEnd(true, p.attempt, "")
	}
	return m
}

// complete asks the model; told gets each piece of the answer.
func (p *pi) complete(ctx context.Context, list []wireMessage, told func(m *message, kind, delta string)) (m message, err error) {
	m = message{
		Role: "assistant", Content: []block{}, API: "openai-completions", Provider: p.provider, Model: p.modelID,
		Usage: new(usage), StopReason: "stop", Timestamp: now(),
	}
	if told == nil {
		told = func(*message, string, string) {}
	}
	type function struct {
		Name string `json:"name"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	body, _ := json.Marshal(map[string]any{
		"model": p.modelID, "messages": list, "stream": true, "store": false, "tools": []tool{{"function", function{"bash"}}},
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.baseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return m, err
	}
	req.Header.Set("Authorization", "Bearer dummy")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return m, words("Connection error.")
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		var failure struct{ Error struct{ Message string } }
		_ = json.NewDecoder(answer.Body).Decode(&failure)
		return m, fmt.Errorf("%d %s", answer.StatusCode, failure.Error.Message)
	}
	told(&m, "start", "")
	return m, p.stream(answer, &m, told)
}

func (p *pi) stream(answer *http.Response, m *message, told func(*message, string, string)) error {
	r := bufio.NewReaderSize(answer.Body, 1<<20)
	var arguments string
	open := "" // kind of the block being written
	shut := func() {
		if open != "" {
			told(m, open+"_end", "")
		}
		open = ""
	}
	add := func(kind, delta string) {
		if open != kind {
			shut()
			open = kind
			empty := ""
			b := block{Type: kind}
			if kind == "text" {
				b.Text = &empty
			} else {
				b.Thinking = &empty
			}
			m.Content = append(m.Content, b)
			told(m, kind+"_start", "")
		}
		b := &m.Content[len(m.Content)-1]
		if kind == "text" {
			s := *b.Text + delta
			b.Text = &s
		} else {
			s := *b.Thinking + delta
			b.Thinking = &s
		}
		told(m, kind+"_delta", delta)
	}
	for {
		line, err := r.ReadString('\n')
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if data == "[DONE]" {
			shut()
			return nil
		}
		if !ok {
			if err != nil {
				return words("Connection error.")
			}
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string
					Reasoning string     `json:"reasoning_content"`
					ToolCalls []wireCall `json:"tool_calls"`
				}
				Finish string `json:"finish_reason"`
			}
			Usage *struct {
				Prompt     int `json:"prompt_tokens"`
				Completion int `json:"completion_tokens"`
			}
		}
		if json.Unmarshal([]byte(data), &chunk) != nil {
			continue
		}
		if u := chunk.Usage; u != nil {
			*m.Usage = usage{Input: u.Prompt, Output: u.Completion, Total: u.Prompt + u.Completion}
			// 1000 and 2000 for a million tokens, as pitest's models.json has it.
			c := costs{Input: float64(u.Prompt) * 1e-3, Output: float64(u.Completion) * 2e-3}
			c.Total = c.Input + c.Output
			m.Usage.Cost = c
		}
		for _, choice := range chunk.Choices {
			if s := choice.Delta.Reasoning; s != "" {
				add("thinking", s)
			}
			if s := choice.Delta.Content; s != "" {
				add("text", s)
			}
			for _, call := range choice.Delta.ToolCalls {
				if call.ID != "" {
					shut()
					m.Content = append(m.Content, block{Type: "toolCall", ID: call.ID, Name: call.Function.Name, Arguments: map[string]any{}})
					told(m, "toolcall_start", "")
					open, arguments = "toolcall", ""
				}
				arguments += call.Function.Arguments
				_ = json.Unmarshal([]byte(arguments), &m.Content[len(m.Content)-1].Arguments)
				told(m, "toolcall_delta", call.Function.Arguments)
			}
			if choice.Finish == "tool_calls" {
				m.StopReason = "toolUse"
			}
		}
	}
}

// call runs the bash tool: in a session of its own, which an abort kills. What
// the command starts in the background lives on.
func (p *pi) call(r *run, b block) message {
	p.out.emit(toolEvent{Type: "tool_execution_start", CallID: b.ID, Tool: b.Name, Args: b.Arguments})
	text, failed := "", false
	command, _ := b.Arguments["command"].(string)
	if p.confirm && !p.askUser(r.ctx, "Run "+command) {
		text, failed = "Blocked by user", true
	} else {
		text, failed = p.bash(r, command)
	}
	content := map[string]any{"content": []block{textBlock(text)}}
	p.out.emit(toolEvent{Type: "tool_execution_end", CallID: b.ID, Tool: b.Name, Result: content, IsError: &failed})
	return message{Role: "toolResult", ToolCallID: b.ID, ToolName: b.Name, Content: []block{textBlock(text)}, IsError: &failed, Timestamp: now()}
}

func (p *pi) bash(r *run, command string) (text string, failed bool) {
	out, err := os.CreateTemp("", "fakepi")
	if err != nil {
		return err.Error(), true
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd := exec.Command("bash", "-c", command)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), "PI_CODING_AGENT=true", "PATH="+p.agentDir+"/bin:"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err.Error(), true
	}
	pid := cmd.Process.Pid
	p.tools[pid] = true
	p.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		select {
		case <-ended:
		case <-r.ctx.Done():
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	}()
	err = cmd.Wait()
	close(ended)
	p.mu.Lock()
	delete(p.tools, pid)
	data, _ := os.ReadFile(out.Name())
	text = string(data)
	switch {
	case r.ctx.Err() != nil:
		return withStatus(text, "Command aborted"), true
	case err != nil:
		return withStatus(text, fmt.Sprintf("Command exited with code %d", cmd.ProcessState.ExitCode())), true
	case text == "":
		return "(no output)", false
	}
	return text, false
}

func withStatus(text, status string) string {
	if text == "" {
		return status
	}
	return text + "\n\n" + status
}
