package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// asking is a question that is being waited for.
type asking struct {
	t    *testing.T
	q    Question // as it was posted
	done chan struct{}
	got  Question
	err  error
}

func (t *Team) asking(test *testing.T, ctx context.Context, from string, a Ask) *asking {
	test.Helper()
	p := &asking{t: test, done: make(chan struct{})}
	posted := make(chan Question, 1)
	go func() {
		defer close(p.done)
		p.got, p.err = t.Ask(ctx, Identity{Name: from}, a, 20*time.Millisecond, func(q Question) { posted <- q })
	}()
	select {
	case p.q = <-posted:
	case <-p.done:
		test.Fatal(p.err)
	}
	return p
}

// wait waits for the end of the asking.
func (p *asking) wait() (Question, error) {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		p.t.Fatal("ask does not return")
	}
	return p.got, p.err
}

var yesNo = Ask{Question: "Drop it?", Options: []string{"yes", "no"}}

func TestAskAndAnswer(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	p := team.asking(t, ctx, "ann", yesNo)
	open, problems, err := team.Asks(false)
	if err != nil || len(problems) > 0 || len(open) != 1 || open[0].ID != p.q.ID || open[0].State != AskOpen || open[0].From != "ann" {
		t.Fatalf("%+v %v %v", open, problems, err)
	}
	if s := Awaiting(team.OpenAsks()["ann"]); s != `AWAITING HUMAN: "Drop it?"` {
		t.Error(s)
	}
	mail, _, err := team.Inbox(ctx, Identity{Name: LeaderName, Leader: true}, false)
	if err != nil || len(mail) != 1 || mail[0].Event != eventQuestion || !strings.Contains(string(mail[0].Title), "ann asks a person: Drop it?") {
		t.Fatalf("%+v %v", mail, err)
	}
	q, err := team.Answer(ctx, strings.TrimPrefix(p.q.ID, "q_")[:4], []string{"2"}, false)
	if err != nil || q.State != AskAnswered || q.Answer.Text != "no" {
		t.Fatalf("%+v %v", q, err)
	}
	got, err := p.wait()
	if err != nil || got.Answer.Text != "no" || got.State != AskAnswered {
		t.Fatalf("%+v %v", got, err)
	}
	if mail, _, _ = team.Inbox(ctx, Identity{Name: LeaderName, Leader: true}, false); len(mail) != 0 {
		t.Errorf("the notice is still there: %+v", mail[0])
	}
	_, err = team.Answer(ctx, p.q.ID, []string{"yes"}, false)
	wantCode(t, err, errs.Conflict)
	_, err = team.Answer(ctx, p.q.ID, nil, true)
	wantCode(t, err, errs.Conflict)
	_, err = team.Answer(ctx, "q_00", []string{"yes"}, false)
	wantCode(t, err, errs.NotFound)
	for _, id := range []string{"", "q_", "../../x", "q_../x", "q_" + strings.Repeat("a", 40)} {
		_, err = team.FindAsk(id)
		wantCode(t, err, errs.NotFound)
	}
}

// Of many answers exactly one wins, and it is the one that the asker gets.
func TestOneAnswerWins(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	for range 5 {
		p := team.asking(t, ctx, "ann", Ask{Question: "Which?"})
		var wg sync.WaitGroup
		answers := make(chan string, 8)
		for i := range 8 {
			wg.Go(func() {
				text := fmt.Sprint("answer ", i)
				_, err := team.Answer(ctx, p.q.ID, []string{text}, i == 7)
				switch errs.CodeOf(err) {
				case "":
					answers <- text
				case errs.Conflict:
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		close(answers)
		var won []string
		for a := range answers {
			won = append(won, a)
		}
		got, err := p.wait()
		if len(won) != 1 {
			t.Fatalf("%v", won)
		}
		if won[0] == "answer 7" {
			wantCode(t, err, errs.Declined)
		} else if err != nil || got.Answer.Text != won[0] {
			t.Fatalf("%s won, and the asker has %+v %v", won[0], got.Answer, err)
		}
	}
}

func TestAskDeclinedAndTimeout(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	p := team.asking(t, ctx, "ann", yesNo)
	if _, err := team.Answer(ctx, p.q.ID, nil, true); err != nil {
		t.Fatal(err)
	}
	q, err := p.wait()
	wantCode(t, err, errs.Declined)
	if q.State != AskDeclined {
		t.Errorf("%+v", q)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	p = team.asking(t, short, "ann", yesNo)
	if p.q.DeadlineAt < p.q.CreatedAt {
		t.Errorf("%+v", p.q)
	}
	q, err = p.wait()
	wantCode(t, err, errs.TimedOut)
	if q.State != AskWithdrawn {
		t.Errorf("%+v", q)
	}
	_, err = team.Answer(ctx, p.q.ID, []string{"yes"}, false)
	wantCode(t, err, errs.Conflict)
	broken, stop := context.WithCancelCause(ctx)
	p = team.asking(t, broken, "ann", yesNo)
	stop(errs.New(errs.Interrupted, "interrupted by SIGINT"))
	_, err = p.wait()
	wantCode(t, err, errs.Interrupted)
	if open, _, _ := team.Asks(false); len(open) != 0 {
		t.Errorf("%+v", open)
	}
	if all, _, _ := team.Asks(true); len(all) != 3 {
		t.Errorf("%+v", all)
	}
}

// An answer and the end of the time race: either the asker has the answer, or
// the answer is told that it is late. Never both, never neither.
func TestAnswerAgainstTimeout(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	for i := range 20 {
		short, cancel := context.WithCancel(ctx)
		p := team.asking(t, short, "ann", yesNo)
		var answerErr error
		var wg sync.WaitGroup
		wg.Go(func() { _, answerErr = team.Answer(ctx, p.q.ID, []string{"yes"}, false) })
		if i%2 == 0 {
			time.Sleep(time.Duration(i) * 50 * time.Microsecond)
		}
		cancel()
		_, err := p.wait()
		wg.Wait()
		if (err == nil) != (answerErr == nil) || answerErr != nil && errs.CodeOf(answerErr) != errs.Conflict {
			t.Fatalf("asker: %v, answer: %v", err, answerErr)
		}
	}
}

// A killed asker's question is no longer open, and cannot be answered.
func TestAskerKilled(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	var told []int
	team.OnAsks = func(_ context.Context, name string, open []Question) {
		if name != "ann" {
			t.Error(name)
		}
		told = append(told, len(open))
	}
	for _, sweep := range []bool{true, false} {
		h := startHelper(t, team.Root)
		h.send("ask Which port?")
		var open []Question
		for len(open) == 0 {
			open, _, _ = team.Asks(false)
			time.Sleep(5 * time.Millisecond)
		}
		h.kill()
		if left, _, _ := team.Asks(false); len(left) != 0 {
			t.Fatalf("%+v", left)
		}
		if sweep {
			gone, err := team.SweepAsks(ctx)
			if err != nil || len(gone) != 1 || gone[0].State != AskAbandoned {
				t.Fatalf("%+v %v", gone, err)
			}
			if gone, err = team.SweepAsks(ctx); err != nil || len(gone) != 0 {
				t.Fatalf("%+v %v", gone, err)
			}
		}
		_, err := team.Answer(ctx, open[0].ID, []string{"x"}, false)
		wantCode(t, err, errs.Conflict)
		if mail, _, _ := team.Inbox(ctx, Identity{Name: LeaderName, Leader: true}, false); len(mail) != 0 {
			t.Errorf("%+v", mail[0])
		}
	}
	if fmt.Sprint(told) != "[0 0]" {
		t.Errorf("a pane was told %v", told)
	}
}

// Several questions keep who asks blocked until the last is answered.
func TestSeveralQuestions(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	var mu sync.Mutex
	var told []string
	team.OnAsks = func(_ context.Context, name string, open []Question) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, Awaiting(open))
	}
	a := team.asking(t, ctx, "ann", Ask{Question: "first\nand more"})
	b := team.asking(t, ctx, "ann", Ask{Question: strings.Repeat("x", 100)})
	c := team.asking(t, ctx, "bob", yesNo)
	if n := len(team.OpenAsks()["ann"]); n != 2 {
		t.Error(n)
	}
	if s := Awaiting(team.OpenAsks()["ann"]); s != `AWAITING HUMAN: "first and more" (+1)` {
		t.Error(s)
	}
	for _, p := range []*asking{a, c, b} {
		if _, err := team.Answer(ctx, p.q.ID, []string{"yes"}, false); err != nil {
			t.Fatal(err)
		}
		if _, err := p.wait(); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if last := told[len(told)-1]; last != "" || !strings.Contains(strings.Join(told, "|"), "(+1)") {
		t.Errorf("%q", told)
	}
}

// Only a person answers.
func TestOnlyPeopleAnswer(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	p := team.asking(t, ctx, "ann", yesNo)
	pi := *team
	pi.envPi = true
	for _, agent := range []*Team{team.as("ann", ""), team.as("bob", "x"), &pi} {
		_, err := agent.Answer(ctx, p.q.ID, []string{"yes"}, false)
		wantCode(t, err, errs.HumanOnly)
		_, err = agent.Answer(ctx, p.q.ID, nil, true)
		wantCode(t, err, errs.HumanOnly)
	}
	if _, err := team.Answer(ctx, p.q.ID, []string{"YES"}, false); err != nil {
		t.Fatal(err)
	}
	if q, err := p.wait(); err != nil || q.Answer.Text != "yes" {
		t.Fatal(q, err)
	}
}

// What cannot be read spoils only itself, and never counts as an answer.
func TestBrokenAsks(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	p := team.asking(t, ctx, "ann", yesNo)
	writeFile(t, team.askPath("q_bad"), "{")
	writeFile(t, team.askPath("q_beef"), `{"id":"q_dead","question":"x"}`)
	open, problems, err := team.Asks(false)
	if err != nil || len(open) != 1 || len(problems) != 2 {
		t.Fatalf("%+v %v %v", open, problems, err)
	}
	_, err = team.Answer(ctx, "q_bad", []string{"yes"}, false)
	wantCode(t, err, errs.Corrupt)
	writeFile(t, team.answerPath(p.q.ID), "{")
	_, err = p.wait()
	wantCode(t, err, errs.Corrupt)
	if err := os.RemoveAll(team.asksDir()); err != nil {
		t.Fatal(err)
	}
	p = team.asking(t, ctx, "ann", yesNo)
	if err := os.Remove(team.askPath(p.q.ID)); err != nil {
		t.Fatal(err)
	}
	_, err = p.wait()
	wantCode(t, err, errs.NotFound)
}

// What was settled more than a day ago goes.
func TestOldAsksGo(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	p := team.asking(t, ctx, "ann", yesNo)
	if _, err := team.Answer(ctx, p.q.ID, []string{"yes"}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := team.SweepAsks(ctx); err != nil {
		t.Fatal(err)
	}
	if all, _, _ := team.Asks(true); len(all) != 1 {
		t.Fatal(all)
	}
	data, _ := json.Marshal(AskAnswer{Outcome: AskAnswered, Text: "yes", At: fsx.Now().Add(-25 * time.Hour).UnixMilli()})
	writeFile(t, team.answerPath(p.q.ID), string(data))
	if _, err := team.SweepAsks(ctx); err != nil {
		t.Fatal(err)
	}
	wantNothing(t, team.askPath(p.q.ID))
	wantNothing(t, team.answerPath(p.q.ID))
}

func TestAskCheck(t *testing.T) {
	many := strings.Split("a b c d e f", " ")
	for _, a := range []Ask{
		{Question: " \n"},
		{Question: strings.Repeat("x", maxQuestion+1)},
		{Question: "q", Multi: true},
		{Question: "q", AllowOther: true},
		{Question: "q", Options: many[:1]},
		{Question: "q", Options: many},
		{Question: "q", Options: []string{"a", " "}},
		{Question: "q", Options: []string{"a", "A"}},
		{Question: "q", Options: []string{"a", "Other…"}},
		{Question: "q", Options: []string{"a", strings.Repeat("ü", 61)}},
	} {
		if err := a.Check(); errs.CodeOf(err) != errs.Usage {
			t.Errorf("%+v: %v", a, err)
		}
		if _, err := newTeam(t).Ask(t.Context(), Identity{Name: "ann"}, a, 0, nil); errs.CodeOf(err) != errs.Usage {
			t.Errorf("%+v: %v", a, err)
		}
	}
	a := Ask{Question: "q", Options: []string{" a  b ", strings.Repeat("ü", 60), "c", "d", "e"}}
	if err := a.Check(); err != nil || a.Options[0] != "a b" {
		t.Errorf("%v %q", err, a.Options)
	}
}

func TestChoose(t *testing.T) {
	free := Ask{Question: "q"}
	one := Ask{Question: "q", Options: []string{"Red", "2", "dark blue"}}
	other, multi, both := one, one, one
	other.AllowOther, multi.Multi, both.Multi, both.AllowOther = true, true, true, true
	for _, c := range []struct {
		a    Ask
		args string // with | between them
		want string // with | for line breaks; empty: an error
	}{
		{free, "any  text", "any  text"},
		{free, "a|b", "a b"},
		{free, " ", ""},
		{one, "red", "Red"},
		{one, "1", "Red"},
		{one, "2", "2"}, // a label before a number
		{one, "3", "dark blue"},
		{one, "Dark  Blue", "dark blue"},
		{one, "4", ""},
		{one, "0", ""},
		{one, "green", ""},
		{one, "red|2", ""},
		{one, "red,2", ""},
		{other, "green", "green"},
		{other, "8080", "8080"},
		{other, "4", ""}, // stands for the other answer
		{other, "red|green", ""},
		{other, "red", "Red"},
		{multi, "red|3", "Red|dark blue"},
		{multi, "3, red", "Red|dark blue"},
		{multi, "red|red", "Red"},
		{multi, "red,green", ""},
		{multi, "", ""},
		{both, "1,green", "Red|green"},
		{both, "so, or so", "so, or so"},
		{both, "3|and green|red", "Red|dark blue|and green"},
	} {
		got, err := c.a.Choose(strings.Split(c.args, "|"))
		switch {
		case c.want == "" && errs.CodeOf(err) != errs.Usage:
			t.Errorf("%q: %+v, %v", c.args, got, err)
		case c.want != "" && (err != nil || got.Text != strings.ReplaceAll(c.want, "|", "\n")):
			t.Errorf("%q: %+v, %v", c.args, got, err)
		}
	}
	if got, err := both.ChooseWith([]string{"1"}, "2, of course"); err != nil || got.Text != "Red\n2, of course" || got.Other != "2, of course" {
		t.Errorf("%+v %v", got, err)
	}
	var known *errs.Error
	if _, err := one.Choose([]string{"x"}); !errors.As(err, &known) || !strings.Contains(known.Msg, "1) Red, 2) 2, 3) dark blue") {
		t.Error(err)
	}
}

// A directory of the session that leads elsewhere is refused.
func TestAsksAreNotFollowed(t *testing.T) {
	team := newTeam(t)
	if _, err := team.EnsureSession(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{team.asksDir(), team.todoDir()} {
		if err := os.Symlink(t.TempDir(), dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := team.Asks(false); err == nil {
		t.Error("asks: followed")
	}
	if _, err := team.Ask(t.Context(), Identity{Name: "ann"}, yesNo, 0, nil); err == nil {
		t.Error("ask: followed")
	}
	if _, err := team.Todo("ann"); err == nil {
		t.Error("todo: followed")
	}
	if _, err := team.TodoEdit(t.Context(), "ann", "done", "x"); err == nil || errs.CodeOf(err) == errs.NotFound {
		t.Errorf("todo: followed: %v", err)
	}
}

// Where the system gives no notice of files, the asker looks for itself.
func TestAskPolls(t *testing.T) {
	fsx.SetSharedMode(true)
	defer fsx.SetSharedMode(false)
	team, ctx := newTeam(t), t.Context()
	p := team.asking(t, ctx, "ann", yesNo)
	if _, err := team.Answer(ctx, p.q.ID, []string{"yes"}, false); err != nil {
		t.Fatal(err)
	}
	if q, err := p.wait(); err != nil || q.Answer.Text != "yes" {
		t.Fatal(q, err)
	}
}

// Whoever asks may die at each of its system calls: no question stays open, no
// notice stays behind, and the next one is asked as if nothing had been.
func TestAskerKilledAnywhere(t *testing.T) {
	team, ctx := newTeam(t), t.Context()
	for n := 1; n < 200; n++ {
		h := startHelper(t, team.Root, fmt.Sprint("H_KILL=", n))
		h.send("ask Which?")
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			h.read()
		}()
		survived := false
		select {
		case <-dead:
		case <-time.After(700 * time.Millisecond):
			survived = true // it waits for the answer
		}
		h.kill()
		<-dead
		if open, problems, err := team.Asks(false); err != nil || len(open) > 0 || len(problems) > 0 {
			t.Fatalf("call %d: %+v %v %v", n, open, problems, err)
		}
		if _, err := team.SweepAsks(ctx); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		mail, problems, err := team.Inbox(ctx, Identity{Name: LeaderName, Leader: true}, false)
		if err != nil && !errors.Is(err, os.ErrNotExist) || len(mail) > 0 || len(problems) > 0 {
			t.Fatalf("call %d: %+v %v %v", n, mail, problems, err)
		}
		if survived {
			if n < 20 {
				t.Errorf("asking took %d calls only", n)
			}
			return
		}
		// The next one has nothing to sweep.
		if err := os.RemoveAll(team.asksDir()); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("it died each time")
}
