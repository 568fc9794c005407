package pi

// UIRequest is a dialog that an extension of pi opens. Its texts are cut.
type UIRequest struct {
	ID          string
	Method      string // select, confirm, input or editor
	Title       string
	Message     string
	Placeholder string
	Prefill     string
	Options     []string
}

// UIAnswer answers a UIRequest; the zero value declines it.
type UIAnswer struct {
	Answered  bool
	Value     string // of select, input and editor
	Confirmed bool   // of confirm
}

// onDialog has a dialog answered. An extension that waits for an answer keeps
// the whole of pi waiting, so one is given in any case.
func (p *Process) onDialog(ev event) {
	r := ev.ui
	r.ID = ev.id
	switch r.Method {
	case "notify", "setStatus", "setWidget", "setTitle", "set_editor_text":
		return // needs no answer
	}
	if p.c.OnUI == nil {
		p.answer(r, UIAnswer{})
		return
	}
	go func() { p.answer(r, p.c.OnUI(p.ctx, r)) }()
}

func (p *Process) answer(r UIRequest, a UIAnswer) {
	line := struct {
		Type      string  `json:"type"`
		ID        string  `json:"id"`
		Value     *string `json:"value,omitempty"`
		Confirmed *bool   `json:"confirmed,omitempty"`
		Cancelled bool    `json:"cancelled,omitempty"`
	}{Type: "extension_ui_response", ID: r.ID}
	switch {
	case !a.Answered:
		line.Cancelled = true
	case r.Method == "confirm":
		line.Confirmed = &a.Confirmed
	default:
		line.Value = &a.Value
	}
	p.lines.put(line)
}
