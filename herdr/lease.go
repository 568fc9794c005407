package herdr

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// The setting of how many panes of ours may be open, over all sessions.
const (
	EnvMaxPanes     = "TEAMS_HERDR_MAX_PANES"
	DefaultMaxPanes = 4
	maxMaxPanes     = 64
)

// MaxPanes reads the cap on panes; the error is of code usage.
func MaxPanes(getenv func(string) string) (int, error) {
	s := getenv(EnvMaxPanes)
	if s == "" {
		return DefaultMaxPanes, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxMaxPanes {
		return 0, errs.New(errs.Usage, "the environment variable %s is %q, it must be a number from 1 to %d", EnvMaxPanes, s, maxMaxPanes)
	}
	return n, nil
}

// Lease is the right to one pane of ours, <root>/panes/<n>.json. It is held for
// as long as the pane is open. Times are epoch ms.
type Lease struct {
	SpawnID string      `json:"spawnId"`
	Session string      `json:"session"`
	Name    string      `json:"name"`           // of the teammate or the run
	Role    string      `json:"role,omitempty"` // of the teammate
	Owner   fsx.Process `json:"owner"`          // who is opening the pane
	Socket  string      `json:"socket"`

	// What is known once there is a pane.
	Pane      string `json:"pane,omitempty"`
	Terminal  string `json:"terminal,omitempty"`
	Tab       string `json:"tab,omitempty"`
	TabName   string `json:"tabName,omitempty"` // as given with --tab
	Workspace string `json:"workspace,omitempty"`
	// The worktree that herdr made, and the workspace that it belongs to.
	Worktree          string `json:"worktree,omitempty"`
	Branch            string `json:"branch,omitempty"`
	WorktreeWorkspace string `json:"worktreeWorkspace,omitempty"`

	Agent     string `json:"agent,omitempty"` // its name in herdr
	CreatedAt int64  `json:"createdAt"`
	// Over says that the spawn is over, and that its pane could not be closed:
	// [Spawner.Prune] does that.
	Over bool `json:"over,omitempty"`

	n     int
	extra map[string]json.RawMessage
}

func (l *Lease) setPane(p *Pane) {
	l.Pane, l.Terminal, l.Tab, l.Workspace = p.ID, p.Terminal, p.Tab, p.Workspace
}

// Of reports whether the pane is one of the herdr that c speaks to: its socket has
// the same path on every host, so the host must be this one too.
func (l *Lease) Of(c *Client) bool { return l.Owner.Host == fsx.Host() && l.Socket == c.Path }

// Number is the number of the lease, from 1; 0 for one that is not on disk.
func (l *Lease) Number() int { return l.n }

// Leases are those of a root, over all sessions and processes.
type Leases struct {
	Root        string
	Max         int           // 0: DefaultMaxPanes
	LockTimeout time.Duration // 0: 10 s
}

// Dir is where the leases lie.
func (s *Leases) Dir() string { return filepath.Join(s.Root, "panes") }

// Sequences are the numbers of reports that all sessions of the root share.
func (s *Leases) Sequences() *Sequences {
	return NewSequences(s.Root, filepath.Join(s.Dir(), "seq"))
}

func (s *Leases) path(n int) string {
	return filepath.Join(s.Dir(), strconv.Itoa(n)+recordSuffix)
}

// List returns the leases in the order of their numbers. One that cannot be read
// is a problem, and its number stays taken.
func (s *Leases) List() (list []Lease, problems []Problem, err error) {
	names, err := fsx.List(s.Dir())
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, recordSuffix)
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || n < 1 {
			continue
		}
		l, err := s.get(n)
		switch {
		case err == nil:
			list = append(list, *l)
		case !errors.Is(err, fs.ErrNotExist): // freed meanwhile
			problems = append(problems, Problem{s.path(n), err})
		}
	}
	slices.SortFunc(list, func(a, b Lease) int { return a.n - b.n })
	return list, problems, nil
}

func (s *Leases) get(n int) (*Lease, error) {
	l := &Lease{n: n}
	var err error
	l.extra, err = readRecord(s.path(n), l)
	if err == nil && l.SpawnID == "" {
		err = &errs.Error{Code: errs.Corrupt, Path: s.path(n), Msg: "is no lease, it has no spawnId"}
	}
	return l, err
}

// Find returns the lease of a spawn, nil when it has none.
func (s *Leases) Find(spawnID string) (*Lease, error) {
	list, _, err := s.List()
	for i := range list {
		if list[i].SpawnID == spawnID {
			return &list[i], err
		}
	}
	return nil, err
}

// Acquire takes a lease, on the lowest free number, or returns the one that the
// spawn has. Over the cap the error is of code conflict and says who holds them.
func (s *Leases) Acquire(l Lease) (*Lease, error) {
	if err := fsx.MkdirAll(s.Root, s.Dir()); err != nil {
		return nil, err
	}
	l.CreatedAt = nowMs()
	data, err := encodeRecord(&l, nil)
	if err != nil {
		return nil, err
	}
	most := s.Max
	if most <= 0 {
		most = DefaultMaxPanes
	}
	list, problems, err := s.List()
	if err != nil {
		return nil, err
	}
	for _, have := range list {
		if have.SpawnID == l.SpawnID {
			return &have, nil
		}
	}
	// Those with numbers above the cap, taken when it was higher, count too.
	for n := 1; n <= most && len(list) < most; n++ {
		switch err := fsx.Publish(s.path(n), data); {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return nil, err
		}
		l.n = n
		return s.settle(&l, most)
	}
	return nil, s.full(most, list, problems)
}

// settle looks at what others took at the same time: of two leases of one spawn
// the lower number is kept, and none that is too many.
func (s *Leases) settle(l *Lease, most int) (*Lease, error) {
	list, problems, err := s.List()
	if err != nil {
		return l, nil // it is ours all the same
	}
	for _, have := range list {
		if have.SpawnID == l.SpawnID && have.n < l.n {
			return &have, s.free(context.Background(), l.n, l.SpawnID)
		}
	}
	if len(list) > most {
		return nil, errors.Join(s.full(most, list, problems), s.free(context.Background(), l.n, l.SpawnID))
	}
	return l, nil
}

func (s *Leases) full(most int, list []Lease, problems []Problem) error {
	var who []string
	for _, l := range list {
		who = append(who, l.Name+" of "+l.Session)
	}
	for _, p := range problems {
		who = append(who, "a record that cannot be read, "+p.Path)
	}
	return errs.New(errs.Conflict, "no pane can be opened, all %d are in use: %s", most, strings.Join(who, ", ")).
		WithHint("teams herdr prune frees those that are closed; %s raises the number", EnvMaxPanes)
}

// Update writes what has become of a lease. Only its owner does that, until the
// spawn is over.
func (s *Leases) Update(l *Lease) error {
	data, err := encodeRecord(l, l.extra)
	if err != nil {
		return err
	}
	return fsx.Replace(s.path(l.n), data)
}

// Free gives the lease of a spawn back; none is no error.
func (s *Leases) Free(ctx context.Context, spawnID string) error {
	l, err := s.Find(spawnID)
	if err != nil || l == nil {
		return err
	}
	return s.free(ctx, l.n, spawnID)
}

// endLater writes into the lease of a spawn that it is over and its pane still to
// be closed; none is no error. The lock keeps the record that of the spawn.
func (s *Leases) endLater(ctx context.Context, spawnID string) error {
	l, err := s.Find(spawnID)
	if err != nil || l == nil || l.Over {
		return err
	}
	lock, err := fsx.Acquire(ctx, filepath.Join(s.Dir(), "panes.lock"), or(s.LockTimeout, 10*time.Second))
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	now, err := s.get(l.n)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case now.SpawnID != spawnID:
		return nil
	}
	now.Over = true
	return s.Update(now)
}

// free removes a record if it is still that of the spawn. Records are removed
// under a lock, so that nobody removes the one that came after.
func (s *Leases) free(ctx context.Context, n int, spawnID string) error {
	lock, err := fsx.Acquire(ctx, filepath.Join(s.Dir(), "panes.lock"), or(s.LockTimeout, 10*time.Second))
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	switch l, err := s.get(n); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case l.SpawnID != spawnID:
		return nil
	}
	return fsx.Remove(s.path(n))
}
