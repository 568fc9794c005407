package errs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// exits are the exit codes that are promised to scripts.
var exits = map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 64: true, 70: true, 75: true, 124: true, 130: true}

func TestTable(t *testing.T) {
	seen := map[Code]bool{}
	last := 0
	for _, e := range Table() {
		if seen[e.Code] {
			t.Errorf("%s stands twice", e.Code)
		}
		seen[e.Code] = true
		if !exits[e.Exit] {
			t.Errorf("%s has the exit code %d, which is not documented", e.Code, e.Exit)
		}
		if e.Exit < last {
			t.Errorf("%s with %d stands behind a row with %d", e.Code, e.Exit, last)
		}
		last = e.Exit
		if strings.Trim(string(e.Code), "abcdefghijklmnopqrstuvwxyz_") != "" {
			t.Errorf("%q is not in snake case", e.Code)
		}
		if e.Meaning == "" || strings.HasSuffix(e.Meaning, ".") {
			t.Errorf("%s: the meaning %q is empty or ends with a full stop", e.Code, e.Meaning)
		}
		if got := Exit(e.Code); got != e.Exit {
			t.Errorf("Exit(%s) is %d, want %d", e.Code, got, e.Exit)
		}
	}
	if got := Exit("no_such_code"); got != 1 {
		t.Errorf("an unknown code has the exit code %d, want 1", got)
	}
}

func TestCodeOf(t *testing.T) {
	busy := New(Busy, "held by %d", 7)
	for _, tt := range []struct {
		err  error
		want Code
	}{
		{nil, ""},
		{errors.New("x"), Failure},
		{busy, Busy},
		{fmt.Errorf("claim: %w", busy), Busy},
		{errors.Join(errors.New("x"), busy), Busy},
		{context.Canceled, Interrupted},
		{fmt.Errorf("wait: %w", context.DeadlineExceeded), TimedOut},
	} {
		if got := CodeOf(tt.err); got != tt.want {
			t.Errorf("CodeOf(%v) is %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestError(t *testing.T) {
	err := New(Corrupt, "cannot read it: %w", os.ErrPermission).WithPath("/x/board.json").WithHint("teams %s", "doctor").WithDetail("n", 1)
	err.Op = "claim t_1"
	if got, want := err.Error(), "claim t_1: /x/board.json: cannot read it: permission denied"; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
	if !errors.Is(err, os.ErrPermission) {
		t.Error("the cause is lost")
	}
	if err.Hint != "teams doctor" || err.Details["n"] != 1 {
		t.Errorf("hint %q, details %v", err.Hint, err.Details)
	}
}
