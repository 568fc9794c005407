// Package verify runs gates: commands that must exit 0 before work counts as
// done.
//
// [Run] starts one gate as "sh -c COMMAND" in its own session and process
// group, with an empty stdin, keeps its output in one bounded log and returns
// a [Receipt]. [EndRun] ends what is left of a run whose decider died, by the
// id of the run alone. [Tail] reads the end of a log for a message.
//
// # Verdict
//
// The verdict is taken from the exit status of the shell, never from a clock:
// a gate that exits 0 after its time limit but before it was signalled has
// passed. What the gate printed, and whether its log could be written, never
// changes the verdict.
//
//   - [Passed]: exit 0.
//   - [Failed]: any other exit code. Code 137 and its like are failures too:
//     there a command of the shell was killed, not the shell.
//   - [TimedOut]: the gate was ended because its time limit passed, whatever
//     it made of the signal.
//   - [Killed]: the shell was killed by a signal that Run did not send.
//   - [CouldNotStart]: exit 126 or 127, no directory to run in, or no shell.
//
// # What belongs to a gate
//
// The end of the shell ends the wait, even if a background process keeps the
// output pipe open. Then everything left of the gate is ended: each process of
// its session, and each process that left the session but carries
// TEAMS_GATE=<run id> in its environment. When the shell has exited by itself
// they have 100 ms to finish and 1 s after SIGTERM; when the gate is ended, by
// its time limit or by the caller, it has Gate.Grace after SIGTERM. SIGKILL
// follows. Every process is looked at again, through a handle that is not
// fooled by reuse of its number, before it is signalled. Nothing else is ever
// signalled; in particular not the calling process, a process of another run,
// or one whose environment cannot be read.
//
// # Limits
//
//   - A process that left the session and removed or overwrote TEAMS_GATE in
//     its environment cannot be found. Neither can one of another user.
//   - A gate inside a gate has its own run id. When the inner decider is
//     killed outright, the inner gate outlives the outer one until EndRun is
//     called with the inner id.
//   - A process that cannot be killed at all, such as one that waits for a
//     dead file server, is given up 5 seconds after SIGKILL and named in
//     Receipt.Reason or in the error.
//   - The command is one argument of sh: Linux takes at most 128 KiB.
//   - A file system under the log that hangs, instead of failing, holds up the
//     run.
//
// Several gates may run beside each other, in one process or in many, as long
// as their run ids and logs differ. Linux and macOS are supported.
package verify
