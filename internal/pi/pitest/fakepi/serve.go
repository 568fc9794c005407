package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// command is a line of the input.
type command struct {
	ID                any    `json:"id"`
	Type              string `json:"type"`
	Message           string `json:"message"`
	StreamingBehavior string `json:"streamingBehavior"`
	Provider          string `json:"provider"`
	ModelID           string `json:"modelId"`
	Mode              string `json:"mode"`
	Enabled           bool   `json:"enabled"`
	Value             string `json:"value"`
	Confirmed         bool   `json:"confirmed"`
	Cancelled         bool   `json:"cancelled"`
}

type response struct {
	ID      any    `json:"id,omitempty"`
	Type    string `json:"type"`
	Command string `json:"command"`
	Success bool   `json:"success"`
	Data    any    `json:"data,omitempty"`
	Error   string `json:"error,omitempty"`
}

func (p *pi) succeed(c command, data any) {
	p.out.emit(response{ID: c.ID, Type: "response", Command: c.Type, Success: true, Data: data})
}

func (p *pi) fail(c command, text string) {
	p.out.emit(response{ID: c.ID, Type: "response", Command: c.Type, Error: text})
}

// serve reads the input to its end. What comes in one piece is handled at once:
// of two prompts in it each finds an idle pi, and only the first one starts a
// run.
func (p *pi) serve() {
	buf := make([]byte, 64<<10)
	var rest []byte
	for {
		n, err := os.Stdin.Read(buf)
		rest = append(rest, buf[:n]...)
		p.mu.Lock()
		idle := !p.streaming
		var starts []string
		for {
			line, more, found := bytes.Cut(rest, []byte{'\n'})
			if !found {
				break
			}
			rest = more
			p.line(bytes.TrimSuffix(line, []byte{'\r'}), idle, &starts)
		}
		if len(starts) > 0 {
			if p.streaming {
				starts = nil // somebody was faster; it has been promised, and is lost
			} else {
				p.begin([]message{userMessage(starts[0])})
			}
		}
		p.mu.Unlock()
		if err != nil {
			break
		}
	}
	if p.odd.stubborn {
		select {}
	}
	p.mu.Lock()
	p.exit(0) // a running tool lives on
}

func (p *pi) line(line []byte, idle bool, starts *[]string) {
	if string(bytes.TrimSpace(line)) == "null" {
		fmt.Fprintln(os.Stderr, "TypeError: Cannot read properties of null (reading 'id')")
		os.Exit(1)
	}
	var c command
	if err := json.Unmarshal(line, &c); err != nil {
		p.out.emit(response{Type: "response", Command: "parse", Error: "Failed to parse command: " + err.Error()})
		return
	}
	switch c.Type {
	case "prompt":
		p.prompt(c, idle, starts)
	case "steer":
		p.steering = append(p.steering, c.Message)
		p.queueUpdate()
		p.succeed(c, nil)
	case "follow_up":
		p.followUp = append(p.followUp, c.Message)
		p.queueUpdate()
		p.succeed(c, nil)
	case "abort":
		p.abort(c)
	case "get_state":
		if !p.odd.noState {
			p.succeed(c, p.state())
		}
	case "extension_ui_response":
		if id, ok := c.ID.(string); ok && p.dialogs[id] != nil {
			answer := c.Value
			if c.Confirmed {
				answer = "confirmed"
			}
			p.dialogs[id] <- answer
			delete(p.dialogs, id)
		}
	case "set_steering_mode":
		p.persist("steeringMode", c.Mode)
		p.succeed(c, nil)
	case "set_auto_retry":
		p.persistIn("retry", "enabled", c.Enabled)
		p.succeed(c, nil)
	case "set_model":
		if c.Provider != p.provider || c.ModelID != p.modelID {
			p.fail(c, "Model not found: "+c.Provider+"/"+c.ModelID)
			return
		}
		p.persist("defaultProvider", c.Provider)
		p.persist("defaultModel", c.ModelID)
		p.succeed(c, map[string]string{"id": p.modelID, "provider": p.provider})
	default:
		p.out.emit(response{Type: "response", Command: c.Type, Error: "Unknown command: " + c.Type})
	}
}

// persist writes a setting into the shared file, as pi does.
func (p *pi) persist(name string, value any) {
	p.settings[name] = value
	data, _ := json.MarshalIndent(p.settings, "", "  ")
	_ = os.WriteFile(filepath.Join(p.agentDir, "settings.json"), data, 0o600)
}

func (p *pi) persistIn(group, name string, value any) {
	g, _ := p.settings[group].(map[string]any)
	if g == nil {
		g = make(map[string]any)
	}
	g[name] = value
	p.persist(group, g)
}

func (p *pi) state() any {
	model := map[string]any{"id": p.modelID, "provider": p.provider, "contextWindow": p.window}
	if p.modelID == "" {
		model = map[string]any{"id": "unknown", "provider": "unknown"}
	}
	return struct {
		Model         any    `json:"model"`
		ThinkingLevel string `json:"thinkingLevel"`
		IsStreaming   bool   `json:"isStreaming"`
		IsCompacting  bool   `json:"isCompacting"`
		SteeringMode  string `json:"steeringMode"`
		FollowUpMode  string `json:"followUpMode"`
		SessionFile   string `json:"sessionFile,omitempty"`
		SessionID     string `json:"sessionId"`
		Auto          bool   `json:"autoCompactionEnabled"`
		MessageCount  int    `json:"messageCount"`
		Pending       int    `json:"pendingMessageCount"`
	}{
		model, "off", p.streaming, p.compacting, "one-at-a-time", "one-at-a-time", p.session.path, p.session.id, true,
		len(p.messages), len(p.steering) + len(p.followUp),
	}
}

func (p *pi) queueUpdate() {
	p.out.emit(struct {
		Type     string   `json:"type"`
		Steering []string `json:"steering"`
		FollowUp []string `json:"followUp"`
	}{"queue_update", append([]string{}, p.steering...), append([]string{}, p.followUp...)})
}

func (p *pi) prompt(c command, idle bool, starts *[]string) {
	if p.beforePrompt(c) {
		return
	}
	text := p.expand(c.Message)
	if !idle {
		switch c.StreamingBehavior {
		case "steer":
			p.steering = append(p.steering, text)
		case "followUp":
			p.followUp = append(p.followUp, text)
		default:
			p.fail(c, "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.")
			return
		}
		p.queueUpdate()
		p.succeed(c, nil)
		return
	}
	if p.modelID == "" {
		p.fail(c, "No API key found for the selected model.")
		return
	}
	if !p.odd.late {
		p.succeed(c, nil)
	} else {
		defer p.succeed(c, nil)
		if len(*starts) == 0 {
			p.begin([]message{userMessage(text)})
			return
		}
	}
	*starts = append(*starts, text)
}

// expand replaces /name by the prompt template of that name.
func (p *pi) expand(text string) string {
	if !strings.HasPrefix(text, "/") || p.args.noTemplates {
		return text
	}
	name, args, _ := strings.Cut(text[1:], " ")
	data, err := os.ReadFile(filepath.Join(p.agentDir, "prompts", filepath.Base(name)+".md"))
	if err != nil {
		return text
	}
	return strings.ReplaceAll(strings.TrimSpace(string(data)), "$1", args)
}
