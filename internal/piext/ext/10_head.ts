// The teams extension of Pi. `teams pi install` wrote this file: install again to
// renew it, and use --force once you have changed it.
//
// A Pi session without TEAMS_NAME leads: it starts teammates, puts tasks on the
// board and gets their reports as turns of its own. With TEAMS_NAME it is a
// teammate. Everything is done by the teams program; nothing here writes its
// files.

import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, closeSync, constants, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type {
	AgentToolResult,
	AgentToolUpdateCallback,
	ExtensionAPI,
	ExtensionContext,
	Theme,
	ToolRenderResultOptions,
} from "@earendil-works/pi-coding-agent";
import { type Component, matchesKey, type TUI, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { type TSchema, Type } from "typebox";

/** The program that wrote this file, used while it is there and TEAMS_BIN is not set. */
const INSTALLED_BINARY: string = "@BINARY@";
/** A resident has its guidance from its host already. */
const RESIDENT: boolean = "@VARIANT@" === ("resident" as string);
/** Either variable makes this a teammate: half a binding must never lead. */
const TEAMMATE: boolean = Boolean(process.env.TEAMS_NAME || process.env.TEAMS_SPAWN);

/** What outlives a reload of this file in one Pi process. */
interface Kept {
	/** The file whose copy of this extension is in use: a global and a project one may both be there. */
	owner?: string;
	/** The harness that this Pi has started. */
	harness?: ChildProcess;
	/** Spawn ids of residents that lived before this Pi led: it does not end them. */
	adopted?: string[];
	/** The session that the mailbox was taken for, and TEAMS_SESSION before it was set. */
	session?: string;
	before?: { session: string | undefined };
}

const keptAt = Symbol.for("teams.pi.extension");
const kept: Kept = ((globalThis as Record<symbol, unknown>)[keptAt] ??= {}) as Kept;

// biome-ignore lint/suspicious/noExplicitAny: what the teams program prints is checked where it is used
type Json = any;
