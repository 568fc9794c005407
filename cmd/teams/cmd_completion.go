package main

import (
	"context"
	_ "embed"

	"github.com/seed6990a682/teams/internal/render"
)

var completionEntry = Entry{
	Path:    "completion",
	Group:   groupSetup,
	Summary: "Print the completion script of a shell",
	Examples: []string{
		"teams completion bash > ~/.local/share/bash-completion/completions/teams",
		"teams completion zsh > \"${fpath[1]}/_teams\"",
		"teams completion fish | source",
	},
	New:    func() Command { return new(completionCmd) },
	NoJSON: true,
}

type completionCmd struct {
	Shell string `arg:"" name:"SHELL" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (*completionCmd) Help() string {
	return "The script completes commands, flags, and the ids and names of the session that " +
		"the command line names. Each script says in its first lines where it belongs."
}

var (
	//go:embed completion/teams.bash
	bashScript string
	//go:embed completion/teams.zsh
	zshScript string
	//go:embed completion/teams.fish
	fishScript string
)

func (c *completionCmd) Run(_ context.Context, e *Env) error {
	script := bashScript
	switch c.Shell {
	case "zsh":
		script = zshScript
	case "fish":
		script = fishScript
	}
	e.Result(nil, func(w *render.Writer) { w.Raw([]byte(script)) })
	return nil
}
