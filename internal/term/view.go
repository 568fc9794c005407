package term

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// view is the terminal that the holder itself runs on, if there is one.
type view struct {
	tty   bool
	saved *unix.Termios
}

func newView() *view {
	saved, err := unix.IoctlGetTermios(int(os.Stdin.Fd()), getTermios)
	return &view{tty: err == nil, saved: saved}
}

// size is that of the terminal, or one with room for long lines.
func (v *view) size() *pty.Winsize {
	if v.tty {
		if size, err := pty.GetsizeFull(os.Stdin); err == nil && size.Cols > 0 {
			return size
		}
	}
	return &pty.Winsize{Rows: 50, Cols: 200}
}

// attach lets a person type, and follows the size.
func (v *view) attach(master *os.File) {
	if !v.tty {
		return
	}
	raw := *v.saved
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	_ = unix.IoctlSetTermios(int(os.Stdin.Fd()), setTermios, &raw)
	go func() { _, _ = io.Copy(master, os.Stdin) }()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	go func() {
		for range resized {
			_ = pty.InheritSize(os.Stdin, master)
		}
	}()
}

// Write shows output. That nobody can see it is no matter.
func (v *view) Write(b []byte) (int, error) {
	if v.tty {
		_, _ = os.Stdout.Write(b)
	}
	return len(b), nil
}

func (v *view) restore() {
	if v.tty {
		_ = unix.IoctlSetTermios(int(os.Stdin.Fd()), setTermios, v.saved)
	}
}
