package pi

import (
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/pi/pitest"
)

// A prompt within a run is no output of it, before it is shown and when it is;
// one that begins a run has that of the run.
func TestSteerIsNoOutput(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		r := start(t, b, pitest.Settings{}, nil)
		began := r.LastOutput()
		time.Sleep(20 * time.Millisecond)
		r.say("RUN sleep 600", Steer)
		r.until("the tool runs", func() bool { return len(r.watch.of(ToolStarted)) > 0 })
		var before time.Time
		r.until("the tool is silent", func() bool {
			before = r.LastOutput()
			return time.Since(before) > 500*time.Millisecond
		})
		if !before.After(began) {
			t.Errorf("the run is no output: %v, %v", began, before)
		}
		told := make(chan Outcome, 1)
		go func() {
			out, _ := r.tell("s", "SAY steered", Steer)
			told <- out
		}()
		r.until("pi has the steer in its queue", func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.stuck() == 1
		})
		if now := r.LastOutput(); !now.Equal(before) {
			t.Errorf("a steer moved the last output by %v", now.Sub(before))
		}
		if err := r.Interrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if out := <-told; out != Acknowledged {
			t.Errorf("the steer is %v", out)
		}
		r.rest()
		if !r.LastOutput().After(before) {
			t.Error("the run of the steer is no output")
		}
	})
}

func TestOutput(t *testing.T) {
	for line, want := range map[string]bool{
		`{"id":"c1","type":"response","command":"get_state","success":true}`:                                    false,
		`{"type":"queue_update","steering":["x"],"followUp":[]}`:                                                false,
		`{"type":"message_start","message":{"role":"user","content":[{"type":"text","text":"x"}]}}`:             false,
		`{"type":"message_end","message":{"role":"user","content":[{"type":"text","text":"x"}],"timestamp":1}}`: false,
		`{"type":"message_start","message":{"role":"assistant","content":[]}}`:                                  true,
		`{"type":"message_end","message":{"role":"toolResult","content":[{"type":"text","text":"x"}]}}`:         true,
		`{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"x"}}`:  true,
		`{"type":"tool_execution_update","toolCallId":"1","toolName":"bash","partialResult":{"content":[]}}`:    true,
		`{"type":"agent_start"}`:                               true,
		`{"type":"auto_retry_start","attempt":1,"delayMs":10}`: true,
		`{"type":"compaction_start","reason":"threshold"}`:     true,
		`words`: true,
	} {
		if ev, ok := readEvent(newLexer(strings.NewReader(line + "\n"))); !ok || ev.output() != want {
			t.Errorf("%s: %v, %v", line, ev.output(), ok)
		}
	}
}
