package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/agentdefs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Every command that the guidance names is one of this program, with flags that
// it has.
func TestGuidanceNamesCommands(t *testing.T) {
	// Verbs of the design that are built after the guidance was written; one
	// that is registered is checked like the others.
	planned := []string{"spawn", "delegate", "watch", "activity", "interrupt", "shutdown", "handoff", "resume"}
	span := regexp.MustCompile("`([^`]*)`")
	seen := 0
	draft := func(s agentdefs.Shape) string {
		text, err := agentdefs.Draft{Name: "x", Shape: s, Verify: "make"}.Text()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, text := range map[string]string{
		"leader": agentdefs.LeaderGuide(new(agentdefs.Set)), "worker": agentdefs.WorkerGuide(), "roles": agentdefs.RoleReference(),
		"executor": draft(agentdefs.Executor), "observer": draft(agentdefs.Observer),
	} {
		text = strings.ReplaceAll(text, "\n", " ")
		for _, m := range span.FindAllStringSubmatch(text, -1) {
			line := strings.NewReplacer("executor|reviewer|specialist|observer", "executor", " ID …", " t_1", "@FILE", "text").Replace(m[1])
			for _, words := range shellCommands(line) {
				if words[0] != "teams" {
					continue
				}
				seen++
				inv := find(words[1:])
				if inv.entry == nil {
					if len(words) < 2 || !slices.Contains(planned, words[1]) {
						t.Errorf("%s: `%s` is no command", name, m[1])
					}
					continue
				}
				e := newEnv(strings.NewReader(""), nil, nil)
				if err := e.parse(inv.entry, inv.entry.New(), inv.args, splitArgs(words[1:])); err != nil {
					t.Errorf("%s: `%s`: %v", name, m[1], err)
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d commands were found", seen)
	}
}

// A role's gate is read when it is asked for, and anew after a while; one that
// cannot be read is a gate that cannot start.
func TestRoleGates(t *testing.T) {
	dirs := agentdefs.Dirs{Root: t.TempDir(), Project: t.TempDir()}
	path := dirs.Path(agentdefs.Project, "coder")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reads := 0
	defer fsx.SetFault(func(op fsx.Op, p string) error {
		if op == fsx.OpOpen && p == path {
			reads++
		}
		return nil
	})()
	now := time.Now()
	defer fsx.SetNow(func() time.Time { return now })()
	gates := &roleGates{dirs: dirs}
	check := func(want string) {
		t.Helper()
		if got := gates.verify("coder"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	write("---\nname: coder\nverify: make one\n---\n")
	if reads != 0 {
		t.Error("read before it was needed")
	}
	check("make one")
	for range 100 {
		check("make one")
	}
	if reads != 1 {
		t.Errorf("read %d times at once", reads)
	}
	write("---\nname: coder\nverify: make two\n---\n")
	now = now.Add(2 * time.Second)
	check("make two")
	now = now.Add(-time.Hour) // the clock was set back
	write("---\nname: coder\n---\n")
	check("")
	if got := gates.verify("nosuch"); got != "" {
		t.Errorf("a role without a definition has the gate %q", got)
	}
	now = now.Add(2 * time.Second)
	write("---\nname: coder\nverify: it's 'quoted' $(touch x)\nname: coder\n")
	gate := gates.verify("coder")
	cmd := exec.Command("sh", "-c", gate)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 126 || !strings.Contains(string(out), path+":1: ") {
		t.Errorf("%q: %v\n%s", gate, err, out)
	}
	// Nor does anything pass while a directory cannot be read.
	now = now.Add(2 * time.Second)
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Dir(path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if gate := gates.verify("coder"); !strings.HasSuffix(gate, "exit 126") {
		t.Errorf("%q", gate)
	}
	if out, _ := exec.Command("sh", "-c", noGate("x", "it's $(id)`id`\n'")).CombinedOutput(); string(out) != "teams: the gate of agent x is not known: it's $(id)`id` '\n" {
		t.Errorf("%q", out)
	}
}
