package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const defaultWidth = 80

// terminalWidth returns the cells of a line of the terminal behind v, and
// whether v is one.
func terminalWidth(v any) (width int, ok bool) {
	f, isFile := v.(*os.File)
	if !isFile || f == nil {
		return 0, false
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	// Control, not Fd: Fd would switch a non-blocking file to blocking.
	conn.Control(func(fd uintptr) {
		var size *unix.Winsize
		if size, err = unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			width = int(size.Col)
		}
	})
	if err != nil {
		return 0, false
	}
	if width <= 0 {
		width = defaultWidth
	}
	return width, true
}

func isTerminal(v any) bool {
	_, ok := terminalWidth(v)
	return ok
}

// columns returns COLUMNS, 0 when it is not set or no positive number.
func (e *Env) columns() int {
	n, err := strconv.Atoi(e.Getenv("COLUMNS"))
	if err != nil || n <= 0 {
		return 0
	}
	return n
}

// textWidth returns the width that lines are cut to: COLUMNS or that of the
// terminal, 0 when standard output is no terminal.
func (e *Env) textWidth() int {
	width, ok := terminalWidth(e.stdout)
	if !ok {
		return 0
	}
	if n := e.columns(); n > 0 {
		return n
	}
	return width
}

// helpWidth returns the width that help is wrapped to: it is wrapped in a pipe
// too, and long lines of prose are hard to read on a wide terminal.
func (e *Env) helpWidth() int {
	n := e.columns()
	if n == 0 {
		n, _ = terminalWidth(e.stdout)
	}
	if n == 0 {
		n = defaultWidth
	}
	return min(max(n, 40), 100)
}

// colorful reports whether standard output gets colour.
func (e *Env) colorful() bool {
	return !e.NoColor && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb" && isTerminal(e.stdout)
}
