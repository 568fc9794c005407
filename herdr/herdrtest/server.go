// Package herdrtest is a strict fake of the herdr server, for tests: it keeps
// workspaces, tabs, panes and agents, follows the rules of the real one by which
// reports are taken or silently dropped, and misbehaves on demand.
package herdrtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// The protocols of the versions that differ for a client.
const (
	Old    = 16 // 0.7.3: custom_status, no agent.prompt
	Modern = 20 // 0.8.0
	Newest = 22 // 0.9.0: subscriptions do not tell history
)

// Server is a fake herdr. Its fields are set before the first connection; the
// methods are safe for concurrent use.
type Server struct {
	Path     string // of the socket
	Version  string
	Protocol int
	// Notifications says whether they are shown; herdr's default is that they
	// are not.
	Notifications bool
	// LoseEvents: nothing is pushed, and nobody who waits is woken.
	LoseEvents bool
	// Launch is how long a started agent takes to become ready; with FailLaunch
	// it never does.
	Launch     time.Duration
	FailLaunch bool
	// Fresh is how long a new pane's shell takes to start: an agent cannot be
	// started before.
	Fresh time.Duration
	// OnPrompt is called for a prompt that was submitted; nil: the agent works
	// for 50 ms and is idle then.
	OnPrompt func(s *Server, pane, text string)
	// OnInput is called for what is typed into a pane.
	OnInput func(pane string, in Input)
	// OnPane is called for a new pane with its environment and working directory,
	// and returns the process of its shell.
	OnPane func(pane, cwd string, env map[string]string) int

	t    testing.TB
	mu   sync.Mutex
	cond *sync.Cond // signalled on every change
	ln   net.Listener
	wg   sync.WaitGroup
	open map[net.Conn]bool
	down bool // the test is over

	log    []Request
	faults []*fault
	state
}

// Request is a request that was received.
type Request struct {
	ID     string
	Method string
	Params map[string]any
	Raw    []byte
	At     time.Time
}

// Input is what was typed into a pane.
type Input struct {
	Text string
	Keys []string
}

// New starts a server, which ends with the test. set changes its fields before.
func New(t testing.TB, set ...func(*Server)) *Server {
	t.Helper()
	// Short, because the address of a socket is.
	dir, err := os.MkdirTemp("", "hd")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Path: filepath.Join(dir, "s"), Version: "0.8.0", Protocol: Modern, t: t, open: map[net.Conn]bool{}}
	s.cond = sync.NewCond(&s.mu)
	s.state = newState()
	for _, f := range set {
		f(s)
	}
	s.Start()
	t.Cleanup(func() {
		s.mu.Lock()
		s.down = true
		s.mu.Unlock()
		s.Stop()
		s.wg.Wait()
		os.RemoveAll(dir)
	})
	return s
}

// Start listens again after Stop.
func (s *Server) Start() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return
	}
	ln, err := net.Listen("unix", s.Path)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.ln = ln
	s.wg.Add(1)
	go s.accept(ln)
}

// Stop closes the socket and all connections; what the server knows stays.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ln != nil {
		s.ln.Close()
		s.ln = nil
	}
	for c := range s.open {
		c.Close()
	}
	s.cond.Broadcast()
}

func (s *Server) accept(ln net.Listener) {
	defer s.wg.Done()
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.open[c] = true
		s.mu.Unlock()
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			s.serve(c)
			s.mu.Lock()
			delete(s.open, c)
			s.mu.Unlock()
			c.Close()
		}()
	}
}

// serve answers the one request of a connection.
func (s *Server) serve(c net.Conn) {
	c.SetDeadline(time.Now().Add(5 * time.Second))
	r := bufio.NewReader(io.LimitReader(c, 1<<20))
	line, err := r.ReadBytes('\n')
	if err != nil || !utf8.Valid(line) {
		return // dropped without an answer
	}
	req, err := parseRequest(line)
	if err != nil {
		write(c, wireError("", "invalid_request", "invalid request: "+err.Error()))
		return
	}
	s.mu.Lock()
	s.log = append(s.log, req)
	f := s.takeFault(req.Method)
	s.mu.Unlock()
	call := &Call{Request: req, s: s, c: c}
	if f != nil {
		f(call)
		return
	}
	call.Handle()
}

// parseRequest is as strict as herdr: id, method and params have to be there, in
// their types; what else is there does not matter.
func parseRequest(line []byte) (Request, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(line, &m); err != nil {
		return Request{}, err
	}
	req := Request{Raw: bytes.TrimSpace(line), At: time.Now()}
	for _, key := range []string{"id", "method", "params"} {
		if _, ok := m[key]; !ok {
			return req, errors.New("missing field `" + key + "`")
		}
	}
	if json.Unmarshal(m["id"], &req.ID) != nil || m["id"][0] != '"' {
		return req, errors.New("invalid type of id, expected a string")
	}
	if json.Unmarshal(m["method"], &req.Method) != nil {
		return req, errors.New("invalid type of method")
	}
	if json.Unmarshal(m["params"], &req.Params) != nil || req.Params == nil {
		return req, errors.New("invalid type of params")
	}
	return req, nil
}

func write(c net.Conn, v any) {
	b, err := json.Marshal(v)
	if err == nil {
		_, _ = c.Write(append(b, '\n'))
	}
}

type object = map[string]any

func wireError(id, code, message string) object {
	return object{"id": id, "error": object{"code": code, "message": message}}
}

// Call is a request to be answered.
type Call struct {
	Request
	s *Server
	c net.Conn
}

// Handle answers as herdr does.
func (c *Call) Handle() {
	switch c.Method {
	case "agent.wait", "events.subscribe", "pane.wait_for_output":
		c.s.wait(c)
		return
	}
	write(c.c, c.answer())
}

// answer carries the request out.
func (c *Call) answer() object {
	c.s.mu.Lock()
	result, err := c.s.handle(c.Method, c.Params)
	hooks := c.s.hooks
	c.s.hooks = nil
	c.s.cond.Broadcast()
	c.s.mu.Unlock()
	for _, h := range hooks {
		h()
	}
	var e *failure
	switch {
	case errors.As(err, &e) && e.code == "invalid_request":
		return wireError("", e.code, "invalid request: "+e.message)
	case errors.As(err, &e):
		return wireError(c.ID, e.code, e.message)
	}
	return object{"id": c.ID, "result": result}
}

// Write sends bytes as they are.
func (c *Call) Write(b []byte) { _, _ = c.c.Write(b) }

// Hold keeps the connection open until the client or the test ends it.
func (c *Call) Hold() {
	c.c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.Copy(io.Discard, c.c)
}

// Requests returns the requests of a method so far, all with "".
func (s *Server) Requests(method string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == "" {
		return slices.Clone(s.log)
	}
	var out []Request
	for _, r := range s.log {
		if r.Method == method {
			out = append(out, r)
		}
	}
	return out
}

// Forget empties the list of requests.
func (s *Server) Forget() {
	s.mu.Lock()
	s.log = nil
	s.mu.Unlock()
}
