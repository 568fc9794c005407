package fsboard

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Severities of findings.
const (
	SeverityError   = "error"   // something is wrong
	SeverityWarning = "warning" // something should be looked at
	SeverityInfo    = "info"    // something that settles by itself
)

// Finding is one thing that a check found.
type Finding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Path     string `json:"path"`
	Message  string `json:"message"`
	Fixable  bool   `json:"fixable"` // Fix, or a fold, mends it
}

// tempAge is the age from which a temporary file was left by a crash.
const tempAge = 10 * time.Minute

// Check looks at every file of the board and changes nothing.
func (b *Board) Check() ([]Finding, error) {
	var out []Finding
	add := func(code, severity, path string, fixable bool, format string, args ...any) {
		out = append(out, Finding{Code: code, Severity: severity, Path: path, Message: fmt.Sprintf(format, args...), Fixable: fixable})
	}
	if err := fsx.CheckDir(b.o.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		add("not_a_directory", SeverityError, b.o.Dir, false, "%v", err)
		return out, nil
	}
	if err := b.checkDirs(); err != nil {
		add("not_a_directory", SeverityError, b.o.Dir, false, "%v", err)
		return out, nil
	}
	// History follows the snapshot, so it is read before: then it can be ahead only
	// of a snapshot that was replaced, however much is written meanwhile.
	last, _, lastErr := b.lastEvent()
	s, err := b.load()
	switch {
	case err != nil && errs.CodeOf(err) == errs.Corrupt:
		add("corrupt", SeverityError, b.Path(), false, "%v; teams doctor --repair rebuilds it from history, archive and markers", errors.Unwrap(err))
	case err != nil:
		add("unreadable", SeverityError, b.Path(), false, "%v", err)
	case s != nil:
		if broken := b.olderThan(s, last); lastErr == nil && broken != nil {
			add("older_than_history", SeverityError, b.Path(), false, "%v; teams doctor --repair takes what history has", errors.Unwrap(broken))
		}
		out = append(out, b.checkSnapshot(s)...)
	}
	out = append(out, b.checkLogs(s)...)
	out = append(out, b.checkMarkers()...)
	out = append(out, b.checkGates()...)
	out = append(out, b.checkModes()...)
	return out, nil
}

// checkSnapshot decodes every task and compares the tasks with each other.
func (b *Board) checkSnapshot(s *snapshot) []Finding {
	var out []Finding
	add := func(code, severity string, fixable bool, format string, args ...any) {
		out = append(out, Finding{Code: code, Severity: severity, Path: b.Path(), Message: fmt.Sprintf(format, args...), Fixable: fixable})
	}
	if s.head.Format > Format {
		add("newer_format", SeverityWarning, false, "it has format %d, this version of teams writes %d and will not change it", s.head.Format, Format)
	}
	if b.o.Project != "" && s.head.Project != "" && s.head.Project != b.o.Project {
		add("other_project", SeverityWarning, false, "it is the board of %s, not of %s", s.head.Project, b.o.Project)
	}
	if _, err := s.ownEvents(); err != nil {
		add("corrupt", SeverityError, false, "%v", err)
	}
	for i := range s.lines {
		task, err := s.at(i)
		if err != nil {
			add("corrupt", SeverityError, false, "%v; teams doctor --repair takes the task from history", err)
			continue
		}
		switch {
		case task.Status == Claimed && task.Claim == nil:
			add("claim_without_holder", SeverityError, true, "%s is claimed and names no claim", task.ID)
		case task.Status != Claimed && task.Claim != nil:
			add("claim_left", SeverityWarning, false, "%s is %s and still names a claim", task.ID, task.Status)
		}
		if s.lines[i].num >= s.head.NextTask {
			add("counter_behind", SeverityError, false, "nextTask is %d, but %s is here", s.head.NextTask, task.ID)
		}
		for _, d := range task.DependsOn {
			if _, there := s.find(number(d)); !there && !task.Status.Terminal() {
				add("missing_dependency", SeverityWarning, false, "%s waits for %s, which is not on the board", task.ID, d)
			}
		}
	}
	// A task that cannot be decoded has been reported.
	cycles, _ := s.cycles()
	for _, c := range cycles {
		add("cycle", SeverityError, false, "tasks wait for each other: %s", strings.Join(c, " -> "))
	}
	data, err := fsx.ReadFile(b.readyPath(), maxSnapshot)
	list, ok := parseReady(data, s.head.Revision)
	if err != nil || !ok {
		add("ready_behind", SeverityInfo, true, "the ready list is not of revision %d; the next fold writes it anew", s.head.Revision)
	} else if want, err := s.candidates(); err == nil && !bytes.Equal(list, want) {
		add("ready_wrong", SeverityWarning, true, "the ready list does not show what is ready; teams doctor --fix writes it anew")
	}
	return out
}

// checkLogs reads history and archive to the end.
func (b *Board) checkLogs(s *snapshot) []Finding {
	var out []Finding
	report := func(path string, torn int, err error) {
		switch {
		case err != nil:
			out = append(out, Finding{Code: "unreadable", Severity: SeverityError, Path: path, Message: err.Error()})
		case torn > 0:
			out = append(out, Finding{Code: "torn_line", Severity: SeverityWarning, Path: path, Message: fmt.Sprintf("%d lines cannot be read; they are skipped", torn)})
		}
	}
	torn, err := b.scanHistory(func(*Event) {})
	report(b.historyPath(), torn, err)
	torn, err = b.scanArchive(nil, func(archiveLine) {})
	report(b.archivePath(), torn, err)
	return out
}

// checkMarkers lists markers that cannot be used and those that nobody folds.
func (b *Board) checkMarkers() []Finding {
	var out []Finding
	for _, dir := range []string{"claims", "submissions"} {
		all, unreadable, err := b.markers(dir)
		if err != nil {
			return append(out, Finding{Code: "unreadable", Severity: SeverityError, Path: b.path(dir), Message: err.Error()})
		}
		for _, err := range unreadable {
			out = append(out, Finding{Code: "unreadable", Severity: SeverityError, Path: b.path(dir), Message: err.Error()})
		}
		for i := range all {
			f := &all[i]
			switch {
			case f.problem != nil:
				out = append(out, Finding{Code: "unusable_marker", Severity: SeverityWarning, Path: f.path, Message: f.problem.reason + "; the next fold moves it to rejected/", Fixable: true})
			case f.marker.Worker == Leader && fsx.Now().Sub(f.marker.modTime) > tempAge:
				out = append(out, Finding{Code: "leader_marker", Severity: SeverityWarning, Path: f.path, Message: "left by a command that was killed; the next fold removes it", Fixable: true})
			}
		}
		out = append(out, b.checkTemps(dir)...)
	}
	if names, err := fsx.List(b.path("rejected")); err == nil && len(names) > 0 {
		n := 0
		for _, name := range names {
			if !strings.HasSuffix(name, ".reason") {
				n++
			}
		}
		out = append(out, Finding{Code: "rejected", Severity: SeverityInfo, Path: b.path("rejected"), Message: fmt.Sprintf("%d markers could not be used; the .reason files say why", n)})
	}
	return append(out, b.checkTemps("")...)
}

// checkTemps finds temporary files that a crash left.
func (b *Board) checkTemps(dir string) []Finding {
	var out []Finding
	for _, path := range b.oldTemps(dir) {
		out = append(out, Finding{Code: "left_temp", Severity: SeverityInfo, Path: path, Message: "a temporary file that a killed command left", Fixable: true})
	}
	return out
}

// oldTemps lists the temporary files of a directory that nobody writes any more.
func (b *Board) oldTemps(dir string) []string {
	entries, err := os.ReadDir(b.path(dir))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if !fsx.IsTemp(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil && fsx.Now().Sub(info.ModTime()) > tempAge {
			out = append(out, filepath.Join(b.path(dir), e.Name()))
		}
	}
	return out
}

// checkGates finds runs whose decider is gone.
func (b *Board) checkGates() []Finding {
	var out []Finding
	names, err := fsx.List(b.path("gates"))
	if err != nil {
		return append(out, Finding{Code: "unreadable", Severity: SeverityError, Path: b.path("gates"), Message: err.Error()})
	}
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".run")
		if !ok || !ValidID(id) {
			continue
		}
		if held, err := fsx.Held(b.gateLock(id)); err == nil && !held {
			f := Finding{Code: "left_gate_run", Severity: SeverityInfo, Path: b.path("gates", name), Message: "its decider is gone; the next run of this gate ends what is left of it", Fixable: true}
			if run, err := b.readRun(id); err == nil && run != nil && !run.visible() {
				f.Severity, f.Fixable = SeverityWarning, false
				f.Message = (&foreignRun{run: *run}).Error() + "; remove the file when it is gone for sure"
			}
			out = append(out, f)
		}
	}
	return append(out, b.checkTemps("gates")...)
}

// checkModes finds files that others may read or write.
func (b *Board) checkModes() []Finding {
	var out []Finding
	_ = filepath.WalkDir(b.o.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := d.Info()
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return nil
		}
		if path == b.path("rejected") {
			return filepath.SkipDir
		}
		if info.Mode().Perm()&0o077 != 0 {
			out = append(out, Finding{Code: "open_mode", Severity: SeverityWarning, Path: path, Message: fmt.Sprintf("its mode is %04o; others may look into it", info.Mode().Perm()), Fixable: true})
		}
		return nil
	})
	return out
}
