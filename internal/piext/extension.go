package piext

import (
	"embed"
	"encoding/json"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

//go:embed ext/*.ts SKILL.md task.md
var sources embed.FS

// Options chooses a variant of the extension.
type Options struct {
	// Binary is the absolute path of the teams program that the extension uses
	// while it is there and TEAMS_BIN is not set; "": teams from PATH.
	Binary string
	// Pier adds pier's tools: todo_write, subagent, terminal, ask_user_question.
	Pier bool
	// resident leaves out the guidance, which a host has given already.
	resident bool
}

// The placeholders of ext/10_head.ts.
const (
	binaryMark  = `"@BINARY@"`
	variantMark = "@VARIANT@"
)

// Extension returns the text of the extension.
func Extension(o Options) ([]byte, error) {
	pier := "90_nopier.ts"
	if o.Pier {
		pier = "90_pier.ts"
	}
	var text strings.Builder
	for _, name := range []string{
		"10_head.ts", "20_cli.ts", "30_rows.ts", "40_tools.ts", "50_mail.ts", "60_lead.ts", "70_widget.ts", "80_console.ts", pier, "99_main.ts",
	} {
		part, err := sources.ReadFile("ext/" + name)
		if err != nil {
			return nil, err
		}
		text.Write(part)
	}
	binary, err := json.Marshal(o.Binary)
	if err != nil {
		return nil, err
	}
	variant := "installed"
	if o.resident {
		variant = "resident"
	}
	return []byte(strings.NewReplacer(binaryMark, string(binary), variantMark, variant).Replace(text.String())), nil
}

// Skill returns the skill, SKILL.md in the Agent Skills format.
func Skill() ([]byte, error) { return sources.ReadFile("SKILL.md") }

// WriteResident writes the extension of a resident, for the --extension flag of
// its pi, to path (absolute, in a directory that is there); binary is the absolute
// path of the teams program. It replaces what is there. The error is that of the
// file system, or has code usage.
func WriteResident(path, binary string) error {
	if path == "" || path[0] != '/' {
		return errs.New(errs.Usage, "the path of an extension must be absolute").WithPath(path)
	}
	text, err := Extension(Options{Binary: binary, resident: true})
	if err != nil {
		return err
	}
	return fsx.Replace(path, text)
}
