package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// EnvPiAgent is what Pi sets for the programs that its model starts.
const EnvPiAgent = "PI_CODING_AGENT"

// The states of a question.
const (
	AskOpen      = "open"      // somebody waits for its answer
	AskAnswered  = "answered"  // a person has answered
	AskDeclined  = "declined"  // a person will not answer
	AskWithdrawn = "withdrawn" // who asked stopped waiting
	AskAbandoned = "abandoned" // who asked was killed while it waited
)

// askKept is how long a settled question stays on disk, so that a late answer
// is told that it is late.
const askKept = 24 * time.Hour

// Ask is a question to a person as it stands in asks/<id>.json. Times are epoch
// ms.
type Ask struct {
	ID         string      `json:"id"`
	From       string      `json:"from"` // who asks: a teammate, or LeaderName
	SpawnID    string      `json:"spawnId,omitempty"`
	Question   string      `json:"question"`
	Options    []string    `json:"options"`    // none: the answer is free text
	Multi      bool        `json:"multi"`      // several options may be chosen
	AllowOther bool        `json:"allowOther"` // a text beside the options is an answer too
	Process    fsx.Process `json:"process"`    // which waits for the answer
	Notice     string      `json:"notice,omitempty"`
	CreatedAt  int64       `json:"createdAt"`
	DeadlineAt int64       `json:"deadlineAt,omitempty"`
}

// AskAnswer is how a question was settled, asks/<id>.answer.json. It is linked
// once, so that of several answers one wins.
type AskAnswer struct {
	Outcome string   `json:"outcome"`           // AskAnswered, AskDeclined, AskWithdrawn or AskAbandoned
	Text    string   `json:"text,omitempty"`    // the whole answer, a choice a line
	Choices []string `json:"choices,omitempty"` // the options that were chosen
	Other   string   `json:"other,omitempty"`   // the text beside them
	At      int64    `json:"at"`                // epoch ms
}

// Question is a question with its state.
type Question struct {
	Ask
	State  string     `json:"state"`
	Answer *AskAnswer `json:"answer,omitempty"`
}

func (p Place) asksDir() string { return filepath.Join(p.TeamDir(), "asks") }

func (p Place) askPath(id string) string { return filepath.Join(p.asksDir(), id+".json") }

func (p Place) answerPath(id string) string { return filepath.Join(p.asksDir(), id+".answer.json") }

// Human says whether the shell is that of a person, as far as its environment
// tells: neither a teammate's nor one that a model of Pi uses.
func (t *Team) Human() bool { return t.envName == "" && t.envSpawn == "" && !t.envPi }

// CheckHuman refuses, with human_only, what a model must not do for a person:
// see [Team.Human]; and with leader_only who borrows a teammate's name.
func (t *Team) CheckHuman() error {
	if t.Human() {
		_, err := t.Leader()
		return err
	}
	which := EnvPiAgent
	switch {
	case t.envName != "":
		which = EnvName
	case t.envSpawn != "":
		which = EnvSpawn
	}
	return errs.New(errs.HumanOnly, "only a person may answer, and this is the shell of an agent (%s is set)", which).
		WithHint("ask the person, or use a shell without %s", which)
}

// isAskID says whether s has the form of an id: q_ and hex digits.
func isAskID(s string) bool {
	digits, ok := strings.CutPrefix(s, "q_")
	return ok && strings.Trim(digits, "0123456789abcdef") == "" && len(digits) <= 32
}

// readAsk reads a question and how it was settled. A missing one is
// fs.ErrNotExist.
func (t *Team) readAsk(id string) (Question, error) {
	path := t.askPath(id)
	data, err := fsx.ReadFile(path, maxRecord)
	if err != nil {
		return Question{}, err
	}
	q := Question{State: AskOpen}
	if err := json.Unmarshal(data, &q.Ask); err != nil || q.ID != id || q.Question == "" {
		return Question{}, corrupt(path, "is no question", err)
	}
	if q.Options == nil {
		q.Options = []string{}
	}
	if q.Answer, err = t.readAnswer(id); err != nil {
		return Question{}, err
	}
	switch {
	case q.Answer != nil:
		q.State = q.Answer.Outcome
	case q.Process.Liveness() == fsx.Dead:
		q.State = AskAbandoned
	}
	return q, nil
}

// readAnswer reads how a question was settled; nil when it is open.
func (t *Team) readAnswer(id string) (*AskAnswer, error) {
	path := t.answerPath(id)
	data, err := fsx.ReadFile(path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a := new(AskAnswer)
	if err := json.Unmarshal(data, a); err != nil {
		return nil, corrupt(path, "is no answer", err)
	}
	switch a.Outcome {
	case AskAnswered, AskDeclined, AskWithdrawn, AskAbandoned:
		return a, nil
	}
	return nil, corrupt(path, "is no answer", nil)
}

// Asks lists the questions that are open, oldest first, or with all also those
// that were settled within the last day. A file that cannot be read spoils only
// itself. Nothing is written.
func (t *Team) Asks(all bool) (list []Question, problems []Problem, err error) {
	if err := t.checkDirs("teammate", t.Session, "asks"); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, nil, err
	}
	names, err := fsx.List(t.asksDir())
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		if !ok || !isAskID(id) {
			continue // an answer, or nothing of ours
		}
		if !all && slices.Contains(names, id+".answer.json") {
			continue
		}
		q, err := t.readAsk(id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			problems = append(problems, Problem{Path: t.askPath(id), Err: err})
		case all || q.State == AskOpen:
			list = append(list, q)
		}
	}
	slices.SortStableFunc(list, func(a, b Question) int {
		if a.CreatedAt != b.CreatedAt {
			return int(min(max(a.CreatedAt-b.CreatedAt, -1), 1))
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list, problems, nil
}

// OpenAsks returns the open questions by who asks. Files that cannot be read
// are left out: `asks` tells of them.
func (t *Team) OpenAsks() map[string][]Question {
	list, _, _ := t.Asks(false)
	if len(list) == 0 {
		return nil
	}
	out := map[string][]Question{}
	for _, q := range list {
		out[q.From] = append(out[q.From], q)
	}
	return out
}

// awaitingRunes is how much of a question stands in a row.
const awaitingRunes = 72

// Awaiting is what rows and cells say of somebody with open questions, "" for
// none: AWAITING HUMAN: "q", and how many more there are.
func Awaiting(open []Question) string {
	if len(open) == 0 {
		return ""
	}
	q := strings.Join(strings.Fields(open[0].Question), " ")
	if r := []rune(q); len(r) > awaitingRunes {
		q = string(r[:awaitingRunes-1]) + "…"
	}
	s := `AWAITING HUMAN: "` + q + `"`
	if more := len(open) - 1; more > 0 {
		s += fmt.Sprintf(" (+%d)", more)
	}
	return s
}

// FindAsk returns the question of an id, or of the beginning of one that only
// one open question has, with or without its q_.
func (t *Team) FindAsk(id string) (Question, error) {
	notFound := errs.New(errs.NotFound, "there is no question %s", id).WithHint("teams asks")
	if !strings.HasPrefix(id, "q_") {
		id = "q_" + id
	}
	if !isAskID(id) || id == "q_" {
		return Question{}, notFound
	}
	if err := t.checkDirs("teammate", t.Session, "asks"); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return Question{}, notFound
		}
		return Question{}, err
	}
	q, err := t.readAsk(id)
	if !errors.Is(err, fs.ErrNotExist) {
		return q, err
	}
	open, _, err := t.Asks(false)
	if err != nil {
		return Question{}, err
	}
	var found []Question
	var ids []string
	for _, q := range open {
		if strings.HasPrefix(q.ID, id) {
			found, ids = append(found, q), append(ids, q.ID)
		}
	}
	switch len(found) {
	case 0:
		return Question{}, notFound
	case 1:
		return found[0], nil
	}
	return Question{}, errs.New(errs.Usage, "%s begins the ids of %d questions: %s", id, len(found), strings.Join(ids, ", ")).
		WithDetail("candidates", ids)
}

// Answer settles an open question: with the choices or the text of args (see
// [Ask.Choose]), or by declining it. It is for a person: in the shell of an
// agent it is refused with human_only. When somebody else was first, or nobody
// waits any more, the error is of code conflict.
func (t *Team) Answer(ctx context.Context, id string, args []string, decline bool) (Question, error) {
	if err := t.CheckHuman(); err != nil {
		return Question{}, err
	}
	q, err := t.FindAsk(id)
	if err != nil {
		return q, err
	}
	if q.State == AskAbandoned && q.Answer == nil {
		if err := t.abandon(ctx, q); err != nil {
			return q, err
		}
	}
	if q.State != AskOpen {
		return q, settledBefore(q)
	}
	a := AskAnswer{Outcome: AskDeclined}
	if !decline {
		if a, err = q.Choose(args); err != nil {
			return q, err
		}
	}
	won, err := t.settleAsk(ctx, &q, a)
	if err != nil {
		return q, err
	}
	if !won {
		return q, settledBefore(q)
	}
	return q, nil
}

// settledBefore is the error of an answer that comes too late.
func settledBefore(q Question) error {
	what := "was " + q.State
	if q.State == AskAbandoned {
		what = "is no longer waited for, who asked has ended"
	}
	e := errs.New(errs.Conflict, "question %s %s", q.ID, what).WithHint("teams asks").WithDetail("state", q.State)
	if q.Answer != nil && q.Answer.Text != "" {
		e = e.WithDetail("answer", q.Answer.Text)
	}
	return e
}

// settleAsk links an answer. It answers false when another one was first, which
// q then has.
func (t *Team) settleAsk(ctx context.Context, q *Question, a AskAnswer) (bool, error) {
	a.At = nowMillis()
	data, err := marshalLines(a, nil)
	if err != nil {
		return false, err
	}
	err = fsx.Publish(t.answerPath(q.ID), data)
	if errors.Is(err, fs.ErrExist) {
		first, err := t.readAnswer(q.ID)
		if err == nil && first != nil {
			q.Answer, q.State = first, first.Outcome
		}
		return false, err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, errs.New(errs.NotFound, "the session of question %s is over", q.ID)
	}
	if err != nil {
		return false, err
	}
	q.Answer, q.State = &a, a.Outcome
	t.askSettled(ctx, q)
	return true, nil
}

// askSettled takes the notice of a question back, and tells whoever shows open
// questions elsewhere.
func (t *Team) askSettled(ctx context.Context, q *Question) {
	if q.Notice != "" {
		// One that is read already, or being read, stays.
		_, _ = t.Box(LeaderName).Withdraw(q.Notice)
	}
	t.asksChanged(ctx, q.From)
}

// asksChanged calls OnAsks.
func (t *Team) asksChanged(ctx context.Context, name string) {
	if t.OnAsks != nil {
		t.OnAsks(ctx, name, t.OpenAsks()[name])
	}
}

// abandon settles a question that nobody waits for.
func (t *Team) abandon(ctx context.Context, q Question) error {
	_, err := t.settleAsk(ctx, &q, AskAnswer{Outcome: AskAbandoned})
	return err
}

// SweepAsks settles the questions of those who were killed while they waited,
// and removes what was settled more than a day ago. It returns the former.
func (t *Team) SweepAsks(ctx context.Context) (abandoned []Question, err error) {
	all, _, err := t.Asks(true)
	if err != nil {
		return nil, err
	}
	old := fsx.Now().Add(-askKept).UnixMilli()
	for _, q := range all {
		switch {
		case q.Answer == nil && q.State == AskAbandoned:
			if e := t.abandon(ctx, q); e != nil {
				err = errors.Join(err, e)
				continue
			}
			abandoned = append(abandoned, q)
		case q.Answer != nil && q.Answer.At < old:
			// The question first: without its answer it would be open again.
			err = errors.Join(err, fsx.Remove(t.askPath(q.ID)), fsx.Remove(t.answerPath(q.ID)))
		}
	}
	return abandoned, err
}

// tickAsks settles the questions of those who were killed while they waited.
func (t *Team) tickAsks(ctx context.Context, r *TickReport) {
	gone, err := t.SweepAsks(ctx)
	r.problem(stepAsks, err)
	for _, q := range gone {
		r.Done = append(r.Done, Done{stepAsks, AskAbandoned, q.ID, q.From + " was killed while it waited for an answer"})
	}
}
