package main

const manDescription = `teams lets a team of coding agents, scripts and people work on one codebase without a server. A leader puts tasks on a board; teammates claim them, talk through mailboxes, and submit; a task is complete only when its verify gate passes. Everything is a plain file below one directory, every write is whole, and a killed process or a power cut never leaves a state that the next command cannot read.

Without TEAMS_NAME the caller is the leader, who adds, edits and cancels tasks, spawns teammates and ticks. With it the caller is a teammate, who claims, renews, submits and reports. Everybody may look at everything.

A session belongs to a project: the nearest directory upwards with .git or .pi, else the working directory. Nothing is created until the first command that writes.

What follows the first "--" is CMD for the commands that run one, and literal arguments for all others. An argument that begins with "-" and holds white space is text, not a flag.

TEXT is what stands there, "-" for standard input, or @FILE for the content of a file; "@@" begins a text with an "@". Prefer "-" and @FILE: no shell can spoil them. Ids of tasks are t_12, or 12 for short. Durations are 90s, 10m, 1h30m, 7d. No flag has a value that may be left out.

Output is one thing a line, the id first. On a terminal lines are cut to its width, and lists show 50 entries; in a pipe nothing is cut. Errors go to standard error as "teams: WHAT, WHY", often with a line "hint:" that has a command which helps.`

const manJSON = `With --json standard output carries exactly one JSON value, whatever happens, and nothing else:

  {"schema":1,"ok":true,"data":{...}}
  {"schema":1,"ok":false,"error":{"code","message","hint","details"}}

"ok" is true exactly when the exit status is 0. "code" is one of the words of the section EXIT STATUS; they stay. "hint" and "details" may be missing. A command that fails and has a result all the same, such as submit, verify, wait, ask and doctor, has it as error.details.data. work, harness, follow and log --follow print one such value a line. Times are milliseconds since 1970 (UTC). Text of others stands there unchanged: make it safe before it goes to a terminal.

completion, console, man and render refuse --json.`

// manFiles lists the files of a root.
func manFiles() [][2]string {
	return [][2]string{
		{"~/.pi/agent", "The root, unless --root, TEAMS_ROOT or PI_CODING_AGENT_DIR names another one."},
		{"agents/NAME.md", "Agent definitions of the user; those of a project are in its .pi/agents/."},
		{"tasks/SESSION/board.json", "The board, one task a line. Nothing removes it unasked. Beside it: claims/ and submissions/ with what is not folded yet, gates/ with what gates printed, history.jsonl with what happened, archive.jsonl with old tasks."},
		{"teammate/SESSION/session.json", "Whose session it is; beside it everything about the running team."},
		{"teammate/SESSION/NAME/teammate.json", "Who a teammate is; beside it its inbox/ and outbox/, a message a file."},
		{"teammate/SESSION/asks/", "Questions to a person, and their answers."},
		{"teammate/SESSION/todo/NAME.jsonl", "The checklist of a teammate, or of the leader."},
		{"teammate/SESSION/harness.json", "What the running harness says of itself."},
		{"herdr-pi/history/PROJECT/history.jsonl", "The ledger: who was ever spawned in a project."},
	}
}

// manSettings lists the environment, as the manual does.
func manSettings() [][2]string {
	return [][2]string{
		{"TEAMS_ROOT", "The root, as --root. Without it PI_CODING_AGENT_DIR, without that ~/.pi/agent."},
		{"PI_CODING_AGENT_DIR", "The root, when TEAMS_ROOT is not set."},
		{"TEAMS_SESSION", "The session key, as --session. Without it the key is made from the project."},
		{"TEAMS_NAME", "The teammate that the caller is; set for teammates."},
		{"TEAMS_SPAWN", "The life of that teammate; set for teammates."},
		{"TEAMS_PROJECT", "The project; set for teammates."},
		{"TEAMS_MAX", "How many residents may live at once (default 8)."},
		{"PI_TEAMMATE_STALL_NOTICE_MS", "Silence of a working teammate, in milliseconds, before the leader is told (default 1800000, 0: never); as --stall."},
		{"TEAMS_STALE_WAIT", "Age of an open request before the leader is told (default 5m, 0: never)."},
		{"TEAMS_HERDR", "Whether panes of herdr are used: auto (default), or off or 0 for not at all; as --herdr."},
		{"TEAMS_HERDR_SPAWN", "With auto, the default host inside herdr is herdr (default off)."},
		{"TEAMS_HERDR_MAX_PANES", "How many panes there may be over all sessions (default 4)."},
		{"TEAMS_TAB_GRACE", "How long the tab of an ended teammate stays open (default 10m); as --grace."},
		{"TEAMS_POLL", "How often to look where the system gives no notice of changed files (default 250ms)."},
		{"TEAMS_SHARED", "1 when several hosts share the session: claims and work then get a lease of 10m unless --lease is given. Without it the type of the file system decides."},
		{"TEAMS_BIN", "The teams program that the extension of Pi runs (default: the one that wrote it, else that in PATH)."},
		{"TEAMS_DEBUG", "Set: an internal error prints where it happened."},
		{"PI_CODING_AGENT", "Set by Pi in the shells of its model: teams answer refuses to work there, and teams ask does not prompt there."},
		{"NO_COLOR", "Set: no colour, as with --no-color."},
		{"COLUMNS", "The width of the terminal, when it does not say so itself."},
	}
}

// manExample is something that people do, and how.
type manExample struct {
	what  string
	lines []string
}

func manExamples() []manExample {
	return []manExample{
		{"A leader adds two tasks, the second of which waits for the first:", []string{
			`teams task add "Parse the grammar" --verify "go test ./parse"`,
			`teams task add "Print the tree" --depends-on t_1`,
		}},
		{"A shell becomes a teammate, claims what is ready, and submits:", []string{
			`eval "$(teams join w1 --pid $$)"`,
			`id=$(teams claim -q) && make && teams submit "$id" --result "done, see parse.go"`,
		}},
		{"A loop that does what there is to do, two tasks at a time:", []string{
			`teams work -j 2 -- sh -c 'agent --print < task.md'`,
		}},
		{"Mail, with a question that needs a reply:", []string{
			`teams send bob --expects-reply --wait --timeout 20m "which port?"`,
		}},
		{"A script asks a person, who answers from another shell:", []string{
			`port=$(teams ask "Which port?" --option 8080 --option 9090)`,
			`teams asks`,
			`teams answer q_3f9a1c 9090`,
		}},
		{"A checklist, and its title for a prompt:", []string{
			`printf -- '- [>] parser\n- [ ] printer\n' | teams todo write`,
			`teams todo title`,
		}},
		{"The state of the whole team, for programs:", []string{
			`teams list --json | jq .data.counts`,
		}},
	}
}
