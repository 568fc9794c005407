package pi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/pi/pitest"
)

// Every way in which a run ends is the end of the work, once what follows is
// over too.
func TestRunEnds(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		r := start(t, b, pitest.Settings{}, nil)
		for i, test := range []struct {
			prompt, reason, err string
			interrupt           bool
		}{
			{prompt: "SAY done", reason: "stop"},
			{prompt: "ERROR 503", reason: "error", err: "503"},
			{prompt: "ERROR 400", reason: "error", err: "400"},
			{prompt: "HANG", reason: "aborted", interrupt: true},
			{prompt: "RUN sleep 100", reason: "aborted", interrupt: true},
			{prompt: "RUN exit 3", reason: "stop"},
			{prompt: "TEXT 10000 20", reason: "stop"}, // 10 MB of output: it grows with the square of an answer
		} {
			r.say(test.prompt, Steer)
			if test.interrupt {
				r.until("it works", func() bool { return r.model.Hanging() > 0 || r.Activity().Kind == ToolStarted })
				if err := r.Interrupt(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			r.rest()
			r.until("the end of "+test.prompt, func() bool { return len(r.watch.runEnds()) == i+1 })
			if end := r.watch.runEnds()[i]; end.Reason != test.reason || !strings.Contains(end.Error, test.err) {
				t.Errorf("%s: %+v", test.prompt, end)
			}
		}
		if ended := r.watch.of(ToolEnded); len(ended) != 2 || !ended[0].IsError || !ended[1].IsError {
			t.Errorf("tools %+v", ended)
		}
		if list := r.watch.of(Text); len(list) == 0 || len(list) > 1000 || !strings.HasPrefix(list[len(list)-1].Text, "The quick") {
			t.Errorf("%d lines of text", len(list))
		}
		if err := r.Interrupt(t.Context()); err != nil { // idle
			t.Errorf("Interrupt: %v", err)
		}
	})
}

// A compaction follows the run, and the next prompt waits for it; a run that
// failed for want of room goes on by itself.
func TestCompaction(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		r := start(t, b, pitest.Settings{ContextWindow: 10000, Compaction: true, KeepRecent: 10}, nil)
		r.say("SAY "+strings.Repeat("many words ", 50), Steer)
		r.rest()
		r.model.Script(func(ask pitest.Request) (pitest.Reply, bool) {
			if slow := strings.Contains(ask.Messages[0].Text, "summar") || strings.Contains(ask.Last(), "ummar"); slow {
				time.Sleep(300 * time.Millisecond)
				return pitest.Reply{Text: "a summary"}, true
			}
			return pitest.Reply{}, false
		})
		r.say("USAGE 9900", Steer)
		r.until("a compaction", func() bool { return len(r.watch.of(Compaction)) > 0 })
		if s := r.State(); s != Working {
			t.Errorf("%v while it compacts", s)
		}
		r.say("after the compaction", FollowUp)
		r.rest()
		list := r.watch.of(Compaction, Delivered)
		if len(list) != 5 || list[2].Text != "started: threshold" || list[3].Text != "ended" || list[4].Text != "after the compaction" {
			t.Errorf("%s", lines(list))
		}
		if n := r.asked("after the compaction"); n != 1 {
			t.Errorf("it is there %d times", n)
		}
		r.say("OVERFLOW 1\nSAY there is room", Steer)
		r.rest()
		r.until("the end", func() bool { return len(r.watch.runEnds()) == 4 })
		if end := r.watch.runEnds()[3]; end.Reason != "stop" {
			t.Errorf("%+v\n%s", end, lines(r.watch.of(Compaction, RunStarted, RunEnded)))
		}
	})
}

// An extension that asks is answered: by nobody, or by whom there is.
func TestDialogs(t *testing.T) {
	const extension = `export default function (pi) {
	pi.on("tool_call", async (event, ctx) => {
		if (!(await ctx.ui.confirm("Run " + event.input.command, "?"))) return { block: true, reason: "Blocked by user" };
	});
}
`
	both(t, func(t *testing.T, b backend) {
		path := filepath.Join(t.TempDir(), "confirm.ts")
		if err := os.WriteFile(path, []byte(extension), 0o600); err != nil {
			t.Fatal(err)
		}
		asked := make(chan UIRequest, 9)
		for _, handler := range []func(context.Context, UIRequest) UIAnswer{nil, func(_ context.Context, r UIRequest) UIAnswer {
			asked <- r
			return UIAnswer{Answered: true, Confirmed: true}
		}} {
			if b.name == "real" && handler == nil {
				continue // a start saved; the other way shows that the answer arrives
			}
			r := start(t, b, pitest.Settings{}, func(c *Config) { c.Extensions, c.OnUI = []string{path}, handler })
			r.say("RUN echo yes", Steer)
			r.rest()
			want := "Blocked by user"
			if handler != nil {
				want = "yes\n"
				q := <-asked
				if q.Method != "confirm" || q.Title != "Run echo yes" || q.ID == "" {
					t.Errorf("%+v", q)
				}
			}
			if got := r.model.Requests()[1].Last(); got != want {
				t.Errorf("the tool said %q, want %q", got, want)
			}
		}
	})
}

// What a Config says reaches pi.
func TestConfigReachesPi(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		long := filepath.Join(t.TempDir(), "role.md")
		if err := os.WriteFile(long, []byte(strings.Repeat("role from a file ", 20000)), 0o600); err != nil {
			t.Fatal(err)
		}
		r := start(t, b, pitest.Settings{}, func(c *Config) {
			// A text that is the name of a file in the working directory.
			if err := os.WriteFile(filepath.Join(c.Dir, "notes"), []byte("content of the file"), 0o600); err != nil {
				t.Fatal(err)
			}
			c.SystemPrompt, c.SystemPromptFiles = []string{"notes", "You are ann.\n\"quoted\" $HOME"}, []string{long}
			c.Tools = []string{"bash", "read"}
			c.Env = append(c.Env, "TEAMS_GATE=1234")
		})
		r.say("RUN echo gate=$TEAMS_GATE; ps -o sid= -p $PPID", Steer)
		r.rest()
		ask := r.model.Requests()[0]
		system := ask.Messages[0].Text
		for _, want := range []string{"notes\n", "You are ann.\n\"quoted\" $HOME\n", "role from a file role"} {
			if !strings.Contains(system, want) {
				t.Errorf("the system prompt lacks %q", want)
			}
		}
		if strings.Contains(system, "content of the file") {
			t.Error("a text was read as a file name")
		}
		if b.name == "real" && !slices.Equal(ask.Tools, []string{"bash", "read"}) && !slices.Equal(ask.Tools, []string{"read", "bash"}) {
			t.Errorf("tools %v", ask.Tools)
		}
		if got := r.model.Requests()[1].Last(); strings.Join(strings.Fields(got), " ") != fmt.Sprintf("gate= %d", r.PID()) {
			t.Errorf("the tool said %q, pid %d", got, r.PID())
		}
	})
}

// That pi took a prompt does not mean that the model sees it: a steer waits for
// the tool that runs. A call that gives up meanwhile does not take its prompt
// back, and the next one with its id waits on.
func TestPendingPrompt(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		r := start(t, b, pitest.Settings{}, nil)
		r.say("RUN while ! test -e go; do sleep 0.02; done", Steer)
		r.until("the tool runs", func() bool { return r.Activity().Kind == ToolStarted })
		for _, mode := range []Mode{Steer, FollowUp} {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			out, err := r.Prompt(ctx, fmt.Sprint("id", mode), fmt.Sprint("text", mode), mode)
			cancel()
			if out != Pending || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, %v", out, err)
			}
		}
		if err := os.WriteFile(filepath.Join(r.c.Dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			for _, mode := range []Mode{Steer, FollowUp} {
				if out, err := r.tell(fmt.Sprint("id", mode), fmt.Sprint("text", mode), mode); out != Acknowledged || err != nil {
					t.Errorf("%v, %v", out, err)
				}
			}
		}
		r.rest()
		ask := r.model.Requests()[1]
		if n := len(ask.Messages); ask.Last() != "text0" || ask.Messages[n-2].Role != "tool" {
			t.Errorf("second request %+v", ask)
		}
		if r.asked("text0") != 1 || r.asked("text1") != 1 {
			t.Errorf("%+v", r.model.Requests())
		}
		// Texts of any kind come back as they were sent.
		for _, text := range []string{"\u2028 a\u2029b\r\nc", "𝄞 \\ \" \x00 \x7f <&>", "broken \xff\xfe utf-8", strings.Repeat("long line ", 300000)} {
			r.say("SAY x\n"+text, Steer)
			r.rest()
			if n := r.asked(Escape("SAY x\n" + text)); n != 1 {
				t.Errorf("%.40q is there %d times", text, n)
			}
		}
		if out, err := r.tell("e", " \n", Steer); out != Refused || err == nil {
			t.Errorf("empty: %v, %v", out, err)
		}
	})
}
