package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// roff collects a page in the man macros. All text is escaped, and all lines are
// ASCII of at most 80 characters, so that every formatter takes the page as it
// is.
type roff struct {
	b strings.Builder
	// fresh says that a heading or an indent has just begun, where a paragraph
	// needs no macro of its own.
	fresh bool
}

// roffLine is how long a line of the page is at most, without what ends it.
const roffLine = 78

// escape makes text of s: nothing in it has a meaning for roff.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`) // one that can be copied
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '\t':
			b.WriteString("    ")
		case r < ' ' || r == 0x7f:
		case r >= utf8.RuneSelf:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// protect keeps a line of text from being taken for a macro.
func protect(line string) string {
	if line != "" && line[0] == '.' {
		return `\&` + line
	}
	return line
}

func (p *roff) macro(s string) { p.b.WriteString(s + "\n") }

// section begins a section.
func (p *roff) section(title string) {
	p.macro(".SH " + quoted(title))
	p.fresh = true
}

// subsection begins a part of a section.
func (p *roff) subsection(title string) {
	p.macro(".SS " + quoted(title))
	p.fresh = true
}

func quoted(s string) string {
	s = escape(s)
	if strings.Contains(s, " ") {
		return `"` + s + `"`
	}
	return s
}

// fill writes escaped text, broken at its spaces.
func (p *roff) fill(text string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > roffLine {
			p.macro(protect(line))
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		p.macro(protect(line))
	}
	p.fresh = false
}

func (p *roff) newParagraph() {
	if !p.fresh {
		p.macro(".PP")
	}
	p.fresh = false
}

// paragraph writes a paragraph of plain text.
func (p *roff) paragraph(text string) {
	p.newParagraph()
	p.fill(escape(text))
}

// item writes a tag, in escaped text with its fonts, and what belongs to it.
func (p *roff) item(tag, text string) {
	p.macro(".TP")
	p.macro(protect(tag))
	if text == "" {
		text = `\&`
	}
	p.fill(text)
}

// indent and outdent surround what belongs to the item above.
func (p *roff) indent() {
	p.macro(".RS")
	p.fresh = true
}

func (p *roff) outdent() {
	p.macro(".RE")
	p.fresh = false
}

// literal writes lines as they are.
func (p *roff) literal(lines []string) {
	p.newParagraph()
	p.macro(".nf")
	for _, line := range lines {
		p.macro(breakLine(protect(escape(line))))
	}
	p.macro(".fi")
}

// breakLine joins the pieces of a line that is too long with a backslash at the
// end of each, which roff does not print.
func breakLine(line string) string {
	out := ""
	for len(line) > roffLine {
		i := strings.LastIndexByte(line[:roffLine], ' ')
		if i <= 0 {
			break
		}
		out += line[:i] + "\\\n"
		line = line[i:]
	}
	return out + line
}

// prose writes paragraphs, with lines that begin with a space as they are.
func (p *roff) prose(text string) {
	var paragraph, verbatim []string
	flush := func() {
		if len(paragraph) > 0 {
			p.paragraph(strings.Join(paragraph, " "))
		}
		if len(verbatim) > 0 {
			p.literal(verbatim)
		}
		paragraph, verbatim = nil, nil
	}
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			flush()
		case line[0] == ' ' || line[0] == '\t':
			if len(paragraph) > 0 {
				flush()
			}
			verbatim = append(verbatim, line)
		default:
			if len(verbatim) > 0 {
				flush()
			}
			paragraph = append(paragraph, line)
		}
	}
	flush()
}

func bold(s string) string   { return `\fB` + escape(s) + `\fR` }
func italic(s string) string { return `\fI` + escape(s) + `\fR` }

// usageTag writes a usage line: what is typed as it is bold, what stands for
// something else in italics.
func usageTag(usage string) string {
	words := strings.Fields(usage)
	for i, word := range words {
		bare := strings.Trim(word, "[]…|")
		switch {
		case word == "[flags]" || bare == "" || bare == "--":
			words[i] = escape(word)
		case strings.ToUpper(bare) == bare:
			words[i] = strings.Replace(escape(word), escape(bare), italic(bare), 1)
		default:
			words[i] = strings.Replace(escape(word), escape(bare), bold(bare), 1)
		}
	}
	return strings.Join(words, " ")
}

// flagTag writes a flag and what stands for its value.
func flagTag(v valueHelp) string {
	tag := bold("--" + v.Name)
	if v.Short != "" {
		tag = bold("-"+v.Short) + ", " + tag
	}
	if v.Value != "" {
		_, value, _ := strings.Cut(v.flag(), " ")
		tag += " " + italic(value)
	}
	return tag
}
