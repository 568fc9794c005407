package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// eventQuestion is the notice of an open question. It starts no turn: only a
// person may answer.
const eventQuestion = "question"

// What a question may hold.
const (
	maxQuestion   = 64 << 10 // bytes, of a question and of an answer
	minOptions    = 2
	maxOptions    = 5
	maxOptionText = 60 // characters
)

// askLook is how often a waiting asker looks although nothing was told to it.
const askLook = 2 * time.Second

// Check refuses a question that cannot be asked, with usage, and folds its
// options.
func (a *Ask) Check() error {
	a.Question = strings.TrimSpace(a.Question)
	switch {
	case a.Question == "":
		return errs.New(errs.Usage, "the question is empty")
	case len(a.Question) > maxQuestion:
		return errs.New(errs.Usage, "the question is longer than %d bytes", maxQuestion)
	case len(a.Options) == 0 && (a.Multi || a.AllowOther):
		return errs.New(errs.Usage, "--multi and --other go with options; without them any text is an answer")
	case len(a.Options) != 0 && (len(a.Options) < minOptions || len(a.Options) > maxOptions):
		return errs.New(errs.Usage, "a question has %d to %d options, or none, and not %d", minOptions, maxOptions, len(a.Options))
	}
	seen := map[string]bool{}
	options := make([]string, 0, len(a.Options))
	for _, o := range a.Options {
		o = strings.Join(strings.Fields(o), " ")
		lower := strings.ToLower(o)
		switch {
		case o == "":
			return errs.New(errs.Usage, "an option is empty")
		case utf8.RuneCountInString(o) > maxOptionText:
			return errs.New(errs.Usage, "the option %q is longer than %d characters", o, maxOptionText)
		case lower == "other" || lower == "other…" || lower == "other...":
			return errs.New(errs.Usage, "the option %q has another meaning: --other allows a text beside the options", o)
		case seen[lower]:
			return errs.New(errs.Usage, "the option %q stands there twice", o)
		}
		seen[lower] = true
		options = append(options, o)
	}
	a.Options = options
	return nil
}

// Choose makes an answer of what a person typed. With options these are their
// labels, in upper or lower case, or their numbers from 1; with Multi several,
// also with commas between them; with AllowOther anything else is a text of its
// own. Without options all of it is the answer. The error is of code usage.
func (a *Ask) Choose(args []string) (AskAnswer, error) {
	return a.ChooseWith(args, "")
}

// ChooseWith is Choose with a text of its own beside the options, "" for none,
// of which no part is taken for an option.
func (a *Ask) ChooseWith(args []string, other string) (AskAnswer, error) {
	out := AskAnswer{Outcome: AskAnswered}
	if len(a.Options) == 0 {
		out.Text = strings.TrimRight(strings.Join(args, " "), "\r\n")
		if strings.TrimSpace(out.Text) == "" {
			return out, errs.New(errs.Usage, "the answer is empty").WithHint("teams answer %s --decline", a.name())
		}
		if len(out.Text) > maxQuestion {
			return out, errs.New(errs.Usage, "the answer is longer than %d bytes", maxQuestion)
		}
		return out, nil
	}
	var others []string
	chosen := map[int]bool{}
	for _, arg := range args {
		list, rest, err := a.options(arg)
		if err != nil {
			return out, err
		}
		if rest != "" {
			others = append(others, rest)
		}
		for _, i := range list {
			chosen[i] = true
		}
	}
	if other = strings.TrimSpace(other); other != "" {
		others = append(others, other)
	}
	for i, o := range a.Options {
		if chosen[i] {
			out.Choices = append(out.Choices, o)
		}
	}
	out.Other = strings.Join(others, " ")
	n := len(out.Choices)
	if out.Other != "" {
		n++
	}
	switch {
	case n == 0:
		return out, a.noChoice("no option was named")
	case n > 1 && !a.Multi:
		return out, a.noChoice("only one option may be chosen")
	case len(out.Other) > maxQuestion:
		return out, errs.New(errs.Usage, "the answer is longer than %d bytes", maxQuestion)
	}
	out.Text = strings.Join(out.Choices, "\n")
	if out.Other != "" {
		if out.Text != "" {
			out.Text += "\n"
		}
		out.Text += out.Other
	}
	return out, nil
}

// name is the id in a hint, also of a question that has none.
func (a *Ask) name() string {
	if a.ID == "" {
		return "ID"
	}
	return a.ID
}

// options returns which options one word means, and what of it is a text of its
// own.
func (a *Ask) options(arg string) (list []int, rest string, err error) {
	if i := a.option(arg); i >= 0 {
		return []int{i}, "", nil
	}
	rest = strings.TrimSpace(arg)
	if a.Multi && strings.Contains(arg, ",") {
		var others []string
		for _, part := range strings.Split(arg, ",") {
			if i := a.option(part); i >= 0 {
				list = append(list, i)
			} else if part = strings.TrimSpace(part); part != "" {
				others = append(others, part)
			}
		}
		if list != nil {
			rest = strings.Join(others, ", ")
		}
		if rest == "" {
			return list, "", nil
		}
	}
	switch {
	case rest == "":
		return nil, "", a.noChoice("an empty text is no option")
	case !a.AllowOther:
		return nil, "", a.noChoice(fmt.Sprintf("%q is no option", rest))
	case rest == strconv.Itoa(len(a.Options)+1):
		return nil, "", a.noChoice("the other answer has to be written out")
	}
	return list, rest, nil
}

// option returns the index of a label or a number, -1 for anything else.
func (a *Ask) option(arg string) int {
	arg = strings.Join(strings.Fields(arg), " ")
	for i, o := range a.Options {
		if o == arg {
			return i
		}
	}
	for i, o := range a.Options {
		if strings.EqualFold(o, arg) {
			return i
		}
	}
	if n, err := strconv.Atoi(arg); err == nil && n >= 1 && n <= len(a.Options) && arg[0] != '+' {
		return n - 1
	}
	return -1
}

// noChoice is the error of an answer that is none, with what could be one.
func (a *Ask) noChoice(why string) error {
	text := why + ", there are: " + strings.Join(a.Numbered(), ", ")
	if a.AllowOther {
		text += ", or any other text"
	}
	return errs.New(errs.Usage, "%s", text).WithHint("teams answer %s 1", a.name()).WithDetail("options", a.Options)
}

// Numbered returns the options with their numbers.
func (a *Ask) Numbered() []string {
	out := make([]string, len(a.Options))
	for i, o := range a.Options {
		out[i] = strconv.Itoa(i+1) + ") " + o
	}
	return out
}

// Ask asks a person and waits for the answer: from, question, options and the
// like are taken from a, all else is filled in. posted is called, if it is not
// nil, when the question can be answered. Where the system gives no notice of
// files it looks every poll.
//
// A question that was declined is an error of code declined, with the question.
// When ctx ends, the question is withdrawn and the error is that of ctx, unless
// an answer was first.
func (t *Team) Ask(ctx context.Context, who Identity, a Ask, poll time.Duration, posted func(Question)) (Question, error) {
	q := Question{Ask: a, State: AskOpen}
	if err := q.Check(); err != nil {
		return q, err
	}
	if _, err := t.EnsureSession(); err != nil {
		return q, err
	}
	if err := fsx.MkdirAll(t.Root, t.asksDir()); err != nil {
		return q, err
	}
	// What others left is no reason not to ask.
	_, _ = t.SweepAsks(ctx)
	var err error
	if q.Process, err = fsx.Self(); err != nil {
		return q, err
	}
	q.From, q.SpawnID, q.CreatedAt = who.Name, who.SpawnID, nowMillis()
	if deadline, ok := ctx.Deadline(); ok {
		q.DeadlineAt = fsx.Now().Add(time.Until(deadline)).UnixMilli()
	}
	if q.Notice, _, err = t.noticeID(ctx); err != nil {
		return q, err
	}
	if err := t.publishAsk(&q); err != nil {
		return q, err
	}
	w := fsx.NewWatcher(poll, t.asksDir())
	defer w.Close()
	t.announceAsk(&q)
	t.asksChanged(ctx, q.From)
	if posted != nil {
		posted(q)
	}
	err = t.awaitAnswer(ctx, &q, w)
	if q.State != AskWithdrawn { // which has been told
		// Whoever answered may have done so before the notice was there.
		t.askSettled(context.WithoutCancel(ctx), &q)
	}
	return q, err
}

// publishAsk gives a question its id and makes it visible.
func (t *Team) publishAsk(q *Question) error {
	for {
		q.ID = "q_" + fsx.RandomID()[:6]
		data, err := marshalLines(q.Ask, nil)
		if err != nil {
			return err
		}
		err = fsx.Publish(t.askPath(q.ID), data)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// announceAsk tells the leader's mailbox. The question stands without it, so a
// mailbox that cannot be written to is no reason not to wait.
func (t *Team) announceAsk(q *Question) {
	m := t.noticeMessage(q.Notice, notice{to: LeaderName, event: eventQuestion, body: askBody(q), about: q.From})
	_ = t.Box(LeaderName).Publish(m)
}

func askBody(q *Question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s asks a person: %s\n", q.From, q.Question)
	for _, o := range q.Numbered() {
		b.WriteString("\n" + o)
	}
	if q.AllowOther {
		b.WriteString("\nor any other text")
	}
	if len(q.Options) > 0 {
		b.WriteByte('\n')
	}
	what := "TEXT"
	if len(q.Options) > 0 {
		what = "CHOICE"
	}
	fmt.Fprintf(&b, "\nA person answers with: teams answer %s %s\n", q.ID, what)
	return b.String()
}

// awaitAnswer waits until a question is settled.
func (t *Team) awaitAnswer(ctx context.Context, q *Question, w *fsx.Watcher) error {
	timer := time.NewTicker(askLook)
	defer timer.Stop()
	for {
		now, err := t.readAsk(q.ID)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return errs.New(errs.NotFound, "the question was removed while it was waited for").WithPath(t.askPath(q.ID))
		case err != nil:
			return err
		case now.Answer != nil:
			q.Answer, q.State = now.Answer, now.State
			return askOutcome(q)
		}
		select {
		case <-w.C:
		case <-timer.C:
		case <-ctx.Done():
			return t.withdrawAsk(ctx, q)
		}
	}
}

// withdrawAsk takes a question back, unless an answer was first.
func (t *Team) withdrawAsk(ctx context.Context, q *Question) error {
	won, err := t.settleAsk(context.WithoutCancel(ctx), q, AskAnswer{Outcome: AskWithdrawn})
	if err == nil && !won && q.Answer != nil {
		return askOutcome(q)
	}
	if ctx.Err() == context.DeadlineExceeded {
		return errs.New(errs.TimedOut, "nobody has answered in time, the question was withdrawn")
	}
	return context.Cause(ctx)
}

// askOutcome is the error of how a question was settled, nil for an answer.
func askOutcome(q *Question) error {
	switch q.State {
	case AskAnswered:
		return nil
	case AskDeclined:
		return errs.New(errs.Declined, "the question was declined")
	}
	return errs.New(errs.Conflict, "the question was %s by another process", q.State)
}
