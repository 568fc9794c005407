
// ---- the teams program ----------------------------------------------------

interface Outcome {
	/** Exit code; -1 when the program could not be started or was ended by a signal. */
	code: number;
	stdout: string;
	stderr: string;
}

interface Problem {
	code: string;
	message: string;
	hint?: string;
	details?: Record<string, Json>;
}

/** What a verb prints with --json. */
interface Envelope {
	ok: boolean;
	data: Json;
	error?: Problem;
	exit: number;
}

interface RunOptions {
	cwd: string;
	/** Standard input; nothing when absent. */
	stdin?: string;
	signal?: AbortSignal;
	env?: NodeJS.ProcessEnv;
	/** It goes on when Pi is ended, in a process group of its own. */
	detached?: boolean;
}

function isProgram(file: string): boolean {
	try {
		accessSync(file, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

function binary(): string {
	if (process.env.TEAMS_BIN) return process.env.TEAMS_BIN;
	if (INSTALLED_BINARY !== "" && isProgram(INSTALLED_BINARY)) return INSTALLED_BINARY;
	return "teams";
}

/** Lets shell commands of the model find teams, behind everything that is in PATH already. */
function putIntoPath(): void {
	const dirs = (process.env.PATH ?? "").split(delimiter);
	const file = binary();
	if (file.includes("/") && !dirs.some((dir) => dir !== "" && isProgram(join(dir, "teams")))) {
		process.env.PATH = [...dirs, dirname(file)].join(delimiter);
	}
}

function environment(): NodeJS.ProcessEnv {
	return { ...process.env, NO_COLOR: "1" };
}

function run(args: string[], o: RunOptions): Promise<Outcome> {
	return new Promise((resolve) => {
		const program = binary();
		const out: Buffer[] = [];
		const err: Buffer[] = [];
		const child = spawn(program, args, {
			cwd: o.cwd,
			env: o.env ?? environment(),
			stdio: ["pipe", "pipe", "pipe"],
			detached: o.detached,
		});
		const abort = () => child.kill("SIGINT");
		let done = false;
		const finish = (code: number, more: string) => {
			if (done) return;
			done = true;
			o.signal?.removeEventListener("abort", abort);
			resolve({ code, stdout: Buffer.concat(out).toString("utf8"), stderr: Buffer.concat(err).toString("utf8") + more });
		};
		child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
		child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
		child.stdin.on("error", () => {}); // a verb may end without having read it
		child.on("error", (e: Error) => finish(-1, `${program} cannot be started: ${e.message}`));
		child.on("close", (code, signal) => finish(code ?? -1, signal ? `teams was ended by ${signal}` : ""));
		child.stdin.end(o.stdin ?? "");
		if (o.signal?.aborted) abort();
		else o.signal?.addEventListener("abort", abort, { once: true });
	});
}

/** Runs a verb with --json. args begins with the verb; what is not ours to choose stands behind "--" or in stdin. */
async function ask(args: string[], o: RunOptions): Promise<Envelope> {
	const outcome = await run(["--json", ...args], o);
	try {
		const value: Json = JSON.parse(outcome.stdout);
		if (value?.schema === 1 && value.ok === true) return { ok: true, data: value.data ?? {}, exit: 0 };
		if (value?.schema === 1 && typeof value.error?.message === "string") {
			return { ok: false, data: value.error.details?.data, error: value.error, exit: outcome.code };
		}
	} catch {
		// Told below, with what it said instead.
	}
	const said = outcome.stderr.trim() || outcome.stdout.trim().slice(0, 500) || `teams ended with ${outcome.code}`;
	return { ok: false, data: undefined, error: { code: "failure", message: said }, exit: outcome.code };
}

/** The text of a verb for people. */
async function text(args: string[], cwd: string): Promise<string> {
	const outcome = await run(["--no-color", ...args], { cwd });
	return (outcome.code === 0 ? outcome.stdout : outcome.stdout + outcome.stderr).trimEnd();
}

/** Makes one harmless line of what somebody else wrote. */
function plain(s: unknown): string {
	let line = "";
	for (const c of String(s ?? "")) {
		const code = c.codePointAt(0) ?? 0;
		const hidden =
			(code >= 0x200b && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code === 0x61c;
		if (hidden) continue;
		line += code < 0x20 || (code >= 0x7f && code < 0xa0) ? " " : c;
	}
	return line.replace(/ +/g, " ").trim();
}

/** The last bytes of a file, from the beginning of a line; "" when it cannot be read. */
function tail(file: string, limit: number): string {
	try {
		const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
		try {
			const size = fstatSync(fd).size;
			const bytes = Buffer.alloc(Math.min(size, limit));
			const n = readSync(fd, bytes, 0, bytes.length, size - bytes.length);
			const text = bytes.subarray(0, n).toString("utf8");
			return size > limit ? text.slice(text.indexOf("\n") + 1) : text;
		} finally {
			closeSync(fd);
		}
	} catch {
		return "";
	}
}

function cutBytes(s: string, limit: number): string | undefined {
	const bytes = Buffer.from(s, "utf8");
	if (bytes.length <= limit) return undefined;
	return bytes.subarray(0, limit).toString("utf8").replace(/\uFFFD+$/, "");
}
