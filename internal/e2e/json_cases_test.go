package e2e

// jsonCase is one call of a verb, made in text and with --json on a site as
// richBoard makes it, or on one without any state.
type jsonCase struct {
	verb     string
	kind     string // ok, empty, error
	args     []string
	stdin    string
	name     string // TEAMS_NAME
	bare     bool   // on a site without state
	mail     bool   // with a message from the leader to ann
	agent    bool   // with the definition of an agent in the root
	broken   bool   // on a board that is no JSON
	team     bool   // may spawn residents
	held     bool   // while harness.lock is held
	exit     int
	code     string   // of the error
	data     bool     // the error carries a result
	stream   bool     // prints any number of values, one a line
	quiet    bool     // in text nothing may be printed
	resident bool     // beside a living resident named bot; ROW stands for its row of the ledger
	ended    bool     // which was shut down
	answer   []string // what a person answers to the question it asks
	asked    bool     // while ann waits for an answer, yes or no; ID stands for the question
	listed   bool     // with a checklist of the leader
	started  bool     // with a run, wf-1; RUN stands for it
	stopped  bool     // which is over
	golden   string   // golden file of the data: "" for the name of the verb, "-" for none
}

// args joins words, so that the table stays readable.
func words(w ...string) []string { return w }

// jsonCases has each visible verb with a success, an empty result and an error.
// What has no empty result has a second error in its place.
var jsonCases = []jsonCase{
	{verb: "task add", kind: "ok", args: words("task", "add", "new one", "-d", "text", "--depends-on", "t_1", "--priority", "1", "--tag", "a", "--key", "k9", "--verify", "true", "--verify-timeout", "1m", "--role", "coder", "--assignee", "ann", "--max-attempts", "5")},
	{verb: "task add", kind: "ok", args: words("task", "add", "--batch", "-"), stdin: "- [ ] one\n  more of it\n- [x] done\n- [ ] two\n", golden: "task add --batch"},
	{verb: "task add", kind: "empty", args: words("task", "add", "--batch", "-"), stdin: "\n", exit: 64, code: "usage"},
	{verb: "task add", kind: "error", args: words("task", "add", "x", "--depends-on", "t_99"), exit: 64, code: "unknown_dependency"},
	{verb: "task add", kind: "error", args: words("task", "add", "x"), name: "ann", exit: 5, code: "leader_only"},
	{verb: "task add", kind: "error", args: words("task", "add", "x"), broken: true, exit: 1, code: "corrupt"},

	{verb: "task list", kind: "ok", args: words("task", "list")},
	{verb: "task list", kind: "empty", args: words("task", "list"), bare: true, golden: "task list, empty"},
	{verb: "task list", kind: "empty", args: words("task", "list", "--tag", "none"), golden: "task list, empty"},
	{verb: "task list", kind: "error", args: words("task", "list", "--state", "odd"), exit: 64, code: "usage"},
	{verb: "task list", kind: "error", args: words("task", "list"), broken: true, exit: 1, code: "corrupt"},

	{verb: "task show", kind: "ok", args: words("task", "show", "t_5")},
	{verb: "task show", kind: "empty", args: words("task", "show", "t_1"), bare: true, exit: 3, code: "not_found"},
	{verb: "task show", kind: "error", args: words("task", "show", "t_99"), exit: 3, code: "not_found"},
	{verb: "task show", kind: "error", args: words("task", "show"), exit: 64, code: "usage"},

	{verb: "task edit", kind: "ok", args: words("task", "edit", "t_10", "--priority", "0")},
	{verb: "task edit", kind: "empty", args: words("task", "edit", "t_10"), exit: 64, code: "usage"},
	{verb: "task edit", kind: "error", args: words("task", "edit", "t_10", "--depends-on", "t_10"), exit: 64, code: "cycle"},
	{verb: "task edit", kind: "error", args: words("task", "edit", "t_1", "--priority", "0"), bare: true, exit: 3, code: "no_session"},

	{verb: "task cancel", kind: "ok", args: words("task", "cancel", "t_10", "--reason", "no more")},
	{verb: "task cancel", kind: "ok", args: words("task", "cancel", "t_4", "--cascade"), golden: "task cancel --cascade"},
	{verb: "task cancel", kind: "empty", args: words("task", "cancel", "t_3"), golden: "-"},
	{verb: "task cancel", kind: "error", args: words("task", "cancel", "t_1"), exit: 4, code: "task_ended"},

	{verb: "task reopen", kind: "ok", args: words("task", "reopen", "t_2")},
	{verb: "task reopen", kind: "empty", args: words("task", "reopen", "t_99"), exit: 3, code: "not_found"},
	{verb: "task reopen", kind: "error", args: words("task", "reopen", "t_10"), exit: 4, code: "conflict"},

	{verb: "task why", kind: "ok", args: words("task", "why", "t_6")},
	{verb: "task why", kind: "empty", args: words("task", "why", "t_10"), golden: "task why, empty"},
	{verb: "task why", kind: "error", args: words("task", "why", "t_99"), exit: 3, code: "not_found"},

	{verb: "task graph", kind: "ok", args: words("task", "graph"), golden: "task list"},
	{verb: "task graph", kind: "empty", args: words("task", "graph"), bare: true, golden: "task list, empty"},
	{verb: "task graph", kind: "error", args: words("task", "graph", "more"), exit: 64, code: "usage"},

	{verb: "claim", kind: "ok", args: words("claim", "t_10", "--as", "dee")},
	{verb: "claim", kind: "ok", args: words("claim", "--mine"), name: "ann", golden: "claim --mine"},
	{verb: "claim", kind: "empty", args: words("claim", "--mine"), name: "cid", golden: "claim --mine, empty"},
	{verb: "claim", kind: "empty", args: words("claim", "--as", "dee"), bare: true, exit: 2, code: "nothing_claimable"},
	{verb: "claim", kind: "error", args: words("claim", "t_4", "--as", "dee"), exit: 4, code: "already_claimed"},
	{verb: "claim", kind: "error", args: words("claim"), name: "ann", exit: 4, code: "already_holding"},
	{verb: "claim", kind: "error", args: words("claim", "t_6", "--as", "dee"), exit: 2, code: "blocked"},
	{verb: "claim", kind: "error", args: words("claim", "t_8", "--as", "dee"), exit: 5, code: "wrong_role"},
	{verb: "claim", kind: "error", args: words("claim", "t_9", "--as", "dee"), exit: 5, code: "wrong_assignee"},
	{verb: "claim", kind: "error", args: words("claim", "t_1", "--as", "dee"), exit: 4, code: "task_ended"},
	{verb: "claim", kind: "error", args: words("claim", "t_99", "--as", "dee"), exit: 3, code: "not_found"},
	{verb: "claim", kind: "error", args: words("claim", "--as", "dee", "--tag", "none"), exit: 3, code: "board_drained"},
	{verb: "claim", kind: "error", args: words("claim", "t_4", "--as", "dee", "--wait", "--timeout", "50ms"), exit: 124, code: "timed_out"},
	{verb: "claim", kind: "error", args: words("claim"), exit: 64, code: "usage"},

	{verb: "renew", kind: "ok", args: words("renew", "t_5"), name: "bob"},
	{verb: "renew", kind: "empty", args: words("renew", "t_99"), name: "bob", exit: 3, code: "not_found"},
	{verb: "renew", kind: "error", args: words("renew", "t_4"), name: "bob", exit: 4, code: "not_holder"},

	{verb: "release", kind: "ok", args: words("release", "t_4", "--reason", "later")},
	{verb: "release", kind: "empty", args: words("release", "t_10"), exit: 4, code: "not_holder"},
	{verb: "release", kind: "error", args: words("release", "t_5"), name: "ann", exit: 4, code: "not_holder"},

	{verb: "submit", kind: "ok", args: words("submit", "--result", "it is done"), name: "ann"},
	{verb: "submit", kind: "ok", args: words("submit", "--failed"), name: "ann", golden: "submit --failed"},
	{verb: "submit", kind: "ok", args: words("submit", "t_5", "--no-wait"), name: "bob", golden: "submit --no-wait"},
	{verb: "submit", kind: "empty", args: words("submit"), name: "cid", exit: 4, code: "not_holder"},
	{verb: "submit", kind: "error", args: words("submit"), name: "bob", exit: 1, code: "gate_failed", data: true, golden: "submit, gate failed"},
	{verb: "submit", kind: "error", args: words("submit", "t_99"), name: "ann", exit: 3, code: "not_found"},
	{verb: "submit", kind: "error", args: words("submit", "t_1"), name: "bob", exit: 4, code: "task_ended"},

	{verb: "work", kind: "ok", args: words("work", "--once", "--as", "w1", "--", "sh", "-c", "echo the result"), stream: true, golden: "work"},
	{verb: "work", kind: "empty", args: words("work", "--once", "--as", "w1", "--tag", "none", "--", "true"), stream: true, exit: 3, code: "board_drained"},
	{verb: "work", kind: "error", args: words("work", "--once", "--as", "w1"), stream: true, exit: 64, code: "usage"},

	{verb: "wait", kind: "ok", args: words("wait", "t_1")},
	{verb: "wait", kind: "empty", args: words("wait"), bare: true, golden: "task list, empty"},
	{verb: "wait", kind: "error", args: words("wait", "t_1", "t_3"), exit: 1, code: "task_failed", data: true, golden: "-"},
	{verb: "wait", kind: "error", args: words("wait", "t_10", "--timeout", "50ms"), exit: 124, code: "timed_out", data: true, golden: "-"},
	{verb: "wait", kind: "error", args: words("wait", "t_99"), exit: 3, code: "not_found"},

	{verb: "verify", kind: "ok", args: words("verify", "t_1")},
	{verb: "verify", kind: "ok", args: words("verify", "--", "echo", "x"), golden: "verify CMD"},
	{verb: "verify", kind: "empty", args: words("verify", "t_10"), exit: 4, code: "conflict"},
	{verb: "verify", kind: "error", args: words("verify", "t_5"), exit: 1, code: "gate_failed", data: true, golden: "verify, failed"},

	{verb: "log", kind: "ok", args: words("log", "t_7")},
	{verb: "log", kind: "empty", args: words("log"), bare: true, golden: "log, empty"},
	{verb: "log", kind: "error", args: words("log", "t_99"), exit: 3, code: "not_found"},

	{verb: "export", kind: "ok", args: words("export", "--out", "out.jsonl")},
	{verb: "export", kind: "ok", args: words("export"), golden: "export to stdout"},
	{verb: "export", kind: "empty", args: words("export", "--out", "out.jsonl"), bare: true, golden: "-"},
	{verb: "export", kind: "error", args: words("export", "--out", "no/such/dir/x"), exit: 1, code: "failure"},

	{verb: "import", kind: "ok", args: words("import", "-", "--apply"), stdin: `{"id":"t_40","status":"pending","subject":"from elsewhere","dependsOn":[],"createdAt":1000,"updatedAt":1000}` + "\n"},
	{verb: "import", kind: "ok", args: words("import", "-"), stdin: `{"id":"t_4","status":"pending","subject":"claimed here","dependsOn":[],"createdAt":1000,"updatedAt":1000}` + "\n", golden: "import, skipped"},
	{verb: "import", kind: "empty", args: words("import", "-"), stdin: "", golden: "-"},
	{verb: "import", kind: "error", args: words("import", "-"), stdin: "nonsense\n", exit: 64, code: "usage"},
	{verb: "import", kind: "error", args: words("import", "no-such-file"), exit: 3, code: "not_found"},

	{verb: "gc", kind: "ok", args: words("gc", "--older-than", "1ns")},
	{verb: "gc", kind: "empty", args: words("gc"), golden: "gc, empty"},
	{verb: "gc", kind: "empty", args: words("gc", "--worktrees", "--dry-run"), golden: "gc --worktrees, empty"},
	{verb: "gc", kind: "error", args: words("gc"), name: "ann", exit: 5, code: "leader_only"},

	{verb: "join", kind: "ok", args: words("join", "dee", "--agent", "coder")},
	{verb: "join", kind: "empty", args: words("join", "dee"), bare: true, golden: "-"},
	{verb: "join", kind: "error", args: words("join", "Dee"), exit: 64, code: "usage"},
	{verb: "join", kind: "error", args: words("join", "ann"), exit: 4, code: "name_taken"},

	{verb: "leave", kind: "ok", args: words("leave"), name: "ann"},
	{verb: "leave", kind: "empty", args: words("leave", "--as", "nobody"), exit: 3, code: "not_found"},
	{verb: "leave", kind: "error", args: words("leave"), exit: 64, code: "usage"},

	{verb: "env", kind: "ok", args: words("env", "ann")},
	{verb: "env", kind: "empty", args: words("env", "ann"), bare: true, exit: 3, code: "not_found"},
	{verb: "env", kind: "error", args: words("env"), exit: 64, code: "usage"},

	{verb: "worktrees", kind: "ok", args: words("worktrees"), golden: "worktrees, empty"},
	{verb: "worktrees", kind: "empty", args: words("worktrees"), bare: true, golden: "worktrees, empty"},
	{verb: "worktrees", kind: "error", args: words("worktrees", "more"), exit: 64, code: "usage"},

	{verb: "tick", kind: "ok", args: words("tick"), golden: "tick"},
	{verb: "tick", kind: "empty", args: words("tick"), golden: "tick, empty", quiet: true},
	{verb: "tick", kind: "error", args: words("tick"), bare: true, exit: 3, code: "no_session"},

	{verb: "where", kind: "ok", args: words("where"), name: "ann"},
	{verb: "where", kind: "empty", args: words("where"), bare: true, golden: "-"},
	{verb: "where", kind: "error", args: words("where", "--session", "Not a key"), exit: 64, code: "usage"},

	{verb: "sessions", kind: "ok", args: words("sessions")},
	{verb: "sessions", kind: "empty", args: words("sessions"), bare: true, golden: "sessions, empty"},
	{verb: "sessions", kind: "error", args: words("sessions", "--root", "relative"), exit: 1, code: "unusable"},
	{verb: "sessions", kind: "error", args: words("sessions"), broken: true, exit: 1, code: "corrupt", data: true, golden: "sessions, unreadable"},

	{verb: "doctor", kind: "ok", args: words("doctor")},
	{verb: "doctor", kind: "ok", args: words("doctor", "--repair"), broken: true, golden: "doctor --repair"},
	{verb: "doctor", kind: "empty", args: words("doctor"), bare: true, golden: "doctor, empty"},
	{verb: "doctor", kind: "error", args: words("doctor"), broken: true, exit: 1, code: "findings", data: true, golden: "doctor, findings"},

	{verb: "help", kind: "ok", args: words("help", "version"), golden: "help"},
	{verb: "help", kind: "empty", args: words("help"), golden: "-"},
	{verb: "help", kind: "error", args: words("help", "nosuch"), exit: 64, code: "usage"},

	{verb: "version", kind: "ok", args: words("version")},
	{verb: "version", kind: "empty", args: words("--version"), golden: "-"},
	{verb: "version", kind: "error", args: words("version", "more"), exit: 64, code: "usage"},

	{verb: "render", kind: "ok", args: words("render"), stdin: `{"tool":"spawn","call":{"agent":"worker"},"return":{}}`, exit: 64, code: "usage"},
	{verb: "render", kind: "empty", args: words("render"), exit: 64, code: "usage"},
	{verb: "render", kind: "error", args: words("render"), stdin: `{"tool":`, exit: 64, code: "usage"},

	{verb: "console", kind: "ok", args: words("console"), exit: 64, code: "usage"},
	{verb: "console", kind: "empty", args: words("console"), bare: true, exit: 64, code: "usage"},
	{verb: "console", kind: "error", args: words("console", "more"), exit: 64, code: "usage"},

	{verb: "completion", kind: "ok", args: words("completion", "bash"), exit: 64, code: "usage"},
	{verb: "completion", kind: "empty", args: words("completion"), exit: 64, code: "usage"},
	{verb: "completion", kind: "error", args: words("completion", "tcsh"), exit: 64, code: "usage"},
}
