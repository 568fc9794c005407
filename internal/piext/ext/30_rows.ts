
// ---- rows: what people see of a call --------------------------------------

/** Lines that are cut, or wrapped, to the width there is. */
class Lines implements Component {
	constructor(
		private readonly lines: string[],
		private readonly wrap: boolean,
		private readonly indent = "",
	) {}
	render(width: number): string[] {
		const room = Math.max(1, width - this.indent.length);
		const rows = this.wrap ? wrapped(this.lines, room) : this.lines.map((line) => truncateToWidth(line, room));
		return rows.map((row) => this.indent + row);
	}
	invalidate(): void {}
}

function wrapped(lines: string[], width: number): string[] {
	return lines.flatMap((line) => (line === "" ? [""] : wrapTextWithAnsi(line, width)));
}

/** The input of teams render. */
interface Shown {
	tool: string;
	call: Record<string, unknown>;
	return?: unknown;
	returnCode?: number;
	partial?: boolean;
}

async function renderRows(op: Shown, expanded: boolean, cwd: string): Promise<string[]> {
	const args = expanded ? ["render", "-x"] : ["render"];
	const outcome = await run(args, { cwd, stdin: JSON.stringify(op) });
	if (outcome.code !== 0) return [op.tool, plain(outcome.stderr)];
	return outcome.stdout.replace(/\n+$/, "").split("\n");
}

interface Slot {
	key?: string;
	lines?: string[];
}
type RowState = Record<string, Slot>;

/** What Pi tells a renderer, as far as it is used here. */
interface RowContext {
	args: Record<string, unknown>;
	toolCallId: string;
	invalidate(): void;
	state: RowState;
	cwd: string;
	executionStarted: boolean;
	argsComplete: boolean;
	isPartial: boolean;
	isError: boolean;
}

/** Rows come from a process, so the first answer is a stand-in; the row is drawn again when they are there. */
function rowsOf(slot: string, key: string, op: Shown, expanded: boolean, context: RowContext): string[] | undefined {
	context.state[slot] ??= {};
	const at = context.state[slot];
	if (at.key !== key) {
		at.key = key;
		void renderRows(op, expanded, context.cwd).then((lines) => {
			if (at.key !== key) return;
			at.lines = lines;
			context.invalidate();
		});
	}
	return at.lines;
}

function paint(lines: string[], theme: Theme): string[] {
	return lines.map((line, i) => {
		if (line.startsWith("✓")) return theme.fg("success", line);
		if (line.startsWith("✗")) return theme.fg("error", line);
		if (i > 0 && (line === "call" || line === "return")) return theme.bold(line);
		return theme.fg("toolOutput", line);
	});
}

/** Failures by call, since Pi keeps only the text of an error that was thrown. */
const failures = new Map<string, { error: string; code: number }>();

function failed(id: string, error: string, code: number): void {
	failures.set(id, { error, code });
	for (const old of failures.keys()) {
		if (failures.size <= 500) break;
		failures.delete(old);
	}
}

function renderCall(tool: string, args: Record<string, unknown>, theme: Theme, context: RowContext): Component {
	let line = tool;
	if (context.argsComplete || context.executionStarted || context.isPartial === false) {
		const call = args ?? {};
		line = rowsOf("call", JSON.stringify(call), { tool, call, partial: true }, false, context)?.[0] ?? tool;
	}
	const rest = line.startsWith(tool) ? line.slice(tool.length) : ` ${line}`;
	return new Lines([theme.fg("toolTitle", theme.bold(tool)) + theme.fg("muted", rest)], false);
}

function renderResult(
	tool: string,
	result: AgentToolResult<unknown>,
	options: ToolRenderResultOptions,
	theme: Theme,
	context: RowContext,
): Component {
	const details = (result.details ?? {}) as { return?: unknown };
	const op: Shown = { tool, call: context.args ?? {} };
	if (options.isPartial) {
		op.partial = true;
	} else if (context.isError) {
		const said = result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
		const first = said.split("\n", 1)[0]?.replace(`${tool} failed: `, "") ?? "failed";
		const known = failures.get(context.toolCallId);
		op.return = { error: known?.error ?? first };
		op.returnCode = known?.code ?? 1;
	} else {
		op.return = details.return ?? {};
		op.returnCode = 0;
	}
	const expanded = options.expanded && !options.isPartial;
	const lines = rowsOf("result", JSON.stringify([op, expanded]), op, expanded, context);
	if (lines === undefined) return new Lines([], false);
	return new Lines(paint(lines.slice(1), theme), expanded);
}
