package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

// spawnOperation is what a verb such as spawn hands to Begin.
func spawnOperation() render.Operation {
	return render.Operation{Tool: "spawn", Call: render.Given("name", "ann", "agent", "coder", "label", "", "placement", "tab")}
}

type spawned struct {
	Name    string `json:"name"`
	SpawnID string `json:"spawnId"`
	PaneID  string `json:"paneId"`
}

// runOperation runs f as a verb that writes to a pipe and returns what it
// prints.
func runOperation(g Globals, f func(*Env) error) (stdout, stderr string, code int) {
	var out, warn bytes.Buffer
	e := newEnv(strings.NewReader(""), &out, &warn)
	e.Globals = g
	code = e.conclude(f(e))
	return out.String(), warn.String(), code
}

// A verb with an operation prints the two rows, the long form, the name, or
// JSON, whichever is asked for; and each of it once.
func TestOperationForms(t *testing.T) {
	ann := spawned{"ann", "1f", "w1:p2"}
	done := func(e *Env) error {
		p := e.Begin(spawnOperation())
		defer p.Close()
		p.Done(render.FieldsOf(ann), ann)
		return nil
	}
	failed := func(ret render.Fields, data any) func(*Env) error {
		return func(e *Env) error {
			p := e.Begin(spawnOperation())
			defer p.Close()
			return p.Fail(errs.New(errs.NameTaken, "a living process is ann").WithHint("teams shutdown ann"), ret, data)
		}
	}
	told := func(e *Env) error {
		p := e.Begin(spawnOperation())
		defer p.Close()
		p.Tell("[coder] started · @ann")
		p.Done(render.FieldsOf(ann), ann)
		return nil
	}
	toldNow := func(e *Env) error {
		p := e.Begin(spawnOperation())
		defer p.Close()
		p.TellNow("[coder] started · @ann")
		return p.Fail(fmt.Errorf("read: %w", context.DeadlineExceeded), render.FieldsOf(ann), ann)
	}
	atOnce := func(e *Env) error {
		e.Operation(render.Operation{Tool: "interrupt", Call: render.Given("name", "ann")}, nil)
		return nil
	}
	const refusal = "teams: a living process is ann\nhint: teams shutdown ann\n"
	for _, tt := range []struct {
		name           string
		g              Globals
		f              func(*Env) error
		stdout, stderr string
		code           int
	}{
		{"rows", Globals{}, done, "spawn ann · coder · tab\n✓ success\n", "", 0},
		{"long", Globals{Expanded: true}, done, "spawn ann · coder · tab\n✓ success\n\ncall\nname: ann\nagent: coder\nplacement: tab\n\nreturn\nstatus: spawned\nspawn id: 1f\n", "", 0},
		{"ids", Globals{Quiet: true}, done, "ann\n", "", 0},
		{"JSON", Globals{JSON: true}, done, `{"schema":1,"ok":true,"data":{"name":"ann","spawnId":"1f","paneId":"w1:p2"}}` + "\n", "", 0},
		{"an error is that of any verb", Globals{}, failed(nil, nil), "", refusal, 4},
		{"an error in JSON", Globals{JSON: true, Expanded: true}, failed(nil, nil),
			`{"schema":1,"ok":false,"error":{"code":"name_taken","message":"a living process is ann","hint":"teams shutdown ann"}}` + "\n", "", 4},
		{"an error, long", Globals{Expanded: true}, failed(nil, nil),
			"spawn ann · coder · tab\n✗ failed · a living process is ann\n\ncall\nname: ann\nagent: coder\nplacement: tab\n\n" +
				"return\nstatus: failed\nerror: a living process is ann\ncode: name_taken\nhint: teams shutdown ann\nreturn code: 4\n", refusal, 4},
		{"an error with a result", Globals{}, failed(render.FieldsOf(ann), ann), "spawn ann · coder · tab\n✗ failed · a living process is ann\n", refusal, 4},
		{"an error with a result, in JSON", Globals{JSON: true}, failed(render.FieldsOf(ann), ann),
			`{"schema":1,"ok":false,"error":{"code":"name_taken","message":"a living process is ann","hint":"teams shutdown ann","details":{"data":{"name":"ann","spawnId":"1f","paneId":"w1:p2"}}}}` + "\n", "", 4},
		{"with a line", Globals{}, told, "spawn ann · coder · tab\n✓ success\n[coder] started · @ann\n", "", 0},
		{"with a line, long", Globals{Expanded: true}, told,
			"spawn ann · coder · tab\n✓ success\n\ncall\nname: ann\nagent: coder\nplacement: tab\n\nreturn\nstatus: spawned\nspawn id: 1f\n\n[coder] started · @ann\n", "", 0},
		{"with a line, ids", Globals{Quiet: true}, told, "ann\n", "", 0},
		{"with a line, JSON", Globals{JSON: true}, told, `{"schema":1,"ok":true,"data":{"name":"ann","spawnId":"1f","paneId":"w1:p2"}}` + "\n", "", 0},
		{"out of time", Globals{}, toldNow, "spawn ann · coder · tab\n✗ failed · the time limit passed\n[coder] started · @ann\n", "teams: the time limit passed\n", 124},
		{"at once", Globals{}, atOnce, "interrupt ann\n✓ interrupted\n", "", 0},
		{"at once, ids", Globals{Quiet: true}, atOnce, "ann\n", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := runOperation(tt.g, tt.f)
			if stdout != tt.stdout || stderr != tt.stderr || code != tt.code {
				t.Errorf("exit %d\n%s%s\nwant exit %d\n%s%s", code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}

// On a terminal the call row stands there from the start, with what is being
// done below it, which the result replaces.
func TestOperationOnATerminal(t *testing.T) {
	t.Setenv("COLUMNS", "")
	t.Setenv("NO_COLOR", "1")
	t.Setenv("TERM", "xterm")
	for name, fail := range map[string]bool{"success": false, "failure": true} {
		t.Run(name, func(t *testing.T) {
			screen, tty, err := pty.Open()
			if err != nil {
				t.Skip("no terminal can be had here:", err)
			}
			defer screen.Close()
			seen := make(chan string, 64)
			go func() {
				defer close(seen)
				buf := make([]byte, 4096)
				for {
					n, err := screen.Read(buf)
					if err != nil {
						return
					}
					seen <- string(buf[:n])
				}
			}()
			all := ""
			waitFor := func(s string) {
				t.Helper()
				limit := time.After(20 * time.Second)
				for !strings.Contains(all, s) {
					select {
					case more, ok := <-seen:
						if all += more; !ok && !strings.Contains(all, s) {
							t.Fatalf("%q does not come: %q", s, all)
						}
					case <-limit:
						t.Fatalf("%q does not come: %q", s, all)
					}
				}
			}
			e := newEnv(strings.NewReader(""), tty, tty)
			p := e.Begin(spawnOperation())
			waitFor("spawn ann · coder · tab\r\n")
			waitFor("\r\x1b[Kspawning… 0s")
			p.Say("spawning… nearly there")
			waitFor("\r\x1b[Kspawning… nearly there 0s")
			if fail {
				err = p.Fail(errs.New(errs.NameTaken, "a living process is ann"), nil, nil)
			} else {
				p.Done(render.Fields{}, nil)
			}
			p.Close()
			e.conclude(err)
			last := "\r\x1b[K✓ success\r\n"
			if fail {
				last = "\r\x1b[Kteams: a living process is ann\r\n"
			}
			waitFor(last)
			if err := tty.Close(); err != nil && !os.IsNotExist(err) {
				t.Error(err)
			}
			if n := strings.Count(all, "spawn ann"); n != 1 {
				t.Errorf("the call row stands there %d times: %q", n, all)
			}
		})
	}
}

// The long form of a call has everything that was given on the command line, a 0
// too, and nothing else.
func TestWholeCalls(t *testing.T) {
	long := func(call render.Fields) string {
		w := render.New(render.Options{Expanded: true})
		w.Outcome(render.Operation{Tool: "x", Call: call})
		return w.String()
	}
	read := func(path string, cmd Command, args ...string) *Env {
		t.Helper()
		e := newEnv(strings.NewReader(""), new(bytes.Buffer), new(bytes.Buffer))
		if err := e.parse(lookup(path), cmd, args, splitArgs(args)); err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"ann", "Fix it"}, "\ncall\ntarget: ann\ntask:\nFix it\n\n"},
		{strings.Fields("ann Fix -d why --depends-on t_1,t_2 --verify true --verify-timeout 0 --priority 0 --role coder --tag a --tag b --max-attempts 1 --key k"),
			"\ncall\ntarget: ann\ntask:\nFix\n\ndescription:\nwhy\n\ndepends on:\n  - t_1\n  - t_2\nverify: true\nverify timeout: 0s\npriority: 0\nrole: coder\ntags:\n  - a\n  - b\nmax attempts: 1\nkey: k\n"},
	} {
		var c delegateCmd
		e := read("delegate", &c, tt.args...)
		add := taskAddCmd{Subject: c.Subject, taskFields: c.taskFields}
		n, err := add.newTask(e)
		if got := long(c.call(&n)); err != nil || got != tt.want {
			t.Errorf("delegate %v: %v\n%q\nwant\n%q", tt.args, err, got, tt.want)
		}
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"ann", "coder"}, "\ncall\nname: ann\nagent: coder\nhost: pi\n"},
		{strings.Fields("ann coder x --label l --placement tab --tab web --grace 0 --wait --timeout 1h"),
			"\ncall\nname: ann\nagent: coder\nlabel: l\nhost: pi\nplacement: tab\ntab: web\ngrace: 0s\nwait: yes\ntimeout: 1h\ncommand:\n  - cat\nprompt: x\n"},
	} {
		var c spawnCmd
		read("spawn", &c, tt.args...)
		r := team.SpawnRequest{Kind: "pi"}
		if c.Text != nil {
			c.SetCommand([]string{"cat"})
			r.Text = *c.Text
		}
		if got := long(c.call(&r)); got != tt.want {
			t.Errorf("spawn %v:\n%q\nwant\n%q", tt.args, got, tt.want)
		}
	}
}
