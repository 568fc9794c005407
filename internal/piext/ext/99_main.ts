
// ---- the two sides --------------------------------------------------------

const leaderNote = `

## In this session

The tools teammate_spawn, teammate_shutdown, send_message, task_create and task_list do what the commands of the
same meaning do. Terminal reports, and notices that need you, come to you as turns of their own: end your turn
when there is nothing for you to do, and never wait for them with sleep, \`teams wait\` or \`teams recv\`. Reports
without a terminal status stay in the mailbox (\`teams inbox\`).`;

/** The guidance stands behind the system prompt: static text, the same for the same agents. */
function guide(pi: ExtensionAPI, topic: "leader" | "worker", note: string): void {
	let known = "";
	pi.on("before_agent_start", async (event, ctx) => {
		const answer = await ask(["guide", topic], { cwd: ctx.cwd });
		if (answer.ok && filled(answer.data.text)) known = answer.data.text;
		if (known === "" || event.systemPrompt.includes(known)) return undefined;
		return { systemPrompt: `${event.systemPrompt}\n\n${known.trimEnd()}${note}\n` };
	});
}

function lead(pi: ExtensionAPI): void {
	for (const spec of leaderTools()) register(pi, spec);
	registerReports(pi);
	registerConsole(pi);
	guide(pi, "leader", leaderNote);

	let leader: Leader | undefined;
	let widget: Widget | undefined;

	pi.on("session_start", (event, ctx) => {
		// Without somebody who looks on (pi -p) there is one run, and nothing to lead.
		if (!ctx.hasUI) return;
		postman = new Postman(pi, ctx);
		widget = new Widget(ctx);
		changed = () => widget?.look();
		leader = new Leader(ctx, postman);
		settled = leader.start(event.reason === "reload").then(changed, (e: unknown) => {
			ctx.ui.notify(`teams: ${e instanceof Error ? e.message : String(e)}`, "warning");
		});
	});
	pi.on("input", () => {
		postman?.typed();
	});
	pi.on("agent_start", () => {
		postman?.runBegan();
	});
	pi.on("message_start", (event) => {
		const m = event.message;
		if (m.role === "custom" && m.customType === reportType) void postman?.began(m.details);
	});
	pi.on("message_end", (event) => {
		const m = event.message;
		if (m.role === "custom" && m.customType === reportType) postman?.ended(m.details);
	});
	pi.on("agent_end", (event) => {
		const last = event.messages[event.messages.length - 1];
		postman?.runEnded(last?.role === "assistant" && last.stopReason === "error");
		changed();
	});
	pi.on("session_before_compact", () => {
		postman?.compacting(true);
	});
	pi.on("session_compact", () => {
		postman?.compacting(false);
	});
	pi.on("tool_execution_end", () => changed());
	pi.on("session_shutdown", async (event) => {
		postman?.stop();
		widget?.stop();
		changed = () => {};
		await settled;
		if (event.reason === "reload") await leader?.pause();
		else await leader?.end();
		leader = undefined;
		postman = undefined;
		widget = undefined;
	});
}

/** The one that delivers the leader's mail, while a session is led. */
let postman: Postman | undefined;

export default function (pi: ExtensionAPI): void {
	// A global and a project installation may both be loaded: the first one counts.
	const file = import.meta.url;
	if (kept.owner !== undefined && kept.owner !== file) return;
	kept.owner = file;
	putIntoPath();
	if (TEAMMATE) {
		for (const spec of teammateTools()) register(pi, spec);
		if (!RESIDENT) guide(pi, "worker", "");
	} else {
		lead(pi);
	}
	registerPier(pi);
	pi.on("session_shutdown", () => {
		kept.owner = undefined;
	});
}
