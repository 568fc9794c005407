package team

import "strings"

// Var is one variable of an environment.
type Var struct{ Name, Value string }

// Vars are the variables that the processes of a teammate carry, in a fixed
// order.
func (t *Team) Vars(tm Teammate) []Var {
	return []Var{
		{EnvRoot, t.Root},
		{EnvSession, t.Session},
		{EnvName, tm.Name},
		{EnvSpawn, tm.SpawnID},
		{EnvProject, t.Project},
	}
}

// Env is Vars as a map.
func (t *Team) Env(tm Teammate) map[string]string {
	env := make(map[string]string, 5)
	for _, v := range t.Vars(tm) {
		env[v.Name] = v.Value
	}
	return env
}

// Exports is Vars as commands for sh, one each, that survive eval whatever the
// values hold.
func (t *Team) Exports(tm Teammate) []string {
	vars := t.Vars(tm)
	lines := make([]string, len(vars))
	for i, v := range vars {
		lines[i] = "export " + v.Name + "=" + Quote(v.Value)
	}
	return lines
}

// Quote makes one word of s for sh. Within single quotes nothing has a meaning
// but the quote itself.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
