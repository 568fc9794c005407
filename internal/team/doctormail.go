package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

// leftTempAge is the age from which a temporary file was left by a crash.
const leftTempAge = 10 * time.Minute

// oldMail is the age from which unread mail is worth a word.
const oldMail = time.Hour

// checkMail looks at the mailboxes and outboxes and changes nothing.
func (t *Team) checkMail() []fsboard.Finding {
	var out []fsboard.Finding
	add := func(code, severity, path string, fixable bool, format string, args ...any) {
		out = append(out, fsboard.Finding{Code: code, Severity: severity, Path: path, Message: fmt.Sprintf(format, args...), Fixable: fixable})
	}
	names, err := t.mailboxNames()
	if err != nil {
		add("unreadable", fsboard.SeverityError, t.TeamDir(), false, "%v", err)
		return out
	}
	for _, path := range oldTemps(t.TeamDir()) {
		add("left_temp", fsboard.SeverityInfo, path, true, "a temporary file that a killed command left")
	}
	if _, err := t.published(); err != nil {
		add("corrupt", fsboard.SeverityError, t.noticesFile(), false, "%v; without it all notices of the board are published again", err)
	}
	for _, name := range names {
		for _, path := range t.leftTemps(name) {
			add("left_temp", fsboard.SeverityInfo, path, true, "a temporary file that a killed command left")
		}
		box := t.Box(name)
		if !t.recorded(name) {
			continue // half made by a command that was killed; the next one completes it
		}
		if tm, err := t.Read(name); err == nil && !tm.Drained {
			add("undrained", fsboard.SeverityWarning, t.TeammateDir(name), true, "the end of the life %s of %s is not finished", tm.Ended(), name)
		}
		if _, problems := t.requestsOf(name); len(problems) > 0 {
			add("unreadable", fsboard.SeverityError, t.requestsDir(name), false, "%v", errors.Join(problems...))
		}
		list, problems, err := box.List(false)
		if err != nil {
			add("unreadable", fsboard.SeverityError, box.Dir(), false, "the mailbox of %s cannot be read: %v", name, err)
			continue
		}
		for _, err := range problems {
			add("unreadable", fsboard.SeverityError, box.Dir(), false, "%v", err)
		}
		for _, m := range list {
			if m.Size > inbox.MaxBody {
				add("oversized", fsboard.SeverityWarning, box.Dir(), false, "message %s has %d bytes, more than %d", m.ID, m.Size, inbox.MaxBody)
			}
		}
		if strays, err := box.Strays(); err == nil {
			for _, path := range strays {
				add("stray_mail", fsboard.SeverityWarning, path, false, "it is no message: its name is no id that ends in .md")
			}
		}
		if len(list) > 0 {
			if age := fsx.Now().Sub(list[0].Time()); age > oldMail && !list[0].Time().IsZero() {
				add("unread", fsboard.SeverityInfo, box.Dir(), false, "%d unread messages, the oldest %s old", len(list), age.Round(time.Minute))
			}
		}
		if name == LeaderName {
			continue
		}
		if rejected, err := t.Outbox(name).Rejected(); err != nil {
			add("unreadable", fsboard.SeverityError, t.OutboxDir(name), false, "%v", err)
		} else if n := len(rejected); n > 0 {
			reason := "unknown"
			if last, err := t.Outbox(name).PeekRejected(rejected[n-1]); err == nil && last.Outcome != "" {
				reason = last.Outcome
			}
			add("rejected_reports", fsboard.SeverityInfo, filepath.Join(t.OutboxDir(name), "rejected"), false,
				"%d reports were rejected, the last because %s", n, reason)
		}
	}
	return out
}

// recorded reports whether a mailbox has the record that comes after its
// directories. What cannot be told counts as recorded.
func (t *Team) recorded(name string) bool {
	path := t.TeammateFile(name)
	if name == LeaderName {
		path = t.SessionFile()
	}
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// leftTemps lists the temporary files of a name's directories that nobody
// writes any more.
func (t *Team) leftTemps(name string) []string {
	in, box := t.InboxDir(name), t.OutboxDir(name)
	return oldTemps(
		t.TeammateDir(name), filepath.Join(in, "tmp"), filepath.Join(in, "new"), filepath.Join(in, "cur"), t.NoticedDir(name), t.requestsDir(name),
		filepath.Join(box, "tmp"), filepath.Join(box, "new"), filepath.Join(box, "rejected"),
	)
}

// oldTemps lists the temporary files in directories that nobody writes any more.
func oldTemps(dirs ...string) []string {
	var out []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			// What lies in a Maildir's tmp/ is a temporary file whatever its name.
			if !fsx.IsTemp(e.Name()) && filepath.Base(dir) != "tmp" || e.IsDir() {
				continue
			}
			if info, err := e.Info(); err == nil && fsx.Now().Sub(info.ModTime()) > leftTempAge {
				out = append(out, filepath.Join(dir, e.Name()))
			}
		}
	}
	return out
}

// fixMail removes the temporary files that crashes left, and finishes the ends
// of lives that they left half-way.
func (t *Team) fixMail(ctx context.Context) error {
	names, err := t.mailboxNames()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	problems := []error{err}
	for _, path := range oldTemps(t.TeamDir()) {
		problems = append(problems, fsx.Remove(path))
	}
	for _, name := range names {
		for _, path := range t.leftTemps(name) {
			problems = append(problems, fsx.Remove(path))
		}
		if tm, err := t.Read(name); err == nil {
			problems = append(problems, t.finishDrain(ctx, tm))
		}
	}
	return errors.Join(problems...)
}
