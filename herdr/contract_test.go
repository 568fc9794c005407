package herdr

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/herdr/herdrtest"
)

// exchange is a request and its answer, as they were on the wire.
type exchange struct{ name, request, answer string }

func exchanges(t *testing.T) (out []exchange) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "exchanges.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, par := range strings.Split(strings.TrimSpace(string(b)), "\n\n") {
		lines := strings.Split(par, "\n")
		if strings.HasPrefix(par, "#") {
			continue
		}
		if len(lines) != 3 {
			t.Fatalf("not an exchange: %q", par)
		}
		out = append(out, exchange{lines[0], lines[1], lines[2]})
	}
	return out
}

// calls are what the client is asked for in the exchanges that it can make.
func calls() map[string]func(context.Context, *Client) (any, error) {
	old := "3/12"
	return map[string]func(context.Context, *Client) (any, error){
		"ping": func(ctx context.Context, c *Client) (any, error) { return c.Ping(ctx) },
		"report": func(ctx context.Context, c *Client) (any, error) {
			return nil, c.ReportAgent(ctx, Report{Pane: "w1:p2", Source: "toolkit:run", Agent: "toolkit", State: StateWorking, Seq: 1786000000000001})
		},
		"metadata": func(ctx context.Context, c *Client) (any, error) {
			return nil, c.ReportMetadata(ctx, Metadata{Pane: "w1:p2", Source: "toolkit:run", AppliesTo: "herdr:pi", Labels: map[string]string{"working": "3/12"},
				Tokens: map[string]*string{"run": &old, "old": nil}, Seq: 1786000000000002, TTL: 20000})
		},
		"release": func(ctx context.Context, c *Client) (any, error) {
			return nil, c.ReleaseAgent(ctx, "w1:p2", "toolkit:run", "toolkit", 1786000000000009)
		},
		"unknown pane": func(ctx context.Context, c *Client) (any, error) { return c.Pane(ctx, "w9:p9") },
		"split": func(ctx context.Context, c *Client) (any, error) {
			return c.SplitPane(ctx, Split{Target: "w1:p1", Direction: "down", Cwd: "/abs", Env: map[string]string{"K": "V"}})
		},
		"worktree": func(ctx context.Context, c *Client) (any, error) {
			return c.CreateWorktree(ctx, NewWorktree{Cwd: "/r", Branch: "run/1", Path: "/wt", Label: "repo"})
		},
		"tab": func(ctx context.Context, c *Client) (any, error) {
			return c.CreateTab(ctx, NewPlace{Workspace: "w1", Cwd: "/abs", Label: "research"})
		},
		"agent start": func(ctx context.Context, c *Client) (any, error) {
			return c.StartAgent(ctx, AgentStart{Name: "run-1", Kind: "pi", Pane: "w1:p2", Args: []string{"--model", "x"}, Timeout: 30 * time.Second})
		},
		"processes": func(ctx context.Context, c *Client) (any, error) { return c.Processes(ctx, "w1:p1") },
		"notification": func(ctx context.Context, c *Client) (any, error) {
			return c.Notify(ctx, "Workflow complete: x", "", "done", "")
		},
	}
}

// The client sends what was recorded, and understands the answer.
func TestClientReplaysExchanges(t *testing.T) {
	for _, x := range exchanges(t) {
		call := calls()[x.name]
		if call == nil {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			path, sent := replay(t, x.answer)
			got, err := call(t.Context(), New(path))
			var req, want, ans map[string]any
			decode(t, <-sent, &req)
			decode(t, []byte(x.request), &want)
			decode(t, []byte(x.answer), &ans)
			if req["method"] != want["method"] {
				t.Errorf("method %v, want %v", req["method"], want["method"])
			}
			for key, v := range want["params"].(map[string]any) {
				if have := req["params"].(map[string]any)[key]; text(have) != text(v) && v != "" {
					t.Errorf("%s is %s, want %s", key, text(have), text(v))
				}
			}
			if e, ok := ans["error"].(map[string]any); ok {
				var have *Error
				if !errors.As(err, &have) || have.Code != e["code"] || have.Message != e["message"] || strings.Contains(err.Error(), "w9:p9") {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got == nil {
				return
			}
			// Whatever the result has must stand in the answer.
			if bad := missing(got, ans["result"]); bad != "" {
				t.Errorf("%s: %s", bad, text(got))
			}
		})
	}
}

// missing says which text of got does not occur in the answer.
func missing(got, answer any) string {
	var v any
	b, _ := json.Marshal(got)
	_ = json.Unmarshal(b, &v)
	whole := text(answer)
	var walk func(any) string
	walk = func(v any) string {
		switch v := v.(type) {
		case map[string]any:
			for _, item := range v {
				if bad := walk(item); bad != "" {
					return bad
				}
			}
		case []any:
			for _, item := range v {
				if bad := walk(item); bad != "" {
					return bad
				}
			}
		case string:
			if v != "" && !strings.Contains(whole, text(v)) {
				return "the answer has no " + v
			}
		}
		return ""
	}
	if len(b) < 4 {
		return "nothing came of the answer"
	}
	return walk(v)
}

// The fake answers the recorded requests with the same members.
func TestFakeReplaysExchanges(t *testing.T) {
	s := herdrtest.New(t)
	s.AddWorkspace()
	for len(s.Panes()) < 2 {
		if _, err := New(s.Path).SplitPane(t.Context(), Split{Target: "w1:p1", Direction: "down"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range exchanges(t) {
		t.Run(x.name, func(t *testing.T) { compare(t, s.Path, x) })
	}
}

// compare sends a recorded request and compares the answer with the recorded one.
func compare(t *testing.T, socket string, x exchange) {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Write([]byte(x.request + "\n")); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	decode(t, line, &got)
	decode(t, []byte(x.answer), &want)
	if got["id"] != want["id"] {
		t.Errorf("id %v, want %v", got["id"], want["id"])
	}
	if e, ok := want["error"].(map[string]any); ok {
		have, _ := got["error"].(map[string]any)
		if have["code"] != e["code"] {
			t.Errorf("%s, want the error %v", line, e["code"])
		}
		return
	}
	if bad := shape("", got["result"], want["result"]); bad != "" {
		t.Errorf("%s\ngot:  %s\nwant: %s", bad, line, x.answer)
	}
}

// shape says which member of want is missing in got or of another type.
func shape(at string, got, want any) string {
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok {
			return at + " is no object"
		}
		for key, v := range want {
			if _, ok := m[key]; !ok {
				return at + "." + key + " is missing"
			}
			if bad := shape(at+"."+key, m[key], v); bad != "" {
				return bad
			}
		}
	case []any:
		if l, ok := got.([]any); !ok || len(want) > 0 && len(l) == 0 {
			return at + " is no list like it"
		}
	case string:
		if s, ok := got.(string); !ok || at == ".type" && s != want {
			return at + " is not like " + want
		}
	case float64:
		if _, ok := got.(float64); !ok {
			return at + " is no number"
		}
	case bool:
		if _, ok := got.(bool); !ok {
			return at + " is no bool"
		}
	}
	return ""
}

// The same against herdr itself, where there is one.
func TestRealHerdr(t *testing.T) {
	bin := os.Getenv(EnvBin)
	if bin == "" {
		bin = "herdr"
	}
	bin, err := exec.LookPath(bin)
	if err != nil {
		t.Skip("no herdr in PATH: the recorded exchanges and the fake stand in for it")
	}
	dir, err := os.MkdirTemp("", "hd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.MkdirAll(filepath.Join(dir, "herdr"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := "onboarding = false\n[update]\nversion_check = false\nmanifest_check = false\n"
	if err := os.WriteFile(filepath.Join(dir, "herdr", "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "--session", "t", "server")
	cmd.Env = append(Scrub(os.Environ()), "XDG_CONFIG_HOME="+dir, "SHELL=/bin/sh")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	path := filepath.Join(dir, "herdr", "sessions", "t", "herdr.sock")
	c := New(path)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if _, err = c.Ping(t.Context()); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	made, err := c.CreateWorkspace(t.Context(), NewPlace{Cwd: dir, Label: "work"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.SplitPane(t.Context(), Split{Target: made.Pane.ID, Direction: "down", Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("w1:p1", made.Pane.ID, "w1:p2", second.ID, `"w1"`, `"`+made.Workspace.ID+`"`, "/abs", dir)
	for _, x := range exchanges(t) {
		if x.name == "worktree" || x.name == "agent start" {
			continue // they need a repository, and an agent that is installed
		}
		t.Run(x.name, func(t *testing.T) {
			compare(t, path, exchange{x.name, fill.Replace(x.request), x.answer})
		})
	}
}

// replay serves one connection with a recorded answer, the id of which becomes
// that of the request.
func replay(t *testing.T, answer string) (path string, sent chan []byte) {
	t.Helper()
	dir, err := os.MkdirTemp("", "hd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	sent = make(chan []byte, 1)
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		line, err := bufio.NewReader(conn).ReadBytes('\n')
		if err != nil {
			return
		}
		var req struct{ ID string }
		_ = json.Unmarshal(line, &req)
		var a map[string]any
		d := json.NewDecoder(strings.NewReader(answer))
		d.UseNumber()
		_ = d.Decode(&a)
		a["id"] = req.ID
		b, _ := json.Marshal(a)
		sent <- line
		_, _ = conn.Write(append(b, '\n'))
	}()
	return path, sent
}

func decode(t *testing.T, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(bytes.TrimSpace(b), v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
