package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// run is one run of the agent.
type run struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	new    []message
}

// retry is the wait before a run is tried again.
type retry struct{ cancel context.CancelFunc }

type event struct {
	Type string `json:"type"`
}

type messageEvent struct {
	Type    string  `json:"type"`
	Message message `json:"message"`
}

type toolEvent struct {
	Type    string         `json:"type"`
	CallID  string         `json:"toolCallId"`
	Tool    string         `json:"toolName"`
	Args    map[string]any `json:"args,omitempty"`
	Partial any            `json:"partialResult,omitempty"`
	Result  any            `json:"result,omitempty"`
	IsError *bool          `json:"isError,omitempty"`
}

// begin starts a run with some messages; with none it goes on from what is
// there. Callers hold mu.
func (p *pi) begin(first []message) {
	r := &run{done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	p.run, p.streaming = r, true
	go func() {
		defer close(r.done)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.out.emit(event{"agent_start"})
		p.out.emit(event{"turn_start"})
		p.inRun()
		for _, m := range first {
			p.take(m)
		}
		p.loop(r)
	}()
}

// take makes a message part of the conversation.
func (p *pi) take(m message) {
	if m.Role == "user" {
		text := m.text()
		if i := index(p.steering, text); i >= 0 {
			p.steering = append(p.steering[:i:i], p.steering[i+1:]...)
			p.queueUpdate()
		} else if i := index(p.followUp, text); i >= 0 {
			p.followUp = append(p.followUp[:i:i], p.followUp[i+1:]...)
			p.queueUpdate()
		}
	}
	p.out.emit(messageEvent{"message_start", m})
	p.end(m)
}

func index(list []string, s string) int {
	for i, v := range list {
		if v == s {
			return i
		}
	}
	return -1
}

// end writes message_end and keeps the message.
func (p *pi) end(m message) {
	p.out.emit(messageEvent{"message_end", m})
	p.messages = append(p.messages, m)
	p.run.new = append(p.run.new, m)
	p.session.message(m)
}

// loop asks the model and runs its tools until nothing is left to do. It is
// called with mu, which is free while it waits for the model or a tool.
func (p *pi) loop(r *run) {
	pending := p.next(&p.steering)
	first := true
	for {
		for more := true; more || len(pending) > 0; {
			if !first {
				p.out.emit(event{"turn_start"})
			}
			first = false
			for _, m := range pending {
				p.take(m)
			}
			m := p.askModel(r)
			if m.StopReason == "error" || m.StopReason == "aborted" {
				p.turnEnd(m, nil)
				p.finish(r, m)
				return
			}
			var results []message
			for _, call := range m.Content {
				if call.Type == "toolCall" {
					result := p.call(r, call)
					p.take(result)
					results = append(results, result)
				}
			}
			more = len(results) > 0
			p.turnEnd(m, results)
			pending = p.next(&p.steering)
		}
		if pending = p.next(&p.followUp); len(pending) == 0 {
			break
		}
	}
	p.finish(r, r.new[len(r.new)-1])
}

// next takes the first message of a queue.
func (p *pi) next(queue *[]string) []message {
	if len(*queue) == 0 {
		return nil
	}
	// It stands in the queue until it is shown; take removes it.
	return []message{userMessage((*queue)[0])}
}

func (p *pi) turnEnd(m message, results []message) {
	p.out.emit(struct {
		Type    string    `json:"type"`
		Message message   `json:"message"`
		Results []message `json:"toolResults"`
	}{"turn_end", m, append([]message{}, results...)})
}

// overflows tells whether an error says that the context is too long.
func overflows(text string) bool { return strings.Contains(text, "prompt is too long") }

// retryable tells whether an error may pass.
func retryable(text string) bool {
	for _, word := range []string{"overloaded", "rate limit", "429", "500", "502", "503", "504", "Connection error", "terminated"} {
		if strings.Contains(text, word) {
			return !overflows(text)
		}
	}
	return false
}

// finish ends a run and does what follows: a retry, or a compaction. What is in
// the queue then stays there.
func (p *pi) finish(r *run, last message) {
	if p.odd.noEnd > 0 {
		if p.odd.noEnd--; p.odd.noEnd == 0 {
			p.streaming, p.run = false, nil
			return
		}
	}
	p.out.emit(struct {
		Type     string    `json:"type"`
		Messages []message `json:"messages"`
	}{"agent_end", r.new})
	p.streaming, p.run = false, nil
	if last.StopReason == "error" && retryable(last.Error) && p.setting("retry", "enabled", true) == true {
		if p.planRetry(last) {
			return
		}
	}
	p.compact(last)
}

func (p *pi) planRetry(last message) bool {
	limit := int(number(p.setting("retry", "maxRetries", 3.0)))
	if p.attempt++; p.attempt > limit {
		p.retryEnd(false, p.attempt-1, last.Error)
		return false
	}
	delay := time.Duration(number(p.setting("retry", "baseDelayMs", 2000.0))) * time.Millisecond << (p.attempt - 1)
	p.out.emit(struct {
		Type    string `json:"type"`
		Attempt int    `json:"attempt"`
		Max     int    `json:"maxAttempts"`
		Delay   int64  `json:"delayMs"`
		Error   string `json:"errorMessage"`
	}{"auto_retry_start", p.attempt, limit, delay.Milliseconds(), last.Error})
	p.messages = p.messages[:len(p.messages)-1]
	ctx, cancel := context.WithCancel(context.Background())
	p.retry = &retry{cancel}
	go func() {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.retry = nil
		if ctx.Err() != nil {
			p.retryEnd(false, p.attempt, "Retry cancelled")
			return
		}
		p.resume()
	}()
	return true
}

// resume goes on from the conversation, if nothing else has begun meanwhile.
func (p *pi) resume() {
	if p.streaming || len(p.messages) == 0 {
		return
	}
	if p.messages[len(p.messages)-1].Role != "assistant" {
		p.begin(nil)
		return
	}
	for _, queue := range []*[]string{&p.steering, &p.followUp} {
		if m := p.next(queue); m != nil {
			p.begin(m)
			return
		}
	}
}

func (p *pi) retryEnd(success bool, attempt int, text string) {
	p.attempt = 0
	p.out.emit(struct {
		Type    string `json:"type"`
		Success bool   `json:"success"`
		Attempt int    `json:"attempt"`
		Error   string `json:"finalError,omitempty"`
	}{"auto_retry_end", success, attempt, text})
}

// compact makes room when the model said that there is none, or little.
func (p *pi) compact(last message) {
	if p.setting("compaction", "enabled", true) != true || last.StopReason == "aborted" || last.Usage == nil {
		return
	}
	over := last.StopReason == "error" && overflows(last.Error)
	reason := "threshold"
	switch {
	case over:
		reason = "overflow"
		p.messages = p.messages[:len(p.messages)-1]
	case last.Usage.Total <= p.window-int(number(p.setting("compaction", "reserveTokens", 16384.0))):
		return
	}
	p.compacting = true
	p.out.emit(struct {
		Type   string `json:"type"`
		Reason string `json:"reason"`
	}{"compaction_start", reason})
	go func() {
		summary, _ := p.complete(context.Background(), []wireMessage{{Role: "user", Content: "Summarize the conversation."}}, nil)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.compacting = false
		p.out.emit(struct {
			Type    string `json:"type"`
			Reason  string `json:"reason"`
			Result  any    `json:"result,omitempty"`
			Aborted bool   `json:"aborted"`
			Retry   bool   `json:"willRetry"`
		}{"compaction_end", reason, map[string]string{"summary": summary.text()}, false, over})
		if over || len(p.steering)+len(p.followUp) > 0 {
			time.AfterFunc(100*time.Millisecond, func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.resume()
			})
		}
	}()
}

// abort ends the run, or the wait for a retry, and answers when that is done.
func (p *pi) abort(c command) {
	if p.retry != nil {
		p.retry.cancel()
	}
	r := p.run
	if r == nil {
		p.succeed(c, nil)
		return
	}
	r.cancel()
	go func() {
		<-r.done
		p.succeed(c, nil)
	}()
}

func number(v any) float64 {
	f, _ := v.(float64)
	return f
}

// askUser opens a dialog as an extension would, and waits for the answer.
// Callers hold mu, which is free meanwhile.
func (p *pi) askUser(ctx context.Context, title string) bool {
	id := fmt.Sprintf("dialog-%d", time.Now().UnixNano())
	answer := make(chan string, 1)
	p.dialogs[id] = answer
	p.out.emit(struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Method  string `json:"method"`
		Title   string `json:"title"`
		Message string `json:"message"`
	}{"extension_ui_request", id, "confirm", title, "?"})
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case a := <-answer:
		return a == "confirmed"
	case <-ctx.Done():
		return false
	}
}
