package agentdefs

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// Shape is what a role does by its judgment: the beginning of a definition.
type Shape string

// The shapes.
const (
	Executor   Shape = "executor"   // carries out a procedure
	Reviewer   Shape = "reviewer"   // judges against criteria
	Specialist Shape = "specialist" // applies expert knowledge
	Observer   Shape = "observer"   // observes and reports
)

// Shapes returns the shapes, [Executor] first.
func Shapes() []Shape { return []Shape{Executor, Reviewer, Specialist, Observer} }

// Draft is what a new definition is made of.
type Draft struct {
	Name        string
	Shape       Shape    // empty: Executor
	Description string   // empty: what the shape usually says
	Tools       []string // nil: the usual ones of the shape; empty: none
	Model       string
	Verify      string
	Worktree    bool
}

//go:embed skeleton/*.md
var skeletons embed.FS

// Text is the definition: filled in, so that it parses to what the draft says
// and [Set.Check] finds nothing to say about it. The error has code usage, for
// a value that cannot be written.
func (d Draft) Text() ([]byte, error) {
	d, err := d.complete()
	if err != nil {
		return nil, err
	}
	text := d.file(0)
	if d.matches(text) != nil {
		// Some texts only quotes can hold.
		text = d.file(yaml.DoubleQuotedStyle)
	}
	if err := d.matches(text); err != nil {
		return nil, err
	}
	return text, nil
}

// file is the whole file, with the values in a style of YAML.
func (d Draft) file(style yaml.Style) []byte {
	var out bytes.Buffer
	out.WriteString(fence + "\n")
	out.Write(d.frontmatter(style))
	out.WriteString(fence + "\n")
	out.WriteString(d.prompt())
	return out.Bytes()
}

// complete checks a draft and fills in what is not given.
func (d Draft) complete() (Draft, error) {
	if err := fsx.CheckHandle(d.Name); err != nil {
		return d, err
	}
	if d.Shape == "" {
		d.Shape = Executor
	}
	if !slices.Contains(Shapes(), d.Shape) {
		return d, errs.New(errs.Usage, "%q is no shape, the shapes are executor, reviewer, specialist and observer", clip(string(d.Shape)))
	}
	if d.Tools == nil {
		d.Tools = d.Shape.tools()
	}
	d.Tools = slices.Clone(d.Tools)
	for i, tool := range d.Tools {
		d.Tools[i] = strings.TrimSpace(tool)
		if strings.ContainsAny(tool, ",\n") {
			return d, errs.New(errs.Usage, "the tool %q cannot be written, it has a comma or a line break in its name", clip(tool))
		}
	}
	d.Tools = slices.DeleteFunc(d.Tools, func(t string) bool { return t == "" })
	d.Description = strings.TrimSpace(d.Description)
	if d.Description == "" {
		d.Description = d.Shape.description(d.mutating())
	}
	d.Model, d.Verify = strings.TrimSpace(d.Model), strings.TrimSpace(d.Verify)
	return d, nil
}

// mutating is the other axis of a role: whether it may change files.
func (d Draft) mutating() bool {
	return slices.ContainsFunc(d.Tools, func(t string) bool { t = strings.ToLower(t); return t == "edit" || t == "write" })
}

// tools are the smallest usual set.
func (s Shape) tools() []string {
	switch s {
	case Executor:
		return []string{"read", "bash", "edit", "write"}
	case Observer:
		return []string{"read"}
	}
	return []string{"read", "bash"}
}

// description is a routing contract that holds for the shape, on either side of
// the other axis.
func (s Shape) description(mutating bool) string {
	pick := func(changes, reads, when string) string {
		if mutating {
			return changes + "; use when " + when
		}
		return reads + "; use when " + when
	}
	switch s {
	case Reviewer:
		return pick("Reviews a change and mends what is confirmed", "Read-only review that reports confirmed findings only",
			"a change has to be judged by somebody who did not make it")
	case Specialist:
		return pick("Makes changes that need deep knowledge of one domain", "Read-only analysis with deep knowledge of one domain",
			"a decision depends on such knowledge")
	case Observer:
		return pick("Observes a state and keeps its record in files", "Read-only observation that reports readings and anomalies",
			"the state of something has to be known")
	}
	return pick("Carries a change through and verifies it", "Carries out a procedure that changes no files, and verifies the outcome",
		"a task says what has to be done and how to tell that it is done")
}

// frontmatter is the block, in the order in which people look for the keys.
func (d Draft) frontmatter(style yaml.Style) []byte {
	root := &yaml.Node{Kind: yaml.MappingNode}
	put := func(key, value string) {
		if value == "" {
			return
		}
		k, v := new(yaml.Node), new(yaml.Node)
		k.SetString(key)
		v.SetString(value)
		if key == keyWorktree {
			v.Tag = "!!bool"
		} else if style != 0 {
			v.Style = style
		}
		root.Content = append(root.Content, k, v)
	}
	put(keyName, d.Name)
	put(keyDescription, d.Description)
	put(keyTools, strings.Join(d.Tools, ", "))
	put(keyModel, d.Model)
	put(keyVerify, d.Verify)
	if d.Worktree {
		put(keyWorktree, "true")
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil // seen by matches
	}
	return out.Bytes()
}

// prompt is the body of the shape. Parts that depend on the other axis or on
// the keys stand in its template between lines {{name}} and {{end}}.
func (d Draft) prompt() string {
	text, err := skeletons.ReadFile("skeleton/" + string(d.Shape) + ".md")
	if err != nil {
		return "" // seen by matches
	}
	common, err := skeletons.ReadFile("skeleton/common.md")
	if err != nil {
		return ""
	}
	var out strings.Builder
	keep := true
	for line := range strings.Lines(string(text) + string(common)) {
		switch strings.TrimSpace(line) {
		case "{{mutating}}":
			keep = d.mutating()
		case "{{reading}}":
			keep = !d.mutating()
		case "{{gate}}":
			keep = d.Verify != ""
		case "{{end}}":
			keep = true
		default:
			if keep {
				out.WriteString(strings.ReplaceAll(line, "{{agent}}", d.Name))
			}
		}
	}
	return out.String()
}

// matches checks that text says what the draft says.
func (d Draft) matches(text []byte) error {
	for _, v := range []string{d.Description, d.Model, d.Verify, strings.Join(d.Tools, "")} {
		if !utf8.ValidString(v) {
			return errs.New(errs.Usage, "%q cannot be written, it is not UTF-8 text", clip(v))
		}
	}
	got, problems := Parse(d.Name+suffix, text)
	switch {
	case len(problems) > 0:
		return errs.New(errs.Usage, "the agent cannot be written: %s", problems[0].Message)
	case got == nil || got.Prompt == "":
		return errs.New(errs.Internal, "the skeleton of %s is missing", d.Shape)
	case got.Name != d.Name, got.Description != d.Description, got.Model != d.Model, got.Verify != d.Verify, got.Worktree != d.Worktree,
		!slices.Equal(got.Tools, unique(d.Tools)):
		return errs.New(errs.Usage, "the agent cannot be written, a value of it does not survive in a file")
	}
	return nil
}

// unique drops what stands twice.
func unique(list []string) (out []string) {
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Create writes a new definition and returns it with its place among the
// others. Nothing is overwritten: the error has code conflict when the scope
// has a file of that name, or an agent of that name in another file. It has
// code usage for a draft that cannot be written.
func Create(dirs Dirs, scope Scope, d Draft) (Agent, error) {
	text, err := d.Text()
	if err != nil {
		return Agent{}, err
	}
	path := dirs.Path(scope, d.Name)
	if path == "" {
		return Agent{}, errs.New(errs.Usage, "the scope %q has no directory", clip(string(scope)))
	}
	before, err := Discover(dirs)
	if err != nil {
		return Agent{}, err
	}
	for _, src := range before.sources {
		if src.parsed && src.agent.Name == d.Name && src.agent.Scope == scope && src.agent.Path != path {
			return Agent{}, taken(d.Name, src.agent.Path)
		}
	}
	base := dirs.Project
	if scope == User {
		base = dirs.Root
	}
	if err := fsx.MkdirAll(base, filepath.Dir(path)); err != nil {
		return Agent{}, err
	}
	switch err := fsx.Publish(path, text); {
	case errors.Is(err, fs.ErrExist):
		return Agent{}, taken(d.Name, path)
	case err != nil:
		return Agent{}, err
	}
	after, err := Discover(dirs)
	if err != nil {
		return Agent{}, err
	}
	for _, src := range after.sources {
		if src.agent.Path == path {
			return src.agent, nil
		}
	}
	return Agent{}, errs.New(errs.Failure, "is not there any more").WithPath(path)
}

func taken(name, path string) error {
	return errs.New(errs.Conflict, "there is a definition of %s already, nothing is overwritten", name).
		WithPath(path).WithHint("teams agents show %s", name)
}
