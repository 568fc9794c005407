// Package worktree gives teammates git worktrees of their own, and brings in
// what they leave there.
//
// A worktree is planned ([NewPlan]), made ([Create]), finalised at the end of
// the teammate's life ([Finalise]), or undone when the spawn died half-way
// ([Undo]). Each can be killed at any point and be called again.
//
// What Create makes it first writes down in a record of its own below the
// repository's common git directory, so that Undo removes what that very life
// made and nothing else. Calls that change a repository's worktrees exclude
// each other by the lock file teams-worktree.lock there.
//
// The work is done by the git command. It is run without the environment that
// points to another repository, without a terminal, with empty standard input
// and for a bounded time; inside a worktree it is told the git directory, since
// a worktree whose .git file was removed would else be taken for a part of the
// main checkout around it.
package worktree
