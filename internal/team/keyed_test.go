package team

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// blindAfterPublish makes the look at a teammate's record fail that follows the
// publication of a message.
func blindAfterPublish() (restore func()) {
	published := false
	return fsx.SetFault(func(op fsx.Op, path string) error {
		switch {
		case op == fsx.OpLink && filepath.Base(filepath.Dir(path)) == "new":
			published = true
		case published && op == fsx.OpOpen && filepath.Base(path) == "teammate.json":
			return syscall.EIO
		}
		return nil
	})
}

// A send with a key whose second look failed has told an error. With the same key
// it is the same message, and told to be sent only when it is there.
func TestKeyedLookFails(t *testing.T) {
	ctx := t.Context()
	for name, to := range map[string]string{"mail": "bob", "report": "leader"} {
		t.Run(name, func(t *testing.T) {
			team := newTeam(t)
			for _, mate := range []string{"ann", "bob"} {
				if _, err := team.Join(ctx, JoinRequest{Name: mate, PID: os.Getpid()}); err != nil {
					t.Fatal(err)
				}
			}
			ann, err := team.Read("ann")
			if err != nil {
				t.Fatal(err)
			}
			r := SendRequest{From: Identity{Name: "ann", SpawnID: ann.SpawnID}, To: []string{to}, Body: []byte("done"), Key: "k1"}
			if to == LeaderName {
				r.Status = "completed"
			}
			restore := blindAfterPublish()
			_, err = team.Send(ctx, r)
			restore()
			if err == nil {
				t.Fatal("the look did not fail")
			}
			sent, err := team.Send(ctx, r)
			if err != nil || len(sent) != 1 || !sent[0].Repeated {
				t.Fatalf("%+v %v", sent, err)
			}
			if _, _, err := team.DrainReports(ctx); err != nil {
				t.Fatal(err)
			}
			ids, err := team.Box(to).IDs(false)
			if err != nil || len(ids) != 1 || ids[0] != sent[0].Message.ID {
				t.Errorf("told %s, there is %v %v", sent[0].Message.ID, ids, err)
			}
		})
	}
}

// One that is repeated when its reader is gone, and was put into its mailbox too
// late for anybody to return it, is not told to be sent.
func TestKeyedReaderGone(t *testing.T) {
	ctx := t.Context()
	team := newTeam(t)
	for _, mate := range []string{"ann", "bob"} {
		if _, err := team.Join(ctx, JoinRequest{Name: mate, PID: os.Getpid()}); err != nil {
			t.Fatal(err)
		}
	}
	ann, _ := team.Read("ann")
	bob, err := team.Read("bob")
	if err != nil {
		t.Fatal(err)
	}
	m := func() *inbox.Message {
		m := &inbox.Message{Body: []byte("hello")}
		m.ID, m.From, m.Spawn, m.To, m.ToSpawn, m.Key = inbox.NewID(time.Now(), "ann"), "ann", ann.SpawnID, "bob", bob.SpawnID, "k1"
		return m
	}
	to := recipient{name: "bob", life: bob}
	if _, err := team.as("bob", bob.SpawnID).Leave(ctx, "bob", bob.SpawnID, nil); err != nil {
		t.Fatal(err)
	}
	restore := blindAfterPublish()
	_, err = team.deliver(m(), &to)
	restore()
	if err == nil {
		t.Fatal("the look did not fail")
	}
	s, err := team.deliver(m(), &to)
	if ids, _ := team.Box("bob").IDs(true); errs.CodeOf(err) != errs.Stopped || len(ids) != 0 {
		t.Errorf("%+v %v, there is %v", s, err, ids)
	}
}
