package herdr

import (
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

// The environment variables of herdr. Inside a pane EnvPane is set.
const (
	EnvSocket    = "HERDR_SOCKET_PATH"
	EnvSession   = "HERDR_SESSION"
	EnvPane      = "HERDR_PANE_ID"
	EnvTab       = "HERDR_TAB_ID"
	EnvWorkspace = "HERDR_WORKSPACE_ID"
	EnvBin       = "HERDR_BIN_PATH"
	EnvMarker    = "HERDR_ENV"
)

// EnvToggle switches herdr off altogether when it is "off", "0" or "false".
const EnvToggle = "TEAMS_HERDR"

// Here says where in herdr a process runs, as its environment has it. The ids
// are "" outside herdr.
type Here struct {
	Pane, Tab, Workspace string
}

// Inside reports whether the process runs in a pane of herdr.
func (h Here) Inside() bool { return h.Pane != "" }

// FindHere reads the environment with getenv.
func FindHere(getenv func(string) string) Here {
	trim := func(name string) string { return strings.TrimSpace(getenv(name)) }
	return Here{Pane: trim(EnvPane), Tab: trim(EnvTab), Workspace: trim(EnvWorkspace)}
}

// Off reports whether a setting ("auto", "off", "" for none) or, without one,
// [EnvToggle] switches herdr off. "auto" and "on" as a setting win over the
// environment.
func Off(setting string, getenv func(string) string) bool {
	if setting == "" {
		setting = getenv(EnvToggle)
	}
	switch strings.ToLower(strings.TrimSpace(setting)) {
	case "off", "0", "false", "no":
		return true
	}
	return false
}

// CheckToggle refuses a value of [EnvToggle], or of a setting in its place, that
// [Off] does not know; name is what it was given as.
func CheckToggle(name, value string) error {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "", "auto", "on", "1", "true", "yes", "off", "0", "false", "no":
		return nil
	}
	return errs.New(errs.Usage, "%s is %q, it must be auto or off", name, value)
}

// Scrub returns an environment without herdr's variables, for children that are
// not to report into the pane of their parent.
func Scrub(env []string) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		if !strings.HasPrefix(kv, "HERDR_") {
			out = append(out, kv)
		}
	}
	return out
}

// Locate finds herdr's socket: the path given with --socket, else
// HERDR_SOCKET_PATH, else the one of the session HERDR_SESSION, else that of the
// default session, below XDG_CONFIG_HOME or ~/.config. It touches nothing. The
// error is of code herdr_unavailable when there is no place to look in, and of
// code usage for a session name against herdr's rule.
func Locate(flag string, getenv func(string) string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if path := getenv(EnvSocket); path != "" {
		return path, nil
	}
	base := getenv("XDG_CONFIG_HOME")
	if base == "" {
		home := getenv("HOME")
		if home == "" {
			return "", errs.New(errs.HerdrUnavailable, "herdr's socket cannot be found, neither %s nor HOME is set", EnvSocket)
		}
		base = filepath.Join(home, ".config")
	}
	base = filepath.Join(base, "herdr")
	session := getenv(EnvSession)
	if session == "" || session == "default" {
		return filepath.Join(base, "herdr.sock"), nil
	}
	if !validSession(session) {
		return "", errs.New(errs.Usage, "%s is %q, a session of herdr is named with at most 64 of A-Z a-z 0-9 . _ -", EnvSession, session)
	}
	return filepath.Join(base, "sessions", session, "herdr.sock"), nil
}

func validSession(name string) bool {
	if len(name) > 64 || name == "." || name == ".." {
		return false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !isWordByte(c) && c != '.' {
			return false
		}
	}
	return true
}

// isWordByte reports whether c is an ASCII letter, a digit, _ or -.
func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}
