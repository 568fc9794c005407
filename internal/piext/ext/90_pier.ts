
// ---- the tools of pier, installed with --tools pier -----------------------

/** pier's default role; pi install writes a definition of it. */
const taskRole = "task";
const patience = "5m";

function todoTool(): ToolSpec {
	const statuses = ["pending", "in_progress", "completed", "blocked", "abandoned"] as const;
	return {
		name: "todo_write",
		label: "Todo list",
		description: "Write the whole checklist anew; what is left out is dropped. Keep exactly one item in_progress while you work. A blocked item names its blocker.",
		snippet: "Keep the checklist of the task at hand",
		parameters: Type.Object({
			todos: Type.Array(
				Type.Object({
					content: Type.String({ minLength: 1, description: "One line, unique in the list" }),
					status: oneOf(statuses, "Its state"),
					blocker: Type.Optional(Type.String({ description: "Only with blocked: what it waits for" })),
					phase: Type.Optional(Type.String({ description: "A heading, at most 30 characters" })),
				}),
			),
		}),
		partial: "writing…",
		make(params) {
			const todos: Json[] = params.todos ?? [];
			return {
				args: ["todo", "write", "-"],
				stdin: JSON.stringify(todos.map(({ content, status, blocker, phase }) => ({ content, status, blocker, phase }))),
				body(data) {
					if (data.changed === false) return "No change: todo list already matches.";
					const count = (status: string) => (data.items ?? []).filter((item: Json) => item.status === status).length;
					let line = `Updated todo list: ${count("pending")} pending, ${count("in_progress")} in progress, ${count("completed")} completed`;
					if (count("blocked") > 0) line += `, ${count("blocked")} blocked`;
					const lines = [`${line}.`];
					if (data.completed?.length > 0) lines.push(`Completed: ${data.completed.map(plain).join(" | ")}`);
					if (data.reopened?.length > 0) lines.push(`Opened again, though completed before: ${data.reopened.map(plain).join(" | ")}`);
					if (data.kept?.length > 0) lines.push(`Kept as a person left it: ${data.kept.map(plain).join(" | ")}`);
					if (data.normalized?.length > 0) lines.push(`Normalized (strict mode): ${data.normalized.map(plain).join(" | ")}`);
					return lines.join("\n");
				},
				returns: (data) => ({ title: data.title, changed: data.changed }),
				details: (data) => [["snapshot", data.snapshot]],
			};
		},
	};
}

// ---- subagent

const subagentActions = ["spawn", "list", "send", "interrupt", "resume"] as const;

function slug(description: string): string {
	const name = description
		.toLowerCase()
		.replace(/[^a-z0-9]+/g, "-")
		.replace(/^[^a-z]+|-+$/g, "")
		.slice(0, 20)
		.replace(/-+$/, "");
	return ["", "leader", "harness", "board", "all", "human"].includes(name) ? "task" : name;
}

function needed(params: Params, name: string, action: string): string {
	const value = params[name];
	if (!filled(value) || value.trim() === "") throw new Error(`${action} needs ${name}`);
	return value;
}

/** A free name: the slug, or with a number behind it. */
async function freeName(description: string, cwd: string): Promise<string> {
	const list = await ask(["list"], { cwd });
	const used = new Set((list.ok ? (list.data.teammates ?? []) : []).filter((tm: Json) => tm.status !== "stopped").map((tm: Json) => tm.name));
	const name = slug(description);
	for (let n = 1; ; n++) {
		const candidate = n === 1 ? name : `${name}-${n}`;
		if (!used.has(candidate)) return candidate;
	}
}

async function subagentSpawn(params: Params, ctx: ExtensionContext): Promise<Operation> {
	const description = needed(params, "description", "spawn");
	const prompt = needed(params, "prompt", "spawn");
	for (const name of ["cwd", "allowed_tools", "isolate"]) {
		if (params[name] !== undefined) throw new Error(`${name} belongs to the role: give a role whose definition says so (teams guide roles)`);
	}
	const name = await freeName(description, ctx.cwd);
	const tab = filled(params.tab) ? ["--host", "herdr", `--tab=${params.tab.slice(0, 20)}`] : [];
	const background = params.run_in_background === true;
	const wait = background ? [] : ["--wait", "--timeout", patience];
	return {
		args: ["spawn", name, handle(params.role ?? taskRole, "the role"), "-", `--label=${description.slice(0, 60)}`, ...tab, ...wait],
		stdin: prompt,
		// It works on when patience has ended: then it is one in the background.
		after: (data) => started(data.teammate, description, ctx),
		accepts: (e) => e.error?.code === "timed_out" && e.data?.teammate !== undefined,
		body(data) {
			if (data.report) {
				void postman?.drop(data.report.id);
				return String(data.report.body ?? "");
			}
			return `started subagent ${data.teammate.name} (task ${data.teammate.taskId ?? data.teammate.spawnId}). Its report comes to you by itself.`;
		},
		returns: (data) => ({ agentId: data.teammate.name, taskId: data.teammate.taskId ?? data.teammate.spawnId, status: data.report?.status ?? "running" }),
		details: (data) => [
			["agent id", data.teammate.name],
			["task id", data.teammate.taskId ?? data.teammate.spawnId],
		],
	};
}

async function subagentOperation(params: Params, ctx: ExtensionContext): Promise<Operation> {
	switch (params.action ?? "spawn") {
		case "spawn":
			return subagentSpawn(params, ctx);
		case "list":
			return {
				args: ["list"],
				body(data) {
					const living = (data.teammates ?? []).filter((tm: Json) => tm.status !== "stopped");
					if (living.length === 0) return "No background subagents started (from this session branch).";
					return living
						.map((tm: Json) => {
							const state = tm.status === "idle" ? "idle" : `running, ${plain(tm.activity) || tm.status}`;
							return `${tm.name} [${state}] (${tm.agent || tm.kind}) ${plain(tm.label)}`.trimEnd();
						})
						.join("\n");
				},
				returns: (data) => ({ total: data.teammates?.length ?? 0 }),
			};
		case "send":
			return {
				args: ["send", "--", handle(params.agentId, "the agentId"), "-"],
				stdin: needed(params, "message", "send"),
				body: (data) => `message to ${data.message.to} ${data.message.delivery ?? "sent"}`,
				details: (data) => [["message id", data.message.id]],
			};
		case "interrupt":
			return {
				args: ["interrupt", "--", handle(params.agentId, "the agentId")],
				body: () => `interrupted ${params.agentId}; it lives, and can be sent more`,
				returns: (data) => (data.teammate ? mate(data.teammate) : data),
			};
		case "resume":
			return {
				args: ["resume", "--", needed(params, "taskId", "resume")],
				body: (data) => `resumed ${data.teammate.name}; send it what to do`,
				returns: (data) => mate(data.teammate),
				details: (data) => [["agent id", data.teammate.name]],
			};
	}
	throw new Error(`the action must be one of ${subagentActions.join(", ")}`);
}

const subagentParameters = Type.Object({
	action: Type.Optional(oneOf(subagentActions, "spawn when absent")),
	description: Type.Optional(Type.String({ description: "spawn: a few words that name it" })),
	prompt: Type.Optional(Type.String({ description: "spawn: self-contained inputs, expected output and bounds" })),
	run_in_background: Type.Optional(Type.Boolean({ description: "spawn: return at once; the report comes by itself" })),
	role: Type.Optional(Type.String({ description: `spawn: an agent definition, "${taskRole}" when absent` })),
	tab: Type.Optional(Type.String({ description: "spawn, inside herdr: the tab that related ones share" })),
	agentId: Type.Optional(Type.String({ description: "send, interrupt: which one" })),
	message: Type.Optional(Type.String({ description: "send: the text" })),
	taskId: Type.Optional(Type.String({ description: "resume: an id of the ledger, or its first four characters or more" })),
});

// ---- terminal

const terminalActions = ["open", "send", "read", "signal", "close", "list"] as const;

function terminalOperation(params: Params): Operation {
	const action: string = params.action;
	const id = () => needed(params, "terminal_id", action);
	const known = (data: Json): [string, unknown][] => [["terminal id", data.terminal?.id]];
	switch (action) {
		case "open":
			return {
				args: ["term", "open", ...(filled(params.cwd) ? [`--cwd=${params.cwd}`] : [])],
				body: (data) => `terminal ${data.terminal?.id} is open${data.terminal?.readiness ? ` (${data.terminal.readiness})` : ""}`,
				details: known,
			};
		case "send":
			return {
				args: ["term", "send", "--", id(), "-"],
				stdin: needed(params, "text", action),
				body: () => `sent to ${params.terminal_id}; read shows what comes of it`,
				details: known,
			};
		case "read": {
			const max = Number.isInteger(params.max_chars) ? ["--max-chars", String(params.max_chars)] : [];
			return {
				args: ["term", "read", ...max, "--", id()],
				body: (data) => (data.mode === "none" || data.text === "" ? "no new output" : String(data.text ?? "")),
				returns: ({ mode, truncated }) => ({ mode, truncated }),
			};
		}
		case "signal":
			return {
				args: ["term", "signal", "--", id(), needed(params, "key", action)],
				body: () => `${params.key} sent to ${params.terminal_id}`,
				details: known,
			};
		case "close":
			return { args: ["term", "close", "--", id()], body: () => `terminal ${params.terminal_id} is closed`, details: known };
		case "list":
			return {
				args: ["term", "list"],
				body: (data) => (data.terminals ?? []).map((t: Json) => `${t.id} ${t.state ?? t.status ?? ""}`.trim()).join("\n") || "no terminals",
			};
	}
	throw new Error(`the action must be one of ${terminalActions.join(", ")}`);
}

const terminalTool: ToolSpec = {
	name: "terminal",
	label: "Terminal",
	description:
		"A shell that stays: open (returns terminal_id), send (a line of plain text, Enter is added), read (what is new), signal (ctrl+c, ctrl+d, ctrl+z, esc, enter), close, list.",
	snippet: "Keep a shell open over several calls: servers, REPLs",
	parameters: Type.Object({
		action: oneOf(terminalActions, "What to do"),
		terminal_id: Type.Optional(Type.String({ description: "send, read, signal, close: from open" })),
		cwd: Type.Optional(Type.String({ description: "open: its directory" })),
		text: Type.Optional(Type.String({ description: "send: the command" })),
		key: Type.Optional(oneOf(["ctrl+c", "ctrl+d", "ctrl+z", "esc", "enter"], "signal: the key")),
		max_chars: Type.Optional(Type.Integer({ minimum: 1, description: "read: at most so many characters" })),
	}),
	partial: "working…",
	make: terminalOperation,
};

// ---- ask_user_question

interface Asked {
	question: string;
	options: { label: string; description?: string }[];
	multi?: boolean;
	allowOther?: boolean;
	recommended?: number;
}

/** A person who answers in this terminal; undefined: not here. */
async function answerHere(q: Asked, signal: AbortSignal, ctx: ExtensionContext): Promise<string[] | "declined"> {
	const other = "Other…";
	const label = (i: number) => `${q.options[i]?.label}${i === q.recommended ? " (Recommended)" : ""}`;
	const labels = q.options.map((_o, i) => label(i));
	const chosen = new Set<number>();
	for (;;) {
		const shown = q.multi ? [...labels.map((l, i) => `${chosen.has(i) ? "[x]" : "[ ]"} ${l}`), "Done"] : labels;
		const picked = await ctx.ui.select(q.question, q.allowOther ? [...shown, other] : shown, { signal });
		if (picked === undefined) return "declined";
		if (picked === other) {
			const said = await ctx.ui.input(q.question, "", { signal });
			return filled(said?.trim()) ? [said as string] : "declined";
		}
		const at = shown.indexOf(picked);
		if (!q.multi) return [q.options[at]?.label ?? ""];
		if (picked === "Done") return [...chosen].sort((a, b) => a - b).map((i) => q.options[i]?.label ?? "");
		if (!chosen.delete(at)) chosen.add(at);
	}
}

/** The environment of the person at this terminal, not of the model. */
function personal(): NodeJS.ProcessEnv {
	const env = environment();
	delete env.PI_CODING_AGENT;
	delete env.TEAMS_NAME;
	delete env.TEAMS_SPAWN;
	return env;
}

/** The question stands for everybody who can answer, and here if there is a terminal: the first answer counts. */
async function askPerson(q: Asked, signal: AbortSignal | undefined, ctx: ExtensionContext): Promise<Envelope> {
	const args = ["ask", ...q.options.map((o) => `--option=${o.label}`)];
	if (q.multi) args.push("--multi");
	if (q.allowOther) args.push("--other");
	const open = ask([...args, "--", "-"], { cwd: ctx.cwd, stdin: q.question, signal });
	if (!isTerminalUI(ctx)) return open;
	const dialog = new AbortController();
	void open.then(() => dialog.abort());
	const answer = await answerHere(q, dialog.signal, ctx);
	if (dialog.signal.aborted) return open;
	const asks = await ask(["asks"], { cwd: ctx.cwd });
	const mine = (asks.data?.asks ?? []).filter((a: Json) => a.state === "open" && a.question === q.question.trim()).pop();
	if (mine === undefined) return open;
	const how = answer === "declined" || answer.length === 0 ? ["--decline", "--", mine.id] : ["--", mine.id, ...answer.map((a) => (a === "-" || a.startsWith("@") ? `@${a}` : a))];
	const settledNow = await ask(["answer", ...how], { cwd: ctx.cwd, env: personal() });
	if (settledNow.ok && answer !== "declined" && answer.length === 0) {
		return { ok: true, data: { ask: { answer: { choices: [] } } }, exit: 0 };
	}
	return open;
}

function checkQuestions(questions: Asked[]): void {
	const fail = (code: string, why: string) => {
		throw new Error(`${code}: ${why}`);
	};
	if (questions.length === 0) fail("no_questions", "there must be 1 to 4 questions");
	if (questions.length > 4) fail("too_many_questions", "there must be 1 to 4 questions");
	if (new Set(questions.map((q) => q.question)).size < questions.length) fail("duplicate_question", "each question only once");
	for (const q of questions) {
		q.options = (q.options ?? []).map((o) => ({ ...o, label: o.label.replace(/\s*\(Recommended\)$/, "") }));
		if (!filled(q.question?.trim())) fail("empty_question", "a question is empty");
		if (q.options.length < 2) fail("empty_options", "there must be 2 to 5 options");
		if (q.options.length > 5) fail("too_many_options", "there must be 2 to 5 options");
		const labels = q.options.map((o) => o.label.trim());
		if (new Set(labels).size < labels.length) fail("duplicate_option_label", "each label only once");
		for (const label of labels) {
			if ([...label].length > 60) fail("label_too_long", `${label}: at most 60 characters`);
			if (["other", "other…", "next", "done", ""].includes(label.toLowerCase())) fail("reserved_label", `${JSON.stringify(label)} cannot be a label`);
		}
	}
}

async function questions(params: Params, signal: AbortSignal | undefined, ctx: ExtensionContext): Promise<string> {
	const list: Asked[] = (params.questions ?? []).map((q: Asked) => ({ ...q }));
	checkQuestions(list);
	const parts: string[] = [];
	for (const q of list) {
		const answer = await askPerson(q, signal, ctx);
		if (!answer.ok && answer.error?.code === "declined") return "The user declined to answer. Do not answer for them.";
		if (!answer.ok) throw new Error(`${answer.error?.code}: ${answer.error?.message}`);
		const given: Json = answer.data.ask?.answer ?? {};
		const choices: string[] = given.choices ?? [];
		const other = filled(given.other) ? given.other : "";
		const said = [...choices, ...(other !== "" ? ["Other"] : [])].join(", ") || "(none)";
		parts.push(`"${q.question}"="${said}"${other !== "" ? ` user notes: ${other}` : ""}`);
	}
	return `User has answered your questions: ${parts.join(", ")}`;
}

const questionParameters = Type.Object({
	questions: Type.Array(
		Type.Object({
			question: Type.String({ minLength: 1 }),
			options: Type.Array(Type.Object({ label: Type.String(), description: Type.Optional(Type.String()) }), { description: "2 to 5" }),
			multi: Type.Optional(Type.Boolean({ description: "Several may be chosen" })),
			allowOther: Type.Optional(Type.Boolean({ description: "A text beside the options is an answer too" })),
			recommended: Type.Optional(Type.Integer({ minimum: 0, description: "Which option you would take, from 0" })),
		}),
		{ description: "1 to 4" },
	),
});

// ---- all of them

/** A tool whose verb is known only after a look, or that is more than one verb. */
function registerSlow(
	pi: ExtensionAPI,
	spec: Omit<ToolSpec, "make">,
	work: (params: Params, id: string, signal: AbortSignal | undefined, onUpdate: AgentToolUpdateCallback<unknown> | undefined, ctx: ExtensionContext) => Promise<AgentToolResult<unknown>>,
): void {
	pi.registerTool<TSchema, unknown, RowState>({
		name: spec.name,
		label: spec.label,
		description: spec.description,
		promptSnippet: spec.snippet,
		parameters: spec.parameters,
		execute: (id, params, signal, onUpdate, ctx) => work(params as Params, id, signal, onUpdate, ctx),
		renderCall: (args, theme, context) => renderCall(spec.name, args as Params, theme, context as RowContext),
		renderResult: (result, options, theme, context) => renderResult(spec.name, result, options, theme, context as RowContext),
	});
}

function registerPier(pi: ExtensionAPI): void {
	register(pi, todoTool());
	const question = {
		name: "ask_user_question",
		label: "Ask the user",
		description: "Ask the person 1 to 4 questions with 2 to 5 options each, and wait. Only for what they must decide; never answer for them.",
		snippet: "Let the person decide",
		parameters: questionParameters,
		partial: "waiting…",
	};
	registerSlow(pi, question, async (params, id, signal, onUpdate, ctx) => {
		await settled;
		onUpdate?.({ content: [{ type: "text", text: question.partial }], details: { partial: true } });
		try {
			const said = await questions(params, signal, ctx);
			return { content: [{ type: "text", text: said }], details: { tool: question.name, return: { output: said }, returnCode: 0 } };
		} catch (e) {
			const message = e instanceof Error ? e.message : String(e);
			failed(id, message, 1);
			throw new Error(failureText(question.name, params, { ok: false, data: undefined, error: { code: "failure", message }, exit: 1 }));
		}
	});
	if (TEAMMATE) return;
	register(pi, terminalTool);
	const subagent = {
		name: "subagent",
		label: "Subagent",
		description:
			"Delegate a self-contained task to an agent with a context of its own. Actions: spawn (default; waits for the report unless run_in_background), list, send, interrupt, resume.",
		snippet: "Delegate a self-contained task",
		parameters: subagentParameters,
		partial: "working…",
	};
	registerSlow(pi, subagent, async (params, id, signal, onUpdate, ctx) => {
		await settled;
		let op: Operation;
		let problem: unknown;
		try {
			op = await subagentOperation(params, ctx);
		} catch (e) {
			problem = e;
		}
		const make = () => {
			if (problem !== undefined) throw problem;
			return op;
		};
		return execute({ ...subagent, make }, id, params, signal, onUpdate, ctx);
	});
}
