package worktree

import (
	"bytes"
	"context"
	"os"
	"strings"

	"github.com/seed6990a682/teams/internal/fsx"
)

const (
	maxPreview = 64 << 10
	statFiles  = "100" // lines of Stat; the last one still counts all
)

// describe tells how the work differs from where it began: Base if that is not
// known yet, Changed, Stat, Preview, Cut and Command.
func (r *repo) describe(ctx context.Context, res *Result) error {
	tip, err := r.branchTip(ctx, res.Branch)
	if err != nil {
		return err
	}
	show := res.Branch
	switch {
	case tip != "":
		res.Head = tip
	case res.Head == "":
		return nil
	default:
		show = res.Head
	}
	base, err := r.tip(ctx, res.Base)
	if res.Base == "" || base == "" {
		base, err = r.ask(ctx, "merge-base", "HEAD", res.Head)
	}
	if exitCode(err) > 0 {
		res.Base = "" // nothing in common with it
		return nil
	}
	if err != nil {
		return err
	}
	res.Base = base
	if base == res.Head {
		return nil
	}
	res.Command = "git -C " + shellQuote(r.project) + " diff " + base[:min(len(base), 12)] + " " + shellQuote(show) + " --"
	stat, err := r.diff(ctx, base, res.Head, 1<<20, "--stat=100", "--stat-count="+statFiles)
	if err != nil {
		return err
	}
	res.Stat, res.Changed = string(stat.out), len(stat.out) > 0
	whole, err := r.diff(ctx, base, res.Head, maxPreview, "--patch")
	if err != nil {
		return err
	}
	res.Cut = whole.cut
	if whole.cut {
		whole.out = whole.out[:bytes.LastIndexByte(whole.out, '\n')+1]
	}
	res.Preview = string(whole.out)
	return nil
}

// diff compares two commits, without the programs and the looks that the user
// may have configured.
func (r *repo) diff(ctx context.Context, from, to string, limit int64, how ...string) (answer, error) {
	args := []string{"-c", "diff.relative=false", "diff", "-O" + os.DevNull, "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--submodule=short",
		"--src-prefix=a/", "--dst-prefix=b/"}
	args = append(args, how...)
	return r.git.run(ctx, call{dir: r.common, env: r.env(), limit: limit, args: append(args, from, to, "--")})
}

// shellQuote makes one word of s for a shell.
func shellQuote(s string) string {
	plain := s != ""
	for _, c := range []byte(s) {
		plain = plain && ('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/._-+:,@%", c) >= 0)
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Text is the result as plain text for the leader. Paths and the difference
// stand in it as they are.
func (res Result) Text() string {
	var b strings.Builder
	line := func(parts ...string) { b.WriteString(strings.Join(parts, "") + "\n") }
	switch {
	case res.Head == "":
		line("No commit of the worktree ", res.Path, " is there.")
	case !res.Changed:
		line("The worktree's branch ", res.Branch, " brings no change.")
	default:
		line("The work is on the branch ", res.Branch, ".")
	}
	for _, other := range res.Others {
		line("More is on the branch ", other, ".")
	}
	if res.Commit != "" {
		line("What was left uncommitted was committed as ", res.Commit[:min(len(res.Commit), 12)], ".")
	}
	if len(res.Conflicts) > 0 {
		names := make([]string, len(res.Conflicts))
		for i, name := range res.Conflicts {
			names[i] = fsx.SafeLine(name)
		}
		line("Unresolved conflicts are in: ", strings.Join(names, ", "), ".")
	}
	if res.Kept != "" {
		line("The directory ", res.Path, " stays: ", res.Kept, ".")
	}
	if !res.Changed {
		return b.String()
	}
	line("\n", strings.TrimRight(res.Stat, "\n"), "\n")
	line("Show all of it: ", res.Command, "\n")
	b.WriteString(res.Preview)
	if res.Cut {
		line("[… the rest is cut]")
	}
	return b.String()
}
