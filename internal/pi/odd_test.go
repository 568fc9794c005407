package pi

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// What pi does only when something is broken. The test double does it on
// demand.

func TestLostPrompts(t *testing.T) {
	for _, odd := range []string{"lose", "drop"} {
		r := fakeWith(t, odd+"=1", nil)
		if out, err := r.tell("a", "first", Steer); out != Lost || err == nil {
			t.Errorf("%s: %v, %v", odd, out, err)
		}
		r.rest()
		if out, err := r.tell("a", "first", Steer); out != Acknowledged || err != nil {
			t.Errorf("%s: %v, %v", odd, out, err)
		}
		r.rest()
		if n := r.asked("first"); n != 1 {
			t.Errorf("%s: it is there %d times", odd, n)
		}
		// In the middle of a run, among others.
		r = fakeWith(t, odd+"=4", nil)
		r.say("RUN sleep 0.3", Steer)
		var wg sync.WaitGroup
		outs := make([]Outcome, 6)
		for i := range outs {
			wg.Go(func() { outs[i], _ = r.tell(fmt.Sprint(i), fmt.Sprint("m", i), Steer) })
		}
		wg.Wait()
		r.rest()
		lost := 0
		for i, out := range outs {
			n := r.asked(fmt.Sprint("m", i))
			if out == Lost {
				lost++
			}
			if (out == Lost) != (n == 0) || n > 1 {
				t.Errorf("%s: m%d %v, %d times", odd, i, out, n)
			}
		}
		if lost != 1 {
			t.Errorf("%s: %v", odd, outs)
		}
	}
}

func TestRefusedPrompt(t *testing.T) {
	r := fakeWith(t, "refuse=1", nil)
	if out, err := r.tell("a", "first", Steer); out != Refused || err == nil || !strings.Contains(err.Error(), "No API key found") {
		t.Errorf("%v, %v", out, err)
	}
	r.rest()
	r.say("second", FollowUp)
}

// Pi may show a prompt before it answers.
func TestLateResponse(t *testing.T) {
	r := fakeWith(t, "late", nil)
	for i := range 20 {
		r.say(fmt.Sprint("SAY ", i), Steer)
	}
	r.rest()
	for i := range 20 {
		if n := r.asked(fmt.Sprint("SAY ", i)); n != 1 {
			t.Errorf("%d is there %d times", i, n)
		}
	}
}

func TestDeathAtPrompt(t *testing.T) {
	for _, odd := range []string{"die", "die-after"} {
		r := fakeWith(t, odd+"=2", nil)
		r.say("first", Steer)
		r.rest()
		out, err := r.tell("b", "second", Steer)
		if out != Lost || err == nil || !strings.Contains(err.Error(), "exit status 7") {
			t.Errorf("%v, %v", out, err)
		}
		<-r.Done()
		if e := r.Exit(); e.Status != 7 || odd == "die" && !strings.Contains(e.Stderr, "TypeError") {
			t.Errorf("%+v", e)
		}
	}
}

// A pi that closes its output is ended.
func TestClosedOutput(t *testing.T) {
	r := fakeWith(t, "close-out=1", func(c *Config) { c.afterOutput = 100 * time.Millisecond })
	if out, err := r.tell("a", "first", Steer); out != Lost {
		t.Errorf("%v, %v", out, err)
	}
	<-r.Done()
}

// A prompt without response holds up the next ones and nothing else.
func TestMutePrompt(t *testing.T) {
	r := fakeWith(t, "mute=1", nil)
	done := make(chan Outcome, 2)
	for _, id := range []string{"a", "b"} {
		go func() {
			out, _ := r.tell(id, id, Steer)
			done <- out
		}()
	}
	time.Sleep(100 * time.Millisecond)
	if s := r.State(); s != Working {
		t.Errorf("%v", s)
	}
	r.stop(200 * time.Millisecond)
	for range 2 {
		if out := <-done; out != Lost {
			t.Errorf("%v", out)
		}
	}
}

// Lines that are no events are told and do no harm.
func TestNoise(t *testing.T) {
	r := fakeWith(t, "noise,garbage", nil)
	r.say("RUN echo yes", Steer)
	r.rest()
	if r.asked("RUN echo yes") != 1 {
		t.Error("lost in the noise")
	}
	r.until("noise", func() bool { return len(r.watch.of(Noise)) > 5 })
	for _, a := range r.watch.of(Noise) {
		if len(a.Text) > 200 {
			t.Errorf("%d bytes of noise", len(a.Text))
		}
	}
	r.stop(0)
	if e := r.Exit(); len(e.Stderr) > stderrBytes || !strings.HasSuffix(e.Stderr, "warning 99999: something that nobody needs to know") || !strings.HasPrefix(e.Stderr, "warning") {
		t.Errorf("stderr %q", e.Stderr)
	}
}

// Lines of any length need no memory.
func TestHugeLines(t *testing.T) {
	r := fakeWith(t, "huge=100000000", nil)
	before := peakKB(t)
	r.say("SAY done", Steer)
	r.rest()
	if grown := peakKB(t) - before; grown > 64<<10 {
		t.Errorf("grew by %d KB for lines of 100 MB", grown)
	}
	if out := r.watch.of(Text); len(out) != 1 || out[0].Text != "done" {
		t.Errorf("%+v", out)
	}
}

// peakKB is the highest resident size of this process.
func peakKB(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	n, _ := strconv.Atoi(strings.Fields(rest)[0])
	return n
}

// A consumer that does nothing does not keep pi's output from being read.
func TestSlowConsumer(t *testing.T) {
	block := make(chan struct{})
	var once sync.Once
	release := func() { once.Do(func() { close(block) }) }
	defer release()
	var all []Activity
	r := fakeWith(t, "", func(c *Config) {
		c.Events = Events{OnActivity: func(a Activity) { <-block; all = append(all, a) }, OnState: func(State) { <-block }, OnUsage: func(Usage) { <-block }}
	})
	for range 120 {
		r.say("THINK a\nRUN true", Steer)
		r.rest()
	}
	if u := r.Usage(); u.Turns != 240 {
		t.Errorf("%+v", u)
	}
	release()
	r.stop(0)
	dropped := 0
	for _, a := range all {
		dropped += a.Dropped
	}
	if len(all) > 2*maxActivities || dropped == 0 || len(all)+dropped < 720 {
		t.Errorf("%d activities, %d dropped", len(all), dropped)
	}
}

// A run whose end was missed does not last for ever.
func TestMissedEnd(t *testing.T) {
	r := fakeWith(t, "no-end=1", func(c *Config) { c.missedEnd = 200 * time.Millisecond })
	r.say("SAY x", Steer)
	r.rest()
	r.say("RUN sleep 1.5", Steer) // silent, and not over
	r.rest()
	if r.asked("RUN sleep 1.5") != 1 || !strings.HasPrefix(r.model.Requests()[2].Last(), "(no output)") {
		t.Errorf("%+v", r.model.Requests())
	}
}
