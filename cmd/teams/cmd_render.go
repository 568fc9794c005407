package main

import (
	"bytes"
	"context"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
)

var renderEntry = Entry{
	Path:    "render",
	Group:   groupSetup,
	Summary: "Show an operation or a notification, given as JSON, as people see it",
	Examples: []string{
		`echo '{"tool":"spawn","call":{"agent":"worker"},"return":{}}' | teams render`,
		`teams status ann --json | teams render --tool status --call '{"name":"ann"}' -x`,
		`teams render --tool spawn --call '{"agent":"worker","label":"code review"}' --partial`,
	},
	New:    func() Command { return new(renderCmd) },
	NoJSON: true,
	Quick:  true,
}

type renderCmd struct {
	Tool    string  `placeholder:"TOOL" help:"The operation that the input is the result of, such as spawn or teammate_spawn."`
	Call    *string `placeholder:"JSON" help:"Its arguments, a JSON object; @FILE reads them from a file."`
	Partial bool    `help:"It is still under way."`
	Width   *int    `placeholder:"CELLS" help:"Cut rows to this width and break longer lines; else the width of the terminal."`
	Color   bool    `help:"Use colour though standard output is no terminal."`
}

func (c *renderCmd) Help() string {
	return "Reads one JSON value from standard input: an operation, " +
		`{"tool":"spawn","call":{…},"return":{…},"returnCode":0,"partial":false}; what any verb prints with --json, ` +
		`together with --tool and --call; or {"notification":{"title":"…","ids":{…},"message":"…"}}. ` +
		"With nothing on standard input it shows the call of --tool and --call. " +
		"Of an operation the first line is its call and the second what came of it; " +
		"with -x what follows the first line is all of call and return. " +
		"No state is read or written."
}

// ReadPlain implements plainReader.
func (c *renderCmd) ReadPlain(args []string) bool { return len(args) == 0 }

// Check implements checker.
func (c *renderCmd) Check() error {
	if c.Width != nil && *c.Width < 1 {
		return errs.New(errs.Usage, "--width %d cannot be used, it must be at least 1", *c.Width)
	}
	if c.Call != nil && c.Tool == "" {
		return errs.New(errs.Usage, "--call needs --tool, the arguments are those of a tool").WithHint("teams render --help")
	}
	return nil
}

func (c *renderCmd) Run(_ context.Context, e *Env) error {
	var input []byte
	if c.Tool == "" || !e.StdinIsTerminal() {
		var err error
		if input, err = e.Bytes("-"); err != nil {
			return err
		}
	}
	d, err := c.decode(input)
	if err != nil {
		return err
	}
	op := &d.Operation
	if d.Notification == nil {
		if c.Tool != "" {
			op.Tool = c.Tool
		}
		if c.Call != nil {
			if op.Call, err = c.call(e); err != nil {
				return err
			}
		}
		op.Partial = op.Partial || c.Partial
		if op.Tool == "" {
			return errs.New(errs.Usage, "the input names no tool, --tool must").WithHint("teams render --help")
		}
	}
	w := e.renderWriter(c.Width, c.Color)
	if d.Notification != nil {
		w.Notification(*d.Notification)
	} else {
		w.Operation(*op)
	}
	e.Result(nil, func(out *render.Writer) { out.Raw([]byte(w.String())) })
	return nil
}

// renderWriter is writer with another width, or with colour.
func (e *Env) renderWriter(width *int, color bool) *render.Writer {
	opt := render.Options{
		Width: e.textWidth(), Color: e.colorful() || color && !e.NoColor, Expanded: e.Expanded, Now: fsx.Now(),
		SafeLine: fsx.SafeLine, SafeText: fsx.SafeText,
	}
	if width != nil {
		opt.Width, opt.Wrap = *width, true
	}
	return render.New(opt)
}

// decode reads the input. There need not be any when the flags name a call.
func (c *renderCmd) decode(input []byte) (render.Decoded, error) {
	if c.Tool != "" && len(bytes.TrimSpace(input)) == 0 {
		return render.Decoded{}, nil
	}
	d, err := render.Decode(input, func(code string) int { return errs.Exit(errs.Code(code)) })
	if err != nil {
		return d, errs.New(errs.Usage, "standard input cannot be shown, %w", err).WithHint("teams render --help")
	}
	return d, nil
}

// call reads the arguments of --call.
func (c *renderCmd) call(e *Env) (render.Fields, error) {
	b, err := e.Bytes(*c.Call)
	if err != nil {
		return nil, err
	}
	call, err := render.DecodeCall(b)
	if err != nil {
		return nil, errs.New(errs.Usage, "--call cannot be used, %w", err).WithHint("teams render --help")
	}
	return call, nil
}
