package main

import (
	"strings"

	"github.com/alecthomas/kong"

	"github.com/seed6990a682/teams/internal/render"
)

// verbHelp is all that is known about one command: what its help, its manual
// page and its completion are made of.
type verbHelp struct {
	Command   string            `json:"command"`
	Summary   string            `json:"summary"`
	Usage     []string          `json:"usage"`
	Detail    string            `json:"detail,omitempty"`
	Arguments []valueHelp       `json:"arguments"`
	Flags     []valueHelp       `json:"flags"`
	Globals   []valueHelp       `json:"globalFlags"`
	Examples  []string          `json:"examples"`
	Commands  []commandLineHelp `json:"commands,omitempty"`
}

// valueHelp is one argument or flag.
type valueHelp struct {
	Name     string   `json:"name"` // without dashes
	Short    string   `json:"short,omitempty"`
	Value    string   `json:"value,omitempty"` // what stands for the value; "" for a switch
	Help     string   `json:"help"`
	Default  string   `json:"default,omitempty"`
	Choices  []string `json:"choices,omitempty"`
	Repeated bool     `json:"repeated,omitempty"`
	Required bool     `json:"required,omitempty"`

	kind string // what completes it, see completer
	list bool   // values may be joined with commas
}

// describe builds the grammar of one command and reads it.
func describe(entry *Entry) (*verbHelp, error) {
	cmd := entry.New()
	g := grammar{Cmd: cmd}
	parser, err := newParser(entry, &g)
	if err != nil {
		return nil, err
	}
	h := &verbHelp{
		Command: entry.Path, Summary: entry.Summary, Usage: entry.Usage, Examples: entry.Examples,
		Arguments: []valueHelp{}, Flags: []valueHelp{},
	}
	if d, ok := cmd.(helper); ok {
		h.Detail = strings.TrimSpace(d.Help())
	}
	for _, p := range parser.Model.Positional {
		v := describeValue(p)
		v.Value = strings.ToUpper(p.Name)
		h.Arguments = append(h.Arguments, v)
	}
	for _, f := range parser.Model.Flags {
		if f.Hidden {
			continue
		}
		v := describeValue(f.Value)
		if f.Short != 0 {
			v.Short = string(f.Short)
		}
		if !f.IsBool() {
			v.Value = f.PlaceHolder
			if v.Value == "" {
				v.Value = strings.ToUpper(f.Name)
			}
		}
		if isGlobal(f.Name) {
			if !entry.NoJSON || f.Name != "json" {
				h.Globals = append(h.Globals, v)
			}
		} else {
			h.Flags = append(h.Flags, v)
		}
	}
	for _, c := range children(entry.Path) {
		h.Commands = append(h.Commands, commandLineHelp{c.Path, c.Group, c.Summary})
	}
	if h.Usage == nil {
		_, takes := cmd.(commandTaker)
		h.Usage = []string{h.usage(takes)}
	}
	return h, nil
}

func describeValue(v *kong.Value) valueHelp {
	out := valueHelp{
		Name: v.Name, Help: v.Help, Required: v.Required, kind: v.Tag.Get("complete"),
		Repeated: isList(v) && (v.Flag == nil || v.Tag.Sep == -1),
		list:     isList(v) && v.Flag != nil && v.Tag.Sep == ',',
	}
	if v.HasDefault {
		out.Default = v.Default
	}
	if v.Enum != "" {
		out.Choices = v.EnumSlice()
	}
	if name, ok := strings.CutSuffix(out.kind, ","); ok {
		out.kind, out.list = name, true
	}
	return out
}

// usage makes the usage line.
func (h *verbHelp) usage(takesCommand bool) string {
	s := "teams " + h.Command
	optional := 0
	for _, a := range h.Arguments {
		name := a.Value
		if a.Repeated {
			name += "…"
		}
		if !a.Required {
			name = "[" + name + "]"
			optional++
		}
		s += " " + name
	}
	for _, f := range h.Flags {
		if f.Required {
			s += " " + f.flag()
		}
	}
	if len(h.Flags) > 0 {
		s += " [flags]"
	}
	if takesCommand {
		s += " -- CMD…"
	}
	return s
}

// flag writes a flag and what stands for its value.
func (v valueHelp) flag() string {
	s := "--" + v.Name
	if v.Value != "" {
		s += " " + v.Value
		if v.list && !strings.Contains(v.Value, ",") {
			s += ",…"
		}
	}
	return s
}

// note is the help of a value with its choices and its default.
func (v valueHelp) note() string {
	s := v.Help
	if v.Default != "" {
		if s = strings.TrimSuffix(s, "."); s != "" {
			s += " "
		}
		s += "(default " + v.Default + ")"
	}
	return s
}

// write prints the help for people.
func (h *verbHelp) write(w *render.Writer, width int) {
	for i, u := range h.Usage {
		prefix := "Usage: "
		if i > 0 {
			prefix = "       "
		}
		w.Linef("%s%s", prefix, u)
	}
	w.Blank()
	wrap(w, "", h.Summary+".", width)
	if h.Detail != "" {
		w.Blank()
		wrap(w, "", h.Detail, width)
	}
	rows := make([][2]string, 0, len(h.Arguments))
	for _, a := range h.Arguments {
		rows = append(rows, [2]string{a.Value, a.note()})
	}
	writeRows(w, "Arguments", rows, width)
	writeRows(w, "Flags", flagRows(h.Flags), width)
	writeRows(w, "Global flags", flagRows(h.Globals), width)
	if len(h.Commands) > 0 {
		rows := make([][2]string, 0, len(h.Commands))
		for _, c := range h.Commands {
			rows = append(rows, [2]string{c.Command, c.Summary})
		}
		writeRows(w, "Commands", rows, width)
	}
	w.Blank()
	w.Linef("Examples:")
	for _, line := range h.Examples {
		w.Linef("  %s", line)
	}
}

func flagRows(flags []valueHelp) [][2]string {
	rows := make([][2]string, 0, len(flags))
	for _, f := range flags {
		left := "    " + f.flag()
		if f.Short != "" {
			left = "-" + f.Short + ", " + f.flag()
		}
		rows = append(rows, [2]string{left, f.note()})
	}
	return rows
}

// writeRows prints two columns; a long left one gets a line of its own.
func writeRows(w *render.Writer, title string, rows [][2]string, width int) {
	if len(rows) == 0 {
		return
	}
	w.Blank()
	w.Linef("%s:", title)
	const widest = 30
	left := 0
	for _, r := range rows {
		if n := render.Width(r[0]); n <= widest {
			left = max(left, n)
		}
	}
	indent := strings.Repeat(" ", left+4)
	for _, r := range rows {
		lines := render.Wrap(r[1], max(width-left-4, 20))
		if render.Width(r[0]) > left {
			w.Linef("  %s", r[0])
		} else {
			w.Linef("%s", strings.TrimRight("  "+render.Pad(r[0], left)+"  "+lines[0], " "))
			lines = lines[1:]
		}
		for _, l := range lines {
			w.Linef("%s%s", indent, l)
		}
	}
}

// wrap prints paragraphs. Lines that begin with a space are kept as they are;
// the others of a paragraph are joined and broken anew.
func wrap(w *render.Writer, indent, text string, width int) {
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			for _, l := range render.Wrap(strings.Join(paragraph, " "), width-len(indent)) {
				w.Linef("%s%s", indent, l)
			}
			paragraph = nil
		}
	}
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			flush()
			w.Blank()
		case line[0] == ' ' || line[0] == '\t':
			flush()
			w.Linef("%s%s", indent, strings.ReplaceAll(line, "\t", "  "))
		default:
			paragraph = append(paragraph, line)
		}
	}
	flush()
}
