package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Check looks at the roster's files and changes nothing.
func (t *Team) Check() ([]fsboard.Finding, error) {
	var out []fsboard.Finding
	add := func(code, severity, path string, fixable bool, format string, args ...any) {
		out = append(out, fsboard.Finding{Code: code, Severity: severity, Path: path, Message: fmt.Sprintf(format, args...), Fixable: fixable})
	}
	switch err := t.checkDirs("teammate", t.Session); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		add("not_a_directory", fsboard.SeverityError, t.TeamDir(), false, "%v", err)
		return out, nil
	}
	s, err := t.ReadSession()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		add("corrupt", fsboard.SeverityError, t.SessionFile(), false, "%v", err)
	case s.Project != "" && s.Project != t.Project:
		add("other_project", fsboard.SeverityWarning, t.SessionFile(), false, "it is the session of %s, not of %s", s.Project, t.Project)
	}
	all, problems, err := t.List()
	if err != nil {
		return out, err
	}
	for _, p := range problems {
		code := "unreadable"
		if errs.CodeOf(p.Err) == errs.Corrupt {
			code = "corrupt"
		}
		add(code, fsboard.SeverityError, p.Path, false, "%v", p.Err)
	}
	out = append(out, t.checkResidents(all)...)
	out = append(out, t.checkMail()...)
	for _, path := range t.openModes() {
		add("open_mode", fsboard.SeverityWarning, path, true, "others may look into it")
	}
	return out, nil
}

// openModes lists what of the team others may read or write.
func (t *Team) openModes() []string {
	var out []string
	_ = filepath.WalkDir(t.TeamDir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
			out = append(out, path)
		}
		return nil
	})
	return out
}

// Fix takes away the access of others, removes temporary files that crashes left
// and finishes the ends of lives that they left half-way. A process whose host
// has died is ended. It changes nothing else.
func (t *Team) Fix(ctx context.Context, b *fsboard.Board) error {
	if err := t.checkDirs("teammate", t.Session); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	problems := []error{t.fixResidents(ctx, b), t.fixMail(ctx)}
	for _, path := range t.openModes() {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		problems = append(problems, os.Chmod(path, info.Mode().Perm()&0o700))
	}
	return errors.Join(problems...)
}

// Leaver is the caller as the teammate that is to leave. Nobody joins by it; a
// caller without a spawn id may end a life only when no living process has it.
func (t *Team) Leaver() (Identity, error) {
	if err := t.checkSpawnHasName(); err != nil {
		return Identity{}, err
	}
	if t.asLeader() {
		return Identity{}, errs.New(errs.Usage, "who leaves has to be said: %s is not set, and there is no --as", EnvName).
			WithHint("teams leave --as NAME")
	}
	if t.SpawnID != "" {
		return t.checkLife()
	}
	tm, err := t.Find(t.Name)
	if err != nil {
		return Identity{}, err
	}
	if tm.PID != 0 && tm.Status != StatusStopped && t.Liveness(tm) != fsx.Dead {
		return Identity{}, t.nameTaken(t.Name)
	}
	return identityOf(tm), nil
}
