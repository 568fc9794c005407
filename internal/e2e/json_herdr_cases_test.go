package e2e

import "slices"

// herdrCases are the rows of jsonCases for runs, panes and terminals. What
// needs herdr is run against a fake of it by the tests of cmd/teams; here there
// is none, and RUN stands for a run that was started.
var herdrCases = []jsonCase{
	{verb: "run start", kind: "ok", args: words("run", "start", "research topic", "--phase", "Plan", "--total", "40", "--background")},
	{verb: "run start", kind: "empty", args: words("run", "start"), exit: 64, code: "usage"},
	{verb: "run start", kind: "error", args: words("run", "start", "x"), name: "ann", exit: 5, code: "leader_only"},
	{verb: "run start", kind: "error", args: words("run", "start", "x", "--teammate", "nobody"), exit: 3, code: "not_found"},
	{verb: "run start", kind: "error", args: words("run", "start", "x", "--pane", "w1:p1"), exit: 1, code: "herdr_unavailable"},

	{verb: "run set", kind: "ok", args: words("run", "set", "RUN", "needs-human", "--done", "3", "--total", "4", "--tokens", "3200", "--reason", "which?"), started: true},
	{verb: "run set", kind: "empty", args: words("run", "set", "wf-1"), exit: 64, code: "usage"},
	{verb: "run set", kind: "error", args: words("run", "set", "RUN", "done"), started: true, exit: 64, code: "usage"},
	{verb: "run set", kind: "error", args: words("run", "set", "wf-9", "failed"), exit: 3, code: "not_found"},

	{verb: "run pause", kind: "ok", args: words("run", "pause", "RUN", "--reason", "usage_limit"), started: true},
	{verb: "run pause", kind: "empty", args: words("run", "pause", "wf-9"), bare: true, exit: 3, code: "not_found"},
	{verb: "run pause", kind: "error", args: words("run", "pause", "Not An Id"), exit: 64, code: "usage"},

	{verb: "run resume", kind: "ok", args: words("run", "resume", "RUN"), started: true, golden: "-"},
	{verb: "run resume", kind: "empty", args: words("run", "resume", "wf-9"), bare: true, exit: 3, code: "not_found"},
	{verb: "run resume", kind: "error", args: words("run", "resume"), exit: 64, code: "usage"},

	{verb: "run stop", kind: "ok", args: words("run", "stop", "RUN"), started: true},
	{verb: "run stop", kind: "empty", args: words("run", "stop", "wf-9"), bare: true, exit: 3, code: "not_found"},
	{verb: "run stop", kind: "error", args: words("run", "stop", "RUN"), started: true, name: "ann", exit: 5, code: "leader_only"},

	{verb: "run rm", kind: "ok", args: words("run", "rm", "RUN"), started: true, stopped: true, golden: "-"},
	{verb: "run rm", kind: "empty", args: words("run", "rm", "wf-9"), bare: true, exit: 3, code: "not_found"},
	{verb: "run rm", kind: "error", args: words("run", "rm", "RUN"), started: true, exit: 4, code: "conflict"},

	{verb: "run show", kind: "ok", args: words("run", "show", "RUN"), started: true, name: "ann"},
	{verb: "run show", kind: "empty", args: words("run", "show", "wf-9"), bare: true, exit: 3, code: "not_found"},
	{verb: "run show", kind: "error", args: words("run", "show"), exit: 64, code: "usage"},

	{verb: "run list", kind: "ok", args: words("run", "list"), started: true},
	{verb: "run list", kind: "empty", args: words("run", "list"), bare: true, golden: "run list, empty"},
	{verb: "run list", kind: "error", args: words("run", "list", "more"), exit: 64, code: "usage"},

	{verb: "run line", kind: "ok", args: words("run", "line"), started: true},
	{verb: "run line", kind: "empty", args: words("run", "line"), bare: true, quiet: true, golden: "run line, empty"},
	{verb: "run line", kind: "error", args: words("run", "line", "more"), exit: 64, code: "usage"},

	{verb: "run reconcile", kind: "ok", args: words("run", "reconcile"), started: true, golden: "run list, empty"},
	{verb: "run reconcile", kind: "empty", args: words("run", "reconcile"), bare: true, golden: "run list, empty"},
	{verb: "run reconcile", kind: "error", args: words("run", "reconcile"), name: "ann", exit: 5, code: "leader_only"},

	{verb: "herdr status", kind: "ok", args: words("herdr", "status")},
	{verb: "herdr status", kind: "empty", args: words("herdr", "--socket", "/nowhere", "status"), bare: true, golden: "-"},
	{verb: "herdr status", kind: "error", args: words("herdr", "status", "more"), exit: 64, code: "usage"},

	{verb: "herdr report", kind: "ok", args: words("herdr", "report", "--help"), golden: "-"},
	{verb: "herdr report", kind: "empty", args: words("herdr", "report"), bare: true, exit: 1, code: "herdr_unavailable"},
	{verb: "herdr report", kind: "error", args: words("herdr", "report", "--pane", "w1:p1"), exit: 1, code: "herdr_unavailable"},

	{verb: "herdr clear", kind: "ok", args: words("herdr", "clear", "--help"), golden: "-"},
	{verb: "herdr clear", kind: "empty", args: words("herdr", "clear"), bare: true, exit: 1, code: "herdr_unavailable"},
	{verb: "herdr clear", kind: "error", args: words("herdr", "clear", "more"), exit: 64, code: "usage"},

	{verb: "herdr herd", kind: "ok", args: words("herdr", "herd", "--help"), golden: "-"},
	{verb: "herdr herd", kind: "empty", args: words("herdr", "herd"), bare: true, exit: 1, code: "herdr_unavailable"},
	{verb: "herdr herd", kind: "error", args: words("herdr", "herd", "more"), exit: 64, code: "usage"},

	{verb: "herdr prune", kind: "ok", args: words("herdr", "prune", "--help"), golden: "-"},
	{verb: "herdr prune", kind: "empty", args: words("herdr", "prune"), bare: true, exit: 1, code: "herdr_unavailable"},
	{verb: "herdr prune", kind: "error", args: words("herdr", "prune", "more"), exit: 64, code: "usage"},

	{verb: "herdr notify", kind: "ok", args: words("herdr", "notify", "--help"), golden: "-"},
	{verb: "herdr notify", kind: "empty", args: words("herdr", "notify"), exit: 64, code: "usage"},
	{verb: "herdr notify", kind: "error", args: words("herdr", "notify", "x"), exit: 1, code: "herdr_unavailable"},

	{verb: "herdr wait", kind: "ok", args: words("herdr", "wait", "--help"), golden: "-"},
	{verb: "herdr wait", kind: "empty", args: words("herdr", "wait"), exit: 64, code: "usage"},
	{verb: "herdr wait", kind: "error", args: words("herdr", "wait", "nobody"), exit: 3, code: "not_found"},

	{verb: "herdr wait-output", kind: "ok", args: words("herdr", "wait-output", "--help"), golden: "-"},
	{verb: "herdr wait-output", kind: "empty", args: words("herdr", "wait-output", "w1:p1"), exit: 64, code: "usage"},
	{verb: "herdr wait-output", kind: "error", args: words("herdr", "wait-output", "w1:p1", "--match", "x"), exit: 1, code: "herdr_unavailable"},

	{verb: "herdr read", kind: "ok", args: words("herdr", "read", "--help"), golden: "-"},
	{verb: "herdr read", kind: "empty", args: words("herdr", "read"), exit: 64, code: "usage"},
	{verb: "herdr read", kind: "error", args: words("herdr", "read", "nobody"), bare: true, exit: 3, code: "not_found"},

	{verb: "herdr send", kind: "ok", args: words("herdr", "send", "--help"), golden: "-"},
	{verb: "herdr send", kind: "empty", args: words("herdr", "send", "ann", "-"), exit: 64, code: "usage"},
	{verb: "herdr send", kind: "error", args: words("herdr", "send", "w1:p1", "x"), exit: 1, code: "herdr_unavailable"},

	{verb: "herdr keys", kind: "ok", args: words("herdr", "keys", "--help"), golden: "-"},
	{verb: "herdr keys", kind: "empty", args: words("herdr", "keys", "ann"), exit: 64, code: "usage"},
	{verb: "herdr keys", kind: "error", args: words("herdr", "keys", "ann", "Enter"), exit: 3, code: "not_found"},

	{verb: "herdr focus", kind: "ok", args: words("herdr", "focus", "--help"), golden: "-"},
	{verb: "herdr focus", kind: "empty", args: words("herdr", "focus"), exit: 64, code: "usage"},
	{verb: "herdr focus", kind: "error", args: words("herdr", "focus", "ann"), exit: 3, code: "not_found"},

	// TestTerminals opens some.
	{verb: "term open", kind: "ok", args: words("term", "open", "--help"), golden: "-"},
	{verb: "term open", kind: "empty", args: words("term", "open", "--cwd", "no/such/dir"), exit: 1, code: "failure"},
	{verb: "term open", kind: "error", args: words("term", "open"), name: "ann", exit: 5, code: "leader_only"},

	{verb: "term send", kind: "ok", args: words("term", "send", "--help"), golden: "-"},
	{verb: "term send", kind: "empty", args: words("term", "send", "term-1", "x"), bare: true, exit: 3, code: "not_found"},
	{verb: "term send", kind: "error", args: words("term", "send", "term-1", "\x1b[31m"), exit: 64, code: "usage"},

	{verb: "term read", kind: "ok", args: words("term", "read", "--help"), golden: "-"},
	{verb: "term read", kind: "empty", args: words("term", "read", "term-1"), bare: true, exit: 3, code: "not_found"},
	{verb: "term read", kind: "error", args: words("term", "read", "term-1", "--max-chars", "9000"), exit: 64, code: "usage"},

	{verb: "term signal", kind: "ok", args: words("term", "signal", "--help"), golden: "-"},
	{verb: "term signal", kind: "empty", args: words("term", "signal", "term-1", "ctrl+c"), bare: true, exit: 3, code: "not_found"},
	{verb: "term signal", kind: "error", args: words("term", "signal", "term-1", "f1"), exit: 64, code: "usage"},

	{verb: "term close", kind: "ok", args: words("term", "close", "--help"), golden: "-"},
	{verb: "term close", kind: "empty", args: words("term", "close", "term-1"), bare: true, exit: 3, code: "not_found"},
	{verb: "term close", kind: "error", args: words("term", "close"), exit: 64, code: "usage"},

	{verb: "term list", kind: "ok", args: words("term", "list"), golden: "-"},
	{verb: "term list", kind: "empty", args: words("term", "list"), bare: true, golden: "term list, empty"},
	{verb: "term list", kind: "error", args: words("term", "list", "more"), exit: 64, code: "usage"},
}

// withRun starts the run that a case is about before each of its calls.
func (c *jsonCase) withRun(s *site, before func()) func() {
	if !c.started {
		return before
	}
	c.args = slices.Clone(c.args)
	for i, w := range c.args {
		if w == "RUN" {
			c.args[i] = "wf-1"
		}
	}
	return func() {
		before()
		s.ok("run", "start", "wf", "--phase", "Plan", "--total", "2")
		if c.stopped {
			s.ok("run", "stop", "wf-1")
		}
	}
}
