
// ---- tools ----------------------------------------------------------------

/** One call of a verb, made of the arguments of a tool. */
interface Operation {
	args: string[];
	stdin?: string;
	/** The first lines that the model gets: what came of it. */
	body(data: Json): string;
	/** What the model gets as the return; absent: all of it. */
	returns?(data: Json): unknown;
	/** Opaque ids for further calls. */
	details?(data: Json): [string, unknown][];
	/** What the model is told of a failure beside its message. */
	explains?(data: Json): string;
	/** Done once it has succeeded. */
	after?(data: Json): void;
	/** When the result that came with a failure is a success for the model. */
	accepts?(e: Envelope): boolean;
}

type Params = Record<string, Json>;

interface ToolSpec {
	name: string;
	label: string;
	description: string;
	snippet: string;
	parameters: TSchema;
	/** What is shown while it is under way. */
	partial: string;
	/** Calls of one answer are made in their order: one may need what the one before it did. */
	inOrder?: boolean;
	make(params: Params, ctx: ExtensionContext): Operation;
}

/** The identity of the Pi session must be settled before any verb runs. */
let settled: Promise<void> = Promise.resolve();
/** Called when something may have changed in the team. */
let changed: () => void = () => {};

function compact(value: unknown, limit: number): string {
	return JSON.stringify(value, (_key, v) => (typeof v === "string" && v.length > limit ? `${v.slice(0, limit)}…` : v)) ?? "{}";
}

function protocol(tool: string, body: string, call: unknown, returns: unknown, details: [string, unknown][]): string {
	const rows = details.filter(([, value]) => value !== undefined && value !== "" && value !== null);
	return [
		body,
		"",
		"call:",
		`    ${tool} ${compact(call, 200)}`,
		"",
		"return:",
		`    ${compact(returns, 4000)}`,
		"",
		"details:",
		...rows.map(([name, value]) => `    ${name}: ${plain(value)}`),
	].join("\n");
}

function failureText(tool: string, call: unknown, e: Envelope, more = ""): string {
	const problem = e.error ?? { code: "failure", message: "it failed" };
	const body = `${tool} failed: ${problem.message}${problem.hint ? `\nhint: ${problem.hint}` : ""}${more ? `\n\n${more}` : ""}`;
	return protocol(tool, body, call, problem, [
		["error code", problem.code],
		["return code", e.exit],
	]);
}

async function execute(
	spec: ToolSpec,
	id: string,
	params: Params,
	signal: AbortSignal | undefined,
	onUpdate: AgentToolUpdateCallback<unknown> | undefined,
	ctx: ExtensionContext,
): Promise<AgentToolResult<unknown>> {
	const started = Date.now();
	const update = () => {
		const seconds = Math.floor((Date.now() - started) / 1000);
		const line = seconds > 0 ? `${spec.partial} ${seconds}s` : spec.partial;
		onUpdate?.({ content: [{ type: "text", text: line }], details: { partial: true } });
	};
	update();
	const timer = setInterval(update, 1000);
	const fail = (e: Envelope, more?: string): never => {
		failed(id, e.error?.message ?? "failed", e.exit || 1);
		throw new Error(failureText(spec.name, params, e, more));
	};
	try {
		await settled;
		let op: Operation;
		try {
			op = spec.make(params, ctx);
		} catch (e) {
			const message = e instanceof Error ? e.message : String(e);
			return fail({ ok: false, data: undefined, error: { code: "usage", message }, exit: 64 });
		}
		const answer = await ask(op.args, { cwd: ctx.cwd, stdin: op.stdin, signal });
		if (!answer.ok && !(answer.data !== undefined && op.accepts?.(answer))) {
			return fail(answer, answer.data === undefined ? undefined : op.explains?.(answer.data));
		}
		op.after?.(answer.data);
		const returns = op.returns ? op.returns(answer.data) : answer.data;
		const details: [string, unknown][] = [...(op.details?.(answer.data) ?? []), ["return code", answer.exit]];
		return {
			content: [{ type: "text", text: protocol(spec.name, op.body(answer.data), params, returns, details) }],
			details: { tool: spec.name, return: returns, returnCode: answer.exit },
		};
	} finally {
		clearInterval(timer);
		changed();
	}
}

function register(pi: ExtensionAPI, spec: ToolSpec): void {
	pi.registerTool<TSchema, unknown, RowState>({
		name: spec.name,
		label: spec.label,
		description: spec.description,
		promptSnippet: spec.snippet,
		parameters: spec.parameters,
		executionMode: spec.inOrder ? "sequential" : undefined,
		execute: (id, params, signal, onUpdate, ctx) => execute(spec, id, params as Params, signal, onUpdate, ctx),
		renderCall: (args, theme, context) => renderCall(spec.name, args as Params, theme, context as RowContext),
		renderResult: (result, options, theme, context) => renderResult(spec.name, result, options, theme, context as RowContext),
	});
}

// Arguments that stand before "--" are checked here; all others stand behind it
// or in standard input, where nothing takes them for a flag or a file.
function handle(value: unknown, what: string): string {
	const name = String(value ?? "");
	if (!/^[a-z][a-z0-9_-]{0,31}$/.test(name)) {
		throw new Error(`${what} ${JSON.stringify(name)} cannot be used: a to z, 0 to 9, _ and -, at most 32, beginning with a letter`);
	}
	return name;
}

function oneOf<T extends string>(values: readonly T[], description: string): TSchema {
	return Type.Unsafe<T>({ type: "string", enum: [...values], description });
}

function filled(value: unknown): value is string {
	return typeof value === "string" && value !== "";
}

/** A teammate without what only processes care about. */
function mate(tm: Json): Record<string, unknown> {
	const { name, label, agent, kind, status, spawnId, cwd, worktree, branch, currentTask, activity, error } = tm ?? {};
	return { name, label, agent, kind, status, spawnId, cwd, worktree, branch, currentTask, activity, error };
}

function taskLine(t: Json): string {
	const parts = [`${t.id} [${t.state ?? t.status}] ${plain(t.subject)}`];
	if (filled(t.claimedBy)) parts.push(`holder ${t.claimedBy}`);
	if (t.dependsOn?.length > 0) {
		parts.push(`depends on ${t.dependsOn.join(", ")}${t.waitingOn?.length > 0 ? ` (unmet: ${t.waitingOn.join(", ")})` : " (met)"}`);
	}
	if (filled(t.role)) parts.push(`role ${t.role}`);
	if (filled(t.assignee)) parts.push(`for ${t.assignee}`);
	if (filled(t.verify)) parts.push(`verify: ${plain(t.verify)}`);
	const line = parts.join(" · ");
	if (!filled(t.description) || t.state === "completed" || t.state === "cancelled") return line;
	const text = t.description.length > 2000 ? `${t.description.slice(0, 2000)}… (teams task show ${t.id})` : t.description;
	return `${line}\n${text.replace(/^/gm, "    ")}`;
}

function mateLine(tm: Json): string {
	const parts = [`@${tm.name} (${tm.agent || tm.kind}) ${tm.status}`];
	if (filled(tm.currentTask)) parts.push(`task ${tm.currentTask}`);
	if (filled(tm.activity) && tm.status === "working") parts.push(plain(tm.activity));
	if (filled(tm.error)) parts.push(plain(tm.error));
	return parts.join(" · ");
}

const taskList: ToolSpec = {
	name: "task_list",
	label: "Task list",
	description: "Show the task board (id, state, holder, subject, dependencies, gate, description) and the living teammates.",
	snippet: "Show the task board and the roster of the team",
	parameters: Type.Object({}),
	partial: "listing…",
	make: () => ({
		args: ["list"],
		body(data) {
			const living = (data.teammates ?? []).filter((tm: Json) => tm.status !== "stopped");
			const tasks = (data.tasks ?? []).map(taskLine);
			return [
				tasks.length > 0 ? tasks.join("\n") : "no tasks",
				"",
				living.length > 0 ? living.map(mateLine).join("\n") : "no living teammates",
			].join("\n");
		},
		returns: (data) => ({ total: data.tasks?.length ?? 0, counts: data.counts ?? {} }),
	}),
};

function message(teammate: boolean): ToolSpec {
	return {
		name: "send_message",
		label: "Send message",
		description: teammate
			? 'Send a message. to "leader" is a report: its last one carries the status completed or failed. Any other name is mail to that teammate, without a status.'
			: "Send a message to a teammate by its name. A working one gets it at its next tool gap, an idle one wakes.",
		snippet: teammate ? "Report to the leader, or write to another teammate" : "Steer a teammate, or give it something to do",
		parameters: Type.Object({
			to: Type.String({ minLength: 1, description: teammate ? '"leader", or the name of a teammate' : "The name of a teammate" }),
			message: Type.String({ description: "The text. Its first line is its title." }),
			status: Type.Optional(oneOf(["in_progress", "completed", "failed"], "Only in a report to the leader")),
		}),
		partial: "waiting…",
		inOrder: true,
		make(params) {
			if (params.status && !(teammate && params.to === "leader")) {
				throw new Error("a status is only for a teammate's report to the leader");
			}
			const status = params.status ? ["--status", handle(params.status, "the status")] : [];
			return {
				args: ["send", ...status, "--", String(params.to), "-"],
				stdin: String(params.message ?? ""),
				body(data) {
					const all: Json[] = data.messages ?? [data.message];
					const lines = all.map((m) => `message to ${m.to} ${m.delivery ?? "sent"}`);
					for (const m of all) {
						if (m.silentMs > 0) lines.push(`${m.to} has been silent for ${Math.round(m.silentMs / 60000)} min: delivery is uncertain`);
					}
					if (teammate && params.to === "leader" && !params.status) {
						lines.push("It has no status: your last report must say completed or failed.");
					}
					return lines.join("\n");
				},
				details: (data) => (data.messages ?? [data.message]).map((m: Json) => ["message id", m.id]),
			};
		},
	};
}

/** One line that a teammate has begun. */
function started(tm: Json, prompt: string, ctx: ExtensionContext): void {
	const task = plain(prompt.trim().split("\n", 1)[0]);
	const parts = [`[${plain(tm.agent)}] started`, `@${plain(tm.name)}`];
	if (task !== "") parts.push(task.length > 120 ? `${task.slice(0, 119)}…` : task);
	if (ctx.hasUI) ctx.ui.notify(parts.join(" · "), "info");
}

function leaderTools(): ToolSpec[] {
	return [
		{
			name: "teammate_spawn",
			label: "Spawn teammate",
			description:
				"Start a named teammate of a role (an agent definition). With a prompt that is its first task; without one it waits for mail and claimable work. Its reports come to you by themselves.",
			snippet: "Start a teammate that works by itself and reports back",
			parameters: Type.Object({
				name: Type.String({ minLength: 1, description: "Its name: a to z, 0 to 9, _ and -" }),
				agent: Type.String({ description: "Its role" }),
				prompt: Type.Optional(Type.String({ description: "Self-contained: inputs, expected output, bounds" })),
				command: Type.Optional(
					Type.Array(Type.String(), { description: "Instead of an agent: a program that is run once per wake, with the messages on its input" }),
				),
			}),
			partial: "spawning…",
			make(params, ctx) {
				const command: string[] = Array.isArray(params.command) ? params.command.map(String) : [];
				const given = filled(params.prompt);
				return {
					args: [
						"spawn",
						handle(params.name, "the name"),
						handle(params.agent, "the agent"),
						...(given ? ["-"] : []),
						...(command.length > 0 ? ["--host", "exec", "--", ...command] : []),
					],
					stdin: given ? params.prompt : undefined,
					body: (data) => `teammate_spawn spawned ${data.teammate.name}: ${data.teammate.agent}`,
					returns: (data) => mate(data.teammate),
					after: (data) => started(data.teammate, given ? params.prompt : "", ctx),
					details: (data) => [
						["teammate", data.teammate.name],
						["spawn id", data.teammate.spawnId],
					],
				};
			},
		},
		{
			name: "teammate_shutdown",
			label: "Shut down teammate",
			description: "Stop a teammate: its turn may end first, what it holds returns to the board, and its name is free again.",
			snippet: "Stop a teammate and free what it holds",
			parameters: Type.Object({ name: Type.String({ minLength: 1, description: "The name of a living teammate" }) }),
			partial: "stopping…",
			make: (params) => ({
				args: ["shutdown", "--", handle(params.name, "the name")],
				body: () => `teammate_shutdown stopped ${params.name}`,
				returns: (data) => (data.teammate ? mate(data.teammate) : data),
				details: (data) => [["spawn id", data.teammate?.spawnId]],
			}),
		},
		message(false),
		{
			name: "task_create",
			label: "Create task",
			description: "Put a task on the board. Teammates claim it once all it depends on is completed; it is completed only when its gate passes.",
			snippet: "Put a task on the shared board",
			parameters: Type.Object({
				subject: Type.String({ minLength: 1, description: "One line" }),
				description: Type.Optional(Type.String({ description: "All that whoever takes it will know" })),
				dependsOn: Type.Optional(Type.Array(Type.String(), { description: "Ids of tasks that must be completed first" })),
				verify: Type.Optional(Type.String({ description: "The gate: a shell command that exits 0 when the task is done" })),
			}),
			partial: "creating…",
			inOrder: true,
			make(params) {
				const task: Record<string, unknown> = { subject: params.subject };
				if (filled(params.description?.trim?.())) task.description = params.description;
				if (params.dependsOn?.length > 0) task.dependsOn = params.dependsOn;
				if (filled(params.verify?.trim?.())) task.verify = params.verify;
				return {
					args: ["task", "add", "--batch", "-"],
					stdin: `${JSON.stringify(task)}\n`,
					body: (data) => `task_create created ${data.tasks[0].id}: ${plain(data.tasks[0].subject)}`,
					returns: (data) => ({ task: data.tasks[0] }),
					details: (data) => [["task id", data.tasks[0].id]],
				};
			},
		},
		taskList,
	];
}

function teammateTools(): ToolSpec[] {
	return [
		message(true),
		taskList,
		{
			name: "task_claim",
			label: "Claim task",
			description: "Take a task for yourself: the one with taskId, else the next one that you may do. Read all of it in the result.",
			snippet: "Take a task from the board",
			parameters: Type.Object({ taskId: Type.Optional(Type.String({ description: "Such as t_3" })) }),
			partial: "claiming…",
			inOrder: true,
			make: (params) => ({
				args: ["claim", "--", ...(filled(params.taskId) ? [params.taskId] : [])],
				body: (data) => `task_claim claimed ${taskLine(data.task)}`,
				details: (data) => [
					["task id", data.task.id],
					["attempt", data.task.attempt],
				],
			}),
		},
		{
			name: "task_submit",
			label: "Submit task",
			description:
				"Hand in a task that you hold. With completed its gate runs now; when that fails the task stays yours, and the end of its output is in the error: fix the cause and submit again.",
			snippet: "Hand in the task that you hold",
			parameters: Type.Object({
				taskId: Type.String({ minLength: 1, description: "Such as t_3" }),
				status: oneOf(["completed", "failed"], "failed: it cannot be done, and the result says why"),
				result: Type.Optional(Type.String({ description: "What was done and how it was verified, or why it failed" })),
			}),
			partial: "submitting…",
			inOrder: true,
			make(params) {
				const result = filled(params.result) ? ["--result", "-"] : [];
				return {
					args: ["submit", "--status", handle(params.status, "the status"), ...result, "--", String(params.taskId)],
					stdin: filled(params.result) ? params.result : undefined,
					body: (data) => `task_submit ${data.task.id} is ${data.task.state ?? data.task.status} (gate: ${data.verdict ?? "none"})`,
					explains(data) {
						const log = data.task?.lastGate?.log;
						const end = filled(log) ? tail(log, 4000).trimEnd() : "";
						return end === "" ? "" : `the end of ${log}:\n${end}`;
					},
					details: (data) => [
						["task id", data.task.id],
						["claimable now", data.ready?.join(", ")],
					],
				};
			},
		},
	];
}
