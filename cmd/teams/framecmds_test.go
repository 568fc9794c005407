package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

// Commands that exist in the test binary only. Together with the verbs of the
// frame they are the program "teams-frame" of the scripts.

// testEntries lists them, sorted by path.
var testEntries = func() (list []*Entry) {
	for _, it := range []struct {
		path string
		new  func() Command
	}{
		{"herdr close", func() Command { return new(frameSocketCmd) }},
		{"t cmd", func() Command { return new(frameCmdCmd) }},
		{"t echo", func() Command { return new(frameEchoCmd) }},
		{"t fail", func() Command { return new(frameFailCmd) }},
		{"t group", func() Command { return new(frameGroupCmd) }},
		{"t panic", func() Command { return new(framePanicCmd) }},
		{"t print", func() Command { return new(framePrintCmd) }},
		{"t stream", func() Command { return new(frameStreamCmd) }},
		{"t text", func() Command { return new(frameTextCmd) }},
		{"t wait", func() Command { return new(frameWaitCmd) }},
	} {
		list = append(list, &Entry{
			Path: it.path, Group: "Test", Summary: "Test " + it.path, Examples: []string{"teams " + it.path}, New: it.new,
		})
	}
	return list
}()

// withTestCommands makes a registry of the frame's own verbs and the test
// commands, which does not change as verbs are added.
func withTestCommands() (restore func()) {
	old := registry
	registry = append([]*Entry{&helpEntry, &versionEntry, &completionEntry, &completeEntry}, testEntries...)
	return func() { registry = old }
}

func frameMain() {
	withTestCommands()
	crashGrace = 300 * time.Millisecond
	newCompleter = func(e *Env) completer { return fakeCompleter{e} }
	os.Exit(Main(os.Args[1:], os.Stdin, pipeSafe(os.Stdout), pipeSafe(os.Stderr)))
}

type frameEchoCmd struct {
	Text  string    `short:"d" help:"A text."`
	Tag   []string  `sep:"none" help:"A tag."`
	IDs   []string  `name:"ids" complete:"task" placeholder:"ID" help:"Ids."`
	Lease *Duration `help:"A duration."`
	Max   int       `short:"j" help:"A number."`
	State string    `enum:"ready,claimed,any" default:"any" help:"A state."`
	On    bool      `help:"A switch."`
	Opt   *[]string `sep:"none" placeholder:"X" help:"An optional list."`
	OptID *[]string `placeholder:"ID,..." help:"An optional list with commas."`
	Words []string  `arg:"" optional:"" name:"WORD" complete:"name," help:"Words."`
}

func (c *frameEchoCmd) Check() error {
	if c.Max > 99 {
		return errors.New("--max must not be above 99")
	}
	return nil
}

func (c *frameEchoCmd) Run(_ context.Context, e *Env) error {
	lease := "none"
	if c.Lease != nil {
		lease = c.Lease.String()
	}
	optional := func(list *[]string) string {
		if list == nil {
			return "none"
		}
		return "[" + strings.Join(*list, "|") + "]"
	}
	e.Result(c, func(w *render.Writer) {
		w.Linef("opt=%s optid=%s", optional(c.Opt), optional(c.OptID))
		w.Linef("text=%s tag=%q ids=%q lease=%s max=%d state=%s on=%t",
			strconv.Quote(c.Text), strings.Join(c.Tag, "|"), strings.Join(c.IDs, "|"), lease, c.Max, c.State, c.On)
		w.Linef("words=%s", strings.Join(c.Words, "|"))
		w.Linef("session=%q as=%q root=%q dir=%q quiet=%t expanded=%t lock=%s",
			e.Session, e.As, e.Root, e.Dir, e.Quiet, e.Expanded, e.LockWait())
	})
	return nil
}

type frameCmdCmd struct {
	Once bool     `help:"A switch."`
	argv []string `kong:"-"`
	set  bool
}

func (c *frameCmdCmd) SetCommand(argv []string) { c.argv, c.set = argv, true }

func (c *frameCmdCmd) Run(_ context.Context, e *Env) error {
	if len(c.argv) > 0 && c.argv[0] == "run" {
		child := exec.Command(c.argv[1], c.argv[2:]...)
		child.Stdout, child.Stderr = e.ChildOutput()
		child.Stdin = e.ChildInput()
		return child.Run()
	}
	e.Result(map[string]any{"argv": c.argv, "set": c.set, "once": c.Once}, func(w *render.Writer) {
		w.Linef("set=%t once=%t argv=%s", c.set, c.Once, strings.Join(c.argv, "|"))
	})
	return nil
}

type frameTextCmd struct {
	Bytes bool   `help:"Take any bytes."`
	Text  string `arg:"" name:"TEXT" complete:"text" help:"A text."`
	More  string `arg:"" optional:"" name:"MORE" help:"Another."`
}

func (c *frameTextCmd) Run(_ context.Context, e *Env) error {
	read := func(arg string) (string, error) {
		if c.Bytes {
			b, err := e.Bytes(arg)
			return string(b), err
		}
		return e.Text(arg)
	}
	text, err := read(c.Text)
	if err != nil {
		return err
	}
	more, err := read(c.More)
	if err != nil {
		return err
	}
	e.Result(map[string]any{"text": text, "more": more, "bytes": len(text)}, func(w *render.Writer) {
		w.Linef("%d %s %s", len(text), strconv.Quote(text), strconv.Quote(more))
	})
	return nil
}

type framePanicCmd struct {
	Where string `arg:"" name:"WHERE" enum:"run,go,hang,text,json,late" help:"Where to panic."`
}

type framePanics struct{}

func (framePanics) MarshalJSON() ([]byte, error) { panic("boom in json") }

func (c *framePanicCmd) Run(ctx context.Context, e *Env) error {
	switch c.Where {
	case "go", "hang":
		e.Go(func() { panic("boom in a goroutine") })
		if c.Where == "hang" {
			select {}
		}
		<-ctx.Done()
		return context.Cause(ctx)
	case "text":
		e.Result(1, func(w *render.Writer) { w.Linef("one"); panic("boom in text") })
		return nil
	case "json":
		e.Result(framePanics{}, nil)
		return nil
	case "late":
		e.Result("never printed", func(w *render.Writer) { w.Linef("never printed") })
	}
	panic("boom\x1b[2J")
}

type frameStreamCmd struct {
	N    int  `arg:"" name:"N" help:"How many."`
	Fail bool `help:"End with an error."`
	Slow bool `help:"A tenth of a second between them, for at most a minute."`
}

func (c *frameStreamCmd) Run(ctx context.Context, e *Env) error {
	for i := range c.N {
		if c.Slow {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := e.Stream(map[string]int{"i": i}, func(w *render.Writer) { w.Linef("line %d", i) }); err != nil {
			return err
		}
	}
	if c.Fail {
		return errs.New(errs.BoardDrained, "nothing is left")
	}
	return nil
}

type frameFailCmd struct {
	Code  string `default:"gate_failed" help:"The code."`
	Plain bool   `help:"An error of no code."`
}

func (c *frameFailCmd) Run(_ context.Context, e *Env) error {
	if c.Plain {
		return fmt.Errorf("one\x1b[2J: %w", errors.Join(errors.New("two"), errors.New("three")))
	}
	err := errs.New(errs.Code(c.Code), "task t_1 did not pass, see <log> & more").
		WithHint("teams verify t_1").WithDetail("task", "t_1")
	return e.Fail(err, map[string]string{"verdict": "failed"}, func(w *render.Writer) {
		w.Linef("%s failed", render.Symbol("failed"))
	})
}

type frameWaitCmd struct {
	Ready   string    `help:"Create this file when waiting."`
	Clean   bool      `help:"Return nil when interrupted."`
	Plain   bool      `help:"Return an error of no context."`
	Stdin   bool      `help:"Wait for standard input."`
	Timeout *Duration `help:"Give up."`
}

func (c *frameWaitCmd) Run(ctx context.Context, e *Env) error {
	if c.Ready != "" {
		if err := os.WriteFile(c.Ready, nil, 0o600); err != nil {
			return err
		}
	}
	live := e.Live("waiting for \x1b[2J nothing")
	defer live.Done()
	if c.Stdin {
		_, err := e.Text("-")
		return err
	}
	if c.Timeout != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout.Std())
		defer cancel()
	}
	select {
	case <-ctx.Done():
	case <-time.After(30 * time.Second):
		return errors.New("nobody interrupted")
	}
	switch {
	case c.Clean:
		return nil
	case c.Plain:
		return errors.New("signal: killed")
	}
	return fmt.Errorf("wait: %w", ctx.Err())
}

type framePrintCmd struct {
	Bytes int  `default:"10" help:"How many."`
	Color bool `help:"Coloured."`
	Warn  bool `help:"Warn too."`
}

func (c *framePrintCmd) Run(_ context.Context, e *Env) error {
	if c.Warn {
		e.Warnf("careful with %s", "this\x1b[1m\nthing")
	}
	e.Result(strings.Repeat("x", c.Bytes), func(w *render.Writer) {
		if c.Color {
			w.Row(render.Symbol("failed"), "a\x1b[2Jb", strings.Repeat("long ", 40))
			return
		}
		w.Linef("%s", strings.Repeat("x", c.Bytes))
	})
	return nil
}

type frameGroupCmd struct {
	Panic bool `help:"Panic in one."`
}

func (c *frameGroupCmd) Run(ctx context.Context, e *Env) error {
	g, ctx := e.Group(ctx)
	g.Go(func() error { <-ctx.Done(); return ctx.Err() })
	g.Go(func() error {
		if c.Panic {
			panic("boom in a group")
		}
		return errs.New(errs.Conflict, "first error")
	})
	return g.Wait()
}

type frameSocketCmd struct {
	Socket string `help:"A flag of the family."`
}

func (c *frameSocketCmd) Run(_ context.Context, e *Env) error {
	e.Result(nil, func(w *render.Writer) { w.Linef("socket=%s", c.Socket) })
	return nil
}

// fakeCompleter knows a few tasks and names, and which session is asked for.
type fakeCompleter struct{ e *Env }

func (f fakeCompleter) Complete(_ context.Context, kind, prefix string) []candidate {
	switch {
	case kind == "task":
		return []candidate{{"t_1", "parse the grammar"}, {"t_12", "print the tree"}, {"evil", "two\x1b[2J\nlines"}}
	case kind == "name" && f.e.Session != "":
		return []candidate{{Value: "bob-of-" + f.e.Session}}
	case kind == "name":
		return []candidate{{Value: "ann"}, {Value: "bob"}}
	}
	return nil
}
