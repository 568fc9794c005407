package console

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What the terminal is asked for while the console is on it: a screen of its
// own, no cursor, no line wrapping, marked pastes, and the buttons of the mouse.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[?1000h\x1b[?1006h\x1b[0m\x1b[2J"
	leave = "\x1b[0m\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// escapeWait is how long an escape character may stand alone before it is a key.
const escapeWait = 40 * time.Millisecond

// terminal is the screen and the keyboard.
type terminal struct {
	in, out  *os.File
	before   *unix.Termios
	shown    []string // what stands on the screen, nil when that is not known
	cursorOn bool
	wakeR    *os.File // ends the reading
	wakeW    *os.File
}

// openTerminal takes the terminal over. Close gives it back.
func openTerminal(in, out *os.File) (*terminal, error) {
	t := &terminal{in: in, out: out}
	var err error
	if t.wakeR, t.wakeW, err = os.Pipe(); err != nil {
		return nil, err
	}
	if err := t.take(); err != nil {
		t.wakeR.Close()
		t.wakeW.Close()
		return nil, err
	}
	return t, nil
}

// take switches the terminal over.
func (t *terminal) take() error {
	before, err := unix.IoctlGetTermios(int(t.in.Fd()), getTermios)
	if err != nil {
		return os.NewSyscallError("terminal", err)
	}
	raw := *before
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag &^= unix.CSIZE | unix.PARENB
	raw.Cflag |= unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(int(t.in.Fd()), setTermios, &raw); err != nil {
		return os.NewSyscallError("terminal", err)
	}
	t.before, t.shown, t.cursorOn = before, nil, false
	_, err = io.WriteString(t.out, enter)
	return err
}

// giveBack makes the terminal what it was before. It may be called twice.
func (t *terminal) giveBack() {
	if t.before == nil {
		return
	}
	_, _ = io.WriteString(t.out, leave)
	_ = unix.IoctlSetTermios(int(t.in.Fd()), setTermios, t.before)
	t.before = nil
}

// Close gives the terminal back and ends the reading.
func (t *terminal) Close() {
	t.giveBack()
	t.wakeW.Close()
}

// size returns the size of the screen.
func (t *terminal) size() sizeMsg {
	size, err := unix.IoctlGetWinsize(int(t.out.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return sizeMsg{80, 24}
	}
	return sizeMsg{int(size.Col), int(size.Row)}
}

// draw makes the screen look like lines. Only lines that are not there already
// are written, all with one write. column is that of the cursor, -1 for none.
func (t *terminal) draw(lines []string, column, row int) error {
	var b strings.Builder
	if len(t.shown) != len(lines) {
		b.WriteString("\x1b[0m\x1b[2J")
		t.shown = nil
	}
	for i, l := range lines {
		if t.shown != nil && t.shown[i] == l {
			continue
		}
		at(&b, i, 0)
		b.WriteString("\x1b[2K")
		b.WriteString(l)
	}
	hide := t.cursorOn && (column < 0 || b.Len() > 0)
	text := b.String()
	if hide {
		text = "\x1b[?25l" + text
		t.cursorOn = false
	}
	if column >= 0 {
		b.Reset()
		at(&b, row, column)
		text += b.String()
		if !t.cursorOn {
			text += "\x1b[?25h"
			t.cursorOn = true
		}
	}
	t.shown = append(t.shown[:0], lines...)
	if text == "" {
		return nil
	}
	_, err := io.WriteString(t.out, text)
	return err
}

// at moves the cursor.
func at(b *strings.Builder, row, column int) {
	b.WriteString("\x1b[" + strconv.Itoa(row+1) + ";" + strconv.Itoa(column+1) + "H")
}

// read sends what is typed until Close, or an error, which is returned: io.EOF
// when the terminal is gone.
func (t *terminal) read(send func(any) bool) error {
	defer t.wakeR.Close()
	var d decoder
	buf := make([]byte, 4096)
	for {
		wait := time.Duration(-1)
		if d.waiting() {
			wait = escapeWait
		}
		typed, woken, err := t.wait(wait)
		switch {
		case err != nil:
			return err
		case woken:
			return nil
		case !typed:
			if !sendAll(send, d.flush()) {
				return nil
			}
			continue
		}
		n, err := t.in.Read(buf)
		if !sendAll(send, d.feed(buf[:n])) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.EOF
		}
	}
}

func sendAll(send func(any) bool, list []any) bool {
	for _, msg := range list {
		if !send(msg) {
			return false
		}
	}
	return true
}

// wait waits until something was typed, or the terminal was closed. A negative
// time waits for ever. select(2), since poll(2) knows no terminals everywhere.
func (t *terminal) wait(limit time.Duration) (typed, woken bool, err error) {
	in, wake := int(t.in.Fd()), int(t.wakeR.Fd())
	for {
		var set unix.FdSet
		set.Set(in)
		set.Set(wake)
		var timeout *unix.Timeval
		if limit >= 0 {
			tv := unix.NsecToTimeval(limit.Nanoseconds())
			timeout = &tv
		}
		_, err := unix.Select(max(in, wake)+1, &set, nil, nil, timeout)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, false, os.NewSyscallError("select", err)
		}
		return set.IsSet(in), set.IsSet(wake), nil
	}
}
