package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// panicked is a panic of a command, which is raised again where the terminal is
// given back.
type panicked struct{ value any }

// Run shows the console on a terminal until it is left, or ctx ends; then the
// error is the cause of that. in and out are the terminal, which is as it was
// when Run returns, also by a panic.
func Run(ctx context.Context, o Options, in, out *os.File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t, err := openTerminal(in, out)
	if err != nil {
		return err
	}
	defer t.Close()
	l := &loop{ctx: ctx, m: newModel(ctx, o), t: t, msgs: make(chan any, 64)}
	return l.run()
}

// loop is a console at work.
type loop struct {
	ctx  context.Context
	m    *model
	t    *terminal
	msgs chan any
}

// send hands a message to the loop; false: it has ended.
func (l *loop) send(msg any) bool {
	select {
	case l.msgs <- msg:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// start runs commands.
func (l *loop) start(cmds []command) {
	for _, cmd := range cmds {
		if cmd == nil {
			continue
		}
		go func() {
			defer func() {
				if v := recover(); v != nil {
					l.send(panicked{v})
				}
			}()
			if msg := cmd(); msg != nil {
				l.send(msg)
			}
		}()
	}
}

func (l *loop) run() error {
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, syscall.SIGWINCH)
	defer signal.Stop(sizes)
	read := make(chan error, 1)
	go func() { read <- l.t.read(l.send) }()
	l.m.handle(l.t.size())
	l.start(l.m.begin())
	for {
		lines, column, row := l.m.screen()
		if err := l.t.draw(lines, column, row); err != nil {
			return fmt.Errorf("the terminal: %w", err)
		}
		var msg any
		select {
		case msg = <-l.msgs:
		case <-sizes:
			l.t.shown = nil // the terminal may have moved what was there
			msg = l.t.size()
		case err := <-read:
			if err == nil {
				return context.Cause(l.ctx)
			}
			if errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) {
				return nil // there is nobody any more
			}
			return fmt.Errorf("the terminal: %w", err)
		case <-l.ctx.Done():
			return context.Cause(l.ctx)
		}
		// What has come meanwhile is taken too before the screen is drawn again.
		for more := true; more; {
			if done, err := l.take(msg); done {
				return err
			}
			select {
			case msg = <-l.msgs:
			default:
				more = false
			}
		}
	}
}

// take takes one message and says whether the console is left.
func (l *loop) take(msg any) (done bool, err error) {
	switch msg := msg.(type) {
	case quitMsg:
		return true, nil
	case panicked:
		panic(msg.value)
	case stopMsg:
		if err := l.suspend(); err != nil {
			return true, err
		}
		msg2 := l.t.size()
		l.start(l.m.handle(msg2))
		return false, nil
	}
	l.start(l.m.handle(msg))
	return false, nil
}

// suspend gives the terminal to the shell until that lets the console go on.
func (l *loop) suspend() error {
	l.t.giveBack()
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGCONT)
	defer signal.Stop(again)
	// The whole group, as the terminal does: a pipeline or a wrapper stops too.
	if err := unix.Kill(0, unix.SIGTSTP); err != nil {
		return os.NewSyscallError("stop", err)
	}
	select {
	case <-again:
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
	}
	return l.t.take()
}
