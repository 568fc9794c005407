package main

import (
	"bytes"
	"context"
	"path/filepath"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
)

var exportEntry = Entry{
	Path:     "export",
	Group:    groupBoard,
	Summary:  "Write the tasks as JSON lines that can be imported",
	Examples: []string{"teams export > board.jsonl", "teams export --out board.jsonl"},
	New:      func() Command { return new(exportCmd) },
}

type exportCmd struct {
	Out string `placeholder:"FILE" help:"Write to this file instead of stdout."`
}

func (c *exportCmd) Help() string {
	return "One task a line. A claimed task is written as pending; claims, epochs, gates and back-offs stay behind."
}

func (c *exportCmd) Run(_ context.Context, e *Env) error {
	if e.JSON && c.Out == "" {
		return errs.New(errs.Usage, "export prints JSON lines, which --json cannot wrap").WithHint("teams export --json --out FILE")
	}
	_, b, err := e.open()
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := b.Export(&buf); err != nil {
		return err
	}
	tasks := bytes.Count(buf.Bytes(), []byte{'\n'})
	if c.Out == "" {
		e.Result(nil, func(w *render.Writer) { w.Raw(buf.Bytes()) })
		return nil
	}
	path, err := filepath.Abs(c.Out)
	if err != nil {
		return err
	}
	if err := fsx.Replace(path, buf.Bytes()); err != nil {
		return err
	}
	e.Result(struct {
		Path  string `json:"path"`
		Total int    `json:"total"`
	}{path, tasks}, func(w *render.Writer) {
		if e.Quiet {
			w.Linef("%s", path)
			return
		}
		w.Linef("wrote %d tasks to %s", tasks, path)
	})
	return nil
}
