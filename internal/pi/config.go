package pi

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// Config says which pi to start, and how.
type Config struct {
	Command string   // program, looked up in PATH; "": pi
	Dir     string   // working directory
	Env     []string // whole environment; nil: that of this process. TEAMS_GATE is left out
	// Sweep ends what pi has left behind, wherever it went: its tools have
	// sessions of their own and outlive it. It is called once pi has ended, with
	// the time that they have after SIGTERM. Nil: nothing is looked for.
	Sweep func(grace time.Duration) error

	Session           string   // absolute path of the session file, which need not be there; "": none is kept
	Model             string   // provider/model; "": pi's default
	Tools             []string // allowlist, of extensions too; nil: pi's default
	SystemPrompt      []string // texts put behind pi's own system prompt
	SystemPromptFiles []string // absolute paths of more such texts, behind them
	Extensions        []string // paths of extensions to load
	ExtraArgs         []string // further arguments

	StartTimeout time.Duration       // from the start to the first answer; 0: 60 s
	StartLock    string              // path of a lock held while pi starts; "": none
	StartWait    time.Duration       // for StartLock; 0: 2 min
	BeforeRun    func(pid int) error // called before the process may become pi; an error lets it become nothing
	Quiet        time.Duration       // how long pi is idle without having shown a prompt before that counts as lost; 0: 2 s
	Nudge        string              // text of the prompt that makes pi run its queue; "": a default

	Events Events
	// OnUI answers a dialog of an extension; the context ends with pi. nil:
	// every dialog is declined at once.
	OnUI func(ctx context.Context, r UIRequest) UIAnswer

	afterOutput time.Duration // how long pi may live on when it has closed its output; 0: 5 s
	missedEnd   time.Duration // how long a run may be silent before pi is asked whether it still goes on; 0: 30 s
}

// Events are told what pi does. All are called from one goroutine, and any may
// be nil. A slow one never keeps pi's output from being read: meanwhile usage
// adds up, text lines and states that followed each other become one, and the
// oldest activities are dropped. None may call Stop, which waits for them.
type Events struct {
	OnState    func(State)    // a new state
	OnActivity func(Activity) // something was done
	OnUsage    func(Usage)    // what was used since the last call
	OnRunEnd   func(RunEnd)   // a run is over and nothing follows it
	OnExit     func(Exit)     // pi and what it left are gone; the last call
}

const (
	defaultStart = 60 * time.Second
	defaultWait  = 2 * time.Minute
	defaultQuiet = 2 * time.Second
	defaultAfter = 5 * time.Second
	defaultEnd   = 30 * time.Second
	defaultNudge = "The last turn ended early. What arrived meanwhile follows."
	// maxArgText is what Linux takes as one argument, with some room.
	maxArgText = 100 << 10
)

// Args returns the arguments that pi is started with. The error has code usage:
// for a text that cannot be an argument, or a path that is not absolute.
func Args(c Config) ([]string, error) {
	args := []string{"--mode", "rpc"}
	if c.Session == "" {
		args = append(args, "--no-session")
	} else {
		if !filepath.IsAbs(c.Session) {
			return nil, errs.New(errs.Usage, "the path of the session file is not absolute").WithPath(c.Session)
		}
		args = append(args, "--session", c.Session)
	}
	if c.Model != "" {
		args = append(args, "--model", c.Model)
	}
	if c.Tools != nil {
		args = append(args, "--tools", strings.Join(c.Tools, ","))
	}
	for _, text := range c.SystemPrompt {
		if len(text) > maxArgText {
			return nil, errs.New(errs.Usage, "a system prompt of %d bytes is too long for an argument", len(text)).WithHint("give it as a file")
		}
		if strings.ContainsRune(text, 0) {
			return nil, errs.New(errs.Usage, "a system prompt holds a NUL")
		}
		// Pi reads an argument that is the name of a file. No name ends so.
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		args = append(args, "--append-system-prompt", text)
	}
	for _, file := range c.SystemPromptFiles {
		if !filepath.IsAbs(file) {
			return nil, errs.New(errs.Usage, "the path of a system prompt is not absolute").WithPath(file)
		}
		args = append(args, "--append-system-prompt", file)
	}
	for _, path := range c.Extensions {
		args = append(args, "--extension", path)
	}
	return append(args, c.ExtraArgs...), nil
}

// environ is the environment of pi.
func (c *Config) environ() []string {
	from := c.Env
	if from == nil {
		from = os.Environ()
	}
	env := make([]string, 0, len(from))
	for _, kv := range from {
		// A gate's processes are ended by this entry; pi is not one of them.
		if !strings.HasPrefix(kv, "TEAMS_GATE=") {
			env = append(env, kv)
		}
	}
	return env
}

// modelsFile is where pi looks for models.
func (c *Config) modelsFile() string {
	dir := c.lookup("PI_CODING_AGENT_DIR")
	if dir == "" {
		dir = filepath.Join(c.lookup("HOME"), ".pi", "agent")
	}
	return filepath.Join(dir, "models.json")
}

// lookup returns a variable of pi's environment. The last one of a name counts.
func (c *Config) lookup(name string) (value string) {
	for _, kv := range c.environ() {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			value = v
		}
	}
	return value
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}
