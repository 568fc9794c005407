package render

import "strings"

const tabStop = 8 // cells between the stops of a tab

// spans writes cells without anything between them as one line, cut to the
// width of the terminal. Their text is safe already.
func (w *Writer) spans(cells []Cell) {
	room := w.opt.Width
	for i, c := range cells {
		s := c.Text
		if w.Terminal() {
			rest := 0
			for _, later := range cells[i+1:] {
				rest += Width(later.Text)
			}
			n := Width(s)
			if n > room || n == room && rest > 0 {
				// The sign of the cut takes the last cell.
				w.buf.WriteString(w.style(c.Style, cutTo(s, room)))
				break
			}
			room -= n
		}
		w.buf.WriteString(w.style(c.Style, s))
	}
	w.buf.WriteByte('\n')
}

// cutTo cuts s, which more would follow, to cells with a sign for the rest.
func cutTo(s string, cells int) string {
	if Width(s) > cells {
		return Truncate(s, cells)
	}
	return Truncate(s+ellipsis+ellipsis, cells)
}

// indented writes one line of the expanded form: a label and what belongs to
// it. With Wrap a line that is too long is broken; what then stands on a line
// of its own is indented, so that it never looks like a label.
func (w *Writer) indented(indent int, label, rest string) {
	if !w.opt.Wrap || !w.Terminal() {
		w.buf.WriteString(strings.Repeat(" ", indent))
		w.buf.WriteString(w.style(Cyan, label))
		w.buf.WriteString(rest)
		w.buf.WriteByte('\n')
		return
	}
	width := w.opt.Width
	indent = min(indent, width/2)
	label = Truncate(label, width-indent)
	hang := min(indent+2, width/2)
	pad := strings.Repeat(" ", indent)
	for i, line := range breakLine(label+rest, width-indent, width-hang, true) {
		if i > 0 {
			pad = strings.Repeat(" ", hang)
			line = strings.TrimLeft(line, " ")
		} else if strings.HasPrefix(line, label) {
			w.buf.WriteString(pad + w.style(Cyan, label) + strings.TrimRight(line[len(label):], " ") + "\n")
			continue
		}
		w.buf.WriteString(pad + strings.TrimRight(line, " ") + "\n")
	}
}

// rawBlock writes the lines of a text as they are, safe for a terminal, and one
// blank line behind them. Line breaks at its end are not its content.
func (w *Writer) rawBlock(s string) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = w.opt.SafeText(strings.TrimRight(s, "\n"))
	if s != "" {
		for line := range strings.SplitSeq(s, "\n") {
			w.rawLine(line)
		}
	}
	w.buf.WriteByte('\n')
}

func (w *Writer) rawLine(line string) {
	if !w.opt.Wrap || !w.Terminal() {
		w.buf.WriteString(line)
		w.buf.WriteByte('\n')
		return
	}
	for _, piece := range breakLine(expandTabs(line), w.opt.Width, w.opt.Width, false) {
		w.buf.WriteString(piece)
		w.buf.WriteByte('\n')
	}
}

// expandTabs replaces tabs by the spaces that they stand for.
func expandTabs(s string) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	column := 0
	for i, part := range strings.Split(s, "\t") {
		if i > 0 {
			n := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", n))
			column += n
		}
		b.WriteString(part)
		column += Width(part)
	}
	return b.String()
}

// breakLine cuts a line into pieces of at most first cells, and then of at most
// rest cells: behind a space or beside a wide character where that is possible.
// Nothing of it is lost; with hang a space at the end of a piece may stand
// beyond its cells. A character that is wider than a piece is replaced by the
// sign of a cut.
func breakLine(s string, first, rest int, hang bool) (pieces []string) {
	room := max(first, 1)
	start, used := 0, 0
	at := 0 // the last place to break
	for i := 0; i < len(s); {
		size, n := cluster(s[i:])
		if n == 2 && i > start {
			at = i
		}
		if hang && used == room && s[i] == ' ' && size == 1 {
			n = 0
		}
		if used+n > room {
			switch {
			case at > start:
				pieces = append(pieces, s[start:at])
				start, used, i = at, 0, at // what is carried over may not fit either
			case i > start:
				pieces = append(pieces, s[start:i])
				start, used = i, 0
			default:
				pieces = append(pieces, ellipsis)
				i += size
				start = i
			}
			at, room = start, max(rest, 1)
			continue
		}
		used += n
		i += size
		if s[i-1] == ' ' || n == 2 {
			at = i
		}
	}
	if start < len(s) || len(pieces) == 0 {
		pieces = append(pieces, s[start:])
	}
	return pieces
}
