package term

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// MaxChars is how many characters one read returns at most.
const MaxChars = 8000

// ResetMarker stands before output that does not follow what was read last.
const ResetMarker = "[buffer reset: earlier output is gone]"

// maxLine is how long a typed line may be in bytes: a terminal keeps no more of
// it until Enter.
const maxLine = 4095

// foreground says whether the shell itself is in the foreground, else the name of
// what is; known is false where that cannot be told.
func (t *Terminal) foreground() (shell bool, name string, known bool) {
	if elsewhere(t.shell) {
		return false, "", false // its number is another process's here
	}
	group, name, ok := foregroundOf(t.shell.PID)
	return ok && group == t.shell.PID, name, ok
}

// Send types text and Enter. Line breaks within it are Enter too; other control
// characters are of code usage, as is a line that no terminal would keep.
func (s *Terms) Send(ctx context.Context, id, text string) error {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if !utf8.ValidString(text) {
		return errs.New(errs.Usage, "the text is not UTF-8")
	}
	for _, r := range text {
		if r != '\n' && (r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0) {
			return errs.New(errs.Usage, "the text has the control character %U, only plain text is typed", r).
				WithHint("teams term signal %s ctrl+c presses a key", id)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > maxLine {
			return errs.New(errs.Usage, "a line of %d bytes is too long for a terminal, which keeps %d; put it into a file", len(line), maxLine)
		}
	}
	return s.typeIn(ctx, id, []byte(strings.ReplaceAll(text, "\n", "\r")+"\r"))
}

// Signals lists the keys that [Terms.Signal] presses.
func Signals() []string { return []string{"ctrl+c", "ctrl+d", "ctrl+z", "esc", "enter"} }

// Signal presses a key, one of [Signals].
func (s *Terms) Signal(ctx context.Context, id, key string) error {
	var b byte
	switch strings.ToLower(key) {
	case "ctrl+c":
		b = 0x03
	case "ctrl+d":
		b = 0x04
	case "ctrl+z":
		b = 0x1a
	case "esc":
		b = 0x1b
	case "enter":
		b = '\r'
	default:
		return errs.New(errs.Usage, "%q is no key that can be pressed, there are %s", key, strings.Join(Signals(), ", "))
	}
	return s.typeIn(ctx, id, []byte{b})
}

// typeIn gives bytes to the holder, which is to be of this host: a fifo does not
// reach another one. Those of one call stay together.
func (s *Terms) typeIn(ctx context.Context, id string, b []byte) error {
	t, err := s.open(id)
	if err == nil {
		err = t.reach("use")
	}
	if err != nil {
		return err
	}
	lock, err := fsx.Acquire(ctx, t.path("in.lock"), 10*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	in, err := os.OpenFile(t.path("in"), os.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENXIO) || errors.Is(err, fs.ErrNotExist) {
		return errs.New(errs.Stopped, "the terminal %s is closed", t.ID).WithHint("teams term open")
	}
	if err != nil {
		return err
	}
	defer in.Close()
	_ = in.SetWriteDeadline(time.Now().Add(5 * time.Second))
	switch _, err := in.Write(b); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errs.New(errs.Busy, "the terminal %s takes no input, its program reads none", t.ID).WithHint("teams term signal %s ctrl+c", t.ID)
	case errors.Is(err, syscall.EPIPE):
		return errs.New(errs.Stopped, "the terminal %s is closed", t.ID).WithHint("teams term open")
	default:
		return err
	}
}

// Modes of what was read.
const (
	ModeNew   = "new"   // what follows the last read
	ModeFirst = "first" // the present buffer, for a reader's first read
	ModeReset = "reset" // the present tail: what follows the last read is gone
	ModeNone  = "none"  // nothing new
)

// Output is what was read.
type Output struct {
	Text      string
	Mode      string
	Truncated bool // there is more
}

// isFullScreen reports whether a program of that name draws on the whole screen,
// whether or not it uses the alternate one.
func isFullScreen(name string) bool {
	switch name {
	case "vi", "vim", "vim.basic", "vim.tiny", "nvim", "view", "vimdiff", "nano", "emacs", "less", "man", "top", "htop", "btop", "mc", "tmux", "screen":
		return true
	}
	return false
}

// Read returns what a reader has not read yet, at most most characters (0 or too
// many: [MaxChars]), and calls deliver with it before it counts as read: when
// deliver fails, it does not. Two reads of one reader at a time follow each other.
// While a full-screen program runs the error is of code conflict and says what to
// do. Of a closed terminal the rest can be read.
func (s *Terms) Read(ctx context.Context, id, reader string, most int, deliver func(*Terminal, Output) error) error {
	if most <= 0 || most > MaxChars {
		most = MaxChars
	}
	t, err := s.Get(id)
	if err != nil {
		return err
	}
	lock, err := fsx.Acquire(ctx, t.path("cursor."+reader+".lock"), 10*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	if t.State == StateOpen {
		if err := t.checkScreen(); err != nil {
			return err
		}
	}
	path := filepath.Join(t.dir, "cursor."+reader+".json")
	var p place
	if err := readJSON(path, &p); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, next, err := t.readFrom(p, most)
	if err != nil {
		return err
	}
	if err := deliver(t, out); err != nil {
		return err
	}
	if next == p {
		return nil
	}
	data, err := writeJSON(next)
	if err != nil {
		return err
	}
	return fsx.Replace(path, data)
}

func (t *Terminal) checkScreen() error {
	shell, name, known := t.foreground()
	if shell {
		return nil
	}
	full := known && isFullScreen(name)
	if !full {
		e, err := end(t.dir)
		if err != nil {
			return err
		}
		full = e.Screen.Alt
	}
	if !full {
		return nil
	}
	if name == "" {
		name = "a program"
	}
	return errs.New(errs.Conflict, "%s draws on the whole screen of %s, what it shows cannot be read as text", name, t.ID).
		WithHint("teams term send %s TEXT types into it (q or :q! often ends it), teams term signal %s ctrl+c interrupts it; "+
			"use a command that prints instead, such as cat, sed -n or git --no-pager", t.ID, t.ID)
}

// recent is how much raw output a first read, or one after a reset, looks at.
const recent = 64 << 10

// readFrom reads from a place on.
func (t *Terminal) readFrom(p place, most int) (Output, place, error) {
	if !p.Seen {
		return t.readTail(most, ModeFirst)
	}
	out := Output{Mode: ModeNew}
	for {
		raw, err := readAt(t.dir, p.At, recent)
		if errors.Is(err, errScrolled) && out.Text == "" {
			return t.readTail(most, ModeReset)
		}
		if err != nil && !errors.Is(err, errScrolled) {
			return out, p, err
		}
		text, used := clean(raw, &p.Screen, most-utf8.RuneCountInString(out.Text))
		if used == 0 && len(raw) > 0 && t.State == StateClosed {
			used = len(raw) // what is not complete will never be
		}
		p.At += int64(used)
		out.Text += string(text)
		full := utf8.RuneCountInString(out.Text) >= most
		if used == 0 || full {
			out.Truncated = full && len(raw) > used
			break
		}
	}
	if out.Text == "" {
		out.Mode = ModeNone
	}
	return out, p, nil
}

// readTail reads the last characters there are, the marker of a reset among
// those that may be. With no room beside the marker what follows it is left to
// the next reads.
func (t *Terminal) readTail(most int, mode string) (Output, place, error) {
	head := ""
	if mode == ModeReset {
		head = ResetMarker + "\n"
		most -= len(head)
	}
	for try := 0; ; try++ {
		list, err := stretches(t.dir)
		if err != nil || len(list) == 0 {
			return Output{Mode: ModeNone}, place{Seen: true}, err
		}
		// From the last stretch that begins well before the end.
		e, err := end(t.dir)
		if err != nil {
			return Output{}, place{}, err
		}
		i := len(list) - 1
		for i > 0 && e.At-list[i].start < recent {
			i--
		}
		p := place{At: list[i].start, Screen: screen{Alt: list[i].alt}, Seen: true}
		if most <= 0 {
			return Output{Text: head[:len(head)+most], Mode: mode, Truncated: true}, p, nil
		}
		raw, err := readAt(t.dir, p.At, stretchSize*3)
		if errors.Is(err, errScrolled) && try < 10 {
			continue
		}
		if err != nil {
			return Output{}, place{}, err
		}
		text, used := clean(raw, &p.Screen, 1<<30)
		p.At += int64(used)
		cut := false
		for utf8.RuneCount(text) > most {
			text = text[len(string([]rune(string(text))[:utf8.RuneCount(text)-most])):]
			cut = true
		}
		if cut || list[i].start > 0 { // not in the middle of a line
			if at := strings.IndexByte(string(text), '\n'); at >= 0 && at < len(text)-1 {
				text = text[at+1:]
			}
		}
		out := Output{Text: head + string(text), Mode: mode, Truncated: cut}
		if out.Text == "" {
			out.Mode = ModeNone
		}
		return out, p, nil
	}
}
