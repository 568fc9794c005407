package e2e

import (
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/seed6990a682/teams/herdr/herdrtest"
)

// paneShells runs what is typed into new panes of a fake herdr, each in a pseudo
// terminal, as the shell of the pane would. A pane whose program ends is closed.
type paneShells struct {
	t    *testing.T
	s    *site
	mu   sync.Mutex
	open map[string]*exec.Cmd
}

func (p *paneShells) typed(h *herdrtest.Server, pane, line string) {
	cmd := p.s.command("/bin/sh", "-c", line)
	cmd.SysProcAttr = nil // the terminal gives it a session
	cmd.Env = append(cmd.Env, "HERDR_PANE_ID="+pane, "TERM=xterm")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 100})
	if err != nil {
		p.t.Error(err)
		return
	}
	p.mu.Lock()
	p.open[pane] = cmd
	p.mu.Unlock()
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := f.Read(buf)
			if n > 0 {
				h.Print(pane, string(buf[:n]))
			}
			if err != nil {
				break
			}
		}
		_ = cmd.Wait()
		f.Close()
		if _, there := h.Get(pane); there {
			h.Remove(pane)
		}
	}()
}

// TestTerminalsInHerdr does in panes what TestTerminals does without.
func TestTerminalsInHerdr(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	s := newSite(t)
	shells := &paneShells{t: t, s: s, open: map[string]*exec.Cmd{}}
	h := herdrtest.New(t, func(srv *herdrtest.Server) {
		srv.Fresh = 200 * time.Millisecond
		srv.OnInput = func(pane string, in herdrtest.Input) {
			if len(in.Keys) == 1 && in.Keys[0] == "Enter" {
				go shells.typed(srv, pane, in.Text)
			}
		}
	})
	w, tab, own := h.AddWorkspace()
	s = s.with("SHELL=/bin/sh", "PS1=$ ", "HERDR_SOCKET_PATH="+h.Path, "HERDR_PANE_ID="+own, "HERDR_TAB_ID="+tab, "HERDR_WORKSPACE_ID="+w)
	shells.s = s
	id := s.ok("term", "open", "--name", "dev", "-q")
	if len(h.Panes()) != 2 || h.Panes()[1].Tab == tab || h.Tabs()[h.Panes()[1].Tab] != "dev" {
		t.Errorf("%+v %v", h.Panes(), h.Tabs())
	}
	read := func(id, want string) {
		t.Helper()
		all := ""
		for end := time.Now().Add(20 * time.Second); !strings.Contains(all, want); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%q does not come: %q", want, all)
			}
			if out := s.ok("term", "read", id); out != "no new output" {
				all += out + "\n"
			}
		}
	}
	s.ok("term", "send", id, `X=kept; echo "<$X>" $(stty size)`)
	read(id, "<kept> 24 100\n")
	// A person who closes the pane closes the terminal.
	second := s.ok("term", "open", "-q")
	pane := h.Panes()[2].ID
	shells.mu.Lock()
	err := shells.open[pane].Process.Signal(syscall.SIGHUP)
	shells.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		out := s.ok("term", "list")
		if strings.Contains(out, second+"  closed") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s", out)
		}
	}
	s.ok("term", "close", id)
	for end := time.Now().Add(10 * time.Second); len(h.Panes()) != 1; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("panes are left: %+v", h.Panes())
		}
	}
	// With herdr gone terminals go on without it; asked for, it is an error.
	h.Stop()
	s.exits(1, "term", "open", "--host", "herdr")
	third := s.ok("term", "open", "-q")
	s.ok("term", "send", third, "echo wi''thout")
	read(third, "without\n")
	s.ok("term", "close", third)
	if left := s.endAll(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
