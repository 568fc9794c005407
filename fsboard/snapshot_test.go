package fsboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// verbs calls every method that needs the snapshot.
func verbs(b *Board) map[string]func() error {
	ctx := context.Background()
	return map[string]func() error{
		"Add":        func() error { _, err := b.Add(ctx, NewTask{Subject: "x"}); return err },
		"Claim":      func() error { _, err := b.Claim(ctx, request("t_1", "zoe")); return err },
		"Claim next": func() error { _, err := b.Claim(ctx, request("", "zoe")); return err },
		"Held":       func() error { _, err := b.Held("zoe", ""); return err },
		"Renew":      func() error { _, err := b.Renew(ctx, "t_1", "zoe", "zoe-1", 0); return err },
		"Release":    func() error { _, err := b.Release(ctx, ReleaseRequest{ID: "t_1"}); return err },
		"ReleaseAll": func() error { _, _, err := b.ReleaseAll(ctx, "zoe", "", "x"); return err },
		"Submit":     func() error { _, err := b.Submit(ctx, submission("t_1", "zoe")); return err },
		"Fold":       func() error { _, err := b.Fold(ctx, true); return err },
		"Look":       func() error { _, err := b.Look(); return err },
		"View":       func() error { _, err := b.View(); return err },
		"Tasks":      func() error { _, err := b.Tasks(); return err },
		"Show":       func() error { _, err := b.Show("t_1"); return err },
		"Why":        func() error { _, _, err := b.Why("t_1"); return err },
		"Edit":       func() error { _, err := b.Edit(ctx, "t_1", Edit{Priority: ptr(0)}); return err },
		"Cancel":     func() error { _, err := b.Cancel(ctx, "t_1", "", true); return err },
		"Reopen":     func() error { _, err := b.Reopen(ctx, "t_1"); return err },
		"Collect":    func() error { _, err := b.Collect(ctx, 0, false); return err },
		"Archived":   func() error { _, err := b.Archived(); return err },
		"History":    func() error { _, _, err := b.History(HistoryFilter{}); return err },
		"Export":     func() error { return b.Export(new(bytes.Buffer)) },
		"Import":     func() error { _, err := b.Import(ctx, strings.NewReader(""), true); return err },
		"Preview":    func() error { _, err := b.Import(ctx, strings.NewReader(""), false); return err },
		"Fix":        func() error { return b.Fix(ctx) },
		"RunGate":    func() error { _, err := b.RunGate(ctx, "t_1"); return err },
		"Exists":     func() error { _, err := b.Exists(); return err },
	}
}

// tree renders a directory's files for comparison, without the lock files.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := dir + "/" + e.Name()
		switch {
		case strings.HasSuffix(e.Name(), ".lock"):
		case e.IsDir():
			fmt.Fprintf(&out, "%s/\n%s", e.Name(), tree(t, path))
		case e.Type().IsRegular():
			data, err := os.ReadFile(path)
			fmt.Fprintf(&out, "%s %q %v\n", e.Name(), data, err)
		default:
			fmt.Fprintf(&out, "%s %s\n", e.Name(), e.Type())
		}
	}
	return out.String()
}

// TestUnreadableBoard: whatever lies in the place of board.json, every verb
// says so with the path, and none changes anything.
func TestUnreadableBoard(t *testing.T) {
	whole := readFile(t, busyBoard(t).Path())
	cases := map[string]func(path string) error{
		"empty":     func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"blank":     func(p string) error { return os.WriteFile(p, []byte("\n \n"), 0o600) },
		"NULs":      func(p string) error { return os.WriteFile(p, make([]byte, 12_061), 0o600) },
		"NUL tail":  func(p string) error { return os.WriteFile(p, append(slices.Clone(whole), 0, 0), 0o600) },
		"garbage":   func(p string) error { return os.WriteFile(p, []byte("not JSON"), 0o600) },
		"list":      func(p string) error { return os.WriteFile(p, []byte("[]\n"), 0o600) },
		"null":      func(p string) error { return os.WriteFile(p, []byte("null\n"), 0o600) },
		"no format": func(p string) error { return os.WriteFile(p, []byte(`{"tasks":{}}`), 0o600) },
		"no tasks":  func(p string) error { return os.WriteFile(p, []byte(`{"format":1,"revision":1,"nextTask":1}`), 0o600) },
		"twice":     func(p string) error { return os.WriteFile(p, append(slices.Clone(whole), whole...), 0o600) },
		"same id twice": func(p string) error {
			rows := bytes.SplitAfter(whole, []byte("\n"))
			return os.WriteFile(p, bytes.Join(slices.Insert(slices.Clone(rows), 2, rows[1]), nil), 0o600)
		},
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"symlink":   func(p string) error { return os.Symlink("elsewhere.json", p) },
		"missing":   func(string) error { return nil },
	}
	if os.Getuid() != 0 {
		cases["unreadable"] = func(p string) error { return os.WriteFile(p, whole, 0) }
	}
	for i := range 100 {
		n := len(whole) * i / 100
		cases[fmt.Sprintf("cut at %d", n)] = func(p string) error { return os.WriteFile(p, whole[:n], 0o600) }
	}
	base := busyBoard(t)
	if _, err := base.Collect(context.Background(), 0, false); err != nil {
		t.Fatal(err)
	}
	for name, damage := range cases {
		b := openTest(t, Options{})
		if err := os.CopyFS(b.o.Dir, os.DirFS(base.o.Dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(b.Path()); err != nil {
			t.Fatal(err)
		}
		if err := damage(b.Path()); err != nil {
			t.Fatal(err)
		}
		before := tree(t, b.o.Dir)
		_, headErr := b.readHead()
		for verb, call := range verbs(b) {
			err := call()
			if headErr == nil && slices.Contains([]string{"Look", "Held", "Exists", "ReleaseAll"}, verb) {
				continue // line 1 is all that these need here
			}
			if errs.CodeOf(err) != errs.Corrupt && name != "unreadable" || err == nil {
				t.Errorf("%s, %s: %v (%s)", name, verb, err, errs.CodeOf(err))
				continue
			}
			wantPath(t, b, err)
		}
		if after := tree(t, b.o.Dir); after != before {
			t.Errorf("%s: the board was changed:\n%s\n%s", name, before, after)
		}
		if f, err := b.Check(); err != nil || !slices.ContainsFunc(f, func(f Finding) bool { return f.Severity == SeverityError && f.Path == b.Path() }) {
			t.Errorf("%s: the check finds %v, %v", name, f, err)
		}
	}
}

// TestUnreadableByFault: a board that cannot be read for another reason.
func TestUnreadableByFault(t *testing.T) {
	b := busyBoard(t)
	before := tree(t, b.o.Dir)
	defer fsx.SetFault(func(op fsx.Op, path string) error {
		if path == b.Path() && (op == fsx.OpOpen || op == fsx.OpRead) {
			return os.ErrPermission
		}
		return nil
	})()
	for verb, call := range verbs(b) {
		if err := call(); err == nil {
			t.Errorf("%s works", verb)
		} else {
			wantPath(t, b, err)
		}
	}
	if after := tree(t, b.o.Dir); after != before {
		t.Error("the board was changed")
	}
}

// TestUnknownFields survive every rewrite, at every level.
func TestUnknownFields(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{Gates: failing(1)})
	mustAdd(t, b, NewTask{Subject: "a", Verify: "false"}, NewTask{Subject: "b"})
	mustClaim(t, b, "t_1", "ann")
	mustSubmit(t, b, "t_1", "ann")
	text := string(readFile(t, b.Path()))
	for _, add := range []struct{ before, after string }{
		{`"tasks":{`, `"mode":{"x":[1,2]},"tasks":{`},
		{`"status":"claimed"`, `"status":"claimed","color":"red","9":null`},
		{`"claim":{`, `"claim":{"seat":7,`},
		{`"gate":{`, `"gate":{"image":"go:1.26",`},
		{`"lastGate":{`, `"lastGate":{"cores":2.50,`},
		{`"lastSubmission":{`, `"lastSubmission":{"note":"é<>&",`},
		{`"subject":"b"`, `"subject":"b","zz":{"b":1,"a":2}`},
	} {
		if !strings.Contains(text, add.before) {
			t.Fatalf("no %s in %s", add.before, text)
		}
		text = strings.Replace(text, add.before, add.after, 1)
	}
	writeFile(t, b.Path(), []byte(text))
	b = again(t, b)
	if _, err := b.Edit(ctx, "t_1", Edit{Subject: ptr("changed")}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Edit(ctx, "t_2", Edit{Subject: ptr("changed too")}); err != nil {
		t.Fatal(err)
	}
	var all struct {
		Mode  json.RawMessage
		Tasks map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(readFile(t, b.Path()), &all); err != nil {
		t.Fatal(err)
	}
	task := all.Tasks["t_1"]
	sub := func(key string) map[string]json.RawMessage {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(task[key], &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for what, got := range map[string]json.RawMessage{
		`{"x":[1,2]}`: all.Mode, `"red"`: task["color"], `null`: task["9"], `7`: sub("claim")["seat"], `"go:1.26"`: sub("gate")["image"], `2.50`: sub("lastGate")["cores"],
		`"é<>&"`: sub("lastSubmission")["note"], `{"b":1,"a":2}`: all.Tasks["t_2"]["zz"], `"changed"`: task["subject"],
	} {
		if string(got) != what {
			t.Errorf("%s became %s", what, got)
		}
	}
	wantSound(t, b)
}

// TestNewerFormat is read as far as it goes, and refused for writing.
func TestNewerFormat(t *testing.T) {
	reads := []string{"Held", "Look", "View", "Tasks", "Show", "Why", "Archived", "History", "Export", "Exists", "ReleaseAll", "Preview"}
	for name, change := range map[string]func(string) string{
		"same layout":  func(s string) string { return strings.Replace(s, `"format":1`, `"format":2`, 1) },
		"other layout": func(string) string { return `{"format":2,"items":[]}` },
	} {
		b := openTest(t, Options{})
		addN(t, b, 1)
		text := change(string(readFile(t, b.Path())))
		writeFile(t, b.Path(), []byte(text))
		b = again(t, b)
		before := tree(t, b.o.Dir)
		for verb, call := range verbs(b) {
			err := call()
			if name == "same layout" && slices.Contains(reads, verb) {
				if err != nil {
					t.Errorf("%s: %s: %v", name, verb, err)
				}
				continue
			}
			if verb == "RunGate" && name == "same layout" {
				continue // it writes no snapshot, and this task has no gate
			}
			if errs.CodeOf(err) != errs.Failure || !strings.Contains(err.Error(), "format 2") || !strings.Contains(err.Error(), b.Path()) {
				t.Errorf("%s: %s: %v (%s)", name, verb, err, errs.CodeOf(err))
			}
		}
		if _, err := b.Repair(context.Background()); name == "other layout" && errs.CodeOf(err) != errs.Failure {
			t.Errorf("%s: repair: %v", name, err)
		}
		if after := tree(t, b.o.Dir); after != before {
			t.Errorf("%s: the board was changed:\n%s\n%s", name, before, after)
		}
	}
}

// TestAdopt takes a board of pi-agent-teams 0.7.0 over, with markers on disk.
func TestAdopt(t *testing.T) {
	ctx := context.Background()
	board := `{
  "tasks": {
    "t_10": {"id": "t_10", "subject": "ten", "dependsOn": ["t_2"], "status": "pending", "createdAt": 5, "updatedAt": 6, "mood": "good"},
    "t_1": {"id": "t_1", "subject": "one", "description": "d", "dependsOn": [], "status": "completed", "claimedBy": "ann", "result": "r", "createdAt": 1, "updatedAt": 2, "completedAt": 2},
    "t_2": {"id": "t_2", "subject": "two", "dependsOn": ["t_1"], "status": "claimed", "claimedBy": "bob", "createdAt": 3, "updatedAt": 4},
    "t_3": {"id": "t_3", "subject": "three", "dependsOn": [], "status": "claimed", "claimedBy": "cid", "createdAt": 3, "updatedAt": 4},
    "t_4": {"id": "t_4", "subject": "four", "dependsOn": [], "status": "pending", "createdAt": 3, "updatedAt": 4}
  },
  "owner": "me"
}`
	b := openTest(t, Options{})
	writeFile(t, b.Path(), []byte(board))
	putMarker(t, b.claimPath("t_4"), `{"taskId":"t_4","worker":"dan","spawnId":"d1","timestamp":7}`)
	putMarker(t, b.submissionPath("t_3"), `{"taskId":"t_3","worker":"cid","spawnId":"c1","status":"completed","result":"ok","timestamp":8}`)
	wantState(t, b, "t_1", StateCompleted)
	wantState(t, b, "t_4", StateClaimed)
	wantState(t, b, "t_10", StateBlocked)
	if string(readFile(t, b.Path())) != board {
		t.Fatal("a look adopted it")
	}
	v := mustAdd(t, b, NewTask{Subject: "eleven"})[0]
	if v.ID != "t_11" {
		t.Errorf("the new task is %s", v.ID)
	}
	wantState(t, b, "t_2", StateReady) // its claim named no life
	wantState(t, b, "t_3", StateSubmitted)
	if v := wantState(t, b, "t_4", StateClaimed); v.Claim.SpawnID != "d1" {
		t.Errorf("%+v", v.Claim)
	}
	if d, err := b.Decide(ctx, "t_3"); err != nil || d.Outcome != OutcomeCompleted {
		t.Errorf("%+v, %v", d, err)
	}
	text := string(readFile(t, b.Path()))
	if !strings.HasPrefix(text, `{"format":1,"revision":3,"project":"/srv/app","session":"app-1","nextTask":12,`) || !strings.Contains(text, `"owner":"me"`) || !strings.Contains(text, `"mood":"good"`) {
		t.Errorf("the board is\n%s", text)
	}
	wantSound(t, b)
	// A format-less board beside our files is somebody's overwriting.
	writeFile(t, b.Path(), []byte(board))
	_, err := again(t, b).Tasks()
	wantCode(t, err, errs.Corrupt)
}

// TestLayout: one task a line in numeric order, line 1 the head, and unchanged
// lines are copied as they are.
func TestLayout(t *testing.T) {
	ctx := context.Background()
	b := openTest(t, Options{})
	addN(t, b, 12)
	rows := strings.Split(string(readFile(t, b.Path())), "\n")
	if len(rows) != 15 || rows[14] != "" || !strings.HasPrefix(rows[0], `{"format":1,"revision":1,"project":"/srv/app","session":"app-1","nextTask":13,"updatedAt":`) || !strings.HasSuffix(rows[0], `"tasks":{`) {
		t.Fatalf("%q", rows)
	}
	for i := 1; i <= 12; i++ {
		if !strings.HasPrefix(rows[i], fmt.Sprintf(`"t_%d":{"id":"t_%d","status":"pending",`, i, i)) || strings.HasSuffix(rows[i], ",") != (i < 12) {
			t.Errorf("line %d is %s", i+1, rows[i])
		}
	}
	if !strings.HasPrefix(rows[13], `},"events":[{"rev":1,"n":1,"of":12,`) || !strings.HasSuffix(rows[13], "]}") || !json.Valid([]byte(strings.Join(rows, "\n"))) {
		t.Errorf("the last line is %s", rows[13])
	}
	// A line with blanks in it, put there by hand, is left alone.
	odd := strings.Replace(rows[5], `"subject":"task t_5"`, `"subject":  "task t_5"`, 1)
	rows[5] = odd
	writeFile(t, b.Path(), []byte(strings.Join(rows, "\n")))
	b = again(t, b)
	for _, id := range []string{"t_1", "t_12", "t_4", "t_6"} {
		if _, err := b.Edit(ctx, id, Edit{Priority: ptr(0)}); err != nil {
			t.Fatal(err)
		}
		b = again(t, b)
	}
	got := strings.Split(string(readFile(t, b.Path())), "\n")
	for i := 1; i <= 12; i++ {
		if changed := i == 1 || i == 4 || i == 6 || i == 12; (got[i] == rows[i]) == changed {
			t.Errorf("line %d is %s", i+1, got[i])
		}
	}
	rev := b.mustRevision(t)
	if rev != 5 {
		t.Errorf("revision %d", rev)
	}
	before := readFile(t, b.Path())
	if _, err := b.Edit(ctx, "t_1", Edit{Priority: ptr(0)}); err != nil {
		t.Fatal(err)
	}
	mustFold(t, b)
	if !bytes.Equal(before, readFile(t, b.Path())) {
		t.Error("nothing changed, and it was written")
	}
	wantSound(t, b)
}

// TestOtherLayouts: the same board, formatted by other tools, is the same
// board, and is written in our layout by the next change.
func TestOtherLayouts(t *testing.T) {
	ctx := context.Background()
	original := readFile(t, busyBoard(t).Path())
	var indented, compact bytes.Buffer
	if err := json.Indent(&indented, original, "", "\t"); err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&compact, original); err != nil {
		t.Fatal(err)
	}
	rows := bytes.Split(bytes.TrimSpace(original), []byte("\n"))
	for name, text := range map[string][]byte{
		"indented": indented.Bytes(), "compact": compact.Bytes(), "CRLF": bytes.ReplaceAll(original, []byte("\n"), []byte("\r\n")),
		"blank lines": bytes.ReplaceAll(original, []byte("\n"), []byte("\n\n")), "no last newline": bytes.TrimSpace(original),
		"more behind the events": append(bytes.TrimSuffix(bytes.TrimSpace(original), []byte("}")), `,"more":1}`...),
		"reversed":               bytes.Join([][]byte{rows[0], append(slices.Clone(rows[5]), ','), rows[4], rows[3], rows[2], bytes.TrimSuffix(rows[1], []byte(",")), rows[6]}, []byte("\n")),
	} {
		base := busyBoard(t)
		writeFile(t, base.Path(), text)
		b := again(t, base)
		want, err := parseSnapshot(original)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.load()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range want.lines {
			w, _ := want.at(i)
			g, err := got.at(i)
			if err != nil || fmt.Sprint(w.clone().Subject, w.Status, w.Epoch) != fmt.Sprint(g.clone().Subject, g.Status, g.Epoch) {
				t.Errorf("%s: %s is %+v, %v", name, taskID(want.lines[i].num), g, err)
			}
		}
		if _, err := b.Cancel(ctx, "t_5", "", false); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if rows := bytes.Split(readFile(t, b.Path()), []byte("\n")); len(rows) != 8 || !bytes.HasPrefix(rows[5], []byte(`"t_5":{"id":"t_5","status":"cancelled"`)) {
			t.Errorf("%s: then it is\n%s", name, bytes.Join(rows, []byte("\n")))
		}
	}
}
