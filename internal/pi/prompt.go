package pi

import (
	"context"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// Mode says when the model shall see a prompt while a run goes on. An idle pi
// starts a run with either.
type Mode int

const (
	// Steer puts it into the running turn, behind the tools that run.
	Steer Mode = iota
	// FollowUp is for after the run and all that follows it.
	FollowUp
)

func (m Mode) behavior() string {
	if m == FollowUp {
		return "followUp"
	}
	return "steer"
}

// Outcome says what became of a prompt.
type Outcome int

const (
	// Acknowledged: pi has shown the text as a message of role user.
	Acknowledged Outcome = iota
	// Refused: pi said no. The error has its words.
	Refused
	// Lost: the text will never be seen. It may be sent again.
	Lost
	// Pending: the context ended before it was decided. Prompt with the same id
	// waits on and sends nothing twice.
	Pending
)

// String returns the outcome as one word.
func (o Outcome) String() string {
	switch o {
	case Acknowledged:
		return "acknowledged"
	case Refused:
		return "refused"
	case Lost:
		return "lost"
	}
	return "pending"
}

// prompt is one text on its way to the model.
type prompt struct {
	id      string
	text    string
	mode    Mode
	digest  digest
	command string // id of its command, "" until it is sent
	taken   bool   // pi said that it took it
	queued  bool   // pi has shown it in its queue
	suspect uint64 // epoch+1 in which pi was idle without having shown it; 0: none
	since   time.Time
	nudge   bool
	outcome Outcome
	err     error
	done    chan struct{}
}

// remembered is how many ids of acknowledged prompts are kept.
const remembered = 1024

// queue is what is on its way. It is guarded by Process.mu.
type queue struct {
	waiting  []*prompt // not sent yet
	sent     []*prompt // sent, and not decided
	inFlight *prompt   // sent, without response; the next one waits for that
	known    map[string]*prompt
	seen     map[string]bool // acknowledged
	seenRing [remembered]string
	seenNext int
	aborting int // calls of Interrupt
	closing  bool

	nudges   int // since the model last answered
	nudgeAt  time.Time
	nudgeOut bool
	owed     bool // a prompt was shown within an abort: it is in the context, and the model was not asked
}

func (q *queue) init() {
	q.known = make(map[string]*prompt)
	q.seen = make(map[string]bool)
}

// Prompt gives a text to the model and returns when it is known what became of
// it. Only one prompt is on its way to pi at a time, in the order of the calls;
// those with FollowUp are kept here until pi is idle.
//
// The id names the text: while it is pending, a second call with it waits for
// the first one's outcome, and once it was acknowledged, that is the answer at
// once; after Refused and Lost it is sent anew. Bytes that are no UTF-8 are
// replaced, and a text that pi would take as a command (it begins with / or !)
// has a line put before it. A text that an extension of pi rewrites is not known
// again, and counts as Lost.
//
// The error is nil for Acknowledged alone; it has code usage for an empty text,
// and is that of ctx for Pending.
func (p *Process) Prompt(ctx context.Context, id, text string, mode Mode) (Outcome, error) {
	if strings.TrimSpace(text) == "" {
		return Refused, errs.New(errs.Usage, "a prompt without text")
	}
	p.mu.Lock()
	switch {
	case p.seen[id]:
		p.mu.Unlock()
		return Acknowledged, nil
	case p.ended || p.closing:
		p.mu.Unlock()
		return Lost, p.endedError()
	}
	q, ok := p.known[id]
	if !ok {
		q = newPrompt(id, text, mode)
		p.known[id] = q
		p.waiting = append(p.waiting, q)
		p.update()
	}
	p.mu.Unlock()
	select {
	case <-q.done:
		return q.outcome, q.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-q.done:
		return q.outcome, q.err
	default:
	}
	if q.command == "" && !ok {
		// Not sent yet, so it need not be. Whoever waits with it asks again.
		p.waiting = without(p.waiting, q)
		p.decide(q, Pending, ctx.Err())
	}
	return Pending, ctx.Err()
}

func newPrompt(id, text string, mode Mode) *prompt {
	text = Escape(text)
	return &prompt{id: id, text: text, mode: mode, digest: digestOf(text), done: make(chan struct{})}
}

// Escape returns the text as Prompt sends it: valid UTF-8, and with a line
// before it if pi would take it as a command.
func Escape(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if c := strings.TrimSpace(text); c != "" && (c[0] == '/' || c[0] == '!') {
		return "Message:\n" + text
	}
	return text
}

func without(list []*prompt, q *prompt) []*prompt {
	for i, other := range list {
		if other == q {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}

// decide settles a prompt. Callers hold mu.
func (p *Process) decide(q *prompt, outcome Outcome, err error) {
	p.sent = without(p.sent, q)
	if p.inFlight == q && outcome != Acknowledged {
		p.inFlight = nil
	}
	if p.known[q.id] == q {
		delete(p.known, q.id)
	}
	q.outcome, q.err = outcome, err
	close(q.done)
	if q.nudge {
		p.nudgeOut = false
		return
	}
	if outcome == Acknowledged {
		delete(p.seen, p.seenRing[p.seenNext])
		p.seenRing[p.seenNext] = q.id
		p.seenNext = (p.seenNext + 1) % remembered
		p.seen[q.id] = true
	}
}

// pump sends the next prompt if there is one and its time has come. Callers
// hold mu.
func (p *Process) pump() {
	if p.inFlight != nil || p.ended || p.closing || p.aborting > 0 || len(p.waiting) == 0 {
		return
	}
	if p.settling || p.compacting || p.retrying {
		return // what pi says of itself now may be over when it reads a prompt
	}
	idle := !p.streaming && !p.starting
	for _, q := range p.waiting {
		if q.mode == Steer || idle {
			p.send(q)
			return
		}
	}
}

func (p *Process) send(q *prompt) {
	p.waiting = without(p.waiting, q)
	p.sent = append(p.sent, q)
	q.command, q.taken, q.queued, q.suspect = p.nextID("p"), false, false, 0
	p.inFlight = q
	p.lines.put(struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Message  string `json:"message"`
		Behavior string `json:"streamingBehavior"`
	}{q.command, "prompt", q.text, q.mode.behavior()})
}

// onPromptResponse takes pi's answer to the prompt in flight.
func (p *Process) onPromptResponse(ev event) {
	q := p.inFlight
	p.inFlight = nil
	q.taken = true
	select {
	case <-q.done: // shown already
		return
	default:
	}
	switch {
	case !ev.success:
		p.decide(q, Refused, errs.New(errs.Failure, "pi refused the prompt: %s", ev.err))
	case !q.queued && !p.streaming:
		p.epoch++
		p.starting = true // its run is to come
	}
}

// onUser takes a message of role user: that is the delivery of a prompt.
func (p *Process) onUser(ev event) {
	for _, q := range p.sent {
		if q.digest != ev.text {
			continue
		}
		kind := Delivered
		if q.nudge {
			kind = Nudged
		}
		p.out.activity(Activity{Kind: kind, Text: firstLine(ev.head)})
		p.decide(q, Acknowledged, nil)
		p.owed = p.aborting > 0 && !p.closing
		return
	}
}

// onQueue takes what pi has in its queue.
func (p *Process) onQueue(list []digest) {
	count := make(map[digest]int, len(list))
	for _, d := range list {
		count[d]++
	}
	for _, q := range p.sent {
		if count[q.digest] > 0 {
			count[q.digest]--
			q.queued = true
		}
	}
}

// stuck counts the prompts that pi has in its queue.
func (p *Process) stuck() (n int) {
	for _, q := range p.sent {
		if q.queued {
			n++
		}
	}
	return n
}

// endAll settles everything when pi has ended: its queue is gone with it.
func (p *Process) endAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	err := errs.New(errs.Stopped, "%s", p.exit.Reason())
	for _, list := range [][]*prompt{append([]*prompt(nil), p.sent...), p.waiting} {
		for _, q := range list {
			p.decide(q, Lost, err)
		}
	}
	p.waiting = nil
	p.update()
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	line, _, _ := strings.Cut(s, "\n")
	return line
}
