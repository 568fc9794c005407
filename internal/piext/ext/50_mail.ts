
// ---- the leader's mail ----------------------------------------------------

/** A message as follow --json prints it. */
interface Mail {
	id: string;
	from: string;
	kind: string;
	event?: string;
	title: string;
	status?: string;
	task?: string;
	body?: string;
}

const reportType = "agent-teams-report";
const finishedType = "agent-teams-teammate-finished";
/** Bytes of one body that the model gets; the whole is a command away. */
const maxBody = 64 * 1024;
const startWait = 30_000;
const maxAttempts = 5;

function isTerminal(m: Mail): boolean {
	return m.kind === "report" && (m.status === "completed" || m.status === "failed");
}

/** Whether a message starts a turn. All others wait in the mailbox. */
function startsTurn(m: Mail): boolean {
	if (m.kind === "notice") return ["stalled", "stopped", "escalation", "settled", "undelivered"].includes(m.event ?? "");
	return isTerminal(m);
}

function escapeText(s: string): string {
	return s.replace(/&/g, "&amp;").replace(/</g, "&lt;");
}

function escapeAttribute(s: string): string {
	return escapeText(s).replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

/** The agent format of the mail: no body can close it and forge another sender. */
function envelopeOf(m: Mail): string {
	const attributes = [`from="${escapeAttribute(m.from)}"`, `id="${escapeAttribute(m.id)}"`];
	if (m.status) attributes.push(`status="${escapeAttribute(m.status)}"`);
	if (m.event) attributes.push(`event="${escapeAttribute(m.event)}"`);
	if (m.task) attributes.push(`task="${escapeAttribute(m.task)}"`);
	const body = m.body ?? "";
	const cut = cutBytes(body, maxBody);
	const shown = cut === undefined ? body : `${cut}\n[cut here; the whole: teams read --peek ${m.id}]`;
	return `<agent-message ${attributes.join(" ")}>\n${escapeText(shown)}\n</agent-message>`;
}

interface Delivery {
	nonce: string;
	messages: Mail[];
	started: boolean;
}

interface ReportDetails {
	delivery: string;
	rows: string[];
	messages: Pick<Mail, "id" | "from" | "kind" | "event" | "status" | "title">[];
}

/** Gives what reaches the leader to its model, one sender a turn, and marks it read once that turn has begun. */
class Postman {
	private waiting: Mail[] = [];
	private current: Delivery | undefined;
	private attempts = 0;
	private notBefore = 0;
	private busy = false;
	private timer: NodeJS.Timeout | undefined;
	private stopped = false;
	private count = 0;
	/** Until then Pi may continue a run by itself, though it says that it is idle. */
	private settling = 0;

	constructor(
		private readonly pi: ExtensionAPI,
		private readonly ctx: ExtensionContext,
	) {}

	take(m: Mail): void {
		if (this.stopped || !startsTurn(m) || this.knows(m.id)) return;
		this.waiting.push(m);
		this.later(100); // several that come together are one turn
	}

	/** Forgets a message that a tool has shown already, and marks it read. */
	async drop(id: string): Promise<void> {
		this.waiting = this.waiting.filter((m) => m.id !== id);
		await ask(["read", "--", id], { cwd: this.ctx.cwd });
	}

	stop(): void {
		this.stopped = true;
		clearTimeout(this.timer);
	}

	/** The person has typed something: what Pi does before the run begins must not be overtaken, or the input is lost. */
	typed(): void {
		this.settling = Math.max(this.settling, Date.now() + 10_000);
	}

	runBegan(): void {
		this.settling = 0;
	}

	runEnded(failed: boolean): void {
		// A failed run may be tried again, which Pi does not announce.
		this.settling = failed ? Date.now() + 15_000 : 0;
		this.later(50);
	}

	compacting(now: boolean): void {
		this.settling = now ? Date.now() + 120_000 : 0;
		if (!now) this.later(50);
	}

	/** A message of Pi has begun: perhaps the one that carries ours. */
	async began(details: unknown): Promise<void> {
		const d = this.current;
		if (d === undefined || (details as ReportDetails | undefined)?.delivery !== d.nonce || d.started) return;
		d.started = true;
		this.attempts = 0;
		this.notBefore = 0;
		for (const m of d.messages) {
			const answer = await ask(["read", "--", m.id], { cwd: this.ctx.cwd });
			if (!answer.ok) this.say(`${m.id} could not be marked as read: ${answer.error?.message}`, "warning");
		}
	}

	/** That message is complete: the line about each teammate that has finished. */
	ended(details: unknown): void {
		const d = this.current;
		if (d === undefined || (details as ReportDetails | undefined)?.delivery !== d.nonce) return;
		this.current = undefined;
		for (const name of new Set(d.messages.filter(isTerminal).map((m) => m.from))) {
			this.pi.appendEntry(finishedType, { name });
			this.say(`Teammate @${name} finished.`, "info");
		}
		this.later(500);
	}

	private knows(id: string): boolean {
		return this.waiting.some((m) => m.id === id) || (this.current?.messages.some((m) => m.id === id) ?? false);
	}

	private say(line: string, kind: "info" | "warning"): void {
		if (!this.stopped && this.ctx.hasUI) this.ctx.ui.notify(line, kind);
	}

	private later(ms: number): void {
		if (this.stopped) return;
		clearTimeout(this.timer);
		this.timer = setTimeout(() => void this.pump(), ms);
	}

	private idle(): boolean {
		return this.ctx.isIdle() && !this.ctx.hasPendingMessages() && Date.now() >= this.settling;
	}

	private async pump(): Promise<void> {
		if (this.busy || this.stopped) return;
		this.busy = true;
		try {
			await this.deliver();
		} finally {
			this.busy = false;
		}
		if (this.waiting.length > 0 || (this.current !== undefined && !this.current.started)) this.later(500);
	}

	private async deliver(): Promise<void> {
		if (this.current !== undefined) {
			if (this.current.started || Date.now() < this.notBefore || !this.ctx.isIdle()) return;
			this.retry(this.current);
			return;
		}
		if (this.waiting.length === 0 || Date.now() < this.notBefore || !this.idle()) return;
		const from = this.waiting[0]?.from;
		const group: Mail[] = [];
		for (const m of this.waiting.filter((w) => w.from === from)) {
			// It may have been read by hand meanwhile, or taken back.
			const now = await ask(["read", "--peek", "--", m.id], { cwd: this.ctx.cwd });
			if (now.ok ? now.data.message?.read !== true : now.error?.code !== "not_found") group.push(m);
			else this.waiting = this.waiting.filter((w) => w.id !== m.id);
		}
		if (group.length === 0) return;
		const rows = await this.rows(group);
		if (this.stopped || !this.idle()) return;
		this.waiting = this.waiting.filter((m) => !group.includes(m));
		this.count++;
		const d: Delivery = { nonce: `${process.pid}.${Date.now()}.${this.count}`, messages: group, started: false };
		const details: ReportDetails = {
			delivery: d.nonce,
			rows,
			messages: group.map(({ id, from, kind, event, status, title }) => ({ id, from, kind, event, status, title })),
		};
		this.current = d;
		this.notBefore = Date.now() + startWait;
		this.pi.sendMessage(
			{ customType: reportType, content: group.map(envelopeOf).join("\n\n"), display: true, details },
			{ triggerTurn: true, deliverAs: "followUp" },
		);
	}

	/** The turn did not begin: the messages stay unread and are tried again. */
	private retry(d: Delivery): void {
		this.current = undefined;
		this.waiting = [...d.messages, ...this.waiting];
		this.attempts++;
		let delay = Math.min(1000 * 2 ** (this.attempts - 1), 30_000);
		if (this.attempts >= maxAttempts) {
			this.say(`reports of @${d.messages[0]?.from} start no turn; they stay unread: teams inbox`, "warning");
			this.attempts = 0;
			delay = 300_000;
		}
		this.notBefore = Date.now() + delay;
	}

	private async rows(group: Mail[]): Promise<string[]> {
		const out: string[] = [];
		for (const m of group) {
			const what = m.kind === "notice" ? `Notice: ${m.event}` : `Report from @${m.from}: ${m.status}`;
			const ids: Record<string, string> = { messageId: m.id };
			if (m.task) ids.taskId = m.task;
			const body = m.body ?? "";
			const input = JSON.stringify({ notification: { title: what, ids, message: cutBytes(body, maxBody) ?? body } });
			const shown = await run(["render"], { cwd: this.ctx.cwd, stdin: input });
			if (out.length > 0) out.push("");
			out.push(...(shown.code === 0 ? shown.stdout.replace(/\n+$/, "").split("\n") : [what, plain(m.title)]));
		}
		return out;
	}
}

/** Shows a report; the whole of it when tool output is expanded. */
function registerReports(pi: ExtensionAPI): void {
	pi.registerMessageRenderer<ReportDetails>(reportType, (message, { expanded }, theme) => {
		const rows = message.details?.rows;
		if (!Array.isArray(rows)) return undefined;
		const shown = expanded ? rows : rows.slice(0, 12);
		const lines = shown.map((row, i) => (i === 0 ? theme.fg("customMessageLabel", theme.bold(row)) : theme.fg("customMessageText", row)));
		if (shown.length < rows.length) lines.push(theme.fg("muted", `… ${rows.length - shown.length} more lines`));
		return new Lines(lines, true, " ");
	});
}
