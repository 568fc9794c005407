package pi

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/pi/pitest"
)

func TestArgs(t *testing.T) {
	got, err := Args(Config{
		Session: "/s/a.jsonl", Model: "p/m", Tools: []string{"bash", "read"}, SystemPrompt: []string{"one", "two\n"},
		SystemPromptFiles: []string{"/role.md"}, Extensions: []string{"/x.ts", "/y.ts"}, ExtraArgs: []string{"-ne"},
	})
	want := []string{
		"--mode", "rpc", "--session", "/s/a.jsonl", "--model", "p/m", "--tools", "bash,read", "--append-system-prompt", "one\n",
		"--append-system-prompt", "two\n", "--append-system-prompt", "/role.md", "--extension", "/x.ts", "--extension", "/y.ts", "-ne",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Args(Config{}); err != nil || !slices.Equal(got, []string{"--mode", "rpc", "--no-session"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []Config{
		{Session: "a.jsonl"}, {SystemPromptFiles: []string{"role.md"}}, {SystemPrompt: []string{"a\x00"}}, {SystemPrompt: []string{strings.Repeat("x", 200000)}},
	} {
		if _, err := Args(bad); errs.CodeOf(err) != errs.Usage {
			t.Errorf("%v", err)
		}
	}
}

// What keeps pi from being used is said in words that help, and nothing is
// left.
func TestStartFails(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		m := pitest.NewModel(t)
		agentDir := m.AgentDir(t, pitest.Settings{})
		empty := t.TempDir()
		for _, test := range []struct {
			name   string
			code   errs.Code
			words  []string
			change func(*Config)
		}{
			{"flag", errs.Failure, []string{"exit status 1", "Unknown option: -zz"}, func(c *Config) { c.ExtraArgs = []string{"-zz"} }},
			{"model", errs.Failure, []string{"exit status 1", "no/such"}, func(c *Config) { c.Model = "no/such" }},
			{"no model", errs.Unusable, []string{filepath.Join(empty, "models.json")}, func(c *Config) { c.Env = append(c.Env, "PI_CODING_AGENT_DIR="+empty) }},
		} {
			if b.name == "real" && test.name == "model" {
				continue // as with the flag
			}
			c := config(t, b, agentDir)
			test.change(&c)
			p, err := Start(t.Context(), c)
			if err == nil {
				_ = p.Stop(t.Context(), 0)
			}
			if errs.CodeOf(err) != test.code {
				t.Fatalf("%s: %v", test.name, err)
			}
			for _, word := range test.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%s: %v lacks %q", test.name, err, word)
				}
			}
			if n, err := left(c); n != 0 || err != nil {
				t.Errorf("%s: %d processes left, %v", test.name, n, err)
			}
		}
	})
}

func TestStartWithoutPi(t *testing.T) {
	c := config(t, backend{"none", func(testing.TB) string { return "no-such-pi-anywhere" }}, t.TempDir())
	_, err := Start(t.Context(), c)
	var e *errs.Error
	if !errors.As(err, &e) || e.Code != errs.Unusable || !strings.Contains(e.Hint, "npm install") {
		t.Errorf("%v", err)
	}
	c.Command = "/bin/cat"
	c.StartTimeout = 300 * time.Millisecond
	c.ExtraArgs = nil
	if _, err := Start(t.Context(), c); err == nil { // cat knows no --mode
		t.Error("cat is no pi")
	}
}

func fakeWith(t *testing.T, oddities string, change func(*Config)) *rig {
	t.Helper()
	return start(t, backend{"fake", pitest.FakePi}, pitest.Settings{}, func(c *Config) {
		c.Env = append(c.Env, "FAKEPI="+oddities)
		if change != nil {
			change(c)
		}
	})
}

func TestStartTimesOut(t *testing.T) {
	m := pitest.NewModel(t)
	c := config(t, backend{"fake", pitest.FakePi}, m.AgentDir(t, pitest.Settings{}))
	c.Env = append(c.Env, "FAKEPI=no-state,stubborn")
	c.StartTimeout = 300 * time.Millisecond
	if _, err := Start(t.Context(), c); errs.CodeOf(err) != errs.TimedOut {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if n, err := left(c); n != 0 || err != nil {
		t.Errorf("%d processes left, %v", n, err)
	}
}

// The process is recorded before it becomes pi.
func TestBeforeRun(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		if b.name == "real" {
			t.Skip("it is the start gate that is tested, which comes before any pi")
		}
		var recorded fsx.Process
		r := start(t, b, pitest.Settings{}, func(c *Config) {
			c.BeforeRun = func(pid int) (err error) {
				if line, err := os.ReadFile("/proc/self/cmdline"); err == nil && len(line) > 0 {
					if line, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "cmdline")); err != nil || !strings.HasPrefix(string(line), "/bin/sh\x00") {
						t.Errorf("it runs already: %q, %v", line, err)
					}
				}
				recorded, err = fsx.ProcessOf(pid)
				return err
			}
		})
		if now, err := fsx.ProcessOf(r.PID()); err != nil || now != recorded {
			t.Errorf("recorded %+v, is %+v, %v", recorded, now, err)
		}
		if pgid, err := syscall.Getpgid(r.PID()); err != nil || pgid != r.PID() {
			t.Errorf("group %d of %d, %v", pgid, r.PID(), err)
		}
		c := config(t, b, t.TempDir())
		no := errors.New("no space")
		pid := 0
		c.BeforeRun = func(p int) error { pid = p; return no }
		if _, err := Start(t.Context(), c); err != no {
			t.Errorf("%v", err)
		}
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("process %d: %v", pid, err)
		}
	})
}

// At most one starts at a time.
func TestStartLock(t *testing.T) {
	m := pitest.NewModel(t)
	agentDir := m.AgentDir(t, pitest.Settings{})
	lock := filepath.Join(t.TempDir(), "start.lock")
	var mu sync.Mutex
	var running, most int
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		running += n
		most = max(most, running)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			c := config(t, backend{"fake", pitest.FakePi}, agentDir)
			c.StartLock = lock
			c.BeforeRun = func(int) error { count(1); time.Sleep(20 * time.Millisecond); count(-1); return nil }
			p, err := Start(t.Context(), c)
			if err != nil {
				t.Error(err)
				return
			}
			if err := p.Stop(t.Context(), 0); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d at once", most)
	}
	l, err := fsx.Acquire(t.Context(), lock, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Unlock() }()
	c := config(t, backend{"fake", pitest.FakePi}, agentDir)
	c.StartLock, c.StartWait = lock, 50*time.Millisecond
	if _, err := Start(t.Context(), c); errs.CodeOf(err) != errs.Busy {
		t.Errorf("%v", err)
	}
}
