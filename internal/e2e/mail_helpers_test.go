package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/team"
)

// message is what tests look at in a message.
type message struct {
	ID, From, To, Kind, Event, Title string
	Status, Thread, ReplyTo, Task    string
	Sent, Bytes, SilentMs            int64
	ExpectsReply                     *int64
	Later, Read                      bool
	Delivery                         string
	Body                             string
	BodyBase64                       string
}

// messages is the data of the verbs about several messages.
type messages struct {
	Messages      []message
	Total, Unread int
}

// mail runs a verb about several messages with --json.
func (s *site) mail(args ...string) messages {
	s.t.Helper()
	e, r := s.json(args...)
	var d messages
	if r.code != 0 || json.Unmarshal(e.Data, &d) != nil {
		s.t.Fatalf("teams %s: %s", strings.Join(args, " "), r)
	}
	return d
}

// recv receives all mail; none when there is none.
func (s *site) recv() []message {
	s.t.Helper()
	e, r := s.json("recv")
	var d messages
	switch {
	case r.code == 2 && e.Error != nil && e.Error.Code == "no_mail":
		return nil
	case r.code != 0 || json.Unmarshal(e.Data, &d) != nil:
		s.t.Fatalf("recv: %s", r)
	}
	return d.Messages
}

// send sends a message and returns its id.
func (s *site) send(to, text string, flags ...string) string {
	s.t.Helper()
	return s.ok(append([]string{"send", to, "-q", text}, flags...)...)
}

// lines are messages in short.
func lines(list []message) []string {
	var out []string
	for _, m := range list {
		line := m.From
		for _, part := range []string{m.Event, m.Title} {
			if part != "" {
				line += " " + part
			}
		}
		out = append(out, line)
	}
	return out
}

func wantLines(t *testing.T, what string, got []message, want ...string) {
	t.Helper()
	if g := lines(got); strings.Join(g, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: %q, want %q", what, g, want)
	}
}

// files counts the entries of a directory that are no temporary ones.
func files(t *testing.T, dir string) (n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name()[0] != '.' {
			n++
		}
	}
	return n
}

// senderEnv makes the test binary a program that sends so many messages, one
// after the other, through the package and not through the command: so that a
// storm of messages is not mostly one of program starts.
const senderEnv = "TEAMS_E2E_SEND"

func init() {
	count, err := strconv.Atoi(os.Getenv(senderEnv))
	if err != nil {
		return
	}
	if err := sendMany(count, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// sendMany lets the test binary send so many messages as a teammate.
func (s *site) sendMany(from, to string, count int) {
	s.t.Helper()
	if err := s.as(from).runSender(to, count); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) runSender(to string, count int) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := s.command(exe, to)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", senderEnv, count))
	if r := start(s.t, cmd).wait(); r.code != 0 {
		return fmt.Errorf("%s", r)
	}
	return nil
}

func sendMany(count int, to string) error {
	p, err := team.Resolve(team.Input{})
	if err != nil {
		return err
	}
	t := team.Open(p)
	ctx := background()
	me, err := t.Worker(ctx)
	if err != nil {
		return err
	}
	for n := range count {
		text := fmt.Sprintf("%s %d", me.Name, n)
		if _, err := t.Send(ctx, team.SendRequest{From: me, To: []string{to}, Body: []byte(text)}); err != nil {
			return fmt.Errorf("message %d: %w", n, err)
		}
	}
	return nil
}
