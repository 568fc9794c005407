// Package piext holds the extension of Pi, the skill for any agent, and the role
// that pier's tools start from, and writes them where they are looked for.
//
// The extension is one TypeScript file, put together from the files of ext in the
// order of their names; Pi runs it without a build. It knows nothing of the
// files of a session: it calls the teams program for everything.
//
// What is written carries the digest of its text, so that a later version
// replaces an earlier one, and never what somebody has changed.
package piext
