package herdr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// The deadlines of a call.
const (
	firstDeadline = 500 * time.Millisecond  // of a report or a question
	retryDeadline = 1500 * time.Millisecond // of its only repetition
	actDeadline   = 10 * time.Second        // of what must not be done twice
)

const (
	maxRequest = 1 << 20 // what herdr reads of a request line
	maxReply   = 8 << 20
)

// Client speaks to one herdr server. Its zero value is not usable; fill Path. It
// holds no connection, so a server that was restarted between two calls is no
// matter. It is safe for concurrent use.
type Client struct {
	// Path is the socket.
	Path string
	// Deadlines of the first attempt, of its repetition, and of a call that acts
	// and is made once; 0: 500 ms, 1.5 s and 10 s.
	First, Retry, Act time.Duration

	protocol atomic.Int64 // of the last ping, 0 before
}

// New returns a client of the socket at path. Nothing is connected.
func New(path string) *Client { return &Client{Path: path} }

// Open finds the socket as [Locate] does and returns its client.
func Open(flag string, getenv func(string) string) (*Client, error) {
	path, err := Locate(flag, getenv)
	if err != nil {
		return nil, err
	}
	return New(path), nil
}

func or(d, unset time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return unset
}

// request is one line to the server.
type request struct {
	ID     string `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params"`
}

// reply is one line of the server.
type reply struct {
	ID     *string         `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// requests numbers the requests of this process.
var requests atomic.Int64

func nextID() string {
	return "teams-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(requests.Add(1), 10)
}

// ask makes a call that may be repeated: once, with the longer deadline, when
// the first attempt got no answer. An answer, also an error, is never repeated.
func (c *Client) ask(ctx context.Context, method string, params, result any) error {
	err := c.once(ctx, or(c.First, firstDeadline), method, params, result)
	if err == nil || !IsUnavailable(err) || ctx.Err() != nil || !worthRetry(err) {
		return err
	}
	// It may be starting again, and its socket not be there for a moment.
	for end := time.Now().Add(300 * time.Millisecond); ; {
		err = c.once(ctx, or(c.Retry, retryDeadline), method, params, result)
		if err == nil || !IsUnavailable(err) || worthRetry(err) || time.Now().After(end) || pause(ctx, 20*time.Millisecond) != nil {
			return err
		}
	}
}

// worthRetry reports whether an attempt that got no answer may get one in a
// moment. Where there is no socket, or nobody listens, there is none.
func worthRetry(err error) bool {
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ENAMETOOLONG) &&
		!errors.Is(err, fs.ErrPermission)
}

// act makes a call that must not be made twice.
func (c *Client) act(ctx context.Context, method string, params, result any) error {
	return c.once(ctx, or(c.Act, actDeadline), method, params, result)
}

// once makes one attempt within d. The error is an *[Error] when herdr answered
// with one, of code herdr_unavailable when there was no usable answer, and that
// of ctx when it ended first.
func (c *Client) once(ctx context.Context, d time.Duration, method string, params, result any) error {
	s, err := c.send(ctx, d, method, params)
	if err != nil {
		return err
	}
	defer s.Close()
	raw, err := s.result()
	if err != nil || result == nil {
		return err
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return unavailable(c.Path, badReply{"its answer to " + method + " has another shape: " + err.Error()})
	}
	return nil
}

// stream is one connection with its request sent.
type stream struct {
	c      *Client
	ctx    context.Context
	f      *os.File
	stop   func() bool
	method string
	id     string
	buf    []byte // read and not yet returned
}

// send connects and sends one request; everything on the connection ends after
// d, or with ctx.
func (c *Client) send(ctx context.Context, d time.Duration, method string, params any) (*stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if params == nil {
		params = struct{}{}
	}
	s := &stream{c: c, ctx: ctx, method: method, id: nextID()}
	line, err := json.Marshal(request{s.id, method, params})
	if err != nil {
		return nil, errs.New(errs.Internal, "herdr: the request %s cannot be written, %w", method, err)
	}
	if len(line) >= maxRequest {
		return nil, errs.New(errs.Usage, "the text is too long, herdr takes at most 1 MiB")
	}
	deadline := time.Now().Add(d)
	if s.f, err = dial(ctx, c.Path, deadline); err != nil {
		return nil, s.failed(err)
	}
	_ = s.f.SetDeadline(deadline)
	f := s.f
	s.stop = context.AfterFunc(ctx, func() { _ = f.SetDeadline(time.Unix(1, 0)) })
	// The write side stays open: herdr ends a waiting connection that is half
	// closed, and one on which anything more is sent.
	_, err = s.f.Write(append(line, '\n'))
	// One that has closed may have answered before, which reading tells.
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		s.Close()
		return nil, s.failed(err)
	}
	return s, nil
}

// Close ends the connection.
func (s *stream) Close() {
	if s.stop != nil {
		s.stop()
	}
	s.f.Close()
}

// extend sets another deadline, unless the context has ended.
func (s *stream) extend(t time.Time) {
	_ = s.f.SetDeadline(t)
	if s.ctx.Err() != nil {
		_ = s.f.SetDeadline(time.Unix(1, 0))
	}
}

// line returns the next line without its end.
func (s *stream) line() ([]byte, error) {
	for scanned := 0; ; {
		if i := bytes.IndexByte(s.buf[scanned:], '\n'); i >= 0 {
			line := s.buf[:scanned+i]
			s.buf = s.buf[scanned+i+1:]
			return line, nil
		}
		if scanned = len(s.buf); scanned > maxReply {
			return nil, badReply{"its answer does not end"}
		}
		s.buf = append(s.buf, make([]byte, 4096)...)
		n, err := s.f.Read(s.buf[scanned:])
		s.buf = s.buf[:scanned+max(n, 0)]
		if err != nil {
			if errors.Is(err, io.EOF) && len(s.buf) > 0 {
				return nil, badReply{"it closed in the middle of an answer"}
			}
			return nil, err
		}
	}
}

// result reads the one answer to the request.
func (s *stream) result() (json.RawMessage, error) {
	r, err := s.next()
	if err != nil {
		return nil, err
	}
	if r.Error != nil {
		return nil, &Error{Code: r.Error.Code, Message: r.Error.Message, Method: s.method}
	}
	if r.ID == nil || *r.ID != s.id || len(r.Result) == 0 {
		return nil, s.failed(badReply{"it sent something else than the answer to " + s.method})
	}
	return r.Result, nil
}

// next reads one line of JSON: an answer, or an event of a subscription.
func (s *stream) next() (*reply, error) {
	line, err := s.line()
	if err != nil {
		return nil, s.failed(err)
	}
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, s.failed(badReply{"it sent something that is no answer"})
	}
	// What could not be read as a request is answered without an id.
	if r.Error != nil && r.ID != nil && *r.ID != "" && *r.ID != s.id {
		return nil, s.failed(badReply{"it answered another request"})
	}
	return &r, nil
}

// failed makes the error of a connection that gave no answer.
func (s *stream) failed(err error) error {
	if ctxErr := s.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	return unavailable(s.c.Path, err)
}

// badReply says what is wrong with an answer.
type badReply struct{ text string }

func (e badReply) Error() string { return e.text }

// reason puts the cause of a failure into words.
func reason(err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return badReply{"it does not answer in time"}
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return badReply{"it closed the connection without an answer"}
	case errors.Is(err, fs.ErrNotExist):
		return badReply{"there is no socket"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return badReply{"nobody listens at its socket"}
	case errors.As(err, &errno):
		return errno
	}
	return err
}
