
// ---- the leader's session -------------------------------------------------

// follow must not outlive Pi, since it holds the lock of the leader's session.
// The shell becomes teams, and what it leaves behind waits for the end of the
// pipe on descriptor 3, which comes with the end of Pi however that ends.
const followScript = `
{ cat >/dev/null; kill $$; } <&3 >/dev/null 2>&1 &
exec 3<&-
exec "$0" "$@"`;

function stopProcess(child: ChildProcess | undefined, patience: number): Promise<void> {
	return new Promise((resolve) => {
		if (child === undefined || child.exitCode !== null || child.signalCode !== null) return resolve();
		const kill = setTimeout(() => child.kill("SIGKILL"), patience);
		child.once("exit", () => {
			clearTimeout(kill);
			resolve();
		});
		child.kill("SIGTERM");
	});
}

function holderOf(lock: string): number | undefined {
	try {
		return JSON.parse(readFileSync(lock, "utf8").trim().split("\n").pop() ?? "").pid;
	} catch {
		return undefined;
	}
}

/** Leads one session: its mailbox, its harness, and its end. */
class Leader {
	private follow: ChildProcess | undefined;
	private stopped = false;
	private leading = false;
	private harnessTimer: NodeJS.Timeout | undefined;
	private followTimer: NodeJS.Timeout | undefined;
	private followDelay = 1000;
	/** Why follow has ended, in its words. */
	private reason = "";
	private harnessDelay = 1000;

	constructor(
		private readonly ctx: ExtensionContext,
		private readonly postman: Postman,
	) {}

	async start(reload: boolean): Promise<void> {
		const where = await ask(["where"], { cwd: this.ctx.cwd });
		if (!where.ok) {
			this.say(`teams cannot be used: ${where.error?.message}`, "warning");
			return;
		}
		const key: string = where.data.session;
		const paths: string = where.data.paths.team;
		let session = reload && kept.session !== undefined ? kept.session : key;
		for (let n = 2; !this.stopped; n++) {
			const code = await this.begin(session, paths.slice(0, paths.length - key.length) + session, session !== key);
			if (code === undefined) break;
			if (code !== 4 || n > 9) {
				this.say(`nobody leads session ${session}: ${this.reason || `teams follow ended with ${code}`}`, "warning");
				this.followLater();
				break;
			}
			const next = `${key.slice(0, 61)}-${n}`;
			this.say(`Another Pi leads session ${session}; this one uses ${next}.`, "info");
			session = next;
		}
		if (this.stopped) return;
		this.leading = true;
		if (!reload || kept.adopted === undefined) {
			kept.adopted = (await this.residents()).map((tm) => tm.spawnId);
		}
		this.harness();
	}

	/** Follows a session. Answers undefined once its lock is held, else the exit code. */
	private begin(session: string, team: string, another: boolean): Promise<number | undefined> {
		if (another) {
			// The shell commands of the model must work on the same session.
			kept.before ??= { session: process.env.TEAMS_SESSION };
			process.env.TEAMS_SESSION = session;
		}
		kept.session = session;
		const child = this.startFollow();
		return new Promise((resolve) => {
			const lock = join(team, "leader", "alive.lock");
			const patience = Date.now() + 5000;
			const timer = setInterval(() => {
				if (holderOf(lock) !== child.pid && Date.now() < patience) return;
				clearInterval(timer);
				child.off("exit", onExit);
				child.once("exit", () => this.followLater());
				if (child.exitCode !== null) this.followLater();
				resolve(undefined);
			}, 20);
			const onExit = (code: number | null) => {
				clearInterval(timer);
				resolve(code ?? -1);
			};
			child.once("exit", onExit);
			child.once("error", () => onExit(-1));
		});
	}

	private startFollow(): ChildProcess {
		const child = spawn("/bin/sh", ["-c", followScript, binary(), "--json", "follow", "--lead", "--peek"], {
			cwd: this.ctx.cwd,
			env: environment(),
			stdio: ["ignore", "pipe", "ignore", "pipe"],
			detached: true, // keys of the terminal are not for it
		});
		this.follow = child;
		const leash = child.stdio[3];
		leash?.on("error", () => {});
		child.once("exit", () => leash?.destroy());
		let rest = "";
		child.stdout?.setEncoding("utf8");
		child.stdout?.on("data", (chunk: string) => {
			const lines = (rest + chunk).split("\n");
			rest = lines.pop() ?? "";
			for (const line of lines) this.line(line);
		});
		return child;
	}

	private line(line: string): void {
		try {
			const value: Json = JSON.parse(line);
			if (value.ok === true && typeof value.data?.message?.id === "string") {
				this.followDelay = 1000;
				this.postman.take(value.data.message);
				changed();
			}
			if (value.ok === false) this.reason = plain(value.error?.message);
		} catch {
			// No line of ours.
		}
	}

	private followLater(): void {
		if (this.stopped) return;
		clearTimeout(this.followTimer);
		this.followTimer = setTimeout(() => {
			if (this.stopped) return;
			const child = this.startFollow();
			child.once("error", () => this.followLater());
			child.once("exit", () => this.followLater());
		}, this.followDelay);
		this.followDelay = Math.min(this.followDelay * 2, 60_000);
	}

	/** Sees to it that a harness runs: ours, or the one that runs already, and then ours once that has ended. */
	private harness(): void {
		const old = kept.harness;
		if (this.stopped) return;
		if (old !== undefined && old.exitCode === null && old.signalCode === null) {
			old.once("exit", () => this.harnessLater(this.harnessDelay));
			return;
		}
		const child = spawn(binary(), ["harness", "-q"], { cwd: this.ctx.cwd, env: environment(), stdio: "ignore", detached: true });
		kept.harness = child;
		child.unref();
		const started = Date.now();
		child.once("error", () => this.harnessLater(60_000));
		child.once("exit", (code) => {
			// 0 at once: another one runs.
			if (code === 0 || Date.now() - started > 60_000) this.harnessDelay = 1000;
			else this.harnessDelay = Math.min(this.harnessDelay * 2, 60_000);
			this.harnessLater(code === 0 && Date.now() - started < 10_000 ? 60_000 : this.harnessDelay);
		});
	}

	private harnessLater(ms: number): void {
		if (this.stopped) return;
		clearTimeout(this.harnessTimer);
		this.harnessTimer = setTimeout(() => this.harness(), ms);
		this.harnessTimer.unref();
	}

	/** The living residents; what cannot be read counts as none. */
	private async residents(): Promise<Json[]> {
		const list = await ask(["list"], { cwd: this.ctx.cwd });
		const all: Json[] = list.ok ? (list.data.teammates ?? []) : [];
		return all.filter((tm) => tm.status !== "stopped" && tm.kind !== "shell" && tm.kind !== "work");
	}

	/** Lets go of everything that a new copy of this file takes up again. */
	async pause(): Promise<void> {
		this.stopped = true;
		clearTimeout(this.followTimer);
		clearTimeout(this.harnessTimer);
		await stopProcess(this.follow, 3000);
	}

	/** Ends the session, unless it has a team that was there before this Pi. */
	async end(): Promise<void> {
		await this.pause();
		if (!this.leading) return;
		const before = new Set(kept.adopted);
		const living = await this.residents();
		const foreign = living.filter((tm) => before.has(tm.spawnId));
		if (this.ctx.hasUI && living.length > 0) {
			const names = living.map((tm) => `@${tm.name}`).join(", ");
			this.ctx.ui.notify(foreign.length > 0 ? `The team was there before and stays: ${names}` : `The team ends: ${names}`, "info");
		}
		// Pi may be killed while this runs; it shall be done all the same.
		const o: RunOptions = { cwd: this.ctx.cwd, detached: true };
		if (foreign.length === 0) {
			const end = await ask(["session", "end"], o);
			if (!end.ok) {
				await ask(["shutdown", "--all"], o);
				await ask(["harness", "stop"], o);
			}
			await stopProcess(kept.harness, 10_000);
			kept.harness = undefined;
		}
		kept.adopted = undefined;
		if (kept.before !== undefined) {
			if (kept.before.session === undefined) delete process.env.TEAMS_SESSION;
			else process.env.TEAMS_SESSION = kept.before.session;
		}
		kept.session = undefined;
		kept.before = undefined;
	}

	private say(line: string, kind: "info" | "warning"): void {
		if (!this.stopped && this.ctx.hasUI) this.ctx.ui.notify(line, kind);
	}
}
