package main

import (
	"errors"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

// Operation hands over the result of a verb that shows its call and what came
// of it in two rows, or with -x as labelled fields. data is what --json prints.
// With -q only the id or name of what came back is printed.
func (e *Env) Operation(op render.Operation, data any) {
	e.Result(data, e.operationText(succeeded(op), false, ""))
}

// succeeded is the operation at its good end.
func succeeded(op render.Operation) render.Operation {
	op.Partial, op.OK = false, true
	if op.Return == nil {
		op.Return = render.Fields{}
	}
	return op
}

// operationText writes an operation; called: its call row stands there already.
// news is a line that follows, "" for none.
func (e *Env) operationText(op render.Operation, called bool, news string) func(*render.Writer) {
	return func(w *render.Writer) {
		switch {
		case e.Quiet:
			for _, s := range op.Subjects() {
				w.Linef("%s", s)
			}
		case called:
			w.Outcome(op)
		default:
			w.Operation(op)
		}
		if news != "" && !e.Quiet {
			if w.Expanded() {
				w.Blank()
			}
			w.Row(news)
		}
	}
}

// Progress is an operation under way. On a terminal its call row is shown at
// once, and below it a line that says what is being done, until its end.
type Progress struct {
	e      *Env
	op     render.Operation
	live   *Live
	called bool
	news   string
}

// Begin shows the call of an operation and, while it lasts, that it is under
// way. Close, or one of Done and Fail, ends it.
func (e *Env) Begin(op render.Operation) *Progress {
	op.Partial = true
	p := &Progress{e: e, op: op}
	if !e.JSON && !e.Quiet && e.textWidth() > 0 {
		// A terminal that cannot be written to fails again at the end.
		p.called = e.Stream(nil, func(w *render.Writer) { w.CallRow(op) }) == nil
	}
	p.live = e.Live(op.ResultLine())
	return p
}

// Say replaces the line that says what is being done.
func (p *Progress) Say(text string) { p.live.Set(text) }

// Tell adds a line that stands once behind the rows.
func (p *Progress) Tell(line string) { p.news = line }

// TellNow is Tell for an operation that goes on: on a terminal, where its call row
// stands already, the line is shown at once.
func (p *Progress) TellNow(line string) {
	if p.called && p.e.Stream(nil, func(w *render.Writer) { w.Row(line) }) == nil {
		return
	}
	p.news = line
}

// Done hands over the result: what came back and what --json prints.
func (p *Progress) Done(ret render.Fields, data any) {
	p.live.Done()
	op := p.op
	op.Return = ret
	p.e.Result(data, p.e.operationText(succeeded(op), p.called, p.news))
}

// Fail ends the operation with an error and returns it. The error is printed as
// that of any verb; ret and data are for a verb that has a result all the same,
// else both are nil. With -x call and return are shown too.
func (p *Progress) Fail(err error, ret render.Fields, data any) error {
	p.live.Done()
	err = p.e.explain(err) // the row says what standard error says
	if data == nil && (p.e.JSON || !p.e.Expanded) {
		return err
	}
	op := p.op
	op.Partial = false
	op.Return, op.Error, op.ReturnCode = p.e.failedReturn(err, ret), err.Error(), errs.Exit(errs.CodeOf(err))
	return p.e.Fail(err, data, p.e.operationText(op, p.called, p.news))
}

// Close removes the line for good. It may be called at any time, and more than
// once.
func (p *Progress) Close() { p.live.Done() }

// failedReturn adds to what came back what is known about the error.
func (e *Env) failedReturn(err error, ret render.Fields) render.Fields {
	out := render.Pairs("code", string(errs.CodeOf(err)))
	var known *errs.Error
	if errors.As(err, &known) && known.Hint != "" {
		out = append(out, render.Pairs("hint", e.hint(known.Hint))...)
	}
	return append(out, ret...)
}
