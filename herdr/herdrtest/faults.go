package herdrtest

import (
	"bytes"
	"encoding/json"
	"time"
)

// Fault answers one request in the place of the server.
type Fault func(c *Call)

type fault struct {
	method string
	left   int
	do     Fault
}

// Fault misbehaves for the next times requests of a method, for all of them when
// times is negative; method "" is any.
func (s *Server) Fault(method string, times int, f Fault) {
	s.mu.Lock()
	s.faults = append(s.faults, &fault{method, times, f})
	s.mu.Unlock()
}

// Behave ends all faults.
func (s *Server) Behave() {
	s.mu.Lock()
	s.faults = nil
	s.mu.Unlock()
}

func (s *Server) takeFault(method string) Fault {
	for _, f := range s.faults {
		if f.left != 0 && (f.method == "" || f.method == method) {
			f.left--
			return f.do
		}
	}
	return nil
}

// Silent accepts and never answers.
func Silent(c *Call) { c.Hold() }

// Drop closes the connection without an answer.
func Drop(*Call) {}

// Deaf does what was asked and never answers.
func Deaf(c *Call) {
	c.answer()
	c.Hold()
}

// Late answers after d.
func Late(d time.Duration) Fault {
	return func(c *Call) {
		time.Sleep(d)
		c.Handle()
	}
}

// Half sends half of the right answer and closes.
func Half(c *Call) {
	b, _ := json.Marshal(c.answer())
	c.Write(b[:len(b)/2])
}

// HalfOpen sends half of the right answer and keeps the connection.
func HalfOpen(c *Call) {
	b, _ := json.Marshal(c.answer())
	c.Write(b[:len(b)/2])
	c.Hold()
}

// NoNewline sends the right answer without its end and closes.
func NoNewline(c *Call) {
	b, _ := json.Marshal(c.answer())
	c.Write(b)
}

// Garbage sends n bytes that are no JSON, and a line break.
func Garbage(n int) Fault {
	return func(c *Call) { c.Write(append(bytes.Repeat([]byte{'x'}, n), '\n')) }
}

// Endless sends what never ends.
func Endless(c *Call) {
	for block := bytes.Repeat([]byte{'y'}, 1<<16); ; {
		if _, err := c.c.Write(block); err != nil {
			return
		}
	}
}

// WrongID answers another request.
func WrongID(c *Call) {
	a := c.answer()
	a["id"] = "another"
	write(c.c, a)
}

// Refuse answers with an error.
func Refuse(code, message string) Fault {
	return func(c *Call) { write(c.c, wireError(c.ID, code, message)) }
}

// Ignore answers ok and does nothing.
func Ignore(c *Call) { write(c.c, object{"id": c.ID, "result": object{"type": "ok"}}) }

// Answer answers with a result of its own.
func Answer(result map[string]any) Fault {
	return func(c *Call) { write(c.c, object{"id": c.ID, "result": result}) }
}

// Restart answers nothing: the server stops, and is there again before anything
// else is asked.
func Restart(c *Call) {
	s := c.s
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		s.Stop()
		s.Start()
	}()
	c.Hold()
}
