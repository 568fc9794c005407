package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// MaxOpen is how many terminals of a session may be open.
const MaxOpen = 8

// The hosts of terminals.
const (
	HostPty   = "pty"   // a pseudo terminal of ours
	HostHerdr = "herdr" // a pane of herdr, in which the holder runs
)

// The states of terminals.
const (
	StateOpening = "opening"
	StateOpen    = "open"
	StateClosed  = "closed"
)

// Terminal is a terminal as it was asked for, term.json. Times are epoch ms.
type Terminal struct {
	ID       string      `json:"id"` // term-1
	Name     string      `json:"name,omitempty"`
	Cwd      string      `json:"cwd"`
	Host     string      `json:"host"`
	Shell    string      `json:"shell"`
	Mark     string      `json:"mark"` // stands in the environment of all that runs in it
	Opener   fsx.Process `json:"opener"`
	Pane     string      `json:"pane,omitempty"` // of herdr, with its terminal and socket
	Terminal string      `json:"terminal,omitempty"`
	Socket   string      `json:"socket,omitempty"`

	CreatedAt int64 `json:"createdAt"`

	// State is found out when it is read and not stored.
	State     string `json:"state,omitempty"`
	Readiness string `json:"readiness,omitempty"` // when it has just been opened
	ClosedAt  int64  `json:"closedAt,omitempty"`
	ExitCode  *int   `json:"exitCode,omitempty"` // of the shell

	dir   string
	shell fsx.Process
}

// started is shell.json.
type started struct {
	Shell     fsx.Process `json:"shell"`
	StartedAt int64       `json:"startedAt"`
}

// ended is end.json.
type ended struct {
	ExitCode int   `json:"exitCode"` // -1: not known
	EndedAt  int64 `json:"endedAt"`
}

// EnvMark is the variable by which whatever runs in a terminal is found.
const EnvMark = "TEAMS_TERMINAL"

const maxRecord = 1 << 16

func writeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return buf.Bytes(), err
}

func readJSON(path string, v any) error {
	data, err := fsx.ReadFile(path, maxRecord)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &errs.Error{Code: errs.Corrupt, Path: path, Msg: "is not a record: " + err.Error(), Err: err}
	}
	return nil
}

// Terms are the terminals of a session.
type Terms struct {
	Root string // below which Dir is made
	Dir  string // terms/ of the session's team directory
}

// Problem is a file that spoils only itself.
type Problem struct {
	Path string
	Err  error
}

const idPrefix = "term-"

// number is that of an id, 0 when it is none.
func number(id string) int {
	digits, ok := strings.CutPrefix(id, idPrefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

// List returns the terminals in the order of their numbers, closed ones too.
func (s *Terms) List() (list []Terminal, problems []Problem, err error) {
	names, err := fsx.List(s.Dir)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if number(name) == 0 {
			continue
		}
		t, err := s.read(name)
		switch {
		case err == nil:
			list = append(list, *t)
		case !errors.Is(err, fs.ErrNotExist): // not written yet, or removed
			problems = append(problems, Problem{filepath.Join(s.Dir, name, "term.json"), err})
		}
	}
	slices.SortFunc(list, func(a, b Terminal) int { return number(a.ID) - number(b.ID) })
	return list, problems, nil
}

// read reads one terminal and finds out its state.
func (s *Terms) read(id string) (*Terminal, error) {
	t := &Terminal{dir: filepath.Join(s.Dir, id)}
	if err := readJSON(filepath.Join(t.dir, "term.json"), t); err != nil {
		return nil, err
	}
	t.State, t.Readiness = "", ""
	if t.ID != id {
		return nil, &errs.Error{Code: errs.Corrupt, Path: filepath.Join(t.dir, "term.json"), Msg: "is the record of another terminal"}
	}
	var st started
	if err := readJSON(filepath.Join(t.dir, "shell.json"), &st); err == nil {
		t.shell = st.Shell
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var e ended
	err := readJSON(filepath.Join(t.dir, "end.json"), &e)
	switch {
	case err == nil:
		t.State, t.ClosedAt = StateClosed, e.EndedAt
		if e.ExitCode >= 0 {
			t.ExitCode = &e.ExitCode
		}
		return t, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	alive, err := fsx.Held(t.path("alive.lock"))
	switch {
	case err != nil:
		return nil, err
	case alive && t.shell.PID != 0:
		t.State = StateOpen
	case t.shell.PID == 0 && t.Opener.Liveness() != fsx.Dead && fsx.Now().UnixMilli()-t.CreatedAt < openLimit.Milliseconds()*2:
		t.State = StateOpening
	default:
		t.State = StateClosed
	}
	return t, nil
}

func (t *Terminal) path(name string) string { return filepath.Join(t.dir, name) }

// Get returns a terminal by its id or its name; of several of one name the open
// one. An unknown one is of code not_found.
func (s *Terms) Get(arg string) (*Terminal, error) {
	if number(arg) != 0 {
		t, err := s.read(arg)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, unknown(arg)
		}
		return t, err
	}
	list, _, err := s.List()
	if err != nil {
		return nil, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Name == arg && list[i].State == StateOpen {
			return &list[i], nil
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Name == arg && arg != "" {
			return &list[i], nil
		}
	}
	return nil, unknown(arg)
}

func unknown(arg string) error {
	return errs.New(errs.NotFound, "there is no terminal %s", arg).WithHint("teams term list")
}

// open returns a terminal that is open; a closed one is of code stopped.
func (s *Terms) open(arg string) (*Terminal, error) {
	t, err := s.Get(arg)
	if err == nil && t.State != StateOpen {
		return nil, errs.New(errs.Stopped, "the terminal %s is %s", t.ID, t.State).WithHint("teams term open")
	}
	return t, err
}
