
// ---- /agent-teams: the console's pages as an overlay ----------------------

interface Entry {
	id: string;
	row: string;
	/** The verb that shows all of it. */
	detail: string[];
}

interface Page {
	title: string;
	load(cwd: string): Promise<Entry[]>;
}

async function entries(args: string[], key: string, cwd: string, make: (item: Json) => Entry): Promise<Entry[]> {
	const answer = await ask(args, { cwd });
	if (!answer.ok) return [{ id: "", row: `✗ ${plain(answer.error?.message)}`, detail: [] }];
	return (answer.data[key] ?? []).map(make);
}

const pages: Page[] = [
	{
		title: "Roster",
		load: (cwd) =>
			entries(["list"], "teammates", cwd, (tm) => ({
				id: tm.name,
				row: mateLine({ ...tm, activity: tm.activity || (tm.status === "working" ? "Working..." : "") }),
				detail: ["status", "-x", "--", tm.name],
			})),
	},
	{
		title: "Roles",
		load: (cwd) =>
			entries(["agents"], "agents", cwd, (a) => ({
				id: a.name,
				row: [`${a.name} · ${a.scope}`, a.gitManaged ? "git" : "local", plain(a.description)].join(" · "),
				detail: ["agents", "show", "-x", "--", a.name],
			})),
	},
	{
		title: "Board",
		load: (cwd) =>
			entries(["task", "list"], "tasks", cwd, (t) => ({
				id: t.id,
				row: taskLine({ ...t, description: "" }),
				detail: ["task", "show", "-x", "--", t.id],
			})),
	},
	{
		title: "Mail",
		load: async (cwd) =>
			(
				await entries(["inbox", "--all"], "messages", cwd, (m) => ({
					id: m.id,
					row: `${m.read ? " " : "●"} ${m.from}${m.status ? ` ${m.status}` : ""}${m.event ? ` ${m.event}` : ""} · ${plain(m.title)}`,
					detail: ["read", "--peek", "--", m.id],
				}))
			).reverse(),
	},
	{
		title: "Questions",
		load: (cwd) =>
			entries(["asks"], "asks", cwd, (q) => ({
				id: q.id,
				row: `${q.id} · @${q.from} · ${plain(q.question)}`,
				detail: ["asks", "-x"],
			})),
	},
];

class Console implements Component {
	private page = 0;
	private list: Entry[] = [];
	private loaded = false;
	private at = 0;
	private top = 0;
	private detail: string | undefined;
	/** The detail in lines of the width that was drawn last. */
	private broken: string[] = [];
	private filter = "";
	private typing = false;
	private asking: string | undefined;
	private note = "";
	private readonly timer: NodeJS.Timeout;

	constructor(
		private readonly tui: TUI,
		private readonly theme: Theme,
		private readonly cwd: string,
		private readonly done: () => void,
	) {
		void this.load();
		this.timer = setInterval(() => void this.load(), 2000);
	}

	dispose(): void {
		clearInterval(this.timer);
	}

	invalidate(): void {}

	private rowsShown(): number {
		return Math.max(5, Math.min(24, Math.floor(this.tui.terminal.rows * 0.7) - 5));
	}

	private visible(): Entry[] {
		const f = this.filter.toLowerCase();
		return f === "" ? this.list : this.list.filter((e) => e.row.toLowerCase().includes(f));
	}

	private async load(): Promise<void> {
		const page = this.page;
		const list = await pages[page]?.load(this.cwd);
		if (page !== this.page || list === undefined) return;
		this.list = list;
		this.loaded = true;
		this.move(0);
	}

	private move(by: number): void {
		const n = this.detail === undefined ? this.visible().length : this.broken.length;
		if (this.detail !== undefined) {
			this.top = Math.max(0, Math.min(this.top + by, n - this.rowsShown()));
		} else {
			this.at = Math.max(0, Math.min(this.at + by, n - 1));
			const shown = this.rowsShown();
			if (this.at < this.top) this.top = this.at;
			if (this.at >= this.top + shown) this.top = this.at - shown + 1;
		}
		this.tui.requestRender();
	}

	private turn(by: number): void {
		this.page = (this.page + by + pages.length) % pages.length;
		this.list = [];
		this.loaded = false;
		this.at = 0;
		this.top = 0;
		this.filter = "";
		this.note = "";
		this.detail = undefined;
		void this.load();
		this.tui.requestRender();
	}

	private async open(): Promise<void> {
		const entry = this.visible()[this.at];
		if (entry === undefined || entry.detail.length === 0) return;
		this.detail = (await text(entry.detail, this.cwd)).replace(/\t/g, "    ");
		this.top = 0;
		this.tui.requestRender();
	}

	private async shutDown(name: string): Promise<void> {
		this.note = `stopping ${name}…`;
		this.tui.requestRender();
		const answer = await ask(["shutdown", "--", name], { cwd: this.cwd });
		this.note = answer.ok ? `✓ stopped ${name}` : `✗ ${plain(answer.error?.message)}`;
		changed();
		await this.load();
	}

	handleInput(data: string): void {
		if (this.asking !== undefined) {
			const name = this.asking;
			this.asking = undefined;
			if (data === "y") void this.shutDown(name);
			this.tui.requestRender();
			return;
		}
		if (this.typing) {
			if (matchesKey(data, "enter")) this.typing = false;
			else if (matchesKey(data, "escape")) {
				this.typing = false;
				this.filter = "";
			} else if (matchesKey(data, "backspace")) this.filter = this.filter.slice(0, -1);
			else if (data.length >= 1 && !data.startsWith("\u001b") && data >= " ") this.filter += data;
			this.at = 0;
			this.top = 0;
			this.move(0);
			return;
		}
		if (data === "q" || matchesKey(data, "escape") || matchesKey(data, "ctrl+c")) {
			if (this.detail === undefined || matchesKey(data, "ctrl+c")) return this.done();
			this.detail = undefined;
			this.top = 0;
			this.move(0);
		} else if (matchesKey(data, "tab") || matchesKey(data, "right")) this.turn(1);
		else if (matchesKey(data, "shift+tab") || matchesKey(data, "left")) this.turn(-1);
		else if (data === "j" || matchesKey(data, "down")) this.move(1);
		else if (data === "k" || matchesKey(data, "up")) this.move(-1);
		else if (matchesKey(data, "pageDown")) this.move(this.rowsShown());
		else if (matchesKey(data, "pageUp")) this.move(-this.rowsShown());
		else if (data === "/" && this.detail === undefined) {
			this.typing = true;
			this.move(0);
		} else if (matchesKey(data, "enter")) void this.open();
		else if (data === "x" && this.page === 0 && this.detail === undefined) {
			this.asking = this.visible()[this.at]?.id || undefined;
			this.tui.requestRender();
		}
	}

	render(width: number): string[] {
		const t = this.theme;
		const inner = Math.max(1, width - 4);
		const lines: string[] = [];
		const tabs = pages.map((p, i) => (i === this.page ? t.bold(t.fg("accent", p.title)) : t.fg("muted", p.title)));
		lines.push(tabs.join("  "), "");
		const shown = this.rowsShown();
		if (this.detail !== undefined) {
			this.broken = wrapped(this.detail.split("\n"), inner);
			lines.push(...this.broken.slice(this.top, this.top + shown));
		} else {
			const list = this.visible();
			if (list.length === 0) lines.push(t.fg("muted", this.loaded ? "nothing here" : "loading…"));
			list.slice(this.top, this.top + shown).forEach((entry, i) => {
				const here = this.top + i === this.at;
				lines.push(here ? t.fg("accent", `› ${entry.row}`) : `  ${entry.row}`);
			});
		}
		while (lines.length < shown + 2) lines.push("");
		let help = this.detail !== undefined ? "j/k scroll · q back" : "tab page · j/k move · enter detail · / filter · q close";
		if (this.page === 0 && this.detail === undefined) help += " · x shut down";
		if (this.note !== "") help = this.note;
		if (this.typing || this.filter !== "") help = `/${this.filter}${this.typing ? "▏" : ""}`;
		if (this.asking !== undefined) help = `shut down ${this.asking}? y / n`;
		lines.push("", t.fg("dim", help));
		const bar = t.fg("border", "│");
		const body = lines.map((line) => {
			const cut = truncateToWidth(line, inner);
			return `${bar} ${cut}${" ".repeat(Math.max(0, inner - visibleWidth(cut)))} ${bar}`;
		});
		const rule = "─".repeat(Math.max(0, width - 2));
		return [t.fg("border", `╭${rule}╮`), ...body, t.fg("border", `╰${rule}╯`)].map((line) => truncateToWidth(line, width, ""));
	}
}

function registerConsole(pi: ExtensionAPI): void {
	pi.registerCommand("agent-teams", {
		description: "The team: roster, roles, board, mail and questions",
		handler: async (_args, ctx) => {
			await settled;
			if (isTerminalUI(ctx)) {
				await ctx.ui.custom<void>((tui, theme, _keys, done) => new Console(tui, theme, ctx.cwd, () => done()), {
					overlay: true,
					overlayOptions: { width: "90%", maxHeight: "90%" },
				});
				return;
			}
			const list = await text(["list"], ctx.cwd);
			if (ctx.hasUI) ctx.ui.notify(list, "info");
			else process.stdout.write(`${list}\n`);
		},
	});
}
