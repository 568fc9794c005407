package team

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// BoardDir is the directory of the session's board.
func (p Place) BoardDir() string { return filepath.Join(p.Root, "tasks", p.Session) }

// TeamDir is the directory of the running team.
func (p Place) TeamDir() string { return filepath.Join(p.Root, "teammate", p.Session) }

// SessionFile is the path of session.json.
func (p Place) SessionFile() string { return filepath.Join(p.TeamDir(), "session.json") }

// TeammateDir is the directory of one teammate, or of [LeaderName]. The name
// has been checked.
func (p Place) TeammateDir(name string) string { return filepath.Join(p.TeamDir(), name) }

// TeammateFile is the path of a teammate's teammate.json.
func (p Place) TeammateFile(name string) string {
	return filepath.Join(p.TeamDir(), name, "teammate.json")
}

// InboxDir is the mailbox of a teammate, or of [LeaderName].
func (p Place) InboxDir(name string) string { return filepath.Join(p.TeamDir(), name, "inbox") }

// OutboxDir is where a teammate's reports wait to be drained.
func (p Place) OutboxDir(name string) string { return filepath.Join(p.TeamDir(), name, "outbox") }

// NoticedDir holds the keys of the once-only notices that a teammate, or
// [LeaderName], has been given.
func (p Place) NoticedDir(name string) string { return filepath.Join(p.TeamDir(), name, "noticed") }

// AliveLock is held by the host of a teammate for as long as it lives.
func (p Place) AliveLock(name string) string {
	return filepath.Join(p.TeamDir(), name, "alive.lock")
}

// teammateLock guards every change of a teammate.json.
func (p Place) teammateLock(name string) string {
	return filepath.Join(p.TeamDir(), name, "teammate.lock")
}

// HarnessLock is held by the session's running harness.
func (p Place) HarnessLock() string { return filepath.Join(p.TeamDir(), "harness.lock") }

// RosterLock is held while a teammate is being spawned, and by session end.
func (p Place) RosterLock() string { return filepath.Join(p.TeamDir(), "roster.lock") }

// LedgerPath is the ledger of the project.
func (p Place) LedgerPath() string {
	return filepath.Join(p.Root, "herdr-pi", "history", Flatten(p.Project), "history.jsonl")
}

// OldLedgerPaths are the places where earlier tools kept the ledger of the
// project. Their flattening merges a/b with a-b, so rows found there have to be
// compared by their cwd; they are read and never written.
func (p Place) OldLedgerPaths() []string {
	flat := strings.NewReplacer("/", "-", `\`, "-", ":", "-")
	dir := filepath.Join(p.Root, "herdr-pi", "history")
	return []string{
		filepath.Join(dir, "--"+flat.Replace(p.Project)+"--", "history.jsonl"),
		filepath.Join(dir, "--"+flat.Replace(strings.TrimPrefix(p.Project, "/"))+"--", "history.jsonl"),
	}
}

// maxFlat is the longest name that Flatten returns; file systems allow 255
// bytes.
const maxFlat = 240

// Flatten makes one file name of an absolute path, a different one for each
// path: %, /, \ and : are percent-encoded. A name that would be too long for a
// file system is cut and ends in "%+" and the SHA-256 of the path, which no
// encoded path contains.
func Flatten(path string) string {
	flat := strings.NewReplacer("%", "%25", "/", "%2F", `\`, "%5C", ":", "%3A").Replace(path)
	if len(flat) <= maxFlat {
		return flat
	}
	sum := sha256.Sum256([]byte(path))
	suffix := "%+" + hex.EncodeToString(sum[:])
	return flat[:maxFlat-len(suffix)] + suffix
}
