package console

import (
	"context"
	"slices"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// LookEvery is how long the console waits between two looks at least.
const LookEvery = 100 * time.Millisecond

const (
	spinEvery  = 100 * time.Millisecond // between two pictures of a spinner
	agesEvery  = 30 * time.Second       // ages are written anew
	retryAfter = time.Second            // after a look that failed
)

// Options say what a console shows and does.
type Options struct {
	Source Source
	Acts   Acts
	Color  bool             // escape sequences for colours may be used
	Now    func() time.Time // nil: the wall clock
}

// pageState is what a page remembers while another one is shown.
type pageState struct {
	filter   string
	selected string // id of the selected row
	index    int    // where that row was last
	top      int    // first row on the screen
}

// model is the state of the console. It is for one goroutine: it takes messages,
// each of which may ask for commands that run beside it and bring the next ones,
// and gives a screen.
type model struct {
	o   Options
	ctx context.Context

	width, height int
	snap          *Snapshot
	stale         string // why the snapshot is old, "" when it is not
	looked        time.Time

	page  Page
	pages [pageCount]pageState
	rows  []row // of the page, filtered
	all   int   // before the filter

	mode   mode
	detail detail
	prompt prompt

	note     string // the line above the hints
	noteBad  bool
	asked    *prompt // the prompt that an act is begun from
	frame    int     // of the spinner
	spinning bool
}

// mode says what the keys are for.
type mode int

const (
	browsing mode = iota
	filtering
	prompting // a line is asked for
	asking    // y or n
	helping
)

// newModel returns a console that has not looked yet. ctx bounds its looks and acts.
func newModel(ctx context.Context, o Options) *model {
	if o.Now == nil {
		o.Now = fsx.Now
	}
	return &model{o: o, ctx: ctx, width: 80, height: 24}
}

// command is work that takes time. It runs in a goroutine of its own and brings
// a message; nil is none.
type command func() any

// later brings a message after a while.
func later(ctx context.Context, d time.Duration, msg any) command {
	return func() any {
		pause(ctx, d)
		return msg
	}
}

// The messages of the console to itself.
type (
	// lookedMsg brings what a look found.
	lookedMsg struct {
		snap *Snapshot
		err  error
		at   time.Time
	}
	// detailMsg brings the text of a detail.
	detailMsg struct {
		page Page
		id   string
		text string
		err  error
	}
	// doneMsg says what an act did.
	doneMsg struct {
		note  string
		err   error
		asked *prompt // what was typed before it, nil for nothing
	}
	spinMsg struct{}
	agesMsg struct{}
	quitMsg struct{} // the console is left
	stopMsg struct{} // the shell gets the terminal until it lets us go on
)

// begin returns the first commands: the first look.
func (m *model) begin() []command { return []command{m.look(false), m.agesLater()} }

// look looks, after it has waited for a change.
func (m *model) look(wait bool) command {
	ctx, src, last, failed := m.ctx, m.o.Source, m.looked, m.stale != ""
	return func() any {
		if wait {
			if failed {
				pause(ctx, retryAfter)
			} else if err := src.Wait(ctx); err != nil && ctx.Err() == nil {
				pause(ctx, retryAfter)
			}
			pause(ctx, LookEvery-time.Since(last))
		}
		if ctx.Err() != nil {
			return nil
		}
		at := time.Now()
		snap, err := src.Look(ctx)
		return lookedMsg{snap, err, at}
	}
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (m *model) agesLater() command { return later(m.ctx, agesEvery, agesMsg{}) }

// handle takes one message and returns the commands that it asks for.
func (m *model) handle(msg any) []command {
	cmds := m.update(msg)
	if cmd := m.spin(); cmd != nil {
		cmds = append(cmds, cmd)
	}
	return cmds
}

func (m *model) update(msg any) []command {
	switch msg := msg.(type) {
	case sizeMsg:
		m.width, m.height = msg.width, msg.height
		m.follow()
	case lookedMsg:
		return []command{m.take(msg), m.look(true)}
	case detailMsg:
		m.takeDetail(msg)
	case doneMsg:
		m.say(msg.note, msg.err)
		if msg.err != nil && msg.asked != nil && m.mode == browsing {
			// What was typed is not lost, it may be mended.
			m.mode, m.prompt = prompting, *msg.asked
		}
	case spinMsg:
		m.spinning = false
		m.frame++
	case agesMsg:
		return []command{m.agesLater()}
	case keyMsg:
		return []command{m.key(msg)}
	case pasteMsg:
		m.paste(string(msg))
	case mouseMsg:
		return []command{m.mouse(msg)}
	}
	return nil
}

// take takes what a look found.
func (m *model) take(msg lookedMsg) command {
	m.looked = msg.at
	m.stale = ""
	if msg.err != nil {
		m.stale = errorText(msg.err)
		return nil
	}
	before := m.snap
	m.snap = msg.snap
	m.refresh()
	// What a role says is asked of git too, so it is only read again for a change.
	if m.detail.open && !(m.detail.page == Roles && before != nil && slices.Equal(before.Roles, m.snap.Roles)) {
		return m.fetch(m.detail.page, m.detail.id)
	}
	return nil
}

// refresh makes the rows of the page anew.
func (m *model) refresh() {
	rows := rowsOf(m.page, m.snap)
	m.all = len(rows)
	m.rows = filter(rows, m.pages[m.page].filter)
	m.follow()
}

// follow keeps the selection on the row that it was on, or near it, and on the
// screen.
func (m *model) follow() {
	p := &m.pages[m.page]
	if len(m.rows) == 0 {
		p.index, p.top = 0, 0
		return
	}
	at := -1
	if p.index < len(m.rows) && m.rows[p.index].id == p.selected {
		at = p.index
	} else {
		for i, r := range m.rows {
			if r.id == p.selected {
				at = i
				break
			}
		}
	}
	if at < 0 {
		at = min(p.index, len(m.rows)-1)
	}
	m.selectAt(at)
}

// selectAt selects a row of the page.
func (m *model) selectAt(i int) {
	p := &m.pages[m.page]
	if len(m.rows) == 0 {
		return
	}
	i = min(max(i, 0), len(m.rows)-1)
	p.index, p.selected = i, m.rows[i].id
	n := m.listHeight()
	p.top = min(p.top, i)
	p.top = max(p.top, i-n+1)
	p.top = max(min(p.top, len(m.rows)-n), 0)
}

// selected is the id of the selected row, "" when there is none.
func (m *model) selected() string {
	p := m.pages[m.page]
	if p.index < len(m.rows) {
		return m.rows[p.index].id
	}
	return ""
}

// turn shows another page.
func (m *model) turn(p Page) {
	m.page = (p%pageCount + pageCount) % pageCount
	m.detail = detail{}
	m.refresh()
}

// say puts a line above the hints.
func (m *model) say(text string, err error) {
	m.note, m.noteBad = line(text), err != nil
	if err != nil {
		m.note = errorText(err)
	}
}

// spin moves the spinners while there are any to be seen. There is one ticker at
// most.
func (m *model) spin() command {
	if m.spinning || !m.spinnersShown() {
		return nil
	}
	m.spinning = true
	return later(m.ctx, spinEvery, spinMsg{})
}

func (m *model) spinnersShown() bool {
	if m.page != Roster || m.detail.open || m.mode == helping {
		return false
	}
	top := m.pages[Roster].top
	for _, r := range m.rows[min(top, len(m.rows)):min(top+m.listHeight(), len(m.rows))] {
		if r.cells[0].text == spinner {
			return true
		}
	}
	return false
}
