package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
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
	Out string `placeholder:"FILE" complete:"file" help:"Write to this file instead of stdout."`
}

func (c *exportCmd) Help() string {
	return "One task a line. A claimed task is written as pending; claims, epochs, gates and back-offs stay behind."
}

func (c *exportCmd) Run(_ context.Context, e *Env) error {
	_, b, err := e.look()
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := b.Export(&buf); err != nil {
		return err
	}
	tasks := bytes.Count(buf.Bytes(), []byte{'\n'})
	if c.Out == "" {
		lines := make([]json.RawMessage, 0, tasks)
		for row := range bytes.SplitSeq(bytes.TrimSpace(buf.Bytes()), []byte{'\n'}) {
			if len(row) > 0 {
				lines = append(lines, row)
			}
		}
		e.Result(struct {
			Tasks []json.RawMessage `json:"tasks"`
			Total int               `json:"total"`
		}{lines, tasks}, func(w *render.Writer) { w.Raw(buf.Bytes()) })
		return nil
	}
	path, err := filepath.Abs(c.Out)
	if err != nil {
		return err
	}
	if err := fsx.Replace(path, buf.Bytes()); err != nil {
		return outError(path, err)
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

// outError says why a file cannot be written, and what makes its directory.
func outError(path string, err error) error {
	if known := (*errs.Error)(nil); errors.As(err, &known) {
		return err
	}
	out := errs.New(errs.Failure, "cannot write %s, %w", path, rootCause(err))
	if dir := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) {
		out.WithHint("mkdir -p %s", shellWord(dir))
	}
	return out
}
