package term

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain is the holder too: the test runs itself as one.
func TestMain(m *testing.M) {
	if dir, ok := strings.CutPrefix(os.Args[len(os.Args)-1], "hold:"); ok {
		if err := Hold(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("4") // they wait for shells most of the time
	}
	os.Exit(m.Run())
}

// desk is the terminals of a session.
type desk struct {
	*Terms
	t    *testing.T
	base string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{&Terms{Root: base, Dir: filepath.Join(base, "teammate", "app", "terms")}, t, base}
	t.Cleanup(func() {
		list, _, _ := d.List()
		for i := range list {
			if err := list[i].endTree(0); err != nil {
				t.Error(err)
			}
		}
		for i := range list { // the holders end by themselves
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				if now, err := d.read(list[i].ID); err != nil || now.State == StateClosed {
					break
				}
			}
		}
	})
	return d
}

// options are those of a plain shell. The holder's argument has a prefix, by
// which the test knows that it is one.
func (d *desk) options() Options {
	wrapper := filepath.Join(d.base, "holder")
	script := "#!/bin/sh\nexec '" + os.Args[0] + "' \"hold:$1\"\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		d.t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.base, "PS1=$ ", "LC_ALL=C.UTF-8", "TEAMS_GATE=x", "HERDR_PANE_ID=w1:p1", "KEEP=kept"}
	return Options{Cwd: d.base, Holder: []string{wrapper}, Env: env, Limit: 10 * time.Second}
}

func (d *desk) open(set ...func(*Options)) *Terminal {
	d.t.Helper()
	o := d.options()
	for _, f := range set {
		f(&o)
	}
	t, err := d.Open(d.t.Context(), o)
	if err != nil {
		d.t.Fatal(err)
	}
	return t
}

func (d *desk) send(id, text string) {
	d.t.Helper()
	if err := d.Send(d.t.Context(), id, text); err != nil {
		d.t.Fatal(err)
	}
}

// readAs reads once.
func (d *desk) readAs(reader, id string, most int) Output {
	d.t.Helper()
	var out Output
	if err := d.Read(d.t.Context(), id, reader, most, func(_ *Terminal, o Output) error { out = o; return nil }); err != nil {
		d.t.Fatal(err)
	}
	return out
}

// until reads until the text has something.
func (d *desk) until(id, want string) string {
	d.t.Helper()
	var all strings.Builder
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		all.WriteString(d.readAs("leader", id, 0).Text)
		if strings.Contains(all.String(), want) {
			return all.String()
		}
	}
	d.t.Fatalf("%q does not come, there is %q", want, all.String())
	return ""
}

// need skips a test without a program.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("no %s in PATH", program)
	}
}
