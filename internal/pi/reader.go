package pi

import (
	"fmt"
	"strings"
	"syscall"
	"time"
)

// readLoop reads pi's output to its end. It never waits for anybody: what pi
// writes and nobody reads would fill pi's memory.
func (p *Process) readLoop() {
	defer close(p.read)
	l := newLexer(p.from)
	for {
		ev, ok := readEvent(l)
		if !ok {
			break
		}
		p.handle(ev)
	}
	go p.endSilent()
}

// endSilent ends a pi that has closed its output and does not exit: it is of no
// use to anybody.
func (p *Process) endSilent() {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.gone:
			return
		case <-time.After(orElse(p.c.afterOutput, defaultAfter)):
			p.signalGroup(s)
		}
	}
}

// handle takes one event in.
func (p *Process) handle(ev event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ev.output() {
		p.lastOutput.Store(time.Now().UnixMilli())
	}
	switch ev.kind {
	case "response":
		p.onResponse(ev)
	case "agent_start":
		p.epoch++
		p.streaming, p.starting, p.settling, p.compacting, p.retrying = true, false, false, false, false
		p.expect = time.Time{}
		p.thinking, p.text = lastLine{}, lastLine{}
		p.tools = p.tools[:0]
		p.owed = false
		p.show(Activity{Kind: RunStarted})
	case "agent_end":
		p.epoch++
		p.streaming, p.settling = false, true
	case "message_start":
		if ev.role == "user" {
			p.onUser(ev)
		}
	case "message_end":
		if ev.role == "assistant" {
			p.last = RunEnd{Reason: ev.stop, Error: ev.err}
			p.total.Add(ev.usage)
			p.out.used(ev.usage)
			p.thinking, p.text = lastLine{}, lastLine{}
		}
	case "message_update":
		p.onPiece(ev)
	case "tool_execution_start":
		a := Activity{Kind: ToolStarted, Time: time.Now(), Tool: ev.tool, CallID: ev.callID, Text: important(ev.args)}
		p.tools = append(p.tools, a)
		p.show(a)
	case "tool_execution_end":
		p.onToolEnd(ev)
	case "queue_update":
		p.onQueue(ev.queued)
	case "auto_retry_start":
		p.epoch++
		p.settling, p.retrying = true, true
		delay := min(time.Duration(ev.delayMs)*time.Millisecond, time.Hour)
		p.expect = time.Now().Add(delay + lateStart)
		p.out.activity(Activity{Kind: Retry, IsError: true, Text: fmt.Sprintf("attempt %d of %d in %v: %s", ev.attempt, ev.attempts, delay, ev.err)})
	case "auto_retry_end":
		// With success it comes in the middle of the run that succeeded.
		p.retrying = false
		p.expect = time.Time{}
		if !ev.success {
			p.epoch++
			p.settling = !p.streaming
			p.out.activity(Activity{Kind: Retry, IsError: true, Text: "given up: " + ev.err})
		}
	case "compaction_start":
		p.epoch++
		p.compacting, p.settling = true, !p.streaming
		p.out.activity(Activity{Kind: Compaction, Text: "started: " + ev.reason})
	case "compaction_end":
		p.epoch++
		p.compacting, p.settling = false, !p.streaming
		// A run that failed for want of room starts again, and so does pi with a queue.
		if ev.willRetry || p.stuck() > 0 {
			p.expect = time.Now().Add(lateStart)
		}
		p.out.activity(Activity{Kind: Compaction, IsError: ev.err != "" || ev.aborted, Text: strings.TrimSpace("ended " + ev.err)})
	case "extension_error":
		p.out.activity(Activity{Kind: ExtensionError, IsError: true, Text: ev.extension + ": " + ev.err})
	case "extension_ui_request":
		p.onDialog(ev)
	case "":
		p.out.activity(Activity{Kind: Noise, Text: ev.head})
	}
	p.update()
}

// output tells whether an event says that pi does something. Answers, and a
// prompt that pi shows in its queue or as a message, only give back what it was
// told; a run that a prompt begins has events of its own.
func (ev *event) output() bool {
	switch ev.kind {
	case "response", "queue_update":
		return false
	case "message_start", "message_end":
		return ev.role != "user"
	}
	return true
}

// lateStart is how late a run may start that pi has announced.
const lateStart = 3 * time.Second

func (p *Process) onResponse(ev event) {
	if answer, ok := p.asks[ev.id]; ok {
		delete(p.asks, ev.id)
		answer <- ev
		return
	}
	if p.inFlight != nil && p.inFlight.command == ev.id {
		p.onPromptResponse(ev)
	}
}

// onPiece takes a streamed piece of a message.
func (p *Process) onPiece(ev event) {
	switch ev.update {
	case "thinking_delta":
		if line := p.thinking.add(ev.delta); line != "" {
			p.show(Activity{Kind: Thinking, Text: line})
		}
	case "text_delta":
		// A line of thinking of the same message is shown before its text.
		if line := p.text.add(ev.delta); line != "" {
			a := Activity{Kind: Text, Time: time.Now(), Text: line}
			p.out.activity(a)
			if p.thinking == (lastLine{}) {
				p.activity = a
			}
		}
	}
}

func (p *Process) onToolEnd(ev event) {
	a := Activity{Kind: ToolEnded, Tool: ev.tool, CallID: ev.callID, IsError: ev.isError}
	for i, t := range p.tools {
		if t.CallID == ev.callID {
			p.tools = append(p.tools[:i], p.tools[i+1:]...)
			break
		}
	}
	p.show(a)
	if n := len(p.tools); n > 0 {
		p.activity = p.tools[n-1]
	}
}

// show makes a the current activity and hands it over.
func (p *Process) show(a Activity) {
	if a.Time.IsZero() {
		a.Time = time.Now()
	}
	p.activity = a
	p.out.activity(a)
}
