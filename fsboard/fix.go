package fsboard

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/seed6990a682/teams/internal/fsx"
)

// Fix mends what is safe to mend: it folds, writes the ready list anew, ends
// what is left of gates whose decider died, removes temporary files that a
// crash left and takes away the access of others. It never changes a task
// beyond what a fold does.
func (b *Board) Fix(ctx context.Context) error {
	if err := b.checkDirs(); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	h, err := b.readHead()
	if err != nil {
		return err
	}
	var problems []error
	if h != nil {
		if h.Format > Format {
			return b.tooNew(h.Format)
		}
		_, err := b.Fold(ctx, true)
		problems = append(problems, err, b.refreshReady(ctx), b.endLeftRuns(ctx))
	}
	for _, dir := range []string{"", "claims", "submissions", "gates", "rejected"} {
		for _, path := range b.oldTemps(dir) {
			problems = append(problems, fsx.Remove(path))
		}
	}
	for _, f := range b.checkModes() {
		info, err := os.Lstat(f.Path)
		if err != nil || info.Mode()&os.ModeSymlink != 0 {
			continue
		}
		problems = append(problems, os.Chmod(f.Path, info.Mode().Perm()&0o700))
	}
	return errors.Join(problems...)
}

// refreshReady writes the ready list anew when it does not show what is ready.
func (b *Board) refreshReady(ctx context.Context) error {
	lock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	s, err := b.load()
	if err != nil || s == nil {
		return err
	}
	want, err := s.candidates()
	if err != nil {
		return corrupt(b.Path(), err)
	}
	data, err := fsx.ReadFile(b.readyPath(), maxSnapshot)
	if list, ok := parseReady(data, s.head.Revision); err == nil && ok && bytes.Equal(list, want) {
		return nil
	}
	return b.storeReady(s.head.Revision, want)
}

// endLeftRuns ends what is left of gate runs whose decider is gone.
func (b *Board) endLeftRuns(ctx context.Context) error {
	names, err := fsx.List(b.path("gates"))
	if err != nil || b.o.Gates == nil {
		return err
	}
	var problems []error
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".run")
		if !ok || !ValidID(id) {
			continue
		}
		problems = append(problems, b.endLeftRunOf(ctx, id))
	}
	return errors.Join(problems...)
}

// endLeftRunOf ends what is left of a run of one gate if nobody runs it now.
func (b *Board) endLeftRunOf(ctx context.Context, id string) error {
	if _, err := os.Lstat(b.gateRunPath(id)); err != nil || b.o.Gates == nil {
		return nil
	}
	lock, free, err := fsx.TryAcquire(b.gateLock(id))
	if err != nil || !free {
		return err
	}
	defer lock.Unlock()
	var foreign *foreignRun
	if err = b.endLeftRun(ctx, id); errors.As(err, &foreign) {
		return nil
	}
	return err
}
