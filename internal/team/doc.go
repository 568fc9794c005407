// Package team joins the parts of teams: it knows where a session lives, who
// is calling, and which teammates there are.
//
// # Place and session
//
// [Resolve] turns flags, environment and working directory into a [Place]: the
// root, the project and the session key, each with the source it came from. It
// only looks; nothing is created. State appears with the first write, through
// [Team.EnsureSession], and a reading verb on a session without state finds
// nothing and leaves nothing.
//
// # Roster
//
// A teammate is a directory of the session with a teammate.json in it. A new
// name is taken by link(2), so of any number of processes that want it exactly
// one creates the life; every later change is made under the name's
// teammate.lock. A directory without teammate.json is no teammate: whoever
// creates one makes the directories first and the record last, so a crash at
// any point leaves something that the next call can use.
//
// A life is named by its spawn id. [Team.Join], [Team.JoinHeld] and
// [Team.Worker] give a name a new life only when the old one is stopped or
// proven dead, or when a takeover was asked for. [Team.Liveness] decides by
// proof: what cannot be proven is unknown, and unknown is never dead.
//
// # Concurrency
//
// A Team may be used by several goroutines and any number of processes at
// once. Lock order is: tenure locks (roster.lock, alive.lock), then the board's
// lock, then a teammate's. Locks exclude processes of one machine, and of
// several where the file system carries flock(2) between hosts.
package team
