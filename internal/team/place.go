package team

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// The environment variables that say where and who the caller is.
const (
	EnvRoot    = "TEAMS_ROOT"
	EnvPiRoot  = "PI_CODING_AGENT_DIR"
	EnvSession = "TEAMS_SESSION"
	EnvProject = "TEAMS_PROJECT"
	EnvName    = "TEAMS_NAME"
	EnvSpawn   = "TEAMS_SPAWN"
)

// The sources that are not environment variables, as they stand in
// [Place.Sources].
const (
	SourceFlag    = "flag"    // a flag of the command line
	SourceDefault = "default" // ~/.pi/agent
	SourceGit     = "git"     // the nearest parent with .git, or the main checkout of a worktree
	SourcePi      = ".pi"     // the nearest parent with .pi
	SourceCwd     = "cwd"     // the working directory itself
	SourceProject = "project" // made from the project's path
)

// LeaderName is the handle of the leader: the name of its mailbox, and what
// --as takes for it. No teammate can have it.
const LeaderName = "leader"

// Place says where the state of a session is and who asks for it. All paths
// are absolute. Its values come from [Resolve]; the methods only join paths.
type Place struct {
	Root    string // the Pi agent directory; may be a symlink, may not exist yet
	Session string // the session key
	Project string // the project's directory, symlinks resolved
	Cwd     string // the working directory, symlinks resolved
	Name    string // the caller's own name; "" for a leader who did not say so, LeaderName for one who did
	SpawnID string // the caller's life, from TEAMS_SPAWN; "" when not set or when --as names somebody else

	// Sources says where root, session, project, name and spawnId came from:
	// a Source constant or the name of an environment variable. A value that
	// was not given has no entry.
	Sources map[string]string

	envName  string // TEAMS_NAME, whatever --as says
	envSpawn string // TEAMS_SPAWN, whatever --as says
	envPi    bool   // the shell belongs to a model of Pi, see EnvPiAgent
}

// Input is what [Resolve] works from.
type Input struct {
	// Getenv looks up the environment; nil means os.Getenv.
	Getenv func(string) string
	// Cwd is the working directory; empty means that of the process.
	Cwd string
	// Root, Session and As are the flags --root, --session and --as; empty
	// means not given.
	Root, Session, As string
	// Home returns the home directory; nil means the variable HOME.
	Home func() (string, error)
}

// Resolve finds the place. It reads directories and .git files, starts no
// program and creates nothing. A set but empty variable counts as unset. The
// error is of code unusable, naming the path, for a root, home or directory
// that cannot be used, and of code usage for a session key or name against the
// rules.
func Resolve(in Input) (Place, error) {
	if in.Getenv == nil {
		in.Getenv = os.Getenv
	}
	if in.Home == nil {
		in.Home = func() (string, error) {
			if h := in.Getenv("HOME"); h != "" {
				return h, nil
			}
			return "", errs.New(errs.Unusable, "HOME is not set")
		}
	}
	p := Place{Sources: make(map[string]string, 5)}
	if err := p.resolveName(in); err != nil {
		return Place{}, err
	}
	if err := p.resolveRoot(in); err != nil {
		return Place{}, err
	}
	if err := p.resolveProject(in); err != nil {
		return Place{}, err
	}
	if err := p.resolveSession(in); err != nil {
		return Place{}, err
	}
	return p, nil
}

// resolveName takes the name and spawn id. The spawn id belongs to TEAMS_NAME,
// so it says nothing about somebody else named by --as.
func (p *Place) resolveName(in Input) error {
	p.envName, p.envSpawn = in.Getenv(EnvName), in.Getenv(EnvSpawn)
	p.envPi = in.Getenv(EnvPiAgent) != ""
	if p.envName != "" {
		if err := CheckName(p.envName); err != nil {
			return usageIn(EnvName, err)
		}
		p.Name, p.Sources["name"] = p.envName, EnvName
	}
	if in.As != "" {
		if in.As != LeaderName {
			if err := CheckName(in.As); err != nil {
				return usageIn("--as", err)
			}
		}
		p.Name, p.Sources["name"] = in.As, SourceFlag
	}
	if p.envSpawn != "" && (p.envName == "" || p.Name == p.envName) {
		p.SpawnID, p.Sources["spawnId"] = p.envSpawn, EnvSpawn
	}
	return nil
}

// usageIn says where a name against the rules came from.
func usageIn(where string, err error) error {
	return &errs.Error{Code: errs.Usage, Op: where, Msg: err.Error(), Err: err}
}

// resolveRoot takes the first of flag, TEAMS_ROOT, PI_CODING_AGENT_DIR and
// ~/.pi/agent. Pi expands a leading ~ in its variable, so the same is done
// for each: a shell leaves it alone in --root=~/x.
func (p *Place) resolveRoot(in Input) error {
	for _, c := range [...]struct{ value, source string }{
		{in.Root, SourceFlag},
		{in.Getenv(EnvRoot), EnvRoot},
		{in.Getenv(EnvPiRoot), EnvPiRoot},
		{"~/.pi/agent", SourceDefault},
	} {
		if c.value == "" {
			continue
		}
		root := c.value
		if root == "~" || strings.HasPrefix(root, "~/") {
			home, err := in.Home()
			if err != nil {
				return &errs.Error{Code: errs.Unusable, Path: root, Err: err,
					Msg:  "the home directory is not known: " + err.Error(),
					Hint: "set HOME, or TEAMS_ROOT to an absolute path"}
			}
			if !filepath.IsAbs(home) {
				return errs.New(errs.Unusable, "the home directory is not an absolute path").
					WithPath(home).WithHint("set HOME, or TEAMS_ROOT, to an absolute path")
			}
			root = filepath.Join(home, root[1:])
		}
		if !filepath.IsAbs(root) {
			return errs.New(errs.Unusable, "the root is not an absolute path (from %s)", c.source).
				WithPath(root).WithHint("give an absolute path")
		}
		p.Root, p.Sources["root"] = filepath.Clean(root), c.source
		return nil
	}
	return errs.New(errs.Internal, "no root")
}

// resolveSession takes the key from flag or TEAMS_SESSION, else makes it from
// the project.
func (p *Place) resolveSession(in Input) error {
	for _, c := range [...]struct{ value, source, where string }{
		{in.Session, SourceFlag, "--session"},
		{in.Getenv(EnvSession), EnvSession, EnvSession},
	} {
		if c.value == "" {
			continue
		}
		if err := fsx.CheckSessionKey(c.value); err != nil {
			return usageIn(c.where, err)
		}
		p.Session, p.Sources["session"] = c.value, c.source
		return nil
	}
	p.Session, p.Sources["session"] = SessionKey(p.Project), SourceProject
	return nil
}

// maxKey is the longest session key, in bytes.
const maxKey = 64

// SessionKey returns the key of a project that was given none: the name of its
// directory, lower-cased and reduced to the characters that a key may have,
// and the first 8 hex digits of the SHA-256 of its absolute path, which keep
// two projects of one name apart. A name of which nothing is left counts as
// "project".
func SessionKey(project string) string {
	sum := sha256.Sum256([]byte(project))
	suffix := "-" + hex.EncodeToString(sum[:4])
	var b strings.Builder
	for _, r := range strings.ToLower(filepath.Base(project)) {
		letterOrDigit := 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
		if letterOrDigit || b.Len() > 0 && (r == '.' || r == '_' || r == '-') {
			b.WriteRune(r)
		}
		if b.Len() == maxKey-len(suffix) {
			break
		}
	}
	if b.Len() == 0 {
		b.WriteString("project")
	}
	return b.String() + suffix
}
