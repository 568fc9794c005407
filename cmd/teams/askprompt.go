package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/team"
)

// mayPrompt says whether a person can be asked at this terminal: it is one, on
// both sides, the program is in its foreground, and no model of Pi sits at it.
func (e *Env) mayPrompt() bool {
	return !e.stdinRead && e.Getenv(team.EnvPiAgent) == "" && isTerminal(e.stdin) && isTerminal(e.stderr) && inForeground(e.stdin)
}

// inForeground says whether reading from the terminal v would not stop us.
func inForeground(v any) bool {
	f, ok := v.(*os.File)
	if !ok {
		return false
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	group := 0
	conn.Control(func(fd uintptr) { group, err = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) })
	return err == nil && group == unix.Getpgrp()
}

// prompt asks at the terminal, again until the answer is one. An empty line,
// Escape or the end of the input declines.
func (e *Env) prompt(ctx context.Context, who team.Identity, a team.Ask) (team.Question, error) {
	q := team.Question{Ask: a, State: team.AskOpen}
	q.From, q.SpawnID, q.CreatedAt = who.Name, who.SpawnID, fsx.Now().UnixMilli()
	lines := e.terminalLines(ctx)
	e.say(fsx.SafeText(strings.TrimRight(a.Question, "\n")) + "\n")
	for _, o := range a.Numbered() {
		e.say("  " + fsx.SafeLine(o) + "\n")
	}
	if a.AllowOther {
		e.say("  " + strconv.Itoa(len(a.Options)+1) + ") Other…\n")
	}
	label := "Answer"
	switch {
	case a.Multi:
		label = "Numbers, with commas between them"
	case len(a.Options) > 0:
		label = "Number"
	}
	label += " (empty: decline): "
	for {
		line, err := e.typed(ctx, lines, label)
		if err != nil {
			return q, err
		}
		args, wantsOther := cutOther(&a, line)
		other := ""
		if wantsOther {
			if other, err = e.typed(ctx, lines, "Other (empty: decline): "); err != nil {
				return q, err
			}
		}
		answer := team.AskAnswer{Outcome: team.AskDeclined}
		if isBlank(line) || wantsOther && isBlank(other) {
			err = errs.New(errs.Declined, "the question was declined")
		} else if answer, err = a.ChooseWith(args, other); err != nil {
			e.say(fsx.SafeLine(err.Error()) + "\n")
			continue
		}
		answer.At = fsx.Now().UnixMilli()
		q.Answer, q.State = &answer, answer.Outcome
		return q, err
	}
}

// isBlank says whether a typed line is no answer: empty, or Escape.
func isBlank(line string) bool { return strings.Trim(line, " \t\r\n\x1b") == "" }

// typed asks for one line.
func (e *Env) typed(ctx context.Context, lines <-chan string, label string) (string, error) {
	e.say(label)
	line, err := e.nextLine(ctx, lines)
	if err != nil {
		e.say("\n")
	}
	return line, err
}

// cutOther takes the number that stands for another text out of a typed line.
func cutOther(a *team.Ask, line string) (args []string, other bool) {
	if !a.AllowOther {
		return []string{line}, false
	}
	number := strconv.Itoa(len(a.Options) + 1)
	if strings.TrimSpace(line) == number {
		return nil, true
	}
	if !a.Multi {
		return []string{line}, false
	}
	var rest []string
	for _, part := range strings.Split(line, ",") {
		if strings.TrimSpace(part) == number {
			other = true
		} else {
			rest = append(rest, part)
		}
	}
	return []string{strings.Join(rest, ",")}, other
}

// say writes to the terminal, without a line break of its own.
func (e *Env) say(s string) { io.WriteString(e.stderr, s) }

// terminalLines reads the lines that are typed. The channel is closed at the end
// of the input.
func (e *Env) terminalLines(ctx context.Context) <-chan string {
	lines := make(chan string)
	e.stdinRead = true
	e.Go(func() {
		defer close(lines)
		r := bufio.NewReader(e.stdin)
		for {
			line, err := r.ReadString('\n')
			if line == "" && err != nil {
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	})
	return lines
}

// nextLine waits for a typed line; the end of the input is an empty one.
func (e *Env) nextLine(ctx context.Context, lines <-chan string) (string, error) {
	select {
	case line := <-lines:
		return line, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", errs.New(errs.TimedOut, "nobody has answered in time")
		}
		return "", context.Cause(ctx)
	}
}
