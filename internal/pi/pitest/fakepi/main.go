// Command fakepi is a test double of `pi --mode rpc`.
//
// It speaks the protocol as pi 0.74.2 does, with the same traps: it asks a real
// model server (the scripted one of the tests), runs real commands as its bash
// tool, writes a session file and reads it again. The tests of package pi run
// against it and against the real one.
//
// FAKEPI in the environment makes it misbehave in ways that the real one does
// only when something is broken; see misbehave.go.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	a, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	if a.version {
		fmt.Println("0.74.2")
		return
	}
	signal.Ignore(syscall.SIGPIPE)
	p := &pi{args: a, odd: misbehaviour(), dialogs: make(map[string]chan string)}
	if err := p.load(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	p.out.start()
	p.onSignals()
	p.serve()
}

// words are an error in pi's own words.
type words string

func (w words) Error() string { return string(w) }

// arguments are those of the command line.
type arguments struct {
	version     bool
	session     string
	model       string
	tools       []string
	prompts     []string // appended to the system prompt
	extensions  []string
	noTemplates bool
}

func parse(args []string) (a arguments, err error) {
	for i := 0; i < len(args); i++ {
		value := func() string {
			if i++; i < len(args) {
				return args[i]
			}
			return ""
		}
		switch arg := args[i]; arg {
		case "--version", "-v":
			a.version = true
		case "--mode":
			value()
		case "--session":
			a.session = value()
		case "--model":
			a.model = value()
		case "--tools":
			a.tools = strings.Split(value(), ",")
		case "--append-system-prompt":
			text := value()
			if data, err := os.ReadFile(text); err == nil {
				text = string(data)
			}
			a.prompts = append(a.prompts, text)
		case "--extension", "-e":
			a.extensions = append(a.extensions, value())
		case "-np", "--no-prompt-templates":
			a.noTemplates = true
		case "-ne", "-ns", "-nc", "--no-themes", "--no-session", "--offline":
		default:
			if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") {
				return a, words("Unknown option: " + arg)
			}
		}
	}
	return a, nil
}

// pi is the state of the process. Like the real one it does one thing at a
// time: mu is held for each command and each step of a run.
type pi struct {
	args arguments
	odd  oddities
	out  output

	agentDir string
	settings map[string]any
	provider string
	modelID  string
	baseURL  string
	window   int

	mu         sync.Mutex
	session    sessionFile
	messages   []message
	streaming  bool
	compacting bool
	steering   []string
	followUp   []string
	run        *run
	retry      *retry
	attempt    int
	prompts    int
	tools      map[int]bool // pids of the bash tool, each leader of a group
	dialogs    map[string]chan string
	confirm    bool
}

// load reads models, settings and the session.
func (p *pi) load() error {
	p.agentDir = os.Getenv("PI_CODING_AGENT_DIR")
	if p.agentDir == "" {
		p.agentDir = filepath.Join(os.Getenv("HOME"), ".pi", "agent")
	}
	p.tools = make(map[int]bool)
	p.settings = make(map[string]any)
	if data, err := os.ReadFile(filepath.Join(p.agentDir, "settings.json")); err == nil {
		_ = json.Unmarshal(data, &p.settings)
	}
	var models struct {
		Providers map[string]struct {
			BaseURL string
			Models  []struct {
				ID            string
				ContextWindow int
			}
		}
	}
	if data, err := os.ReadFile(filepath.Join(p.agentDir, "models.json")); err == nil {
		_ = json.Unmarshal(data, &models) // a broken one is as good as none
	}
	for name, provider := range models.Providers {
		for _, m := range provider.Models {
			if p.args.model == "" || p.args.model == name+"/"+m.ID {
				p.provider, p.modelID, p.baseURL, p.window = name, m.ID, provider.BaseURL, m.ContextWindow
			}
		}
	}
	if p.args.model != "" && p.modelID == "" {
		return words(fmt.Sprintf("Model %q not found. Use --list-models to see available models.", p.args.model))
	}
	for _, path := range p.args.extensions {
		data, err := os.ReadFile(path)
		if err != nil {
			return words(fmt.Sprintf("Failed to load extension %q: %v", path, err))
		}
		p.confirm = p.confirm || bytes.Contains(data, []byte("ctx.ui.confirm"))
	}
	return p.openSession()
}

// setting returns a number or truth of settings.json, group.name.
func (p *pi) setting(group, name string, other any) any {
	if g, ok := p.settings[group].(map[string]any); ok {
		if v, ok := g[name]; ok {
			return v
		}
	}
	return other
}

// output writes lines. Pi never waits for its reader.
type output struct {
	mu    sync.Mutex
	lines [][]byte
	wake  chan struct{}
	idle  *sync.Cond
	busy  bool
}

func (o *output) start() {
	o.wake = make(chan struct{}, 1)
	o.idle = sync.NewCond(&o.mu)
	go func() {
		for range o.wake {
			o.mu.Lock()
			lines := o.lines
			o.lines, o.busy = nil, true
			o.mu.Unlock()
			for _, line := range lines {
				if _, err := os.Stdout.Write(line); err != nil {
					os.Exit(1)
				}
			}
			o.mu.Lock()
			o.busy = false
			o.idle.Broadcast()
			o.mu.Unlock()
		}
	}()
}

func (o *output) raw(line []byte) {
	o.mu.Lock()
	o.lines = append(o.lines, line)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// emit writes one event or response.
func (o *output) emit(v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err == nil {
		o.raw(b.Bytes())
	}
}

// exit ends the process; what is still to be written gets a moment.
func (p *pi) exit(code int) {
	go func() {
		time.Sleep(time.Second)
		os.Exit(code)
	}()
	p.out.mu.Lock()
	for len(p.out.lines) > 0 || p.out.busy {
		p.out.idle.Wait()
	}
	os.Exit(code)
}

// onSignals kills the tools on SIGTERM and SIGHUP, as pi does; on others they
// live on.
func (p *pi) onSignals() {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for s := range c {
			if p.odd.stubborn {
				continue
			}
			p.mu.Lock()
			for pid := range p.tools {
				_ = syscall.Kill(-pid, syscall.SIGKILL)
			}
			code := 143
			if s == syscall.SIGHUP {
				code = 129
			}
			p.exit(code)
		}
	}()
}
