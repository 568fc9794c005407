package inbox

import "strings"

// AgentText is the message in the form for a model: an element agent-message
// with the facts as attributes and the body as its content. No body can forge a
// sender, since what could open or close an element is escaped.
func (m *Message) AgentText() string {
	attr := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;", "\n", " ", "\r", " ", "\t", " ")
	body := strings.NewReplacer("&", "&amp;", "<", "&lt;")
	var b strings.Builder
	b.WriteString(`<agent-message from="` + attr.Replace(m.From) + `" id="` + attr.Replace(m.ID) + `"`)
	for _, a := range []struct{ name, value string }{
		{"kind", m.kindAttr()}, {"event", m.Event}, {"status", m.Status}, {"task", m.Task},
		{"reply-to", m.ReplyTo}, {"expects-reply", m.ExpectsReply},
	} {
		if a.value != "" {
			b.WriteString(" " + a.name + `="` + attr.Replace(a.value) + `"`)
		}
	}
	b.WriteString(">\n" + body.Replace(string(m.Body)))
	if len(m.Body) > 0 && m.Body[len(m.Body)-1] != '\n' {
		b.WriteByte('\n')
	}
	b.WriteString("</agent-message>\n")
	return b.String()
}

// kindAttr leaves the usual kind out.
func (m *Message) kindAttr() string {
	if m.Kind == KindNotice {
		return m.Kind
	}
	return ""
}
