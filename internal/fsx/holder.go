package fsx

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed6990a682/teams/internal/errs"
)

// Holder is who took a lock last. It is there for people: whether the lock is
// held is for the kernel to say.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

// String returns "pid 123 on host (teams submit) since <time>".
func (h Holder) String() string {
	s := "pid " + strconv.Itoa(h.PID)
	if h.Host != "" {
		s += " on " + SafeLine(h.Host)
	}
	if h.Command != "" {
		s += " (" + SafeLine(h.Command) + ")"
	}
	if !h.Since.IsZero() {
		s += " since " + h.Since.Local().Format(time.RFC3339)
	}
	return s
}

// ReadHolder returns who took the lock file path last, whether or not it still
// holds it. A file without a holder has code not_found, one with anything else
// in its first line code corrupt; a missing file is fs.ErrNotExist.
func ReadHolder(path string) (Holder, error) {
	var h Holder
	b, err := ReadHead(path, holderSize)
	if err != nil {
		return h, err
	}
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return h, errs.New(errs.NotFound, "names no holder").WithPath(path)
	}
	if err := json.Unmarshal(line, &h); err != nil || h.PID <= 0 {
		return Holder{}, &errs.Error{Code: errs.Corrupt, Path: path, Msg: "names no holder that can be read", Err: err}
	}
	return h, nil
}

var command atomic.Pointer[string]

// SetCommand sets the command that the locks of this process name, such as
// "teams submit". Without it, it is the name of the program and its first
// argument, if that is a word.
func SetCommand(s string) { command.Store(&s) }

func commandName() string {
	if c := command.Load(); c != nil {
		return *c
	}
	if len(os.Args) == 0 {
		return ""
	}
	s := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && CheckHandle(os.Args[1]) == nil {
		s += " " + os.Args[1]
	}
	return s
}

// holderSize is the length of every holder line. Lines of one length replace
// each other in one write, with nothing left to be cut off.
const holderSize = 256

// writeHolder writes the line. That it fails, on a full disk say, makes the
// lock no less held.
func writeHolder(fd int, since time.Time) {
	writeLine(fd, holderLine(os.Getpid(), Host(), commandName(), since))
}

func writeLine(fd int, line []byte) {
	for {
		if _, err := unix.Pwrite(fd, line, 0); err != unix.EINTR {
			return
		}
	}
}

func holderLine(pid int, host, command string, since time.Time) []byte {
	b := make([]byte, 0, holderSize)
	b = append(b, `{"pid":`...)
	b = strconv.AppendInt(b, int64(pid), 10)
	b = append(b, `,"since":"`...)
	b = since.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","host":`...)
	b = appendQuoted(b, host, 80)
	b = append(b, `,"command":`...)
	b = appendQuoted(b, command, holderSize-len(b)-len(`""}`)-1)
	b = append(b, '}')
	for len(b) < holderSize-1 {
		b = append(b, ' ')
	}
	return append(b, '\n')
}

// appendQuoted appends s as a JSON string, made safe and cut to at most most
// bytes.
func appendQuoted(b []byte, s string, most int) []byte {
	b = append(b, '"')
	for _, r := range SafeLine(s) {
		var c [8]byte
		e := c[:0]
		if r == '"' || r == '\\' {
			e = append(e, '\\')
		}
		e = append(e, string(r)...)
		if most -= len(e); most < 0 {
			break
		}
		b = append(b, e...)
	}
	return append(b, '"')
}

// lockedOut is the error of whoever gave up waiting.
func lockedOut(ctx context.Context, path string) error {
	e := &errs.Error{Code: errs.Busy, Path: path, Msg: "held by another process"}
	if h, err := ReadHolder(path); err == nil {
		e.Msg = "held by " + h.String()
		e.WithDetail("holder", h)
	}
	switch err := ctx.Err(); err {
	case nil:
	case context.DeadlineExceeded:
		e.Code, e.Err = errs.TimedOut, err
	default:
		e.Code, e.Err = errs.Interrupted, err
	}
	return e
}
