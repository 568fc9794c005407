package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// teamCases are the calls of the verbs about residents. Those with resident run
// beside a living one named bot, whose command is cat; what they leave is shut
// down.
var teamCases = []jsonCase{
	{verb: "spawn", kind: "ok", args: words("spawn", "new", "coder", "--label", "for a test", "--", "cat"), agent: true, team: true},
	{verb: "spawn", kind: "empty", args: words("spawn", "new", "coder", "", "--", "cat"), agent: true, team: true, exit: 64, code: "usage"},
	{verb: "spawn", kind: "error", args: words("spawn", "new", "coder", "--", "cat"), team: true, exit: 3, code: "not_found"},
	{verb: "spawn", kind: "error", args: words("spawn", "bot", "coder", "--", "cat"), resident: true, exit: 4, code: "name_taken"},
	{verb: "spawn", kind: "error", args: words("spawn", "new", "coder", "--", "/no/such/program"), agent: true, team: true, exit: 1, code: "failure"},
	{verb: "spawn", kind: "error", args: words("spawn", "new", "coder", "--host", "odd"), agent: true, team: true, exit: 64, code: "usage"},
	{verb: "spawn", kind: "error", args: words("spawn", "new", "coder", "--", "cat"), name: "ann", exit: 5, code: "leader_only"},

	{verb: "shutdown", kind: "ok", args: words("shutdown", "bot"), resident: true},
	{verb: "shutdown", kind: "ok", args: words("shutdown", "--all", "--now"), resident: true, golden: "shutdown --all"},
	{verb: "shutdown", kind: "empty", args: words("shutdown", "--all"), golden: "shutdown --all, empty"},
	{verb: "shutdown", kind: "error", args: words("shutdown", "nobody"), exit: 3, code: "not_found"},
	{verb: "shutdown", kind: "error", args: words("shutdown", "ann"), exit: 4, code: "conflict"},
	{verb: "shutdown", kind: "error", args: words("shutdown"), exit: 64, code: "usage"},

	{verb: "interrupt", kind: "ok", args: words("interrupt", "bot"), resident: true},
	{verb: "interrupt", kind: "empty", args: words("interrupt", "nobody"), exit: 3, code: "not_found"},
	{verb: "interrupt", kind: "error", args: words("interrupt", "ann"), exit: 4, code: "conflict"},

	{verb: "resume", kind: "empty", args: words("resume", "none"), bare: true, exit: 3, code: "not_found"},
	{verb: "resume", kind: "ok", args: words("resume", "ROW"), resident: true, ended: true},
	{verb: "resume", kind: "error", args: words("resume", "ROW"), resident: true, exit: 4, code: "name_taken"},

	{verb: "handoff", kind: "ok", args: words("handoff", "bot"), resident: true, golden: "-"},
	{verb: "handoff", kind: "empty", args: words("handoff", "cid")},
	{verb: "handoff", kind: "error", args: words("handoff", "nobody"), exit: 3, code: "not_found"},

	{verb: "activity", kind: "ok", args: words("activity", "bot"), resident: true, golden: "-"},
	{verb: "activity", kind: "empty", args: words("activity", "cid")},
	{verb: "activity", kind: "error", args: words("activity", "nobody"), exit: 3, code: "not_found"},

	{verb: "delegate", kind: "ok", args: words("delegate", "bot", "a task", "-d", "text", "--key", "k7"), resident: true},
	{verb: "delegate", kind: "empty", args: words("delegate", "bot", ""), resident: true, exit: 64, code: "usage"},
	{verb: "delegate", kind: "error", args: words("delegate", "nobody", "a task"), exit: 3, code: "not_found"},

	{verb: "watch", kind: "ok", args: words("watch", "t_1", "t_10")},
	{verb: "watch", kind: "empty", args: words("watch", "t_1"), golden: "watch, settled"},
	{verb: "watch", kind: "error", args: words("watch", "t_99"), exit: 3, code: "not_found"},

	{verb: "ledger", kind: "ok", args: words("ledger"), resident: true},
	{verb: "ledger", kind: "empty", args: words("ledger"), bare: true, golden: "ledger, empty"},
	{verb: "ledger", kind: "error", args: words("ledger", "--limit", "x"), exit: 64, code: "usage"},

	{verb: "ledger list", kind: "ok", args: words("ledger", "list"), resident: true, golden: "ledger"},
	{verb: "ledger list", kind: "empty", args: words("ledger", "list"), bare: true, golden: "ledger, empty"},
	{verb: "ledger list", kind: "error", args: words("ledger", "list", "--limit", "x"), exit: 64, code: "usage"},

	{verb: "ledger show", kind: "ok", args: words("ledger", "show", "ROW"), resident: true},
	{verb: "ledger show", kind: "empty", args: words("ledger", "show", "none"), bare: true, exit: 3, code: "not_found"},
	{verb: "ledger show", kind: "error", args: words("ledger", "show", "no"), exit: 3, code: "not_found"},
}

// withTeam makes what a case about residents needs before its call, and ends
// what it leaves.
func (c *jsonCase) withTeam(s *site, prepare func()) func() {
	end := func() {
		if r := s.run("shutdown", "--all", "--now", "-q"); r.code != 0 {
			s.t.Errorf("%s", r)
		}
	}
	s.t.Cleanup(end)
	given := c.args
	return func() {
		end()
		prepare()
		if !c.resident {
			return
		}
		s.coder()
		if r := s.run("spawn", "bot", "coder", "--label", "a bot", "--", "cat"); r.code != 0 {
			s.t.Fatal(r)
		}
		row := strings.TrimSpace(s.run("ledger", "-q", "--limit", "1").out)
		c.args = slices.Clone(given)
		for i, w := range given {
			if w == "ROW" {
				c.args[i] = row
			}
		}
		if c.ended {
			end()
		}
	}
}

// coder defines the agent coder in the root.
func (s *site) coder() {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Join(s.root, "agents"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	write(s.t, filepath.Join(s.root, "agents", "coder.md"), "---\nname: coder\ndescription: use when code is missing\n---\nWrite it.\n")
}
