package sharedtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResidentStaysOnItsHost has a resident on one host get mail from the other,
// which also ends it.
func TestResidentStaysOnItsHost(t *testing.T) {
	t.Parallel()
	a, b := twoHosts(t)
	agents := filepath.Join(a.project, ".pi", "agents")
	if err := os.MkdirAll(agents, 0o755); err != nil {
		t.Fatal(err)
	}
	def := "---\nname: echo\ndescription: use when something is to be written down\n---\nWrite down what you are told.\n"
	if err := os.WriteFile(filepath.Join(agents, "echo.md"), []byte(def), 0o644); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(a.project, "heard-on")
	a.ok("spawn", "eva", "echo", "--host", "exec", "--", "sh", "-c", "cat >/dev/null; hostname >>"+mark)
	if out := b.ok("status", "eva"); !strings.Contains(out, "life: alive") || !strings.Contains(out, "on hosta") {
		t.Errorf("status: %s", out)
	}
	b.ok("send", "eva", "from elsewhere", "-q")
	eventually(t, "it has read its mail", func() bool {
		data, _ := os.ReadFile(mark)
		return string(data) == "hosta\n"
	})
	b.ok("shutdown", "eva")
	if out := a.ok("status", "eva"); !strings.Contains(out, "stopped") {
		t.Errorf("status after the shutdown elsewhere: %s", out)
	}
	if out := b.ok("list"); !strings.Contains(out, "hosta") {
		t.Errorf("list: %s", out)
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	b.ok("spawn", "eva", "echo", "--host", "exec", "--", "sh", "-c", "cat >/dev/null; hostname >>"+mark)
	a.ok("send", "eva", "now the other way", "-q")
	eventually(t, "its successor has read its mail", func() bool {
		data, _ := os.ReadFile(mark)
		return string(data) == "hostb\n"
	})
	a.ok("session", "end", "--now")
}
