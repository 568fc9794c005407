package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed6990a682/teams/internal/errs"
)

// maxText is the largest text that stdin or a file may hold.
const maxText = 10 << 20

// Text resolves a TEXT argument: "-" is standard input, @FILE the content of a
// file, "@@x" the text "@x"; an argument with white space is always the text
// itself. Nothing is trimmed. Text that is not UTF-8 is refused.
func (e *Env) Text(arg string) (string, error) {
	b, err := e.Bytes(arg)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", errs.New(errs.Usage, "%s cannot be used, it is not UTF-8 text", textSource(arg))
	}
	return string(b), nil
}

// Bytes is Text for content that may be any bytes.
func (e *Env) Bytes(arg string) ([]byte, error) {
	switch {
	case arg == "-":
		return e.readStdin()
	case !strings.HasPrefix(arg, "@") || strings.ContainsFunc(arg, unicode.IsSpace):
		return []byte(arg), nil
	case strings.HasPrefix(arg, "@@"):
		return []byte(arg[1:]), nil
	case arg == "@":
		return nil, errs.New(errs.Usage, "@ names no file, a file name must follow").
			WithHint("write @@ for the text @")
	}
	return e.readFile(arg[1:])
}

func textSource(arg string) string {
	if arg == "-" {
		return "standard input"
	}
	if strings.HasPrefix(arg, "@") {
		return arg
	}
	return "the text"
}

func (e *Env) readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, textFileError(path, err)
	}
	defer f.Close()
	b, err := e.readAll(f)
	switch {
	case errors.Is(err, errTooLong):
		return nil, errs.New(errs.Usage, "%s is too long, more than 10 MiB", path)
	case err != nil:
		return nil, textFileError(path, err)
	}
	return b, nil
}

func textFileError(path string, err error) error {
	if known := (*errs.Error)(nil); errors.As(err, &known) {
		return err
	}
	code := errs.Failure
	if errors.Is(err, fs.ErrNotExist) {
		code = errs.NotFound
	}
	return errs.New(code, "cannot read %s, %w", path, rootCause(err)).
		WithHint("@@%s means the text @%s", path, path)
}

func (e *Env) readStdin() ([]byte, error) {
	if e.stdinRead {
		return nil, errs.New(errs.Usage, "standard input cannot be read twice, - stands in two places")
	}
	e.stdinRead = true
	b, err := e.readAll(e.stdin)
	switch {
	case errors.Is(err, errTooLong):
		return nil, errs.New(errs.Usage, "standard input is too long, more than 10 MiB")
	case err != nil && errs.CodeOf(err) == errs.Failure:
		return nil, errs.New(errs.Failure, "cannot read standard input, %w", rootCause(err))
	}
	return b, err
}

var errTooLong = errors.New("too long")

// readAll reads at most maxText bytes, and stops waiting for them when the
// command is interrupted.
func (e *Env) readAll(r io.Reader) ([]byte, error) {
	type content struct {
		b   []byte
		err error
	}
	done := make(chan content, 1)
	e.Go(func() {
		b, err := io.ReadAll(io.LimitReader(r, maxText+1))
		done <- content{b, err}
	})
	select {
	case c := <-done:
		if c.err == nil && len(c.b) > maxText {
			return nil, errTooLong
		}
		return c.b, c.err
	case <-e.ctx.Done():
		return nil, context.Cause(e.ctx)
	}
}
