package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// goldenDir has the shapes of the data under --json.
var goldenDir = filepath.Join("..", "..", "testdata", "golden", "json")

// verbs lists the visible verbs as the command itself lists them.
func (s *site) verbs() (out []string) {
	s.t.Helper()
	e, r := s.json("--help")
	var d struct{ Commands []struct{ Command string } }
	if r.code != 0 || json.Unmarshal(e.Data, &d) != nil || len(d.Commands) == 0 {
		s.t.Fatalf("%s", r)
	}
	for _, c := range d.Commands {
		out = append(out, c.Command)
	}
	return out
}

// TestEveryVerb calls every verb with a success, an empty result and an error,
// in text and with --json.
func TestEveryVerb(t *testing.T) {
	t.Parallel()
	rich, bare := richBoard(t), newSite(t)
	rich.keepWaiting()
	have := map[string]map[string]bool{}
	cases := slices.Concat(jsonCases, mailCases, teamCases, peopleCases, herdrCases)
	for _, c := range cases {
		if have[c.verb] == nil {
			have[c.verb] = map[string]bool{}
		}
		have[c.verb][c.kind] = true
	}
	for _, verb := range rich.verbs() {
		for _, kind := range []string{"ok", "empty", "error"} {
			if !have[verb][kind] {
				t.Errorf("teams %s has no case of kind %s in jsonCases, mailCases or teamCases", verb, kind)
			}
		}
	}
	restore := keepTree(t, rich.root)
	for _, c := range cases {
		t.Run(strings.ReplaceAll(strings.Join(c.args, " "), "/", "_"), func(t *testing.T) {
			s, prepare := rich, restore
			if c.bare {
				s, prepare = bare, func() { _ = os.RemoveAll(bare.root) }
			}
			s = s.with()
			s.t = t
			if c.name != "" {
				s = s.as(c.name)
			}
			if c.broken {
				before := prepare
				prepare = func() { before(); write(t, s.board("board.json"), "{broken") }
			}
			if c.verb == "tick" && c.kind == "ok" {
				before := prepare
				prepare = func() { before(); write(t, s.board("claims", "t_10.json"), marker("t_10", "cid", s.spawn("cid"))) }
			}
			if c.agent {
				before := prepare
				prepare = func() {
					before()
					s.coder()
				}
			}
			if c.team || c.resident {
				prepare = c.withTeam(s, prepare)
			}
			if c.held {
				before, release := prepare, func() {}
				prepare = func() { release(); before(); release = s.harness() }
			}
			if c.mail || slices.Contains(c.args, "MSG") {
				before := prepare
				words := slices.Clone(c.args)
				prepare = func() {
					before()
					r := rich.run("send", "ann", "the message", "-q")
					if r.code != 0 {
						t.Fatal(r)
					}
					c.args = slices.Clone(words)
					for i, w := range words {
						if w == "MSG" {
							c.args[i] = strings.TrimSpace(r.out)
						}
					}
				}
			}
			prepare = c.withPeople(s, prepare)
			prepare = c.withRun(rich, prepare)
			prepare()
			c.inText(s)
			prepare()
			c.inJSON(s)
		})
	}
}

func (c *jsonCase) run(s *site, flags ...string) result {
	cmd := s.command(teamsBin, append(flags, c.args...)...)
	cmd.Stdin = strings.NewReader(c.stdin)
	return start(s.t, cmd).wait()
}

// inText checks the form for people: the result on standard output, an error
// and its hint on standard error.
func (c *jsonCase) inText(s *site) {
	t := s.t
	t.Helper()
	exit, code := c.exit, c.code
	if c.exit == 64 && c.kind == "ok" && c.verb != "console" { // refused only with --json; a console has no terminal here
		exit, code = 0, ""
	}
	r := c.run(s)
	if r.code != exit {
		t.Fatalf("text: want exit %d: %s", exit, r)
	}
	if strings.Contains(r.out+r.err, "panic") || json.Valid([]byte(r.out)) && r.out != "" && c.verb != "export" {
		t.Errorf("text: %s", r)
	}
	if code == "" {
		if c.quiet != (r.out == "") && c.verb != "work" && !(c.verb == "export" && c.bare) {
			t.Errorf("text: output %q", r.out)
		}
		if c.verb != "work" && r.err != "" {
			t.Errorf("text: a success says on stderr: %s", r.err)
		}
		return
	}
	if !c.data && r.out != "" {
		t.Errorf("text: an error says on stdout: %s", r.out)
	}
	lines := strings.Split(strings.TrimRight(r.err, "\n"), "\n")
	said := 0
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "teams: ") && !strings.HasPrefix(line, "teams: warning: "):
			said++
		case strings.HasPrefix(line, "hint: "):
			if i != len(lines)-1 || said == 0 {
				t.Errorf("text: the hint does not end the message: %s", r.err)
			}
			if bad := s.badHint(strings.TrimPrefix(line, "hint: ")); bad != "" {
				t.Errorf("text: %s", bad)
			}
		}
	}
	if said != 1 {
		t.Errorf("text: %d lines begin with teams: : %s", said, r.err)
	}
}

// goodHints are those that were found to be good before.
var goodHints sync.Map

// badHint says what is wrong with a hint that has a command which cannot be
// parsed. Text may follow the command.
func (s *site) badHint(hint string) string {
	line := hint
	if inner, ok := strings.CutPrefix(hint, `eval "$(`); ok {
		line, _, _ = strings.Cut(inner, `)"`)
	}
	i := strings.Index(line, "teams ")
	if i < 0 {
		return ""
	}
	if _, known := goodHints.Load(line); known {
		return ""
	}
	all := strings.Fields(strings.NewReplacer("NAME", "name1", "DURATION", "1h", "STATE", "ready", "FILE", "x").Replace(line[i:]))
	s = s.with("TEAMS_ROOT=/dev/null", "TEAMS_NAME=ann", "TEAMS_SPAWN=")
	for n := len(all); n > 1; n-- {
		// With no usable root whatever parses goes on to that error.
		shell := strings.TrimRight(strings.Join(all[:n], " "), ",;:.") + " </dev/null"
		if r := s.sh(shell); r.code != 64 && r.code != 2 && r.code != 127 {
			goodHints.Store(line, true)
			return ""
		}
	}
	return fmt.Sprintf("no command in the hint parses: %s", hint)
}

// inJSON checks the form for programs: exactly one value, or one a line.
func (c *jsonCase) inJSON(s *site) {
	t := s.t
	t.Helper()
	r := c.run(s, "--json")
	if r.code != c.exit {
		t.Fatalf("--json: want exit %d: %s", c.exit, r)
	}
	var values []envelope
	dec := json.NewDecoder(strings.NewReader(r.out))
	dec.DisallowUnknownFields()
	for {
		var e envelope
		err := dec.Decode(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("--json: %v: %s", err, r)
		}
		values = append(values, e)
	}
	if len(values) != 1 && !c.stream || len(values) == 0 || strings.Count(r.out, "\n") != len(values) {
		t.Fatalf("--json: %d values in %d lines: %s", len(values), strings.Count(r.out, "\n"), r)
	}
	for i, e := range values {
		last := i == len(values)-1
		wantError := last && c.code != ""
		if e.Schema != 1 || e.OK == wantError || e.OK != (e.Error == nil) || e.OK && e.Data == nil || !e.OK && e.Data != nil {
			t.Fatalf("--json: the envelope is wrong: %s", r)
		}
	}
	e := values[len(values)-1]
	data := e.Data
	if c.code != "" {
		if e.Error.Code != c.code || e.Error.Message == "" || errs.Exit(errs.Code(e.Error.Code)) != c.exit || !inTable(e.Error.Code) {
			t.Fatalf("--json: want %s with exit %d: %s", c.code, c.exit, r)
		}
		if bad := s.badHint(e.Error.Hint); bad != "" {
			t.Errorf("--json: %s", bad)
		}
		result, has := e.Error.Details["data"]
		if has != c.data {
			t.Errorf("--json: details.data: %v, want %v: %s", has, c.data, r)
		}
		data, _ = json.Marshal(result)
	} else if r.err != "" && !c.stream {
		t.Errorf("--json: stderr %s", r.err)
	}
	if c.code != "" && !c.data || c.golden == "-" {
		return
	}
	if c.stream {
		data = []byte("[")
		for i, e := range values {
			if i > 0 {
				data = append(data, ',')
			}
			data = append(data, e.Data...)
		}
		data = append(data, ']')
	}
	name := c.golden
	if name == "" {
		name = c.verb
	}
	s.golden(name, data)
}

func inTable(code string) bool {
	for _, e := range errs.Table() {
		if string(e.Code) == code {
			return true
		}
	}
	return false
}

// golden compares data with a golden file, volatile values replaced.
func (s *site) golden(name string, data []byte) {
	s.t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		s.t.Fatalf("%v: %s", err, data)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s.steady("", v)); err != nil {
		s.t.Fatal(err)
	}
	path := filepath.Join(goldenDir, strings.NewReplacer(" --", "-", ", ", "-", " ", "-").Replace(name)+".json")
	if *update {
		if err := os.MkdirAll(goldenDir, 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatalf("%v; -update writes it", err)
	}
	if out.String() != string(want) {
		s.t.Errorf("%s does not match; -update writes it anew\ngot:  %s\nwant: %s", path, out.String(), want)
	}
}

var (
	hexText   = regexp.MustCompile(`\b[0-9a-f]{32,64}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	keyText   = regexp.MustCompile(`\bapp-[0-9a-f]{8}\b`)
	mailText  = regexp.MustCompile(`\d{8}T\d{6}\.\d{6}Z-([a-z0-9_-]+)-[0-9a-f]{6}\b`)
	timeText  = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T[0-9:.]+Z|\d{8}T\d{6}\.\d{3}`)
	logText   = regexp.MustCompile(`teams-verify-\d+\.log`)
	sinceText = regexp.MustCompile(`since \S+`)
)

// steady replaces what differs from run to run: times, ids, paths, pids, hosts.
func (s *site) steady(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = s.steady(k, item)
		}
		return v
	case []any:
		for i, item := range v {
			v[i] = s.steady(key, item)
		}
		return v
	case json.Number:
		switch key {
		case "createdAt", "updatedAt", "completedAt", "claimedAt", "at", "finishedAt", "leaseUntil", "notBefore", "lastChange", "created", "stoppedAt", "bootMs", "sent", "startedAt", "activeAt", "lastOutputAt", "closedAt":
			return "TIME"
		case "durationMs", "pid", "startTime", "activeBootMs":
			return "NUMBER"
		}
	case string:
		switch key {
		case "watch", "token", "spawnId", "previousSpawnId", "submission", "bootId", "TEAMS_SPAWN":
			return "ID"
		case "host", "pidNamespace":
			return "HOST"
		case "version":
			return "VERSION"
		}
		v = strings.ReplaceAll(v, s.base, "BASE")
		v = strings.ReplaceAll(v, strings.ReplaceAll(s.base, "/", "%2F"), "BASE")
		v = mailText.ReplaceAllString(v, "MESSAGE-$1")
		v = timeText.ReplaceAllString(v, "TIME")
		v = logText.ReplaceAllString(v, "teams-verify-N.log")
		v = keyText.ReplaceAllString(v, "app-HASH")
		v = askText.ReplaceAllString(v, "q_ID")
		if key != "outputSha256" {
			v = hexText.ReplaceAllString(v, "ID")
		}
		return sinceText.ReplaceAllString(v, "since TIME")
	}
	return v
}

// follower reads what a command prints, a JSON value a line.
type follower struct {
	*proc
	dec *json.Decoder
}

func (s *site) follow(args ...string) *follower {
	s.t.Helper()
	cmd := s.command(teamsBin, args...)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	return &follower{start(s.t, cmd), json.NewDecoder(pipe)}
}

// next waits for a value and reads its data.
func (f *follower) next(data any) {
	f.t.Helper()
	e := struct {
		OK   bool
		Data any
	}{Data: data}
	got := make(chan error, 1)
	go func() { got <- f.dec.Decode(&e) }()
	select {
	case err := <-got:
		if err != nil || !e.OK {
			f.t.Fatal(err, e)
		}
	case <-time.After(20 * time.Second):
		f.kill()
		f.t.Fatal("nothing comes")
	}
}

// interrupt ends it as a person would.
func (f *follower) interrupt() {
	f.t.Helper()
	f.signal(syscall.SIGINT)
	if r := f.wait(); r.code != 130 {
		f.t.Errorf("%s", r)
	}
}

// TestFollowLog follows the history: a value a line, as things happen, until
// it is interrupted.
func TestFollowLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("before")
	f := s.follow("log", "--follow", "--json")
	next := func() (e event) {
		t.Helper()
		f.next(&e)
		return e
	}
	if e := next(); e.Event != "added" || e.Task != "t_1" {
		t.Errorf("%+v", e)
	}
	s.ok("claim", "--as", "ann")
	if e := next(); e.Event != "claimed" || e.Worker != "ann" {
		t.Errorf("%+v", e)
	}
	s.fill(3)
	for range 3 {
		if e := next(); e.Event != "added" {
			t.Errorf("%+v", e)
		}
	}
	f.interrupt()
}

// TestFollowMail does the same with messages.
func TestFollowMail(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ok("join", "ann", "-q")
	s.ok("send", "ann", "the first")
	f := s.as("ann").follow("follow", "--json")
	for _, want := range []string{"the first", "the second"} {
		var d struct{ Message struct{ From, Body string } }
		f.next(&d)
		if d.Message.Body != want || d.Message.From != "leader" {
			t.Errorf("%+v", d)
		}
		s.ok("send", "ann", "the second")
	}
	f.interrupt()
}
