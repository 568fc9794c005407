package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// oddities are what FAKEPI asks for: words with = and a number, between commas.
// A number counts prompts, from 1.
type oddities struct {
	lose     int  // this prompt is taken and dropped
	drop     int  // this prompt is shown in the queue and then forgotten
	mute     int  // this prompt gets no response
	refuse   int  // this prompt is refused
	die      int  // ends at this prompt, with words on standard error
	dieAfter int  // ends when it has taken this prompt, before it shows it
	noEnd    int  // this run ends without agent_end
	late     bool // a prompt is shown before the response to it
	noise    bool // lines that are no events
	huge     int  // a line of so many bytes in each run
	noState  bool // get_state is not answered
	stubborn bool // neither the end of the input nor SIGTERM ends it
	closeOut int  // closes its output at this prompt, and lives on
	garbage  bool // standard error is flooded
}

func misbehaviour() (o oddities) {
	for word := range strings.SplitSeq(os.Getenv("FAKEPI"), ",") {
		name, value, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "lose":
			o.lose = n
		case "drop":
			o.drop = n
		case "mute":
			o.mute = n
		case "refuse":
			o.refuse = n
		case "die":
			o.die = n
		case "die-after":
			o.dieAfter = n
		case "no-end":
			o.noEnd = n
		case "late":
			o.late = true
		case "noise":
			o.noise = true
		case "huge":
			o.huge = n
		case "no-state":
			o.noState = true
		case "stubborn":
			o.stubborn = true
		case "close-out":
			o.closeOut = n
		case "garbage":
			o.garbage = true
		}
	}
	if o.garbage {
		for i := range 100000 {
			fmt.Fprintf(os.Stderr, "warning %d: something that nobody needs to know\n", i)
		}
	}
	return o
}

// beforePrompt misbehaves at a prompt; true: it is not to be carried out.
func (p *pi) beforePrompt(c command) bool {
	p.prompts++
	n := p.prompts
	switch {
	case n == p.odd.die:
		fmt.Fprintln(os.Stderr, "TypeError: Cannot read properties of undefined")
		os.Exit(7)
	case n == p.odd.closeOut:
		_ = syscall.Close(1)
		return true
	case n == p.odd.mute:
		return true
	case n == p.odd.refuse:
		p.fail(c, "No API key found for fake.")
		return true
	case n == p.odd.lose:
		p.succeed(c, nil)
		return true
	case n == p.odd.dieAfter:
		p.succeed(c, nil)
		p.out.mu.Lock()
		for len(p.out.lines) > 0 || p.out.busy {
			p.out.idle.Wait()
		}
		os.Exit(7)
	case n == p.odd.drop:
		p.steering = append(p.steering, c.Message)
		p.queueUpdate()
		p.steering = p.steering[:len(p.steering)-1]
		p.queueUpdate()
		p.succeed(c, nil)
		return true
	}
	return false
}

// inRun misbehaves within a run.
func (p *pi) inRun() {
	if p.odd.noise {
		for _, line := range []string{
			"", "plain words", "null", "[]", "{}", "{\"type\":", "{\"type\":\"agent_end\"", `{"type":"message_start","message":{"role":"user","content":[{"type":"text","text":"`,
			"\x00\x01\xff", `{"type":17,"message":[1,{"a":[]}]}`, "{\"type\":\"future_event\",\"x\":{\"y\":[1,2,{}]}}", `"text"`, "}}}}", `{"type":"queue_update","steering":"no","followUp":{"a":1}}`,
			`{"type":"response","id":5,"success":true}`, `{"type":"tool_execution_end"}`, strings.Repeat("[", 100000),
		} {
			p.out.raw([]byte(line + "\n"))
		}
	}
	if p.odd.huge > 0 {
		// In pieces, so that this process does not need the memory either.
		p.out.raw([]byte(`{"type":"tool_execution_update","toolCallId":"x","toolName":"bash","args":{},"partialResult":{"content":[{"type":"text","text":"`))
		piece := []byte(strings.Repeat("0123456789abcde\\n", 1<<12))
		for n := 0; n < p.odd.huge; n += len(piece) {
			p.out.raw(piece)
			if n%(64*len(piece)) == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		p.out.raw([]byte(`"}]}}` + "\n"))
		p.out.raw([]byte(`{"type":"tool_execution_end","toolCallId":"x","toolName":"bash","result":{"content":[{"type":"text","text":"`))
		for n := 0; n < p.odd.huge; n += len(piece) {
			p.out.raw(piece)
		}
		p.out.raw([]byte(`"}]},"isError":false}` + "\n"))
	}
}
