package fsboard

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

func TestCollect(t *testing.T) {
	ctx := context.Background()
	clk := fakeClock(t)
	b := openTest(t, Options{})
	mustAdd(t, b, NewTask{Subject: "old", Key: "k1"}, NewTask{Subject: "old, but t_3 waits for it"}, NewTask{Subject: "open", DependsOn: []string{"t_2"}},
		NewTask{Subject: "old chain"}, NewTask{Subject: "old chain", DependsOn: []string{"t_4"}}, NewTask{Subject: "young"})
	for _, id := range []string{"t_1", "t_2", "t_4", "t_5"} {
		mustClaim(t, b, id, "ann")
		mustSubmit(t, b, id, "ann")
	}
	clk.pass(48 * time.Hour)
	if _, err := b.Cancel(ctx, "t_6", "", false); err != nil {
		t.Fatal(err)
	}
	before := tree(t, b.o.Dir)
	want := []string{"t_1", "t_4", "t_5"}
	if c, err := b.Collect(ctx, 24*time.Hour, true); err != nil || !slices.Equal(c.Archived, want) || tree(t, b.o.Dir) != before {
		t.Fatalf("the dry run gives %+v, %v", c, err)
	}
	// The archive is on disk before the snapshot without the tasks is.
	synced := false
	restore := fsx.SetFault(func(op fsx.Op, path string) error {
		switch {
		case path == b.archivePath() && op == fsx.OpFsync:
			synced = true
		case path == b.Path() && op == fsx.OpRename && !synced:
			t.Error("the snapshot is written before the archive")
		}
		return nil
	})
	c, err := b.Collect(ctx, 24*time.Hour, false)
	restore()
	if err != nil || !slices.Equal(c.Archived, want) {
		t.Fatalf("%+v, %v", c, err)
	}
	var line struct {
		Rev  int64
		Task Task
	}
	rows := strings.Split(string(readFile(t, b.archivePath())), "\n")
	if err := json.Unmarshal([]byte(rows[0]), &line); err != nil || line.Rev != b.mustRevision(t) || line.Task.ID != "t_1" || len(rows) != 4 {
		t.Fatalf("%q, %v", rows, err)
	}
	v, err := b.View()
	if err != nil || v.Len() != 3 {
		t.Fatal(v.Len(), err)
	}
	if list, err := b.Archived(); err != nil || len(list) != 3 || list[1].ID != "t_4" || !list[1].Archived {
		t.Fatal(list, err)
	}
	// Ids and keys stay taken.
	list := mustAdd(t, b, NewTask{Subject: "the same again", Key: "k1"}, NewTask{Subject: "next"})
	if list[0].ID != "t_1" || !list[0].Archived || !list[0].Known || list[1].ID != "t_7" || list[1].Known {
		t.Fatalf("%+v", list)
	}
	wantSound(t, b)
	// Edits and reopenings bring back; one that changes nothing does not.
	rev := b.mustRevision(t)
	if v, err := b.Edit(ctx, "t_4", Edit{Subject: ptr("old chain")}); err != nil || !v.Archived || b.mustRevision(t) != rev {
		t.Fatalf("%+v, %v", v, err)
	}
	if v, err := b.Edit(ctx, "t_4", Edit{Tags: &[]string{"x"}}); err != nil || v.Archived || v.State != StateCompleted || b.mustRevision(t) != rev+1 {
		t.Fatalf("%+v, %v", v, err)
	}
	if v, err := b.Reopen(ctx, "t_1"); err != nil || v.Archived || v.State != StateReady || v.Epoch != 1 || v.Key != "k1" || b.mustRevision(t) != rev+2 {
		t.Fatalf("%+v, %v", v, err)
	}
	_, err = b.Cancel(ctx, "t_5", "", false)
	wantCode(t, err, errs.TaskEnded)
	_, err = b.Edit(ctx, "t_8", Edit{})
	wantCode(t, err, errs.NotFound)
	// A key that was given up there is free, although an old line has it.
	if _, err := b.Edit(ctx, "t_1", Edit{Key: ptr("")}); err != nil {
		t.Fatal(err)
	}
	if v := mustAdd(t, b, NewTask{Subject: "new", Key: "k1"})[0]; v.ID != "t_8" {
		t.Fatalf("%+v", v)
	}
	_, err = b.Edit(ctx, "t_1", Edit{Key: ptr("k1")})
	wantCode(t, err, errs.Conflict)
	// Archived once more, the last line counts.
	clk.pass(48 * time.Hour)
	if c, err := b.Collect(ctx, 24*time.Hour, false); err != nil || !slices.Equal(c.Archived, []string{"t_4", "t_6"}) {
		t.Fatalf("%+v, %v", c, err)
	}
	if v := wantState(t, b, "t_4", StateCompleted); !slices.Equal(v.Tags, []string{"x"}) || !v.Archived {
		t.Fatalf("%+v", v)
	}
	wantSound(t, b)
}

// TestReopenBringsDependenciesBack: a task that was archived together with what
// it depends on is not blocked by the archive for ever.
func TestReopenBringsDependenciesBack(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	mustAdd(t, b, NewTask{Subject: "1"}, NewTask{Subject: "2", DependsOn: []string{"t_1"}})
	mustClaim(t, b, "t_1", "ann")
	mustSubmit(t, b, "t_1", "ann")
	if _, err := b.Cancel(ctx, "t_2", "", false); err != nil {
		t.Fatal(err)
	}
	if c, err := b.Collect(ctx, 0, false); err != nil || len(c.Archived) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	rev := b.mustRevision(t)
	if v, err := b.Reopen(ctx, "t_2"); err != nil || v.State != StateReady || b.mustRevision(t) != rev+1 {
		t.Fatalf("%+v, %v", v, err)
	}
	if v := wantState(t, b, "t_1", StateCompleted); v.Archived {
		t.Error("t_1 is still archived")
	}
	wantSound(t, b)
}

// TestCollectFiles: gate logs and rejected files of that age go, locks never.
func TestCollectFiles(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{Gates: passing()})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "true"})
	mustClaim(t, b, "t_1", "ann")
	mustSubmit(t, b, "t_1", "ann")
	old := time.Now().Add(-48 * time.Hour)
	paths := []string{b.GateLog("t_1", 1), b.GateLog("t_1", 2), b.path("rejected", "t_1.aa"), b.path("rejected", "t_1.aa.reason"), b.path("rejected", "dir.bb", "x"), b.gateRunPath("t_2")}
	for i, p := range paths {
		writeFile(t, p, []byte("x"))
		if i != 1 {
			if err := os.Chtimes(p, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chtimes(b.path("rejected", "dir.bb"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(b.gateLock("t_1"), old, old); err != nil {
		t.Fatal(err)
	}
	want := []string{paths[0], b.path("rejected", "dir.bb"), paths[2], paths[3]}
	for _, dry := range []bool{true, false} {
		c, err := b.Collect(ctx, 24*time.Hour, dry)
		if err != nil || !slices.Equal(c.Removed, want) || len(c.Archived) != 0 {
			t.Fatalf("%+v, %v", c, err)
		}
		if exists(paths[0]) != dry || exists(paths[2]) != dry || !exists(paths[1]) || !exists(b.gateLock("t_1")) || !exists(paths[5]) {
			t.Error("the wrong files are gone")
		}
	}
}
