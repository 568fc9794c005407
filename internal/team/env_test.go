package team

import (
	"os/exec"
	"strings"
	"testing"
)

func TestExportsSurviveEval(t *testing.T) {
	for _, shell := range []string{"sh", "bash", "dash", "zsh", "ksh"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not installed", shell)
			continue
		}
		for _, odd := range []string{"/plain", "/a b", "/a'b", `/a"b\c`, "/a\nb\n", "/$(exit 3)`exit 4`$HOME", "/日本 \xff",
			"/''", "/-n", "/*?[a]~", "/a\tb\r", "/!x", "/\\n"} {
			team := Open(Place{Root: odd, Session: "s-1", Project: odd + "'"})
			tm := Teammate{Name: "w1", SpawnID: "0f6c"}
			script := `eval "$1"; env -0 | tr '\0\n' '\n\001'`
			cmd := exec.Command(path, "-c", script, "x", strings.Join(team.Exports(tm), "\n"))
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", shell, err, out)
			}
			got := map[string]string{}
			for line := range strings.Lines(string(out)) {
				k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
				got[k] = strings.ReplaceAll(v, "\x01", "\n")
			}
			for k, v := range team.Env(tm) {
				if got[k] != v {
					t.Errorf("%s: %s is %q, want %q", shell, k, got[k], v)
				}
			}
		}
	}
	team := Open(Place{Root: "/r", Session: "s", Project: "/p"})
	want := "export TEAMS_ROOT='/r'|export TEAMS_SESSION='s'|export TEAMS_NAME='w1'|export TEAMS_SPAWN='id'|export TEAMS_PROJECT='/p'"
	if got := strings.Join(team.Exports(Teammate{Name: "w1", SpawnID: "id"}), "|"); got != want {
		t.Errorf("%s", got)
	}
}
