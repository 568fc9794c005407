package main

import (
	"testing"

	"github.com/seed6990a682/teams/internal/team"
)

// TestHint writes the commands of hints for who typed the command line.
func TestHint(t *testing.T) {
	t.Parallel()
	as := Globals{As: "ann"}
	all := Globals{As: "ann", Session: "s1", Root: "/r", Dir: "a b"}
	for _, c := range []struct {
		g    Globals
		env  string
		hint string
		want string
	}{
		{as, "", "teams submit t_3", "teams submit t_3 --as ann"},
		{as, "", "see /x/y, mend it, then teams submit t_3", "see /x/y, mend it, then teams submit t_3 --as ann"},
		{as, "bob", "teams claim", "teams claim --as ann"},
		{as, "", "teams claim --mine shows it", "teams claim --as ann --mine shows it"},
		{as, "", "teams submit t_1 or teams release t_1 first, or claim with --max 2",
			"teams submit t_1 --as ann or teams release t_1 --as ann first, or claim with --max 2"},
		{as, "", "teams todo list", "teams todo list --as ann"},
		{as, "", "teams leave --as NAME", "teams leave --as NAME"},
		{as, "", "teams task reopen t_1 makes it claimable again", "teams task reopen t_1 makes it claimable again"},
		{as, "", "teams doctor", "teams doctor"},
		{as, "", "teams claim --help", "teams claim --help"},
		{as, "", "two teams claim that, and myteams claim t_1", "two teams claim --as ann that, and myteams claim t_1"},
		{as, "", "use the version of teams that wrote it", "use the version of teams that wrote it"},
		{as, "", `eval "$(teams join w1 --pid $$)"`, `eval "$(teams join w1 --pid $$)"`},
		{as, "", "", ""},
		{all, "", "teams submit t_3", "teams submit t_3 --as ann --session s1 --root /r -C 'a b'"},
		{all, "", "teams doctor tells what is wrong; teams doctor --repair rebuilds it",
			"teams doctor --session s1 --root /r -C 'a b' tells what is wrong; teams doctor --session s1 --root /r -C 'a b' --repair rebuilds it"},
		{all, "", "teams shutdown x --session s2", "teams shutdown --root /r -C 'a b' x --session s2"},
		{all, "", `eval "$(teams join w1 --pid $$)"`, `eval "$(teams join --session s1 --root /r -C 'a b' w1 --pid $$)"`},
		{Globals{}, "", "teams claim t_2", "teams claim t_2 --as w1"},
		{Globals{As: team.LeaderName}, "", "teams claim t_2", "teams claim t_2 --as w1"},
		{Globals{}, "ann", "teams claim t_2", "teams claim t_2"},
		{Globals{}, "", "teams submit t_2", "teams submit t_2"},
		{as, "", "teams again --as ann", "teams again --as ann"},
	} {
		e := newEnv(nil, nil, nil)
		e.Globals, e.args = c.g, []string{"again", "--as", "ann"}
		e.getenv = func(name string) string {
			if name == team.EnvName {
				return c.env
			}
			return ""
		}
		if got := e.hint(c.hint); got != c.want {
			t.Errorf("%q became\n%q, want\n%q", c.hint, got, c.want)
		}
	}
}

// TestActsByName: the verbs it names are there.
func TestActsByName(t *testing.T) {
	t.Parallel()
	n := 0
	for _, entry := range registry {
		if actsByName(entry.Path) {
			n++
		}
	}
	if n < 20 || actsByName("") || actsByName("task reopen") {
		t.Errorf("%d verbs act by name", n)
	}
}
