package e2e

import (
	"regexp"
	"slices"
	"strings"
)

// peopleCases are the cases of the verbs between people and teammates: ask and
// todo. ID stands for the id of an open question.
var peopleCases = []jsonCase{
	{verb: "ask", kind: "ok", args: words("ask", "Which port?"), answer: words("the usual one")},
	{verb: "ask", kind: "ok", args: words("ask", "Which?", "--option", "one", "--option", "two", "--multi", "--other"), answer: words("2", "and more"), name: "ann", golden: "ask, options"},
	{verb: "ask", kind: "empty", args: words("ask", "Which port?"), answer: words("--decline"), exit: 1, code: "declined", data: true, golden: "ask, declined"},
	{verb: "ask", kind: "error", args: words("ask", "Which port?", "--timeout", "50ms"), exit: 124, code: "timed_out"},
	{verb: "ask", kind: "error", args: words("ask", "Which port?", "--option", "one"), exit: 64, code: "usage"},
	{verb: "ask", kind: "error", args: words("ask", " "), exit: 64, code: "usage"},

	{verb: "asks", kind: "ok", args: words("asks"), asked: true},
	{verb: "asks", kind: "empty", args: words("asks"), bare: true, golden: "asks, empty"},
	{verb: "asks", kind: "error", args: words("asks", "more"), exit: 64, code: "usage"},

	{verb: "answer", kind: "ok", args: words("answer", "ID", "yes"), asked: true},
	{verb: "answer", kind: "empty", args: words("answer", "q_000000", "yes"), bare: true, exit: 3, code: "not_found"},
	{verb: "answer", kind: "error", args: words("answer", "ID", "perhaps"), asked: true, exit: 64, code: "usage"},
	{verb: "answer", kind: "error", args: words("answer", "ID", "yes"), asked: true, name: "ann", exit: 5, code: "human_only"},

	{verb: "todo write", kind: "ok", args: words("todo", "write", "-"), name: "ann", stdin: "## first\n- [>] one\n- [>] two\n- [!] three — a key\n"},
	{verb: "todo write", kind: "empty", args: words("todo", "write", "-"), stdin: "[]\n", golden: "todo write, empty"},
	{verb: "todo write", kind: "error", args: words("todo", "write", "-"), exit: 64, code: "usage"},
	{verb: "todo write", kind: "error", args: words("todo", "write", "-"), stdin: "- one\n", exit: 64, code: "usage"},

	{verb: "todo list", kind: "ok", args: words("todo", "list", "--snapshots"), listed: true},
	{verb: "todo list", kind: "empty", args: words("todo", "list"), bare: true, golden: "todo list, empty"},
	{verb: "todo list", kind: "error", args: words("todo", "list", "more"), exit: 64, code: "usage"},

	{verb: "todo done", kind: "ok", args: words("todo", "done", "write the parser"), listed: true},
	{verb: "todo done", kind: "empty", args: words("todo", "done", "parser"), bare: true, exit: 3, code: "not_found"},
	{verb: "todo done", kind: "error", args: words("todo", "done", "write the"), listed: true, exit: 64, code: "usage"},

	{verb: "todo drop", kind: "ok", args: words("todo", "drop", "i_1"), listed: true, golden: "-"},
	{verb: "todo drop", kind: "empty", args: words("todo", "drop", "i_9"), listed: true, exit: 3, code: "not_found"},
	{verb: "todo drop", kind: "error", args: words("todo", "drop"), exit: 64, code: "usage"},

	{verb: "todo rm", kind: "ok", args: words("todo", "rm", "printer"), listed: true, golden: "-"},
	{verb: "todo rm", kind: "empty", args: words("todo", "rm", "i_9"), listed: true, exit: 3, code: "not_found"},
	{verb: "todo rm", kind: "error", args: words("todo", "rm"), exit: 64, code: "usage"},

	{verb: "todo unblock", kind: "ok", args: words("todo", "unblock", "deploy"), listed: true, golden: "-"},
	{verb: "todo unblock", kind: "empty", args: words("todo", "unblock", "printer"), listed: true, golden: "-"},
	{verb: "todo unblock", kind: "error", args: words("todo", "unblock", "i_9"), listed: true, exit: 3, code: "not_found"},

	{verb: "todo rewind", kind: "ok", args: words("todo", "rewind", "s_1"), listed: true, golden: "-"},
	{verb: "todo rewind", kind: "empty", args: words("todo", "rewind", "s_9"), listed: true, exit: 3, code: "not_found"},
	{verb: "todo rewind", kind: "error", args: words("todo", "rewind"), exit: 64, code: "usage"},

	{verb: "todo title", kind: "ok", args: words("todo", "title"), listed: true, golden: "-"},
	{verb: "todo title", kind: "empty", args: words("todo", "title"), bare: true, golden: "-", quiet: true},
	{verb: "todo title", kind: "error", args: words("todo", "title", "more"), exit: 64, code: "usage"},

	{verb: "man", kind: "ok", args: words("man"), exit: 64, code: "usage"},
	{verb: "man", kind: "empty", args: words("man", "more"), exit: 64, code: "usage"},
	{verb: "man", kind: "error", args: words("man", "--odd"), exit: 64, code: "usage"},
}

var askText = regexp.MustCompile(`\bq_[0-9a-f]{6}\b`)

// withPeople adds to the preparation of a case the people, questions and
// checklists that it needs.
func (c *jsonCase) withPeople(s *site, prepare func()) func() {
	t := s.t
	leader := s.with("TEAMS_NAME=", "TEAMS_SPAWN=")
	ended := func(p *proc) {
		p.kill()
		if r := p.wait(); r.code < 0 {
			t.Errorf("%s", r)
		}
	}
	args := slices.Clone(c.args)
	return func() {
		prepare()
		if c.listed {
			leader.ok("todo", "write", "- [>] write the parser\n- [ ] write the printer\n- [!] deploy — a key\n")
			leader.ok("todo", "drop", "printer")
			leader.ok("todo", "unblock", "deploy")
			leader.ok("todo", "write", "- [>] write the parser\n- [ ] write the printer\n- [!] deploy — a key\n")
		}
		if c.asked {
			p := s.as("ann").start("ask", "Shall it be dropped?", "--option", "yes", "--option", "no")
			t.Cleanup(func() { ended(p) })
			id := leader.openAsk()
			for i := range c.args {
				if args[i] == "ID" {
					c.args[i] = id
				}
			}
		}
		if c.answer != nil {
			answered := make(chan struct{})
			go func() {
				defer close(answered)
				leader.sh(`for i in $(seq 400); do id=$(teams asks -q); [ -n "$id" ] && break; sleep 0.05; done; teams answer "$id" '` + strings.Join(c.answer, "' '") + "'")
			}()
			t.Cleanup(func() { <-answered })
		}
	}
}

// openAsk waits for an open question and returns its id.
func (s *site) openAsk() (id string) {
	s.t.Helper()
	eventually(s.t, "a question", func() bool {
		id = strings.TrimSpace(s.run("asks", "-q").out)
		return id != ""
	})
	return id
}
