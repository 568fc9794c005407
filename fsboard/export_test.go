package fsboard

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

func export(t testing.TB, b *Board) string {
	t.Helper()
	var buf bytes.Buffer
	if err := b.Export(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func importInto(t testing.TB, b *Board, text string, apply bool) Imported {
	t.Helper()
	out, err := b.Import(context.Background(), strings.NewReader(text), apply)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestExportImportExport gives the same bytes, onto an empty board and onto
// itself.
func TestExportImportExport(t *testing.T) {
	b := storyBoard(t)
	b.o.Gates = failing(1)
	mustAdd(t, b, NewTask{Subject: "with everything <&> é ", Description: "# Title\n\n```\n\tcode\x7f\u2028\n```\n", DependsOn: []string{"t_2"}, Verify: "test \"$A\" && b", VerifyTimeoutMs: ptr(int64(0)),
		Priority: ptr(0), Role: "coder", Assignee: "ann", Tags: []string{"a", "b"}, MaxAttempts: ptr(9), Key: "k", CreatedBy: "ann"})
	writeFile(t, b.Path(), bytes.Replace(readFile(t, b.Path()), []byte(`"priority":0`), []byte(`"priority":0,"mine":{"b":[1.50,null],"a":"<"}`), 1))
	b = again(t, b)
	text := export(t, b)
	rows := strings.Split(strings.TrimSpace(text), "\n")
	if len(rows) != 7 {
		t.Fatalf("%q", rows)
	}
	for _, key := range []string{`"claim"`, `"epoch"`, `"gate"`, `"notBefore"`, `"status":"claimed"`, `"gateFailures"`} {
		if strings.Contains(text, key) {
			t.Errorf("the export has %s", key)
		}
	}
	fresh := openTest(t, Options{})
	if out := importInto(t, fresh, text, false); len(out.Imported) != 7 || !out.DryRun || exists(fresh.o.Dir) {
		t.Fatalf("the preview gives %+v", out)
	}
	if out := importInto(t, fresh, text, true); len(out.Imported) != 7 || len(out.Skipped) != 0 || out.DryRun {
		t.Fatalf("%+v", out)
	}
	if got := export(t, fresh); got != text {
		t.Errorf("export, import and export give\n%s\nfor\n%s", got, text)
	}
	if v := mustAdd(t, fresh, NewTask{Subject: "next"})[0]; v.ID != "t_9" {
		t.Errorf("the next is %s", v.ID)
	}
	wantSound(t, fresh)
	before := readFile(t, b.Path())
	out := importInto(t, b, text, true)
	if len(out.Imported) != 0 || len(out.Skipped) != 7 || export(t, b) != text {
		t.Errorf("onto itself: %+v", out)
	}
	if !strings.Contains(string(readFile(t, b.Path())), `"mine":{"b":[1.50,null],"a":"<"}`) {
		t.Error("an unknown field is lost")
	}
	if !bytes.Equal(readFile(t, b.Path()), before) {
		t.Error("an import that takes nothing wrote the board")
	}
}

// TestImportSkips what is claimed, newer or another task here.
func TestImportSkips(t *testing.T) {
	ctx := context.Background()
	clk := fakeClock(t)
	b := openTest(t, Options{HarnessLive: live})
	addN(t, b, 5)
	text := export(t, b)
	clk.pass(time.Second)
	mustClaim(t, b, "t_1", "ann") // only a marker
	if _, err := b.Edit(ctx, "t_2", Edit{Subject: ptr("newer")}); err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(text, "\n")
	rows[2] = strings.Replace(rows[2], `"createdAt":`, `"createdAt":1`, 1)
	rows[3] = strings.Replace(strings.Replace(rows[3], "task t_4", "changed", 1), `"updatedAt":`, `"updatedAt":9`, 1)
	text = join(rows)
	for _, apply := range []bool{false, true} {
		out := importInto(t, b, text, apply)
		var why []string
		for _, s := range out.Skipped {
			why = append(why, s.ID+" "+s.Reason)
		}
		want := "t_1 it is claimed here by ann, t_2 it is newer here, t_3 another task has this id here, t_5 it is the same here"
		if strings.Join(why, ", ") != want || !slices.Equal(out.Imported, []string{"t_4"}) || out.DryRun == apply {
			t.Errorf("%+v", out)
		}
	}
	if v := wantState(t, b, "t_4", StateReady); v.Subject != "changed" || v.Epoch != 1 {
		t.Errorf("%+v", v)
	}
	wantSound(t, b)
}

// TestImportBlocks: what waits for a task that an import makes pending again
// gets a new epoch.
func TestImportBlocks(t *testing.T) {
	clk := fakeClock(t)
	b := openTest(t, Options{})
	mustAdd(t, b, NewTask{Subject: "1"}, NewTask{Subject: "2", DependsOn: []string{"t_1"}})
	text := export(t, b)
	mustClaim(t, b, "t_1", "ann")
	mustSubmit(t, b, "t_1", "ann")
	wantState(t, b, "t_2", StateReady)
	clk.pass(time.Second)
	first := strings.SplitAfter(text, "\n")[0]
	out := importInto(t, b, strings.Replace(first, `"updatedAt":`, `"updatedAt":9`, 1), true)
	if !slices.Equal(out.Imported, []string{"t_1"}) {
		t.Fatalf("%+v", out)
	}
	wantState(t, b, "t_1", StateReady)
	if v := wantState(t, b, "t_2", StateBlocked); v.Epoch != 1 {
		t.Errorf("its epoch is %d", v.Epoch)
	}
	wantSound(t, b)
}

// TestImportRefused: all or nothing, with the line in the message.
func TestImportRefused(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	addN(t, b, 2)
	before := tree(t, b.o.Dir)
	good := `{"id":"t_7","status":"pending","subject":"fine","dependsOn":[],"createdAt":1,"updatedAt":1}` + "\n"
	for name, c := range map[string]struct {
		row  string
		code errs.Code
	}{
		"no JSON":      {"{", errs.Usage},
		"no id":        {`{"subject":"x"}`, errs.Usage},
		"bad id":       {`{"id":"x","subject":"x","status":"pending"}`, errs.Usage},
		"bad status":   {`{"id":"t_8","subject":"x","status":"done"}`, errs.Usage},
		"no subject":   {`{"id":"t_8","status":"pending"}`, errs.Usage},
		"two lines":    {`{"id":"t_8","status":"pending","subject":"a\nb"}`, errs.Usage},
		"bad priority": {`{"id":"t_8","status":"pending","subject":"a","priority":7}`, errs.Usage},
		"twice":        {good, errs.Usage},
		"unknown dep":  {`{"id":"t_8","status":"pending","subject":"a","dependsOn":["t_99"]}`, errs.UnknownDep},
		"cycle":        {`{"id":"t_8","status":"pending","subject":"a","dependsOn":["t_8"]}`, errs.Cycle},
		"long cycle":   {`{"id":"t_8","status":"pending","subject":"a","dependsOn":["t_9"]}` + "\n" + `{"id":"t_9","status":"pending","subject":"a","dependsOn":["t_8"]}`, errs.Cycle},
		"type":         {`{"id":"t_8","status":"pending","subject":7}`, errs.Usage},
	} {
		for _, apply := range []bool{false, true} {
			_, err := b.Import(ctx, strings.NewReader(good+c.row), apply)
			if errs.CodeOf(err) != c.code || c.code == errs.Usage && !strings.Contains(err.Error(), "line 2") {
				t.Errorf("%s: %v (%s)", name, err, errs.CodeOf(err))
			}
		}
	}
	if after := tree(t, b.o.Dir); after != before {
		t.Errorf("a refused import changed the board:\n%s\n%s", before, after)
	}
	broken := errors.New("broken pipe")
	if _, err := b.Import(ctx, failingReader{broken}, true); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := b.Export(failingWriter{broken}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if text := export(t, openTest(t, Options{})); text != "" {
		t.Errorf("%q", text)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// TestReadAtMost reads no more than it may.
func TestReadAtMost(t *testing.T) {
	for size, ok := range map[int]bool{0: true, 10: true, 11: false, 100: false} {
		data, err := readAtMost(strings.NewReader(strings.Repeat("x", size)), 10)
		if (err == nil) != ok || ok && len(data) != size || !ok && errs.CodeOf(err) != errs.Usage {
			t.Errorf("%d bytes: %d, %v", size, len(data), err)
		}
	}
}
