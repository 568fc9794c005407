package pi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/pi/pitest"
)

// The traps of the protocol, in the order of the reference: first that pi has
// them, so that the test double is not kinder than the real one, then that the
// client does not fall into them. 3 and 10 are in TestPendingPrompt, 7 is in
// TestRunEnds and TestHugeLines.

// 1: many at once, to an idle and to a busy pi: none is lost, none comes twice.
func TestManyPrompts(t *testing.T) {
	const each = 100
	both(t, func(t *testing.T, b backend) {
		r := start(t, b, pitest.Settings{}, nil)
		var wg sync.WaitGroup
		shoot := func(round string, n int, mode func(i int) Mode) {
			for i := range n {
				wg.Go(func() {
					id := fmt.Sprintf("%s-%d", round, i)
					if out, err := r.tell(id, "SAY "+id, mode(i)); out != Acknowledged {
						t.Errorf("%s: %v, %v", id, out, err)
					}
				})
			}
		}
		steer := func(int) Mode { return Steer }
		mixed := func(i int) Mode { return Mode(i % 2) }
		shoot("idle", each, steer) // the first finds it idle, the others come at any moment
		wg.Wait()
		r.rest()
		r.say("RUN sleep 0.3", Steer)
		shoot("busy", each, mixed)
		wg.Wait()
		r.rest()
		for i := range each {
			for _, round := range []string{"idle", "busy"} {
				if n := r.asked(fmt.Sprintf("SAY %s-%d", round, i)); n != 1 {
					t.Errorf("%s-%d is there %d times", round, i, n)
				}
			}
		}
		if n := r.asked(defaultNudge); n != 0 {
			t.Errorf("%d nudges", n)
		}
	})
}

// 1: of two prompts that reach an idle pi together, the second is promised and
// lost. 2: steer and follow_up are taken by an idle pi and start nothing. 8: commands
// that set something change the settings of everybody. 6: a line that is null
// ends pi. The client writes none of these (see TestOneRun).
func TestTrapsWhileIdle(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		m := pitest.NewModel(t)
		dir := m.AgentDir(t, pitest.Settings{})
		r := startRaw(t, b, dir)
		r.state("s0")
		r.send(`{"id":"1","type":"prompt","message":"first"}`, `{"id":"2","type":"prompt","message":"second"}`)
		if r.response("1")["success"] != true || r.response("2")["success"] != true {
			t.Error("one was refused")
		}
		r.event("agent_end")
		r.settled()
		for _, ask := range m.Requests() {
			if ask.Count("user", "second") > 0 {
				t.Error("pi does not lose the second prompt any more")
			}
		}
		r.send(`{"id":"a","type":"steer","message":"x"}`, `{"id":"b","type":"follow_up","message":"y"}`)
		r.response("a")
		r.response("b")
		if s := r.state("s"); s["isStreaming"] != false || s["pendingMessageCount"] != 2.0 {
			t.Errorf("state %v", s)
		}
		if n := len(m.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
		r.send(`{"id":"c","type":"set_steering_mode","mode":"all"}`)
		r.response("c")
		for end := time.Now().Add(patience); !strings.Contains(read(t, filepath.Join(dir, "settings.json")), `"all"`); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("it is not in settings.json")
			}
		}
		r.send("null")
		if code := r.exit(); code != 1 {
			t.Errorf("exit %d", code)
		}
	})
}

// 4: an abort leaves the queue, and nothing runs it by itself. A tool's end
// takes the first message of it into the aborted run, where no model sees it.
func TestTrapQueueSurvivesAbort(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		r, m := rawRig(t, b, pitest.Settings{})
		r.send(`{"id":"a","type":"prompt","message":"RUN sleep 60"}`)
		r.event("tool_execution_start")
		r.send(`{"id":"b","type":"prompt","message":"shown","streamingBehavior":"steer"}`, `{"id":"b2","type":"prompt","message":"steered","streamingBehavior":"steer"}`)
		r.response("b2")
		r.send(`{"id":"c","type":"abort"}`)
		r.user("shown")
		r.response("c")
		if n := len(m.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
		if s := r.state("s"); s["isStreaming"] != false || s["pendingMessageCount"] != 1.0 {
			t.Errorf("state %v", s)
		}
		r.send(`{"id":"d","type":"prompt","message":"next"}`)
		r.user("next")
		r.user("steered")
	})
	both(t, func(t *testing.T, b backend) { // the client makes pi run it
		r := start(t, b, pitest.Settings{}, nil)
		r.say("RUN sleep 60", Steer)
		r.until("the tool runs", func() bool { return r.Activity().Kind == ToolStarted })
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				if out, err := r.tell(fmt.Sprint(i), fmt.Sprintf("steered %d", i), Steer); out != Acknowledged {
					t.Errorf("%v, %v", out, err)
				}
			})
		}
		r.until("all are queued", func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.stuck() == 3
		})
		if err := r.Interrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		r.rest()
		for i := range 3 {
			if n := r.asked(fmt.Sprintf("steered %d", i)); n != 1 {
				t.Errorf("steered %d is there %d times", i, n)
			}
		}
		if n := r.asked(defaultNudge); n != 1 {
			t.Errorf("%d nudges", n)
		}
	})
}

// 5: a run that ended by an error is not over when a retry follows.
func TestTrapRetry(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		r := start(t, b, pitest.Settings{Retries: 2, RetryDelay: 300 * time.Millisecond}, nil)
		r.say("ERROR 503 2\nSAY at last", Steer)
		out := make(chan Outcome, 1)
		r.until("a retry", func() bool { return len(r.watch.of(Retry)) > 0 })
		if s := r.State(); s != Working {
			t.Errorf("%v before the retry", s)
		}
		go func() { // comes during the wait for the retry
			o, _ := r.tell("m", "meanwhile", Steer)
			out <- o
		}()
		if o := <-out; o != Acknowledged {
			t.Errorf("%v", o)
		}
		r.rest()
		if n := r.asked("meanwhile"); n != 1 {
			t.Errorf("meanwhile is there %d times", n)
		}
		r.until("the end", func() bool { return len(r.watch.runEnds()) > 0 })
		if ends := r.watch.runEnds(); len(ends) != 1 || ends[0].Reason != "stop" {
			t.Errorf("run ends %+v", ends)
		}
		r.say("ERROR 503", Steer) // for ever
		r.rest()
		r.until("the end", func() bool { return len(r.watch.runEnds()) == 2 })
		if end := r.watch.runEnds()[1]; !end.Failed() || !strings.Contains(end.Error, "503") {
			t.Errorf("run end %+v", end)
		}
		r.stop(0)
		if got := r.watch.states; len(got) != 5 {
			t.Errorf("states %v", got)
		}
	})
}

// 9: text that begins with / is expanded.
func TestTrapTemplates(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		m := pitest.NewModel(t)
		dir := m.AgentDir(t, pitest.Settings{})
		if err := os.Mkdir(filepath.Join(dir, "prompts"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "prompts", "deploy.md"), []byte("Deploy it all.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := startWith(t, b, m, dir, func(c *Config) { c.ExtraArgs = []string{"-ne", "-ns", "--no-themes", "-nc"} })
		for _, text := range []string{"/deploy", "!rm -rf x", " /deploy", "/unknown"} {
			r.say(text, Steer)
			r.rest()
			if n := r.asked("Message:\n" + text); n != 1 {
				t.Errorf("%q is there %d times: %+v", text, n, r.model.Requests())
			}
		}
	})
}

// 11: pi appends to a torn line, and then finds nothing before it.
func TestTrapTornSession(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		m := pitest.NewModel(t)
		dir := m.AgentDir(t, pitest.Settings{})
		r := startWith(t, b, m, dir, nil)
		session := r.c
		again := func(text string) *rig {
			next := startWith(t, b, m, dir, func(c *Config) { c.Dir, c.Session = session.Dir, session.Session })
			next.say(text, Steer)
			next.rest()
			next.stop(0)
			return next
		}
		r.say("one", Steer)
		r.rest()
		r.stop(0)
		whole := read(t, session.Session)
		tear := func() {
			f, err := os.OpenFile(session.Session, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(`{"type":"message","id":"abc","parentId":"x","message":{"role":"us`); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		tear()
		again("two")
		last := again("three")
		if n := last.Info().Messages; n >= 4 {
			t.Errorf("%d messages restored, pi does not lose any any more", n)
		}
		// The same with the repair.
		if err := os.WriteFile(session.Session, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		tear()
		rep, err := RepairSession(session.Session)
		if err != nil || rep.Cut == 0 || !strings.HasPrefix(read(t, rep.Kept), `{"type":"message","id":"abc"`) || rep.Cwd != session.Dir {
			t.Fatalf("%+v, %v", rep, err)
		}
		last = again("two")
		if n := last.Info().Messages; n != 2 || last.asked("one") != 1 || last.asked("two") != 1 {
			t.Errorf("%d messages restored", n)
		}
		if entries := strings.Count(read(t, session.Session), "\n"); entries != rep.Entries+2 {
			t.Errorf("%d entries, before %d", entries, rep.Entries)
		}
	})
}
