
// ---- activity above the input ---------------------------------------------

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const widgetKey = "agent-teams";

/** ` <spinner> <name> · <activity>` in the columns there are. */
function activityRow(spinner: string, name: string, activity: string, columns: number): string {
	const rest = Math.max(10, columns - 1) - visibleWidth(` ${spinner}  · `);
	const who = truncateToWidth(name, Math.max(1, Math.floor(rest * 0.4)), "…");
	const what = truncateToWidth(activity, Math.max(1, rest - visibleWidth(who)), "…");
	return ` ${spinner} ${who} · ${what}`;
}

interface Worker {
	name: string;
	activity: string;
}

/** The rows of whoever works. It looks only while somebody lives, and is not there when nobody works. */
class Widget {
	private workers: Worker[] = [];
	private shown = "";
	private timer: NodeJS.Timeout | undefined;
	private looking = false;
	private again = false;
	private stopped = false;

	constructor(private readonly ctx: ExtensionContext) {}

	look(): void {
		if (this.stopped) return;
		clearTimeout(this.timer);
		if (this.looking) {
			this.again = true;
			return;
		}
		this.looking = true;
		void ask(["list"], { cwd: this.ctx.cwd }).then((list) => {
			this.looking = false;
			if (this.stopped) return;
			const living: Json[] = list.ok ? (list.data.teammates ?? []).filter((tm: Json) => tm.status !== "stopped") : [];
			this.workers = living
				.filter((tm) => tm.status === "working" || tm.status === "starting")
				.map((tm) => ({ name: plain(tm.name), activity: plain(tm.activity) || "Working..." }));
			this.show();
			const next = this.again ? 100 : this.workers.length > 0 ? 1000 : living.length > 0 ? 3000 : 0;
			this.again = false;
			if (next > 0) {
				this.timer = setTimeout(() => this.look(), next);
				this.timer.unref();
			}
		});
	}

	stop(): void {
		this.stopped = true;
		clearTimeout(this.timer);
		if (this.shown !== "") this.ctx.ui.setWidget(widgetKey, undefined);
	}

	private show(): void {
		const now = this.workers.length === 0 ? "" : JSON.stringify(this.workers);
		if (now === this.shown) return;
		const present = this.shown !== "";
		this.shown = now;
		if (now === "") {
			this.ctx.ui.setWidget(widgetKey, undefined);
			return;
		}
		if (isTerminalUI(this.ctx)) {
			// One component that draws itself; it reads what the last look found.
			if (!present) this.ctx.ui.setWidget(widgetKey, (tui) => this.component(tui));
			return;
		}
		this.ctx.ui.setWidget(
			widgetKey,
			this.workers.map((w) => activityRow("◐", w.name, w.activity, 80)),
		);
	}

	private component(tui: TUI): Component & { dispose(): void } {
		let frame = 0;
		const timer = setInterval(() => {
			frame++;
			tui.requestRender();
		}, 120);
		timer.unref();
		return {
			render: (width) => {
				const rows = this.workers.map((w) => activityRow(frames[frame % frames.length] ?? "◐", w.name, w.activity, width));
				return rows.map((row) => truncateToWidth(row, width));
			},
			invalidate() {},
			dispose: () => clearInterval(timer),
		};
	}
}

let terminalUI: boolean | undefined;

/** Whether components can be shown: only a terminal calls the factory of one. */
function isTerminalUI(ctx: ExtensionContext): boolean {
	if (terminalUI === undefined && ctx.hasUI) {
		terminalUI = false;
		ctx.ui.setWidget(`${widgetKey}-probe`, () => {
			terminalUI = true;
			return { render: () => [], invalidate() {} };
		});
		if (terminalUI) ctx.ui.setWidget(`${widgetKey}-probe`, undefined);
	}
	return terminalUI === true;
}
