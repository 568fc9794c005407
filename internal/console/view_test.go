package console

import (
	"strings"
	"testing"
	"time"
)

// Every page at the sizes that people have, with and without colours.
func TestPages(t *testing.T) {
	for _, size := range []sizeMsg{{80, 24}, {200, 60}} {
		for p := range pageCount {
			x := newTester(t, size.width, size.height, sample(), false)
			x.m.turn(p)
			x.golden(strings.ToLower(p.title()) + "_" + itoa(size.width) + "x" + itoa(size.height))
			c := newTester(t, size.width, size.height, sample(), true)
			c.m.turn(p)
			c.check()
			// But for the brackets around the page that is shown, colours say
			// nothing that the text does not.
			plain := strings.NewReplacer("[", " ", "]", " ").Replace(x.m.shown())
			if got := strings.NewReplacer("[", " ", "]", " ").Replace(withoutLooks(c.m.shown())); got != plain {
				t.Errorf("with colours %s is\n%s\nand without\n%s", p.title(), got, plain)
			}
			if !strings.Contains(c.m.shown(), "\x1b[") {
				t.Errorf("%s has no colours", p.title())
			}
		}
	}
}

func TestHelpAndDetail(t *testing.T) {
	x := newTester(t, 80, 24, sample(), false)
	x.keys("?")
	x.golden("help_80x24")
	x.keys("x", "3", "enter")
	x.sees("Board t_1", "the whole of it", "esc back", "c claim")
	x.detail = strings.Repeat("a long text "+hostile+"\n", 100)
	x.keys("esc", "j", "enter")
	x.sees("Board t_2", "lines 1 to 21 of")
	x.keys("G")
	x.keys("pgup", "k", "g", "pgdown")
	x.sees("lines 21 to 41 of")
	x.detail = ""
	x.keys("q", "enter")
	x.sees("✗ there is no t_2")
	if x.quit {
		t.Error("q left the console and not the text")
	}
	x.keys("q", "q")
	if !x.quit {
		t.Error("q did not leave")
	}
}

// Whatever the size, the screen is full and never overfull.
func TestSizes(t *testing.T) {
	for _, width := range []int{1, 2, 5, 17, 40, 81, 313} {
		for _, height := range []int{1, 2, 3, 4, 5, 7, 61} {
			x := newTester(t, width, height, sample(), width%2 == 0)
			for p := range pageCount {
				x.m.turn(p)
				x.check()
				x.keys("j", "G", "?", "esc", "enter", "esc", "/", "type:日本 x", "enter", "esc")
			}
			x.m.turn(Board)
			x.keys("c", "type:"+"a name that is longer than most screens are wide, 日本語日本語日本語日本語", "left", "home", "esc", "x")
			x.keys("n")
		}
	}
}

// Names and texts of all kinds, thrown together.
func TestHostileText(t *testing.T) {
	parts := []string{
		"a", " ", "\t", "\n", "\x1b[31m", "\x1b]8;;x\a", "\u009b", "\x7f", "\xff", "\u202e", "\u2067", "\u200d", "\ufe0f", "\u20e3", "👩", "👍🏽", "🇩", "🇩🇪",
		"❤", "日", "한", "\u1100\u1161\u11a8", "ﾊﾟ", "שלום", "مرحبا", "e\u0301\u0302\u0303", "ก็", "नमस्ते", "…", "　", "\U000e0041", "\ufeff", "\u00ad", "─", "𝔘",
	}
	seed := uint32(1)
	random := func(n int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % n
	}
	text := func() string {
		var b strings.Builder
		for range random(30) {
			b.WriteString(parts[random(len(parts))])
		}
		return b.String()
	}
	for range 200 {
		s := &Snapshot{Session: text(), Who: text()}
		for range 4 {
			s.Teammates = append(s.Teammates, Teammate{Name: text(), Kind: text(), Role: text(), Status: "working", Activity: text(), Awaiting: text()})
			s.Tasks = append(s.Tasks, Task{ID: text(), State: text(), Note: text(), Marks: text(), Subject: text()})
			s.Messages = append(s.Messages, Message{ID: text(), Owner: text(), From: text(), To: text(), Kind: text(), Title: text(), Unread: true})
			s.Questions = append(s.Questions, Question{ID: text(), From: text(), Text: text(), Options: []string{text(), text()}})
		}
		x := newTester(t, 1+random(120), 3+random(20), s, random(2) == 0)
		x.detail = text()
		for p := range pageCount {
			x.m.turn(p)
			x.check()
			x.keys("enter", "a", "esc", "esc")
		}
		x.send(doneMsg{note: text()})
	}
}

func TestResize(t *testing.T) {
	s := sample()
	for i := range 300 {
		s.Tasks = append(s.Tasks, Task{ID: "t_" + itoa(i+9), State: "ready", Subject: "more"})
	}
	x := newTester(t, 80, 24, s, false)
	x.keys("3", "G")
	x.sees("> t_308", "308 of 308")
	x.send(sizeMsg{40, 8})
	x.sees("> t_308")
	x.send(sizeMsg{200, 60})
	x.sees("> t_308", "t_260")
}

// Nothing there, nothing yet, and what cannot be read.
func TestEmpty(t *testing.T) {
	x := newTester(t, 80, 24, nil, false)
	x.sees("looking…")
	x.keys("j", "enter", "x", "s", "c", "a", "r")
	x.sawDone()
	x = newTester(t, 80, 24, &Snapshot{Session: "s", Who: "leader"}, false)
	for p := range pageCount {
		x.m.turn(p)
		x.sees(empty(p))
		x.keys("j", "k", "G", "g", "pgup", "enter", "x", "c", "a", "r", "o")
	}
	x.sawDone()
	s := sample()
	s.Problems = []string{"a/b.json: is no task" + hostile, "second"}
	x = newTester(t, 80, 24, s, false)
	x.sees("a/b.json: is no task", "ann")
	_, err := x.Look(t.Context())
	x.send(lookedMsg{err: err, at: now})
	x.sees("✗ no look", "ann")
	x.send(lookedMsg{snap: sample(), at: now})
	if strings.Contains(x.m.shown(), "no look") {
		t.Error("an error stays after a look that worked")
	}
}

// Only those who work spin, and only where it is seen.
func TestSpinning(t *testing.T) {
	x := newTester(t, 80, 24, sample(), false)
	before := strings.Split(x.m.shown(), "\n")
	x.send(spinMsg{})
	after := strings.Split(x.m.shown(), "\n")
	for i := range before {
		if working := strings.Contains(before[i], "@ann"); (before[i] != after[i]) != working {
			t.Errorf("line %d was %q and is %q", i, before[i], after[i])
		}
	}
	spins := func(want bool, when string) {
		t.Helper()
		x.m.spinning = false
		if got := x.m.spin() != nil; got != want {
			t.Errorf("%s: spinning is %v", when, got)
		}
	}
	spins(true, "somebody works")
	x.keys("3")
	spins(false, "on another page")
	x.keys("1", "enter")
	spins(false, "in a text")
	x.keys("esc", "?")
	spins(false, "in the help")
	x.keys("?")
	s := sample()
	s.Teammates = s.Teammates[1:]
	x.send(lookedMsg{snap: s, at: now})
	spins(false, "nobody works but who waits for an answer")
	s.Teammates[0].Status = "starting"
	x.send(lookedMsg{snap: s, at: now})
	spins(true, "somebody starts")
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "now", 0: "now", 59 * time.Second: "now", 3 * time.Minute: "3m", 5 * time.Hour: "5h", 12 * 24 * time.Hour: "12d", 1000 * 24 * time.Hour: ">90d",
	} {
		if got := age(now, ago(d)); got != want {
			t.Errorf("%v is %q and not %q", d, got, want)
		}
	}
	if got := age(now, 0); got != "" {
		t.Errorf("never is %q", got)
	}
}
