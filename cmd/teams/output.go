package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"unicode/utf8"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
)

// schema is the version of the envelope around every JSON value.
const schema = 1

type success struct {
	Schema int  `json:"schema"`
	OK     bool `json:"ok"`
	Data   any  `json:"data"`
}

type failure struct {
	Schema int         `json:"schema"`
	OK     bool        `json:"ok"`
	Error  failureBody `json:"error"`
}

type failureBody struct {
	Code    errs.Code      `json:"code"`
	Message string         `json:"message"`
	Hint    string         `json:"hint,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// errClosedPipe is what printing returns when nobody reads any more. It ends
// the program without a message.
var errClosedPipe = errors.New("nobody reads standard output any more")

// Result hands over the result of the command: data is what --json prints, text
// writes the same for people. It is printed once Run has returned; a second
// call replaces the first. With -q the text is ids only, which is up to text.
func (e *Env) Result(data any, text func(w *render.Writer)) {
	e.mu.Lock()
	e.result = &result{data, text}
	e.mu.Unlock()
}

// takeResult returns what was handed over, once.
func (e *Env) takeResult() *result {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.result
	e.result = nil
	return r
}

// Fail is Result for a command that ends with err and has a result all the
// same. With --json data becomes error.details.data; else its text is printed
// before the error.
func (e *Env) Fail(err error, data any, text func(w *render.Writer)) error {
	e.Result(data, text)
	return err
}

// Stream prints one value at once: a line of JSON, or its text. It is for
// commands that print as things happen, and safe for concurrent use. A command
// returns its error.
func (e *Env) Stream(data any, text func(w *render.Writer)) error {
	b, err := e.encode(&result{data, text})
	if err != nil {
		return err
	}
	e.clearLive()
	e.mu.Lock()
	e.streamed = true
	e.mu.Unlock()
	return e.write(b)
}

// writer returns a Writer for standard output.
func (e *Env) writer() *render.Writer {
	return render.New(render.Options{
		Width:    e.textWidth(),
		Color:    e.colorful(),
		Expanded: e.Expanded,
		Now:      fsx.Now(),
		SafeLine: fsx.SafeLine,
		SafeText: fsx.SafeText,
	})
}

// encode makes the bytes of a result.
func (e *Env) encode(r *result) ([]byte, error) {
	if !e.JSON {
		if r.text == nil {
			return nil, nil
		}
		w := e.writer()
		r.text(w)
		return []byte(w.String()), nil
	}
	data := r.data
	if data == nil {
		data = struct{}{}
	}
	return encodeJSON(success{schema, true, data})
}

// encodeJSON makes one line of JSON without the escapes that only HTML needs.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, errs.New(errs.Internal, "the result cannot be written as JSON: %w", err)
	}
	return escapeControls(b.Bytes()), nil
}

// escapeControls writes the characters that a terminal takes for more than text,
// and that encoding/json leaves as they are, as \u escapes: DEL, C1 and
// bidirectional controls. They stand in strings only, whose value stays.
func escapeControls(data []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(data); {
		if c := data[i]; c < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		if safe := fsx.SafeLine(string(r)); safe != string(r) && r != utf8.RuneError {
			out = fmt.Appendf(append(out, data[done:i]...), "\\u%04x", r)
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return data
	}
	return append(out, data[done:]...)
}

// write writes to standard output and remembers the first failure.
func (e *Env) write(b []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.outErr != nil || len(b) == 0 {
		return e.outErr
	}
	if _, err := e.stdout.Write(b); err != nil {
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
			e.outErr = errClosedPipe
		} else {
			e.outErr = errs.New(errs.Failure, "cannot write to standard output, %w", rootCause(err))
		}
	}
	return e.outErr
}

// rootCause returns the reason in err without operation and path.
func rootCause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// conclude prints the result and the error of the command and returns the exit
// code. Only the first caller prints; another one waits for the end.
func (e *Env) conclude(err error) (code int) {
	if !e.concluded.CompareAndSwap(false, true) {
		select {}
	}
	defer func() {
		if v := recover(); v != nil {
			code = e.finishError(e.panicError(v), nil)
		}
	}()
	e.clearLive()
	if crash := e.crashed(); crash != nil {
		err = crash
	}
	err = e.explain(err)
	if errors.Is(err, errClosedPipe) {
		return 0
	}
	r := e.takeResult()
	if err != nil {
		return e.finishError(err, r)
	}
	if r == nil {
		if !e.JSON || e.streamed {
			return 0
		}
		r = &result{}
	}
	b, err := e.encode(r)
	if err != nil {
		return e.finishError(err, nil)
	}
	switch err := e.write(b); {
	case err == nil, errors.Is(err, errClosedPipe):
		return 0
	default:
		e.printErr("teams: ", err.Error())
		return errs.Exit(errs.CodeOf(err))
	}
}

// finishError prints an error and, before it, the result that came with it.
func (e *Env) finishError(err error, r *result) int {
	code := errs.CodeOf(err)
	body := failureBody{Code: code, Message: err.Error()}
	var known *errs.Error
	if errors.As(err, &known) {
		body.Hint = e.hint(known.Hint)
		body.Details = e.hintDetails(known.Details)
	}
	if !e.JSON {
		if r != nil {
			if b, encErr := e.encode(r); encErr == nil {
				e.write(b)
			}
		}
		e.printErr("teams: ", body.Message)
		if body.Hint != "" {
			e.printErr("hint: ", body.Hint)
		}
		return errs.Exit(code)
	}
	if r != nil && r.data != nil {
		if body.Details == nil {
			body.Details = make(map[string]any, 1)
		}
		body.Details["data"] = r.data
	}
	b, encErr := encodeJSON(failure{Schema: schema, Error: body})
	if encErr != nil {
		body.Details = nil
		b, _ = encodeJSON(failure{Schema: schema, Error: body})
	}
	if err := e.write(b); err != nil && !errors.Is(err, errClosedPipe) {
		e.printErr("teams: ", body.Message)
		if err.Error() != body.Message {
			e.printErr("teams: ", err.Error())
		}
	}
	return errs.Exit(code)
}
