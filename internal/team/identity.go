package team

import (
	"context"
	"errors"
	"io/fs"

	"github.com/seed6990a682/teams/internal/errs"
)

// Identity is who is calling.
type Identity struct {
	Name    string // the teammate's name, or LeaderName
	SpawnID string // the teammate's life; "" for the leader
	Leader  bool
	Agent   string // the teammate's role, "" for none
}

// joinHint is how a shell gets a name.
const joinHint = `eval "$(teams join w1 --pid $$)"`

// asLeader says whether the caller gave no name, or the leader's.
func (t *Team) asLeader() bool { return t.Name == "" || t.Name == LeaderName }

// Reader is who the caller says it is, for verbs that only look. Anybody may
// look as anybody, so nothing is checked and nobody joins; a life that is over is
// found by [Team.CheckLife].
func (t *Team) Reader() Identity {
	if t.asLeader() {
		return Identity{Name: LeaderName, Leader: true}
	}
	id := Identity{Name: t.Name, SpawnID: t.SpawnID}
	if tm, err := t.Read(t.Name); err == nil && (id.SpawnID == "" || id.SpawnID == tm.SpawnID) {
		id.SpawnID, id.Agent = tm.SpawnID, tm.Agent
	}
	return id
}

// Leader is the caller as the leader, for the verbs that only it may use. A
// caller with a name, of its own or borrowed, is refused with leader_only; a
// spawn id without a name with stale_identity.
func (t *Team) Leader() (Identity, error) {
	if err := t.checkSpawnHasName(); err != nil {
		return Identity{}, err
	}
	switch {
	case t.envName != "":
		e := errs.New(errs.LeaderOnly, "only the leader may do this, and this is %s (%s is set)", t.envName, EnvName)
		return Identity{}, e.WithHint("ask the leader, or use a shell without %s", EnvName)
	case !t.asLeader():
		return Identity{}, errs.New(errs.LeaderOnly, "only the leader may do this, and this is %s", t.Name)
	}
	return Identity{Name: LeaderName, Leader: true}, nil
}

// Actor is the caller for the verbs that leader and teammates both use: the
// leader without a name, else the teammate as by [Team.Worker].
func (t *Team) Actor(ctx context.Context) (Identity, error) {
	if t.asLeader() {
		return t.Leader()
	}
	return t.Worker(ctx)
}

// Worker is the caller as a teammate, for the verbs that change something in a
// teammate's name.
//
// With a spawn id the caller is that life, which must be the name's present one
// and not be stopped, else stale_identity. With a name alone, an unknown name
// joins as a shell of which no process is recorded, and such a teammate is used
// as it is; a name whose life is over gets a new one. A name whose life has a
// process that is not proven dead is refused with name_taken. Without a name
// the error is of code usage.
func (t *Team) Worker(ctx context.Context) (Identity, error) {
	if err := t.checkSpawnHasName(); err != nil {
		return Identity{}, err
	}
	if t.asLeader() {
		if t.envName != "" { // --as leader
			return t.Leader()
		}
		return Identity{}, errs.New(errs.Usage, "this needs a teammate's name: %s is not set, and there is no --as", EnvName).
			WithHint("%s", joinHint)
	}
	if err := CheckName(t.Name); err != nil {
		return Identity{}, err
	}
	if t.SpawnID != "" {
		return t.checkLife()
	}
	tm, err := t.take(ctx, taking{
		name:  t.Name,
		build: func() Teammate { return t.newShell(t.Name, "", nil) },
		keep: func(tm Teammate) bool {
			return tm.Kind == KindShell && tm.PID == 0 && tm.Status != StatusStopped
		},
	})
	if err != nil {
		return Identity{}, err
	}
	return identityOf(tm), nil
}

func identityOf(tm Teammate) Identity {
	return Identity{Name: tm.Name, SpawnID: tm.SpawnID, Agent: tm.Agent}
}

// CheckLife refuses, with stale_identity, a caller whose TEAMS_SPAWN stands
// without TEAMS_NAME or is no longer the name's present life. A caller without
// a spawn id passes.
func (t *Team) CheckLife() error {
	if err := t.checkSpawnHasName(); err != nil {
		return err
	}
	if t.SpawnID == "" {
		return nil
	}
	_, err := t.checkLife()
	return err
}

func (t *Team) checkSpawnHasName() error {
	if t.envSpawn != "" && t.envName == "" || t.SpawnID != "" && t.asLeader() {
		return errs.New(errs.StaleIdentity, "%s is set without %s", EnvSpawn, EnvName).
			WithHint("unset %s", EnvSpawn)
	}
	return nil
}

// checkLife compares the caller's spawn id with the record.
func (t *Team) checkLife() (Identity, error) {
	tm, err := t.Read(t.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Identity{}, staleIdentity(t.Name)
	case err != nil:
		return Identity{}, err
	case tm.SpawnID != t.SpawnID, tm.Status == StatusStopped:
		return Identity{}, staleIdentity(t.Name)
	}
	return identityOf(tm), nil
}

func staleIdentity(name string) error {
	return errs.New(errs.StaleIdentity, "this life of %s is over", name).
		WithHint(`eval "$(teams join %s --pid $$)", or unset TEAMS_NAME TEAMS_SPAWN`, name)
}
