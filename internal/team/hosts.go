package team

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

const (
	// presenceEvery is how often a long-running process says that its host is
	// there, and looks which others are.
	presenceEvery = 5 * time.Second
	// presenceFresh is for how long a short command leaves a record as it is.
	presenceFresh = time.Minute
	// presenceGone is when a host that said nothing counts as gone.
	presenceGone = 3 * time.Minute
	// presenceForgotten is when the name of a host may be taken by another machine.
	presenceForgotten = 24 * time.Hour
)

// HostRecord is hosts/<host>.json: a host that uses a shared session. Times are
// epoch ms by its own clock.
type HostRecord struct {
	Host         string   `json:"host"`
	Machine      string   `json:"machine,omitempty"` // see fsx.MachineID
	BootID       string   `json:"bootId"`
	Boots        []string `json:"boots"` // boot ids of this machine, the present one last
	PIDNamespace string   `json:"pidNamespace"`
	Root         string   `json:"root"` // where it has the root
	FileSystem   string   `json:"fileSystem,omitempty"`
	LastSeen     int64    `json:"lastSeen"`
	// Stays: it was written by a long-running process that holds the host's lock.
	Stays bool `json:"stays,omitempty"`
	// ClockAheadMs is how far its clock is ahead of that of the file system.
	ClockAheadMs int64 `json:"clockAheadMs"`
	// Sees has the boot ids of other hosts whose locks this one has seen held:
	// only then does a lock of theirs that is free say anything.
	Sees map[string]string `json:"sees,omitempty"`
}

// HostInfo is what is known of a host of the session.
type HostInfo struct {
	HostRecord
	Here bool `json:"here"` // it is this one
	// Held: a process of it holds its lock now, as seen from here.
	Held bool `json:"held"`
	// Gone: it has neither said anything for a while nor holds its lock.
	Gone bool `json:"gone"`
}

// hostsDir has a record and a lock for each host of a shared session.
func (p Place) hostsDir() string { return filepath.Join(p.TeamDir(), "hosts") }

func (p Place) hostFile(host string) string {
	return filepath.Join(p.hostsDir(), Flatten(host)+".json")
}

// hostLock is held by one long-running process of the host, which is what
// others see of it; and for an instant by whoever writes the record.
func (p Place) hostLock(host string) string {
	return filepath.Join(p.hostsDir(), Flatten(host)+".lock")
}

func (t *Team) readHost(path string) (HostRecord, error) {
	var r HostRecord
	data, err := fsx.ReadFile(path, maxRecord)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil || r.Host == "" {
		return HostRecord{}, corrupt(path, "is no record of a host", err)
	}
	return r, nil
}

// Hosts lists the hosts that have used the session, in the order of their names.
// A session that is not shared has none.
func (t *Team) Hosts() ([]HostInfo, []Problem, error) {
	if err := t.checkDirs("teammate", t.Session, "hosts"); err != nil {
		return nil, nil, ignoreMissing(err)
	}
	names, err := fsx.List(t.hostsDir())
	if err != nil {
		return nil, nil, err
	}
	var list []HostInfo
	var problems []Problem
	for _, name := range names {
		base, ok := strings.CutSuffix(name, ".json")
		if !ok {
			continue
		}
		path := filepath.Join(t.hostsDir(), name)
		r, err := t.readHost(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && Flatten(r.Host) != base {
			err = corrupt(path, "is the record of another host", nil)
		}
		if err != nil {
			problems = append(problems, Problem{path, err})
			continue
		}
		h := HostInfo{HostRecord: r, Here: r.Host == fsx.Host()}
		held, err := fsx.Held(t.hostLock(r.Host))
		if err != nil {
			problems = append(problems, Problem{t.hostLock(r.Host), err})
		}
		h.Held = held
		h.Gone = !held && nowMillis()-r.LastSeen > presenceGone.Milliseconds()
		list = append(list, h)
	}
	return list, problems, nil
}

// Present notes that this host uses the session, unless that was noted a moment
// ago or another process of the host sees to it. A session that is not shared
// needs none. It never fails a command: what is wrong with the file system shows
// in what the command is for.
func (t *Team) Present() {
	if !t.Sharing.On {
		return
	}
	old, err := t.readHost(t.hostFile(fsx.Host()))
	if age := nowMillis() - old.LastSeen; err == nil && old.BootID == fsx.BootID() && age >= 0 && age < presenceFresh.Milliseconds() {
		return
	}
	if err := t.checkDirs("teammate", t.Session); err != nil {
		return // no session yet
	}
	if err := fsx.MkdirAll(t.Root, t.hostsDir()); err != nil {
		return
	}
	lock, ok, err := fsx.TryAcquire(t.hostLock(fsx.Host()))
	if err != nil || !ok {
		return
	}
	defer lock.Unlock()
	_, _ = t.writeHost(nil, false)
}

// StayPresent keeps the host's record fresh and its lock held for as long as a
// long-running process lives; one process of the host does so, and another takes
// over when it ends. stop ends it and waits.
func (t *Team) StayPresent(ctx context.Context) (stop func()) {
	if !t.Sharing.On {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var lock *fsx.Lock
		defer func() {
			if lock != nil {
				_, _ = t.writeHost(nil, false)
				_ = lock.Unlock()
			}
		}()
		var sees map[string]string
		tick := time.NewTicker(presenceEvery)
		defer tick.Stop()
		for {
			lock, sees = t.beat(lock, sees)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-done }
}

// beat is one round of StayPresent.
func (t *Team) beat(lock *fsx.Lock, sees map[string]string) (*fsx.Lock, map[string]string) {
	if lock != nil {
		// The session may have been ended, and begun anew, under us.
		if info, err := os.Stat(lock.Path()); err != nil {
			_ = lock.Unlock()
			lock = nil
		} else if same, err := lock.Is(info); err == nil && !same {
			_ = lock.Unlock()
			lock = nil
		}
	}
	if lock == nil {
		if t.checkDirs("teammate", t.Session) != nil || fsx.MkdirAll(t.Root, t.hostsDir()) != nil {
			return nil, sees
		}
		var ok bool
		var err error
		if lock, ok, err = fsx.TryAcquire(t.hostLock(fsx.Host())); err != nil || !ok {
			return nil, sees
		}
	}
	if now, err := t.writeHost(sees, true); err == nil {
		sees = now
	}
	return lock, sees
}

// writeHost writes this host's record. The caller holds its lock. sees is what
// it is known to see already.
func (t *Team) writeHost(sees map[string]string, stays bool) (map[string]string, error) {
	self, err := fsx.Self()
	if err != nil {
		return sees, err
	}
	path := t.hostFile(self.Host)
	old, err := t.readHost(path)
	if err == nil && t.namesake(old) {
		return sees, errs.New(errs.Conflict, "another machine has the name %s", self.Host).WithPath(path)
	}
	r := HostRecord{
		Host: self.Host, Machine: fsx.MachineID(), BootID: self.BootID, PIDNamespace: self.PIDNamespace,
		Root: t.Root, LastSeen: nowMillis(), Stays: stays, Sees: maps.Clone(sees),
	}
	if kind, err := fsx.FileSystemOf(t.Root); err == nil {
		r.FileSystem = kind.Type
	}
	if old.Machine == r.Machine {
		r.Boots = old.Boots
		if r.Sees == nil && old.BootID == r.BootID {
			r.Sees = maps.Clone(old.Sees)
		}
	}
	if r.Sees == nil {
		r.Sees = map[string]string{}
	}
	r.Boots = slices.DeleteFunc(r.Boots, func(id string) bool { return id == self.BootID })
	r.Boots = append(r.Boots[max(len(r.Boots)-15, 0):], self.BootID)
	others, _, err := t.Hosts()
	if err != nil {
		return sees, err
	}
	for _, h := range others {
		if !h.Here && h.Held {
			r.Sees[h.Host] = h.BootID
		}
	}
	if r.ClockAheadMs, err = fsx.ClockAhead(t.hostsDir()); err != nil {
		return sees, err
	}
	data, err := marshalLines(r, nil)
	if err != nil {
		return sees, err
	}
	return r.Sees, fsx.Replace(path, data)
}

// namesake reports whether a record of this host's name is that of another
// machine that may still be there.
func (t *Team) namesake(r HostRecord) bool {
	mine := fsx.MachineID()
	return r.Machine != "" && mine != "" && r.Machine != mine && nowMillis()-r.LastSeen < presenceForgotten.Milliseconds()
}

// seesLocks reports whether a lock that a host held on a boot was seen from here:
// then one of that time that is free was let go.
func (t *Team) seesLocks(host, bootID string) bool {
	r, err := t.readHost(t.hostFile(fsx.Host()))
	return err == nil && bootID != "" && r.BootID == fsx.BootID() && r.Sees[host] == bootID
}

// earlierBoot reports whether a boot id is one of this machine's.
func (t *Team) earlierBoot(id string) bool {
	r, err := t.readHost(t.hostFile(fsx.Host()))
	return err == nil && r.Machine != "" && r.Machine == fsx.MachineID() && slices.Contains(r.Boots, id)
}

// clockAhead is how far the wall clock of another host is ahead of this one's, in
// ms, as the two have measured it against the file system's; with "" that of the
// host whose is ahead the most.
func (t *Team) clockAhead(host string) int64 {
	mine, err := t.readHost(t.hostFile(fsx.Host()))
	if err != nil {
		return 0
	}
	if host != "" {
		r, err := t.readHost(t.hostFile(host))
		if err != nil {
			return 0
		}
		return r.ClockAheadMs - mine.ClockAheadMs
	}
	names, err := fsx.List(t.hostsDir())
	if err != nil {
		return 0
	}
	most := int64(0)
	for _, name := range names {
		if filepath.Ext(name) != ".json" {
			continue
		}
		if r, err := t.readHost(filepath.Join(t.hostsDir(), name)); err == nil {
			most = max(most, r.ClockAheadMs-mine.ClockAheadMs)
		}
	}
	return most
}
