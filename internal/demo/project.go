package demo

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

// The files of the project, and the script that stands for a coding agent.
const (
	greetScript = `# Prints a greeting. Usage: sh greet.sh NAME
echo "Hello"
`
	testScript = `# Tests what greet.sh prints for a name.
got=$(sh greet.sh Ann)
if [ "$got" != "Hello, Ann!" ]; then
	echo "FAIL: greet.sh printed '$got', it should print 'Hello, Ann!'"
	exit 1
fi
echo "PASS"
`
	workerScript = `# Does a task, as a coding agent would: TEAMS_TASK is its id, TEAMS_FEEDBACK the
# log of its gate when that has failed. What it prints becomes the task's result.
case $TEAMS_TASK in
t_1)
	if [ -z "$TEAMS_FEEDBACK" ]; then
		echo 'echo "Hello $1"' >greet.sh
		echo "greet.sh says the name now"
	else
		echo "TEAMS_FEEDBACK says: $(cat "$TEAMS_FEEDBACK")"
		echo 'echo "Hello, $1!"' >greet.sh
		echo "greet.sh has the comma and the mark now"
	fi ;;
t_2)
	echo "sh greet.sh NAME" >USAGE
	echo "see USAGE" ;;
t_3)
	{ echo "It greets by name:"; cat USAGE; } >NOTES
	echo "see NOTES" ;;
esac
`
	reviewerRole = `---
name: reviewer
description: Reads what others wrote, and says what is wrong with it.
---
You review.
`
	reviewerScript = `# What a resident runs whenever there is something for it, with its mail on stdin.
cat >/dev/null
id=$(teams claim -q) || exit 0
echo "NOTES says: $(grep greet.sh NOTES)"
teams submit "$id" -q --result "NOTES names the script" >/dev/null
teams send leader -q --status completed "NOTES is fine." >/dev/null
`
)

// setUp creates the directory with root, project and program.
func (p *play) setUp() error {
	dir, err := os.MkdirTemp("", "teams-demo-")
	if err != nil {
		return errs.New(errs.Unusable, "no directory for the demo can be made: %w", err).WithHint("TMPDIR=DIR teams demo")
	}
	p.r.Dir = dir
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	p.r.Dir = dir
	p.r.Root, p.r.Project, p.r.Bin = filepath.Join(dir, "root"), filepath.Join(dir, "project"), filepath.Join(dir, "bin")
	agents := filepath.Join(p.r.Project, ".pi", "agents")
	for _, d := range []string{p.r.Root, agents, p.r.Bin} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	for path, text := range map[string]string{
		filepath.Join(p.r.Project, "greet.sh"): greetScript,
		filepath.Join(p.r.Project, "test.sh"):  testScript,
		filepath.Join(agents, "reviewer.md"):   reviewerRole,
		filepath.Join(dir, "worker.sh"):        workerScript,
		filepath.Join(dir, "reviewer.sh"):      reviewerScript,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := p.program(); err != nil {
		return err
	}
	p.env = environ(p.o.Environ, p.r.Bin, p.r.Root)
	if err := p.say(Text, "A leader, its workers, a gate and a kill -9, in "+dir+"."); err != nil {
		return err
	}
	return p.repository()
}

// program puts the program into the directory under its usual name. What is
// kept has a copy: go run removes what it ran.
func (p *play) program() error {
	if !p.o.Keep {
		return os.Symlink(p.o.Program, p.teams())
	}
	in, err := os.Open(p.o.Program)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(p.teams(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// repository makes the project a git repository, or marks it as a project
// where git is missing or does not work.
func (p *play) repository() error {
	why := "there is no git here"
	if _, err := exec.LookPath("git"); err == nil {
		if why = p.git(); why == "" {
			return nil
		}
	}
	return p.say(Text, "The project is a plain directory with .pi in it, since "+why+".")
}

// git makes the repository and its first commit, and says what kept it from that.
func (p *play) git() (problem string) {
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "A greeting and its test"},
	} {
		out, err := p.command(append([]string{"git"}, args...)...).CombinedOutput()
		if err != nil {
			_ = os.RemoveAll(filepath.Join(p.r.Project, ".git"))
			return fmt.Sprintf("git %s did not work (%v: %s)", args[0], err, lastLine(string(out)))
		}
	}
	return ""
}

// environ is the environment of the story: what stands in base, but nothing
// that says where or who a teams or a git is.
func environ(base []string, bin, root string) []string {
	var env []string
	path := os.Getenv("PATH")
	for _, kv := range base {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH":
			path = value
		case strings.HasPrefix(name, "TEAMS_"), strings.HasPrefix(name, "GIT_"), name == "PI_CODING_AGENT_DIR":
		default:
			env = append(env, kv)
		}
	}
	return append(env,
		"PATH="+bin+string(os.PathListSeparator)+path,
		"TEAMS_ROOT="+root,
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=teams demo", "GIT_AUTHOR_EMAIL=demo@localhost",
		"GIT_COMMITTER_NAME=teams demo", "GIT_COMMITTER_EMAIL=demo@localhost",
	)
}
