package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// settleWindow is how long a harness waits after a settlement for others that
// come close to it.
const settleWindow = 300 * time.Millisecond

// Watch is a registration, watches/<id>.json: somebody wants to be told when
// tasks have ended.
type Watch struct {
	ID      string   `json:"id"`
	For     string   `json:"for"`               // who is told
	SpawnID string   `json:"spawnId,omitempty"` // of that teammate's life; "" for the leader
	Tasks   []string `json:"tasks"`             // in the order asked
	Told    []string `json:"told"`              // those that were told of
	// Message is the id of a notice that may not be published yet, of the tasks
	// Telling. A crash neither loses nor doubles it.
	Message string   `json:"message,omitempty"`
	Telling []string `json:"telling,omitempty"`
	Created int64    `json:"createdAt"` // epoch ms
}

func (p Place) watchesDir() string { return filepath.Join(p.TeamDir(), "watches") }
func (p Place) watchPath(id string) string {
	return filepath.Join(p.watchesDir(), id+".json")
}

// Watch registers tasks to be told of, and returns those that have ended
// already, which are not told again, and those that are waited for. With nothing
// to wait for, nothing is registered.
func (t *Team) Watch(b *fsboard.Board, who Identity, ids []string) (w Watch, settled, pending []*fsboard.TaskView, err error) {
	w = Watch{ID: fsx.RandomID()[:16], For: who.Name, SpawnID: who.SpawnID, Told: []string{}, Created: nowMillis()}
	for _, id := range ids {
		if slices.Contains(w.Tasks, id) {
			continue
		}
		v, err := b.Show(id)
		if err != nil {
			return w, nil, nil, err
		}
		w.Tasks = append(w.Tasks, v.ID)
		if v.State.Terminal() {
			w.Told = append(w.Told, v.ID)
			settled = append(settled, v)
		} else {
			pending = append(pending, v)
		}
	}
	if len(pending) == 0 {
		w.ID = ""
		return w, settled, pending, nil
	}
	if _, err := t.EnsureSession(); err != nil {
		return w, nil, nil, err
	}
	if err := fsx.MkdirAll(t.Root, t.watchesDir()); err != nil {
		return w, nil, nil, err
	}
	data, err := json.Marshal(w)
	if err != nil {
		return w, nil, nil, err
	}
	return w, settled, pending, fsx.Publish(t.watchPath(w.ID), append(data, '\n'))
}

// tickWatches tells of watched tasks that have ended since. window is how long
// to wait for others after the last one; 0: not at all.
func (t *Team) tickWatches(ctx context.Context, b *fsboard.Board, window time.Duration, r *TickReport) {
	names, err := fsx.List(t.watchesDir())
	if err != nil {
		r.problem(stepSettle, err)
		return
	}
	if len(names) == 0 {
		return
	}
	revision, err := b.Revision()
	if err != nil {
		r.problem(stepSettle, err)
		return
	}
	quiet := map[string]int64{} // those that are done with for this state of the board
	defer func() { t.watched.Store(&quiet) }()
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		if !ok {
			continue
		}
		if before := t.watched.Load(); before != nil {
			if at, known := (*before)[id]; known && at == revision {
				quiet[id] = at
				continue
			}
		}
		n, more, err := t.settleWatch(ctx, b, id, window)
		if err == nil && !more {
			quiet[id] = revision
		}
		r.problem(stepSettle, err)
		if n > 0 {
			r.Done = append(r.Done, Done{stepSettle, eventSettled, id, fmt.Sprintf("watched tasks that have ended: %d", n)})
		}
	}
}

// settleWatch sees to one registration and returns of how many tasks it told.
// more says that there may be more to tell although the board does not change.
func (t *Team) settleWatch(ctx context.Context, b *fsboard.Board, id string, window time.Duration) (n int, more bool, err error) {
	path := t.watchPath(id)
	lock, free, err := fsx.LockFile(path)
	if err != nil || !free {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return 0, true, err
	}
	defer lock.Unlock()
	data, err := fsx.ReadFile(path, maxRecord)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return 0, false, err
	}
	var w Watch
	if err := json.Unmarshal(data, &w); err != nil || w.ID != id {
		return 0, false, corrupt(path, "is no registration of watched tasks", err)
	}
	if w.For != LeaderName {
		if over, err := t.lifeOver(w.For, w.SpawnID); err != nil || over {
			return 0, false, errors.Join(err, removeIf(over, path))
		}
	}
	if w.Message == "" {
		if w.Telling, more, err = t.endedOf(b, &w, window); err != nil || len(w.Telling) == 0 {
			return 0, more, err
		}
		if w.Message, _, err = t.noticeID(ctx); err != nil {
			return 0, false, err
		}
		if err := writeWatch(path, &w); err != nil {
			return 0, false, err
		}
	}
	body, err := settledBody(b, w.Telling)
	if err != nil {
		return 0, false, err
	}
	box := t.Box(w.For)
	there, _, err := box.Has(w.Message)
	if err != nil {
		return 0, false, err
	}
	if !there {
		m := t.noticeMessage(w.Message, notice{to: w.For, toSpawn: w.SpawnID, event: eventSettled, body: body})
		if err := box.Publish(m); err != nil && !errors.Is(err, fs.ErrExist) {
			return 0, false, err
		}
	}
	n = len(w.Telling)
	w.Told = append(w.Told, w.Telling...)
	w.Message, w.Telling = "", nil
	if len(w.Told) >= len(w.Tasks) {
		return n, false, fsx.Remove(path)
	}
	return n, false, writeWatch(path, &w)
}

func removeIf(cond bool, path string) error {
	if !cond {
		return nil
	}
	return fsx.Remove(path)
}

func writeWatch(path string, w *Watch) error {
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return fsx.Replace(path, append(data, '\n'))
}

// endedOf lists the tasks that have ended and were not told of, in the order
// asked. With a window it waits for others, unless all have ended; waits says that
// it does.
func (t *Team) endedOf(b *fsboard.Board, w *Watch, window time.Duration) (ended []string, waits bool, err error) {
	latest := int64(0)
	for _, id := range w.Tasks {
		if slices.Contains(w.Told, id) {
			continue
		}
		v, err := b.Show(id)
		if errs.CodeOf(err) == errs.NotFound {
			ended = append(ended, id) // it will not end any more
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if v.State.Terminal() {
			ended = append(ended, id)
			latest = max(latest, v.UpdatedAt)
		}
	}
	age := nowMillis() - latest // below 0 when the clock was set back meanwhile
	if len(ended)+len(w.Told) < len(w.Tasks) && age >= 0 && age < window.Milliseconds() {
		return nil, len(ended) > 0, nil
	}
	return ended, false, nil
}

// settledBody says how tasks have ended.
func settledBody(b *fsboard.Board, ids []string) (string, error) {
	var lines []string
	for _, id := range ids {
		v, err := b.Show(id)
		switch {
		case errs.CodeOf(err) == errs.NotFound:
			lines = append(lines, id+" is not on the board any more")
			continue
		case err != nil:
			return "", err
		}
		line := fmt.Sprintf("%s %s: %s", id, v.State, v.Subject)
		text := v.Result
		if v.State != fsboard.StateCompleted {
			text = v.ErrorMessage
		}
		if text = strings.TrimSpace(text); text != "" {
			line += "\n  " + strings.ReplaceAll(cutRunes(text, 2000), "\n", "\n  ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + "\n", nil
}
