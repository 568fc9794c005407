package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// checkResidents looks for what dead processes of residents left, and changes
// nothing.
func (t *Team) checkResidents(all []Teammate) []fsboard.Finding {
	var out []fsboard.Finding
	add := func(code, severity, path string, format string, args ...any) {
		out = append(out, fsboard.Finding{Code: code, Severity: severity, Path: path, Message: fmt.Sprintf(format, args...), Fixable: true})
	}
	for _, tm := range all {
		if !tm.Resident() {
			continue
		}
		path := t.TeammateFile(tm.Name)
		life := t.Liveness(tm)
		held, err := fsx.Held(t.AliveLock(tm.Name))
		left := ""
		if err == nil && !held && tm.Status != StatusStopped && life == fsx.Alive {
			left = orphans(tm)
		}
		switch {
		case err != nil || held:
		case halfSpawned(tm) && life != fsx.Alive:
			add("half_spawned", fsboard.SeverityWarning, path, "the spawn of %s did not finish", tm.Name)
		case left != "":
			add("orphaned", fsboard.SeverityError, path, "the host of %s has died, and %s; --fix ends it", tm.Name, left)
		case tm.Status != StatusStopped && life == fsx.Dead:
			add("dead_resident", fsboard.SeverityWarning, path, "%s has died, and its end is not finished", tm.Name)
		case t.looksUnended(tm) && tm.Status == StatusStopped:
			add("worktree_left", fsboard.SeverityWarning, tm.Worktree, "the worktree of %s, which has stopped, is not put away", tm.Name)
		}
		if _, err := t.readOffers(tm); errs.CodeOf(err) == errs.Corrupt {
			out = append(out, fsboard.Finding{Code: "corrupt", Severity: fsboard.SeverityError, Path: t.offerFile(tm.Name),
				Message: fmt.Sprintf("%v; without it %s is told of claimable tasks again", err, tm.Name)})
		}
	}
	for _, dir := range t.leftDirs() {
		add("left_temp", fsboard.SeverityInfo, dir, "a directory that a killed command was removing")
	}
	for _, name := range t.bareNames() {
		add("left_temp", fsboard.SeverityInfo, t.TeammateDir(name), "the directories of %s, who is no teammate, which a failed or killed command left", name)
	}
	return out
}

// leftDirs are the directories that were being removed when a command died.
func (t *Team) leftDirs() (out []string) {
	for dir, mark := range map[string]string{t.TeamDir(): ".gone-", filepath.Dir(t.TeamDir()): t.Session + ".ended-"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), ".") && strings.Contains(e.Name(), mark) &&
				fsx.Now().Sub(info.ModTime()) > leftTempAge {
				out = append(out, filepath.Join(dir, e.Name()))
			}
		}
	}
	return out
}

// fixResidents finishes what dead processes of residents left: spawns are
// undone, processes without their host are ended, lives are finished.
func (t *Team) fixResidents(ctx context.Context, b *fsboard.Board) error {
	var problems []error
	if _, err := t.UndoHalfSpawns(ctx); err != nil {
		problems = append(problems, err)
	}
	all, _, err := t.List()
	if err != nil {
		return err
	}
	for _, tm := range all {
		if !t.looksUnended(tm) {
			continue
		}
		if held, err := fsx.Held(t.AliveLock(tm.Name)); err != nil || held {
			problems = append(problems, err)
			continue
		}
		if t.Liveness(tm) == fsx.Alive {
			if err := t.endOrphan(tm, true); err != nil {
				problems = append(problems, err)
				continue
			}
		}
		_, err := t.endDead(ctx, b, tm)
		switch errs.CodeOf(err) {
		case errs.Busy, errs.StaleIdentity, errs.Conflict:
			continue // somebody else is at it, or it is not known to be dead
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	for _, dir := range t.leftDirs() {
		problems = append(problems, os.RemoveAll(dir))
	}
	for _, name := range t.bareNames() {
		problems = append(problems, t.takeBack(name, false))
	}
	return errors.Join(problems...)
}
