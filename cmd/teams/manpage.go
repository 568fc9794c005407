package main

import (
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
)

// manDate is when the prose of the page was last changed.
const manDate = "2026-11-30"

// manPage makes the manual page of everything that the registry has.
func manPage() (string, error) {
	p := new(roff)
	p.macro(`.\" Made by: teams man`)
	p.macro(`.TH TEAMS 1 ` + manDate + ` "teams ` + version + `"`)
	p.macro(".nh") // no hyphens: what is named here can be typed
	p.macro(".ad l")
	p.section("NAME")
	p.macro(`teams \- a team of coding agents, scripts and people on one codebase`)
	p.section("SYNOPSIS")
	p.fill(bold("teams") + " [" + italic("global flags") + "] " + italic("COMMAND") + " [" + italic("flags") + "] [" + italic("arguments") + "] [\\-\\- " + italic("CMD") + " ...]")
	p.fresh = false
	p.newParagraph()
	p.fill(bold("teams") + " " + italic("COMMAND") + " " + bold("--help"))
	p.section("DESCRIPTION")
	p.prose(manDescription)
	p.section("GLOBAL FLAGS")
	h, err := describe(&taskAddEntry)
	if err != nil {
		return "", err
	}
	p.paragraph("They stand anywhere before the first \"--\".")
	for _, f := range h.Globals {
		p.item(flagTag(f), escape(f.note()))
	}
	p.section("COMMANDS")
	if err := p.commands(); err != nil {
		return "", err
	}
	p.section("EXIT STATUS")
	p.exits()
	p.section("JSON OUTPUT")
	p.prose(manJSON)
	p.section("FILES")
	p.paragraph("All of them lie below the root, which teams where prints. Directories have mode 0700, files 0600.")
	for _, f := range manFiles() {
		p.item(italic(f[0]), escape(f[1]))
	}
	p.section("ENVIRONMENT")
	p.paragraph("A flag wins over the environment, that over the default. A variable that is set and empty counts as not set.")
	for _, s := range manSettings() {
		p.item(bold(s[0]), escape(s[1]))
	}
	p.section("EXAMPLES")
	for _, x := range manExamples() {
		p.paragraph(x.what)
		p.macro(".RS 4")
		p.fresh = true
		p.literal(x.lines)
		p.outdent()
	}
	p.section("SEE ALSO")
	p.fill(`\fBgit\fR(1), \fBflock\fR(1), \fBjq\fR(1)`)
	p.newParagraph()
	p.fill(escape("The manual, the format of the files and that of the JSON are in the directory docs of the source."))
	return p.b.String(), nil
}

// commands writes every visible command under its group.
func (p *roff) commands() error {
	group := ""
	for _, entry := range children("") {
		if entry.Group != group {
			group = entry.Group
			p.subsection(group)
		}
		h, err := describe(entry)
		if err != nil {
			return err
		}
		p.macro(".TP")
		for i, u := range h.Usage {
			if i > 0 {
				p.macro(".TQ")
			}
			p.macro(usageTag(u))
		}
		p.fill(escape(h.Summary + "."))
		p.indent()
		p.fresh = false
		if h.Detail != "" {
			p.prose(h.Detail)
		}
		for _, a := range h.Arguments {
			p.item(italic(a.Value), escape(a.note()))
		}
		for _, f := range h.Flags {
			p.item(flagTag(f), escape(f.note()))
		}
		p.literal(h.Examples)
		p.outdent()
	}
	return nil
}

// exits writes the table of exit codes, with the error codes of each.
func (p *roff) exits() {
	p.item(bold("0"), "success")
	last := -1
	for _, e := range errs.Table() {
		if e.Exit != last {
			if last >= 0 {
				p.outdent()
			}
			last = e.Exit
			p.item(bold(strconv.Itoa(e.Exit)), escape(exitMeaning(e.Exit)))
			p.indent()
			p.fresh = false
		}
		p.item(bold(string(e.Code)), escape(e.Meaning))
	}
	if last >= 0 {
		p.outdent()
	}
	p.paragraph("Any other exit status means failure as well: a fatal error of the runtime exits 2 with \"fatal error:\" on standard error.")
}

// exitMeaning says what an exit code stands for in general.
func exitMeaning(code int) string {
	switch code {
	case 1:
		return "failure"
	case 2:
		return "blocked: nothing can be claimed, no mail, all waiting"
	case 3:
		return "not found, or nothing left"
	case 4:
		return "conflict: lost, not the holder, there already, or a limit was reached"
	case 5:
		return "wrong identity or role"
	case 64:
		return "wrong usage; nothing was changed"
	case 70:
		return "internal error"
	case 75:
		return "busy: a lock was not free in time"
	case 124:
		return "the time limit passed"
	case 130:
		return "interrupted"
	}
	return strings.TrimSpace("failure")
}
