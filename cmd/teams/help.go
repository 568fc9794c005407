package main

import (
	"strings"

	"github.com/seed6990a682/teams/internal/render"
)

const about = "teams lets a team of coding agents, scripts and people work on one codebase\nwithout a server: a task board, mailboxes and verify gates in plain files."

// overviewExamples close the overview; those whose command is not there are
// left out.
func overviewExamples() []string {
	return []string{
		`teams task add "Parse the grammar" --verify "go test ./..."`,
		`id=$(teams claim -q)`,
		`teams submit --result "parser done, see parse.go"`,
		`teams send ann - < notes.md`,
		`teams spawn rev reviewer - < prompt.md`,
		`teams list`,
		`teams completion bash > ~/.local/share/bash-completion/completions/teams`,
	}
}

// commandLineHelp is one command of a list.
type commandLineHelp struct {
	Command string `json:"command"`
	Group   string `json:"group"`
	Summary string `json:"summary"`
}

// help hands over the help of a path: of one command, of the commands that
// begin with it, or of all. Only the first of these builds a grammar.
func (e *Env) help(path string) error {
	if entry := lookup(path); entry != nil {
		h, err := describe(entry)
		if err != nil {
			return err
		}
		e.Result(h, func(w *render.Writer) { h.write(w, e.helpWidth()) })
		return nil
	}
	list := make([]commandLineHelp, 0, len(registry))
	for _, c := range children(path) {
		list = append(list, commandLineHelp{c.Path, c.Group, c.Summary})
	}
	data := struct {
		Commands []commandLineHelp `json:"commands"`
	}{list}
	e.Result(data, func(w *render.Writer) {
		if path != "" {
			writeShort(w, path)
			return
		}
		w.Block(about)
		w.Blank()
		w.Linef("Usage: teams [global flags] COMMAND [arguments]")
		writeCommands(w, children(""), true)
		w.Blank()
		w.Linef("Global flags, before or after the command:")
		w.Linef("  --session KEY, --as NAME, --root DIR, -C DIR, --json, -x, -q, --no-color,")
		w.Linef("  --lock-timeout D; \"teams COMMAND --help\" explains them")
		w.Blank()
		w.Linef("Examples:")
		for _, line := range overviewExamples() {
			if exampleExists(line) {
				w.Linef("  %s", line)
			}
		}
	})
	return nil
}

// exampleExists reports whether the command of an example is in the registry.
func exampleExists(line string) bool {
	_, args, ok := strings.Cut(line, "teams ")
	return ok && find(strings.Fields(strings.NewReplacer(")", " ", "|", " ").Replace(args))).entry != nil
}

// writeShort lists what can follow path, for whom wrote too little.
func writeShort(w *render.Writer, path string) {
	if path == "" {
		w.Linef("Usage: teams [global flags] COMMAND [arguments]")
		w.Blank()
		var words []string
		for _, c := range children("") {
			word, _, _ := strings.Cut(c.Path, " ")
			if len(words) == 0 || words[len(words)-1] != word {
				words = append(words, word)
			}
		}
		for _, line := range render.Wrap("Commands: "+strings.Join(words, ", "), 76) {
			w.Linef("%s", line)
		}
		w.Blank()
		return
	}
	w.Linef("Usage: teams %s COMMAND [arguments]", path)
	writeCommands(w, children(path), false)
	w.Blank()
}

// writeCommands lists commands, one a line, under their groups if asked.
func writeCommands(w *render.Writer, list []*Entry, groups bool) {
	widest := 0
	for _, c := range list {
		widest = max(widest, len(c.Path))
	}
	group := ""
	for i, c := range list {
		if groups && c.Group != group || i == 0 {
			group = c.Group
			w.Blank()
			if groups {
				w.Linef("%s:", group)
			} else {
				w.Linef("Commands:")
			}
		}
		w.Linef("  %s  %s", render.Pad(c.Path, widest), c.Summary)
	}
}
