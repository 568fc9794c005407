package verify

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// Gate says what to run and how. Command and RunID are required.
type Gate struct {
	// Command is run as sh -c Command.
	Command string
	// Dir is the working directory; "" is that of the calling process.
	Dir string
	// Env is the environment as "key=value"; nil stands for os.Environ().
	// TEAMS_SPAWN, TEAMS_HOSTED and an old TEAMS_GATE are removed from it, PWD is set when
	// Dir is, and TEAMS_GATE=<RunID> and Extra are added.
	Env []string
	// Extra is added to Env and wins over it, such as TEAMS_TASK=t_1.
	Extra []string
	// Timeout is the time limit of the gate; 0: none.
	Timeout time.Duration
	// Log is the path of the log: created with mode 0600, emptied when it is
	// there, never followed through a symbolic link. Its directory must
	// exist. "": no log is kept.
	Log string
	// RunID names this run: 128 random bits in hex, never used twice.
	RunID string
	// Grace is the time between SIGTERM and SIGKILL; 0: 5 s.
	Grace time.Duration
	// MaxLog bounds the log, in bytes; 0: 10 MiB. Of a longer output the
	// first and the last half are kept, with a line between them that says
	// how many bytes were cut; that line comes on top of MaxLog.
	MaxLog int64
}

// Verdict is the outcome of a gate.
type Verdict string

// The verdicts.
const (
	// Passed means that the gate exited 0.
	Passed Verdict = "passed"
	// Failed means that it exited with another code.
	Failed Verdict = "failed"
	// TimedOut means that it was ended because its time limit passed.
	TimedOut Verdict = "timed_out"
	// Killed means that its shell was killed by a signal from elsewhere.
	Killed Verdict = "killed"
	// CouldNotStart means that the command could not be run at all.
	CouldNotStart Verdict = "could_not_start"
)

// Receipt is what is known about one run of a gate.
type Receipt struct {
	// Verdict is the outcome; "" when the run was interrupted.
	Verdict Verdict `json:"verdict"`
	// ExitCode is the exit code of the shell; -1 when it has none because it
	// never ran or was ended by a signal.
	ExitCode int `json:"exitCode"`
	// Signal is the signal that ended the shell, such as SIGKILL; "": none.
	Signal string `json:"signal,omitempty"`
	// DurationMs is the time from start to exit of the shell in milliseconds.
	DurationMs int64 `json:"durationMs"`
	// Log is the path of the log; "" when there is none.
	Log string `json:"log"`
	// OutputBytes counts everything the gate printed, also what was cut.
	OutputBytes int64 `json:"outputBytes"`
	// OutputSHA256 is the SHA-256 of everything the gate printed, in hex.
	OutputSHA256 string `json:"outputSha256"`
	// Commit is the HEAD commit of Dir's git repository at the start; "":
	// there is none, or it is kept in a reftable.
	Commit string `json:"commit,omitempty"`
	// FinishedAt is the wall clock at the end, in milliseconds since 1970.
	FinishedAt int64 `json:"finishedAt"`
	// Reason explains what the other fields do not: why a gate could not
	// start, that its log is incomplete, that it left processes behind.
	Reason string `json:"reason,omitempty"`
}

// because adds a reason.
func (r *Receipt) because(reason string) {
	if r.Reason != "" {
		r.Reason += "; "
	}
	r.Reason += reason
}

// ErrInterrupted is returned by [Run] when its context was cancelled: the gate
// was ended and has no verdict.
var ErrInterrupted error = &errs.Error{Code: errs.Interrupted, Msg: "the gate was interrupted: no verdict"}

const (
	defaultGrace  = 5 * time.Second
	defaultMaxLog = 10 << 20

	gateKey  = "TEAMS_GATE"
	spawnKey = "TEAMS_SPAWN"
	// hostedKey marks what a host started; a gate that a hosted process runs is
	// not the host's.
	hostedKey = "TEAMS_HOSTED"
)

// checked returns g with its defaults filled in.
func (g Gate) checked() (Gate, error) {
	switch {
	case strings.TrimSpace(g.Command) == "":
		return g, errs.New(errs.Usage, "a gate needs a command: an empty one would always pass")
	case strings.IndexByte(g.Command, 0) >= 0:
		return g, errs.New(errs.Usage, "the gate command contains a NUL byte")
	case strings.IndexByte(g.Dir, 0) >= 0, strings.IndexByte(g.Log, 0) >= 0:
		return g, errs.New(errs.Usage, "a path of the gate contains a NUL byte")
	case g.Timeout < 0, g.Grace < 0, g.MaxLog < 0:
		return g, errs.New(errs.Usage, "time limit, grace and log size of a gate must not be negative")
	}
	if err := checkRunID(g.RunID); err != nil {
		return g, err
	}
	for _, list := range [2][]string{g.Env, g.Extra} {
		for _, kv := range list {
			if strings.IndexByte(kv, 0) >= 0 {
				return g, errs.New(errs.Usage, "the environment of the gate contains a NUL byte")
			}
		}
	}
	if g.Grace == 0 {
		g.Grace = defaultGrace
	}
	if g.MaxLog == 0 {
		g.MaxLog = defaultMaxLog
	}
	return g, nil
}

// checkRunID refuses an id that could match more than one run.
func checkRunID(id string) error {
	if id == "" {
		return errs.New(errs.Usage, "a gate needs a run id")
	}
	if len(id) > 128 {
		return errs.New(errs.Usage, "the run id of a gate has more than 128 bytes")
	}
	for i := 0; i < len(id); i++ {
		if c := id[i]; c <= ' ' || c >= 0x7f || c == '=' {
			return errs.New(errs.Usage, "the run id %q of a gate is not made of visible ASCII characters", id)
		}
	}
	return nil
}

// environment builds the environment of the gate from base. A later entry of
// a key replaces an earlier one, since getenv answers with the first.
func (g Gate) environment(base []string) []string {
	all := make([]string, 0, len(base)+len(g.Extra)+2)
	all = append(all, base...)
	if g.Dir != "" {
		if abs, err := filepath.Abs(g.Dir); err == nil {
			all = append(all, "PWD="+abs)
		}
	}
	all = append(all, g.Extra...)

	last := make(map[string]int, len(all))
	for i, kv := range all {
		key, _, _ := strings.Cut(kv, "=")
		last[key] = i
	}
	env := make([]string, 0, len(all)+1)
	env = append(env, gateKey+"="+g.RunID)
	for i, kv := range all {
		key, _, ok := strings.Cut(kv, "=")
		if !ok || key == "" || key == gateKey || key == spawnKey || key == hostedKey || last[key] != i {
			continue
		}
		env = append(env, kv)
	}
	return env
}
