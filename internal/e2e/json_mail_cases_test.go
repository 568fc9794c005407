package e2e

// mailCases are the rows of jsonCases for mail and for the team as a whole. MSG
// stands for the id of a message from the leader to ann.
var mailCases = []jsonCase{
	{verb: "send", kind: "ok", args: words("send", "ann", "a message", "--task", "t_4")},
	{verb: "send", kind: "ok", args: words("send", "ann,bob", "to both"), golden: "send, several"},
	{verb: "send", kind: "ok", args: words("send", "leader", "a report", "--status", "completed"), name: "ann", golden: "send, report"},
	{verb: "send", kind: "empty", args: words("send", "ann", "-"), exit: 64, code: "usage"},
	{verb: "send", kind: "error", args: words("send", "nobody", "x"), exit: 3, code: "not_found"},

	{verb: "reply", kind: "ok", args: words("reply", "MSG", "an answer"), name: "ann"},
	{verb: "reply", kind: "empty", args: words("reply", "MSG", "-"), name: "ann", exit: 64, code: "usage"},
	{verb: "reply", kind: "error", args: words("reply", "no-such-id", "x"), name: "ann", exit: 3, code: "not_found"},

	{verb: "inbox", kind: "ok", args: words("inbox"), name: "ann", mail: true},
	{verb: "inbox", kind: "empty", args: words("inbox"), bare: true, golden: "inbox, empty"},
	{verb: "inbox", kind: "error", args: words("inbox", "--as", "Nobody"), exit: 64, code: "usage"},

	{verb: "recv", kind: "ok", args: words("recv"), name: "ann", mail: true},
	{verb: "recv", kind: "empty", args: words("recv"), name: "cid", exit: 2, code: "no_mail"},
	{verb: "recv", kind: "error", args: words("recv", "--wait", "--timeout", "50ms"), name: "cid", exit: 124, code: "timed_out"},

	{verb: "read", kind: "ok", args: words("read", "MSG"), name: "ann"},
	{verb: "read", kind: "empty", args: words("read", "no-such-id"), bare: true, exit: 3, code: "not_found"},
	{verb: "read", kind: "error", args: words("read"), exit: 64, code: "usage"},

	{verb: "unread", kind: "ok", args: words("unread", "MSG"), name: "ann"},
	{verb: "unread", kind: "empty", args: words("unread", "no-such-id"), name: "ann", exit: 3, code: "not_found"},
	{verb: "unread", kind: "error", args: words("unread"), exit: 64, code: "usage"},

	{verb: "thread", kind: "ok", args: words("thread", "MSG")},
	{verb: "thread", kind: "empty", args: words("thread", "no-such-id"), bare: true, exit: 3, code: "not_found"},
	{verb: "thread", kind: "error", args: words("thread"), exit: 64, code: "usage"},

	{verb: "sent", kind: "ok", args: words("sent"), mail: true},
	{verb: "sent", kind: "empty", args: words("sent"), bare: true, golden: "inbox, empty"},
	{verb: "sent", kind: "error", args: words("sent", "more"), exit: 64, code: "usage"},

	// TestFollowMail runs it.
	{verb: "follow", kind: "ok", args: words("follow", "--help"), golden: "-"},
	{verb: "follow", kind: "empty", args: words("follow", "more"), exit: 64, code: "usage"},
	{verb: "follow", kind: "error", args: words("follow", "--format", "odd"), exit: 64, code: "usage"},

	{verb: "list", kind: "ok", args: words("list")},
	{verb: "list", kind: "empty", args: words("list"), bare: true, golden: "list, empty"},
	{verb: "list", kind: "error", args: words("list"), broken: true, exit: 1, code: "corrupt"},

	{verb: "status", kind: "ok", args: words("status")},
	{verb: "status", kind: "ok", args: words("status", "ann"), golden: "status NAME"},
	{verb: "status", kind: "empty", args: words("status"), bare: true, golden: "list, empty"},
	{verb: "status", kind: "error", args: words("status", "nobody"), exit: 3, code: "not_found"},

	// TestRealHarness runs one.
	{verb: "harness", kind: "ok", args: words("harness"), held: true, golden: "-"},
	{verb: "harness", kind: "empty", args: words("harness"), name: "ann", exit: 5, code: "leader_only"},
	{verb: "harness", kind: "error", args: words("harness", "--gates", "-1"), exit: 64, code: "usage"},

	{verb: "harness status", kind: "ok", args: words("harness", "status"), held: true, golden: "-"},
	{verb: "harness status", kind: "empty", args: words("harness", "status"), bare: true},
	{verb: "harness status", kind: "error", args: words("harness", "status", "more"), exit: 64, code: "usage"},

	{verb: "harness stop", kind: "ok", args: words("harness", "stop"), exit: 3, code: "not_found"},
	{verb: "harness stop", kind: "empty", args: words("harness", "stop"), bare: true, exit: 3, code: "not_found"},
	{verb: "harness stop", kind: "error", args: words("harness", "stop", "more"), exit: 64, code: "usage"},

	{verb: "session end", kind: "ok", args: words("session", "end", "--now")},
	{verb: "session end", kind: "empty", args: words("session", "end"), bare: true, exit: 3, code: "no_session"},
	{verb: "session end", kind: "error", args: words("session", "end"), exit: 4, code: "conflict"},

	{verb: "demo", kind: "ok", args: words("demo"), golden: "-"},
	{verb: "demo", kind: "empty", args: words("demo", "more"), exit: 64, code: "usage"},
	{verb: "demo", kind: "error", args: words("demo", "--odd"), exit: 64, code: "usage"},

	{verb: "pi install", kind: "ok", args: words("pi", "install", "--tools", "pier")},
	{verb: "pi install", kind: "empty", args: words("pi", "install", "more"), exit: 64, code: "usage"},
	{verb: "pi install", kind: "error", args: words("pi", "install", "--tools", "odd"), exit: 64, code: "usage"},

	{verb: "agents", kind: "ok", args: words("agents"), agent: true},
	{verb: "agents", kind: "empty", args: words("agents"), bare: true, golden: "agents, empty"},
	{verb: "agents", kind: "error", args: words("agents", "more"), exit: 64, code: "usage"},

	{verb: "agents show", kind: "ok", args: words("agents", "show", "coder"), agent: true},
	{verb: "agents show", kind: "empty", args: words("agents", "show", "coder"), exit: 3, code: "not_found"},
	{verb: "agents show", kind: "error", args: words("agents", "show"), exit: 64, code: "usage"},

	{verb: "agents check", kind: "ok", args: words("agents", "check"), agent: true, golden: "-"},
	{verb: "agents check", kind: "empty", args: words("agents", "check"), bare: true, golden: "-"},
	{verb: "agents check", kind: "error", args: words("agents", "check", "more"), exit: 64, code: "usage"},

	{verb: "agents new", kind: "ok", args: words("agents", "new", "writer", "--scope", "user", "--description", "use when text is missing"), golden: "-"},
	{verb: "agents new", kind: "empty", args: words("agents", "new"), exit: 64, code: "usage"},
	{verb: "agents new", kind: "error", args: words("agents", "new", "Not A Name"), exit: 64, code: "usage"},

	{verb: "guide", kind: "ok", args: words("guide", "worker"), golden: "-"},
	{verb: "guide", kind: "empty", args: words("guide"), exit: 64, code: "usage"},
	{verb: "guide", kind: "error", args: words("guide", "nothing"), exit: 64, code: "usage"},
}
