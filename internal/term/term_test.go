package term

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/seed6990a682/teams/internal/errs"
)

// A shell keeps what it was told: directory, variables, jobs.
func TestShellIsKept(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	tm := d.open(func(o *Options) { o.Name = "dev" })
	if tm.ID != "term-1" || tm.State != StateOpen || tm.Readiness != ReadyPrompt || tm.Host != HostPty {
		t.Errorf("%+v", tm)
	}
	if out := d.readAs("leader", "dev", 0); out.Mode != ModeFirst || !strings.HasSuffix(out.Text, "$ ") {
		t.Errorf("%+v", out)
	}
	if out := d.readAs("leader", "term-1", 0); out.Mode != ModeNone || out.Text != "" {
		t.Errorf("%+v", out)
	}
	d.send("term-1", "cd /; X=42; echo [$TEAMS_GATE$HERDR_PANE_ID$KEEP]")
	if got := d.until("term-1", "[kept]"); !strings.Contains(got, "echo [") {
		t.Errorf("%q", got)
	}
	d.send("dev", `printf 'v\141l%s %s\n' "$X" "$PWD"`)
	d.until("term-1", "val42 /\n")
	// Lines that are alike are new output each time.
	for range 3 {
		d.send("term-1", "echo sa''me")
		d.until("term-1", "same\n$ ")
	}
	if out := d.readAs("leader", "term-1", 0); out.Mode != ModeNone {
		t.Errorf("%+v", out)
	}
	// Another reader has a cursor of its own.
	if out := d.readAs("ann", "term-1", 0); out.Mode != ModeFirst || strings.Count(out.Text, "same\n") != 3 {
		t.Errorf("%+v", out)
	}
	// The shell's own end closes the terminal; the rest can be read.
	d.send("term-1", "echo by''e; exit 3")
	d.until("term-1", "bye")
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if tm, err := d.Get("dev"); err != nil || time.Now().After(end) {
			t.Fatal(err, tm)
		} else if tm.State == StateClosed {
			if tm.ExitCode == nil || *tm.ExitCode != 3 || tm.ClosedAt == 0 {
				t.Errorf("%+v", tm)
			}
			break
		}
	}
	if err := d.Send(t.Context(), "dev", "x"); errs.CodeOf(err) != errs.Stopped {
		t.Errorf("%v", err)
	}
	if err := d.Signal(t.Context(), "dev", "enter"); errs.CodeOf(err) != errs.Stopped {
		t.Errorf("%v", err)
	}
}

// A REPL over many sends and reads.
func TestREPL(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	d := newDesk(t)
	tm := d.open(func(o *Options) { o.Env = append(o.Env, "PYTHON_BASIC_REPL=1", "PYTHONSTARTUP=") })
	d.send(tm.ID, "python3 -q")
	d.until(tm.ID, ">>> ")
	d.send(tm.ID, "total = 0")
	d.until(tm.ID, "total = 0\n>>> ")
	for i := 1; i <= 20; i++ {
		d.send(tm.ID, fmt.Sprintf("total += %d; print('sum', total, sep='=')", i))
		d.until(tm.ID, fmt.Sprintf("sum=%d\n>>> ", i*(i+1)/2))
	}
	d.send(tm.ID, "def f(x):\n    return x * 2\n\nprint('f', f(21), sep='=')")
	d.until(tm.ID, "f=42")
	if err := d.Signal(t.Context(), tm.ID, "ctrl+d"); err != nil {
		t.Fatal(err)
	}
	d.until(tm.ID, "$ ")
	d.send(tm.ID, "echo ba''ck")
	d.until(tm.ID, "back\n")
}

// Under constant output no character is lost and none comes twice, in whatever
// pieces it is read, by several readers.
func TestConstantOutput(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	tm := d.open()
	d.until(tm.ID, "$ ")
	d.readAs("ann", tm.ID, 0)
	const lines = 30000
	d.send(tm.ID, fmt.Sprintf("i=0; while [ $i -lt %d ]; do echo \"line $i é界\"; i=$((i+1)); done; echo en''d", lines))
	var wg sync.WaitGroup
	for n, reader := range []string{"leader", "ann"} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var all strings.Builder
			for end := time.Now().Add(60 * time.Second); !strings.HasSuffix(strings.TrimSuffix(all.String(), "$ "), "end\n"); {
				if time.Now().After(end) {
					t.Errorf("%s: it does not end, %d bytes", reader, all.Len())
					return
				}
				err := d.Read(context.Background(), tm.ID, reader, []int{8000, 777}[n], func(_ *Terminal, o Output) error {
					if o.Mode == ModeReset {
						return errors.New("reset")
					}
					all.WriteString(o.Text)
					return nil
				})
				if err != nil {
					t.Errorf("%s: %v after %d bytes", reader, err, all.Len())
					return
				}
			}
			_, text, _ := strings.Cut(all.String(), "en''d\n")
			text, _, _ = strings.Cut(text, "end\n")
			got := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if len(got) != lines {
				t.Errorf("%s: %d lines", reader, len(got))
			}
			for i, line := range got {
				if line != fmt.Sprintf("line %d é界", i) {
					t.Errorf("%s: line %d is %q", reader, i, line)
					return
				}
			}
		}()
	}
	wg.Wait()
}

// What is printed faster than anybody reads: the marker, then the present tail.
func TestReset(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	tm := d.open()
	d.until(tm.ID, "$ ")
	d.readAs("ann", tm.ID, 0)
	d.readAs("bob", tm.ID, 0)
	d.send(tm.ID, "yes 0123456789 | head -c 4000000; echo; echo ta''il")
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		dir := filepath.Join(d.Dir, tm.ID)
		e, err := end(dir)
		if err != nil || time.Now().After(deadline) {
			t.Fatal(err, e)
		}
		if last, err := readAt(dir, max(0, e.At-8), 8); err == nil && string(last) == "tail\r\n$ " {
			break
		}
	}
	out := d.readAs("leader", tm.ID, 0)
	if out.Mode != ModeReset || !strings.HasPrefix(out.Text, ResetMarker+"\n0123456789\n") || !strings.HasSuffix(out.Text, "tail\n$ ") || !out.Truncated {
		t.Errorf("%s %.60q … %q", out.Mode, out.Text, out.Text[max(0, len(out.Text)-40):])
	}
	if n := len(out.Text); n > MaxChars || n < MaxChars-len("0123456789\n") {
		t.Errorf("%d characters", n)
	}
	// The marker counts, down to where there is room for nothing else.
	out = d.readAs("ann", tm.ID, len(ResetMarker)+12)
	if out.Mode != ModeReset || out.Text != ResetMarker+"\ntail\n$ " || !out.Truncated {
		t.Errorf("%+v", out)
	}
	out = d.readAs("bob", tm.ID, 7)
	if out.Mode != ModeReset || out.Text != ResetMarker[:7] || !out.Truncated {
		t.Errorf("%+v", out)
	}
	if out = d.readAs("bob", tm.ID, 7); out.Mode != ModeNew || len(out.Text) != 7 || strings.Trim(out.Text, "0123456789\n") != "" {
		t.Errorf("%+v", out)
	}
	if out = d.readAs("leader", tm.ID, 0); out.Mode != ModeNone {
		t.Errorf("%+v", out)
	}
	list, err := stretches(filepath.Join(d.Dir, tm.ID))
	if err != nil || len(list) > keepStretches+1 {
		t.Errorf("%d stretches %v", len(list), err)
	}
	d.send(tm.ID, "echo mo''re")
	d.until(tm.ID, "more\n")
}

// A read is not done before what was read has been delivered.
func TestDeliver(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	tm := d.open()
	d.until(tm.ID, "$ ")
	d.send(tm.ID, "echo on''ce")
	broken := errors.New("broken")
	var first string
	for first == "" {
		err := d.Read(t.Context(), tm.ID, "leader", 0, func(_ *Terminal, o Output) error { first = o.Text; return broken })
		if !errors.Is(err, broken) {
			t.Fatal(err)
		}
	}
	if got := d.until(tm.ID, "once\n"); !strings.HasPrefix(got, first) {
		t.Errorf("%q then %q", first, got)
	}
	if got := d.readAs("leader", tm.ID, 3); got.Truncated && len([]rune(got.Text)) != 3 {
		t.Errorf("%+v", got)
	}
}

// A program that draws on the whole screen is refused with advice, and what it
// has drawn is not read afterwards.
func TestFullScreen(t *testing.T) {
	t.Parallel()
	need(t, "vim")
	d := newDesk(t)
	tm := d.open()
	d.until(tm.ID, "$ ")
	d.send(tm.ID, "vim -u NONE -i NONE -n")
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = d.Read(t.Context(), tm.ID, "leader", 0, func(*Terminal, Output) error { return nil }); err != nil {
			break
		}
	}
	var e *errs.Error
	if !errors.As(err, &e) || e.Code != errs.Conflict || !strings.Contains(e.Error(), "vi") || !strings.Contains(e.Hint, "teams term send "+tm.ID) {
		t.Fatalf("%v", err)
	}
	if err := d.Signal(t.Context(), tm.ID, "esc"); err != nil {
		t.Fatal(err)
	}
	d.send(tm.ID, ":q!")
	// Until vim is gone reading is refused.
	got := ""
	for end := time.Now().Add(20 * time.Second); !strings.Contains(got, "$ ") && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		_ = d.Read(t.Context(), tm.ID, "leader", 0, func(_ *Terminal, o Output) error { got += o.Text; return nil })
	}
	if strings.Contains(got, "~\n") || strings.Contains(got, "VIM") || !strings.Contains(got, "$ ") {
		t.Errorf("%q", got)
	}
	d.send(tm.ID, "echo aft''er")
	d.until(tm.ID, "after\n")
}

func TestSignals(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	tm := d.open(func(o *Options) { o.Shell = "/bin/sh" })
	d.until(tm.ID, "$ ")
	d.send(tm.ID, "sleep 1000; echo st''opped")
	time.Sleep(100 * time.Millisecond)
	if err := d.Signal(t.Context(), tm.ID, "ctrl+c"); err != nil {
		t.Fatal(err)
	}
	d.until(tm.ID, "$ ")
	d.send(tm.ID, "cat")
	d.until(tm.ID, "cat\n")
	d.send(tm.ID, "a l''ine")
	d.until(tm.ID, "a l''ine\na l''ine\n")
	if err := d.Signal(t.Context(), tm.ID, "Ctrl+D"); err != nil {
		t.Fatal(err)
	}
	d.until(tm.ID, "$ ")
	for _, bad := range []string{"ctrl+x", "x", "", "f1", "ctrl+\\"} {
		if err := d.Signal(t.Context(), tm.ID, bad); errs.CodeOf(err) != errs.Usage {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, bad := range []string{"\x1b[31m", "a\x03", "\t", "a\x7f", "\xff", "\u0085", strings.Repeat("x", 5000)} {
		if err := d.Send(t.Context(), tm.ID, bad); errs.CodeOf(err) != errs.Usage {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
	if out := d.readAs("leader", tm.ID, 0); out.Mode != ModeNone {
		t.Errorf("something was typed: %q", out.Text)
	}
}

// What cannot be opened leaves nothing.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for name, set := range map[string]func(*Options){
		"no directory": func(o *Options) { o.Cwd = filepath.Join(d.base, "none") },
		"a file":       func(o *Options) { o.Cwd = filepath.Join(d.base, "holder") },
		"no shell":     func(o *Options) { o.Shell = "/no/such/shell" },
		"no holder":    func(o *Options) { o.Holder = []string{"/no/such/holder"} },
		"bad holder":   func(o *Options) { o.Holder = []string{"/bin/false"} },
		"bad name":     func(o *Options) { o.Name = "Not A Name" },
		"an id":        func(o *Options) { o.Name = "term-7" },
		"no pane": func(o *Options) {
			o.Pane = func(context.Context, *Terminal, []string) (string, string, string, error) {
				return "", "", "", errs.New(errs.HerdrUnavailable, "herdr cannot be used")
			}
		},
	} {
		o := d.options()
		set(&o)
		tm, err := d.Open(t.Context(), o)
		if err == nil {
			t.Errorf("%s: %+v", name, tm)
		}
		if name == "no shell" && !strings.Contains(err.Error(), "/no/such/shell") {
			t.Errorf("%v", err)
		}
	}
	if list, problems, err := d.List(); len(list) != 0 || len(problems) != 0 || err != nil {
		t.Errorf("%v %v %v", list, problems, err)
	}
	if names, _ := os.ReadDir(d.Dir); len(names) > 1 {
		t.Errorf("%v", names)
	}
	d.open(func(o *Options) { o.Name = "dev" })
	o := d.options()
	o.Name = "dev"
	if _, err := d.Open(t.Context(), o); errs.CodeOf(err) != errs.NameTaken {
		t.Errorf("%v", err)
	}
	// A shell that says nothing.
	silent := d.open(func(o *Options) { o.Shell, o.Limit = "/bin/cat", 300*time.Millisecond })
	if silent.Readiness != ReadySilent {
		t.Errorf("%+v", silent)
	}
	script := filepath.Join(d.base, "busy")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nwhile :; do echo x; sleep 0.05; done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if busy := d.open(func(o *Options) { o.Shell, o.Limit = script, 400*time.Millisecond }); busy.Readiness != ReadyBusy {
		t.Errorf("%+v", busy)
	}
}

// In a pane of herdr the holder runs on the pane's terminal: a person sees the
// same shell and can type into it, and the verbs work as they do without.
func TestInPane(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var master *os.File
	tm := d.open(func(o *Options) {
		o.Pane = func(_ context.Context, _ *Terminal, argv []string) (string, string, string, error) {
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Env = append(o.Env, "TERM=xterm")
			f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 20, Cols: 77})
			if err == nil {
				master = f
				t.Cleanup(func() { f.Close(); _ = cmd.Wait() })
			}
			return "w1:p9", "term_1", "/sock", err
		}
	})
	if tm.Host != HostHerdr || tm.Pane != "w1:p9" || tm.Readiness != ReadyPrompt {
		t.Errorf("%+v", tm)
	}
	seen := make(chan string, 1)
	go func() {
		var all strings.Builder
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			all.Write(buf[:n])
			if err != nil {
				seen <- all.String()
				return
			}
		}
	}()
	d.until(tm.ID, "$ ")
	d.send(tm.ID, "stty size; echo [$HERDR_PANE_ID]")
	d.until(tm.ID, "20 77\n[w1:p1]\n")
	if _, err := master.Write([]byte("echo by ha''nd\r")); err != nil {
		t.Fatal(err)
	}
	d.until(tm.ID, "by hand\n")
	if _, err := d.Close(t.Context(), tm.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case text := <-seen:
		if !strings.Contains(text, "by hand") || !strings.Contains(text, "20 77") {
			t.Errorf("%q", text)
		}
	case <-time.After(10 * time.Second):
		t.Error("the pane is not left by the holder")
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if list, problems, err := d.List(); len(list)+len(problems) != 0 || err != nil {
		t.Error(list, problems, err)
	}
	for _, id := range []string{"term-1", "term-01", "dev", "../x", ""} {
		if _, err := d.Get(id); errs.CodeOf(err) != errs.NotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
	dir := filepath.Join(d.Dir, "term-3")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "term.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, problems, err := d.List(); err != nil || len(problems) != 1 {
		t.Error(problems, err)
	}
	if _, err := d.Get("term-3"); errs.CodeOf(err) != errs.Corrupt || errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
