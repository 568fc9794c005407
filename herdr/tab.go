package herdr

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// EnvTabGrace is the setting of how long a tab stays after its teammates.
const EnvTabGrace = "TEAMS_TAB_GRACE"

// DefaultGrace is how long it stays without one.
const DefaultGrace = 10 * time.Minute

// maxTabName is how long the name of a tab may be, in characters.
const maxTabName = 20

// tabRecord is a tab of ours, <root>/panes/tabs/<session>,<name>.json, with the
// host before the suffix where another host has one of that name.
type tabRecord struct {
	Session   string `json:"session"`
	Name      string `json:"name"`  // as given with --tab
	Label     string `json:"label"` // as herdr shows it
	Tab       string `json:"tab"`
	Workspace string `json:"workspace"`
	Socket    string `json:"socket"`
	Host      string `json:"host,omitempty"` // on which the socket is
	GraceMs   int64  `json:"graceMs"`
	EndedAt   int64  `json:"endedAt,omitempty"` // since when all have ended

	extra map[string]json.RawMessage
	path  string
}

func (s *Leases) tabsDir() string { return filepath.Join(s.Dir(), "tabs") }

func (s *Spawner) tabPath(session, name string) string {
	return filepath.Join(s.Leases.tabsDir(), escape(session)+","+escape(name)+recordSuffix)
}

// isHere reports whether a tab is one of our herdr. Records from before hosts
// stood in them are, unless the root is shared.
func (s *Spawner) isHere(t *tabRecord) bool {
	return t.Socket == s.Client.Path && (t.Host == fsx.Host() || t.Host == "" && !s.Shared)
}

// findTab reads the record of a tab, or says where a new one goes: where the
// herdr of another host has a tab of that name, beside its record.
func (s *Spawner) findTab(session, name string) (t *tabRecord, path string, err error) {
	path = s.tabPath(session, name)
	if t, err = readTab(path); err == nil && t.Host != "" && t.Host != fsx.Host() {
		path = strings.TrimSuffix(path, recordSuffix) + "," + escape(fsx.Host()) + recordSuffix
		t, err = readTab(path)
	}
	return t, path, err
}

func readTab(path string) (*tabRecord, error) {
	t := &tabRecord{path: path}
	var err error
	t.extra, err = readRecord(path, t)
	return t, err
}

func (t *tabRecord) write() error {
	data, err := encodeRecord(t, t.extra)
	if err != nil {
		return err
	}
	return fsx.Replace(t.path, data)
}

// inTab opens a pane in the tab of a name, which is made when it is not there.
// Those of one tab are opened one after the other, so that they find the same.
func (s *Spawner) inTab(ctx context.Context, r *SpawnRequest, env map[string]string, lease *Lease) (*Pane, error) {
	if err := fsx.MkdirAll(s.Leases.Root, s.Leases.tabsDir()); err != nil {
		return nil, err
	}
	lock, err := fsx.Acquire(ctx, filepath.Join(s.Leases.tabsDir(), "tabs.lock"), 30*time.Second)
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Unlock() }()
	lease.TabName = r.Tab
	tabs, err := s.Client.Tabs(ctx, "")
	if err != nil {
		return nil, err
	}
	labels, there := map[string]bool{}, map[string]bool{}
	for _, t := range tabs {
		there[t.ID] = true
		if s.Here.Workspace == "" || t.Workspace == s.Here.Workspace {
			labels[t.Label] = true
		}
	}
	t, path, err := s.findTab(r.Session, r.Tab)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil && s.isHere(t) && there[t.Tab] {
		if p, err := s.beside(ctx, t, r, env); p != nil || err != nil {
			return s.opened(ctx, p, lease, err)
		}
	}
	// A tab of that name that is not ours is somebody else's.
	label := r.Tab
	for n := 2; labels[label]; n++ {
		suffix := "-" + strconv.Itoa(n)
		base := []rune(r.Tab)
		label = string(base[:min(len(base), maxTabName-len(suffix))]) + suffix
	}
	c, err := s.Client.CreateTab(ctx, NewPlace{Workspace: s.Here.Workspace, Cwd: r.Cwd, Label: label, Env: env})
	if err != nil {
		return nil, err
	}
	t = &tabRecord{Session: r.Session, Name: r.Tab, Label: label, Tab: c.Tab.ID, Workspace: c.Tab.Workspace, Socket: s.Client.Path, Host: fsx.Host(),
		GraceMs: or(s.Grace, DefaultGrace).Milliseconds(), path: path}
	if err := t.write(); err != nil {
		// Nobody would close it.
		_ = s.Client.CloseOwn(context.WithoutCancel(ctx), c.Pane.ID, c.Pane.Terminal, s.Here)
		return nil, err
	}
	return s.opened(ctx, &c.Pane, lease, nil)
}

// opened writes the pane into its lease while the tabs are still locked: by that
// the next one knows that the tab has a pane of ours.
func (s *Spawner) opened(ctx context.Context, p *Pane, lease *Lease, err error) (*Pane, error) {
	if err != nil {
		return nil, err
	}
	lease.setPane(p)
	if err := s.Leases.Update(lease); err != nil {
		_ = s.Client.CloseOwn(context.WithoutCancel(ctx), p.ID, p.Terminal, s.Here)
		return nil, err
	}
	return p, nil
}

// beside splits the last of our panes in a tab. Nil means that none of ours is
// in it any more.
func (s *Spawner) beside(ctx context.Context, t *tabRecord, r *SpawnRequest, env map[string]string) (*Pane, error) {
	panes, err := s.ours(ctx, t)
	if err != nil || len(panes) == 0 {
		return nil, err
	}
	if t.EndedAt != 0 {
		t.EndedAt = 0
		if err := t.write(); err != nil {
			return nil, err
		}
	}
	direction := "right"
	if len(panes)%2 == 0 {
		direction = "down"
	}
	return s.Client.SplitPane(ctx, Split{Target: panes[len(panes)-1].pane.ID, Direction: direction, Cwd: r.Cwd, Env: env})
}

// held is a pane of ours with its lease.
type held struct {
	pane  Pane
	lease Lease
}

// ours returns the panes in a tab whose terminals stand in leases.
func (s *Spawner) ours(ctx context.Context, t *tabRecord) ([]held, error) {
	list, _, err := s.Leases.List()
	if err != nil {
		return nil, err
	}
	panes, err := s.Client.Panes(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []held
	for _, l := range list {
		for _, p := range panes {
			if l.Of(s.Client) && l.Terminal != "" && p.Terminal == l.Terminal && p.Tab == t.Tab {
				out = append(out, held{p, l})
			}
		}
	}
	return out, nil
}

// CloseTabs closes the tabs whose teammates have all ended for longer than their
// grace, as ended says of a session and a spawn id, and in which nobody is
// blocked. Only panes of ours are closed; a tab in which a person has opened one
// stays, as does the tab of the caller. It returns the labels of those closed.
func (s *Spawner) CloseTabs(ctx context.Context, ended func(session, spawnID string) bool) (closed []string, err error) {
	names, err := fsx.List(s.Leases.tabsDir())
	if err != nil || len(names) == 0 {
		return nil, err
	}
	lock, ok, err := fsx.TryAcquire(filepath.Join(s.Leases.tabsDir(), "tabs.lock"))
	if err != nil || !ok {
		return nil, err // somebody else is at it
	}
	defer func() { _ = lock.Unlock() }()
	var failures []error
	for _, name := range names {
		if filepath.Ext(name) != recordSuffix {
			continue
		}
		t, err := readTab(filepath.Join(s.Leases.tabsDir(), name))
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				failures = append(failures, err)
			}
			continue
		}
		if !s.isHere(t) {
			continue
		}
		done, err := s.closeTab(ctx, t, ended)
		if err != nil {
			failures = append(failures, err)
			if IsUnavailable(err) {
				break
			}
		}
		if done {
			closed = append(closed, t.Label)
		}
	}
	return closed, errors.Join(failures...)
}

func (s *Spawner) closeTab(ctx context.Context, t *tabRecord, ended func(session, spawnID string) bool) (bool, error) {
	panes, err := s.ours(ctx, t)
	if err != nil {
		return false, err
	}
	over := t.Tab != s.Here.Tab
	for _, h := range panes {
		over = over && (h.lease.Over || ended(h.lease.Session, h.lease.SpawnID)) && h.pane.Status != StateBlocked
	}
	now := nowMs()
	switch {
	case len(panes) == 0: // closed by hand, or with its last pane
		return false, fsx.Remove(t.path)
	case !over:
		if t.EndedAt == 0 {
			return false, nil
		}
		t.EndedAt = 0
		return false, t.write()
	case t.EndedAt == 0 || t.EndedAt > now:
		t.EndedAt = now
		return false, t.write()
	case now-t.EndedAt < t.GraceMs:
		return false, nil
	}
	for _, h := range panes {
		if err := s.Client.CloseOwn(ctx, h.pane.ID, h.pane.Terminal, s.Here); err != nil {
			return false, errs.New(errs.CodeOf(err), "the tab %s could not be closed: %w", t.Label, err)
		}
		if err := s.Leases.Free(ctx, h.lease.SpawnID); err != nil {
			return false, err
		}
	}
	return true, fsx.Remove(t.path)
}
