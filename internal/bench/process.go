package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// sample is what one process cost.
type sample struct {
	wall time.Duration // from before the fork to after the wait
	cpu  time.Duration // user and system time of the process, from wait4(2)
}

// command is one command line of a row.
type command struct {
	argv []string // argv[0] is a path
	env  []string
	dir  string
	// stdin is the path of a file, "" for none.
	stdin string
	// exit is the exit code that is expected.
	exit int
	// detached: the process leaves another one behind that keeps its output
	// open, so the output is thrown away.
	detached bool
}

// longest is how long a process may take before it is taken to hang.
const longest = time.Minute

// run runs the command and returns what it cost and printed. Another exit code
// than the expected one is an error that shows what it printed.
func (c command) run() (sample, []byte, error) {
	var s sample
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return s, nil, err
	}
	defer null.Close()
	stdin, stdout, stderr := null, null, null
	if c.stdin != "" {
		if stdin, err = os.Open(c.stdin); err != nil {
			return s, nil, err
		}
		defer stdin.Close()
	}
	out, errOut := new(bytes.Buffer), new(bytes.Buffer)
	var readers []chan struct{}
	if !c.detached {
		for _, p := range []struct {
			file **os.File
			to   *bytes.Buffer
		}{{&stdout, out}, {&stderr, errOut}} {
			r, w, err := os.Pipe()
			if err != nil {
				return s, nil, err
			}
			defer r.Close()
			defer w.Close()
			*p.file = w
			done := make(chan struct{})
			readers = append(readers, done)
			go func() {
				defer close(done)
				io.Copy(p.to, r)
			}()
		}
	}
	start := time.Now()
	p, err := os.StartProcess(c.argv[0], c.argv, &os.ProcAttr{Dir: c.dir, Env: c.env, Files: []*os.File{stdin, stdout, stderr}})
	if err != nil {
		return s, nil, err
	}
	hung := time.AfterFunc(longest, func() { p.Kill() })
	state, err := p.Wait()
	s.wall = time.Since(start)
	hung.Stop()
	if err != nil {
		return s, nil, err
	}
	if !c.detached {
		stdout.Close()
		stderr.Close()
	}
	for _, done := range readers {
		<-done
	}
	if ru, ok := state.SysUsage().(*syscall.Rusage); ok {
		s.cpu = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	}
	if code := state.ExitCode(); code != c.exit {
		return s, nil, &exitError{code, fmt.Sprintf("%s: %s, not exit code %d: %s%s",
			strings.Join(c.argv, " "), state, c.exit, out, errOut)}
	}
	return s, out.Bytes(), nil
}

// exitError is an exit code that was not expected.
type exitError struct {
	code int
	msg  string
}

func (e *exitError) Error() string { return strings.TrimSpace(e.msg) }
