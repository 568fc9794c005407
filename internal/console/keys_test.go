package console

import (
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

func TestMoving(t *testing.T) {
	x := newTester(t, 80, 24, sample(), false)
	steps := []struct{ key, want string }{
		{"j", "> ○  @bob"}, {"down", "> ?  @cleo"}, {"k", "> ○  @bob"}, {"up", "> ⠋  @ann"}, {"up", "> ⠋  @ann"},
		{"G", "> ✗  @dan"}, {"g", "> ⠋  @ann"}, {"end", "> ✗  @dan"}, {"home", "> ⠋  @ann"},
		{"tab", "[2 Roles 2]"}, {"right", "[3 Board 5]"}, {"l", "[4 Mail 1]"}, {"tab", "[5 Questions 2]"}, {"tab", "[1 Roster 4]"},
		{"shift+tab", "[5 Questions 2]"}, {"left", "[4 Mail 1]"}, {"h", "[3 Board 5]"}, {"2", "[2 Roles 2]"}, {"1", "[1 Roster 4]"},
	}
	for _, s := range steps {
		x.m.frame = 0
		x.keys(s.key)
		x.sees(s.want)
	}
}

// The selection stays on its row when rows come and go above it.
func TestSelectionFollows(t *testing.T) {
	x := newTester(t, 80, 24, sample(), false)
	x.keys("3", "j", "j", "j")
	x.sees("> t_4")
	s := sample()
	s.Tasks = append([]Task{{ID: "t_0", State: "ready", Subject: "new"}}, s.Tasks...)
	x.send(lookedMsg{snap: s, at: now})
	x.sees("> t_4", "t_0")
	s = sample()
	s.Tasks = s.Tasks[:3]
	x.send(lookedMsg{snap: s, at: now})
	x.sees("> t_3")
	s.Tasks = nil
	x.send(lookedMsg{snap: s, at: now}, lookedMsg{snap: sample(), at: now})
	x.sees("> t_3")
}

func TestFilter(t *testing.T) {
	x := newTester(t, 80, 24, sample(), false)
	x.keys("3", "/", "type:NUMBER 2", "enter")
	x.sees("> t_2", "only what matches NUMBER 2, of 8")
	if strings.Contains(x.m.shown(), "t_1 ") {
		t.Error("t_1 is still there")
	}
	x.keys("c", "enter")
	x.sawDone("claim t_2 me")
	x.keys("/", "type:zzz")
	x.sees("none of 8 matches NUMBER 2zzz", "/NUMBER 2zzz")
	x.keys("ctrl+u", "type:日本", "enter")
	x.sees("> t_5")
	x.keys("esc")
	x.sees("t_1 ", "> t_5")
	x.keys("/", "type:q")
	if x.quit {
		t.Error("a filter left the console")
	}
	x.send(pasteMsg("日本\n語\x1b[2J"))
	x.keys("esc", "tab", "3")
	x.sees("t_1 ")
}

func TestMouse(t *testing.T) {
	x := newTester(t, 80, 24, sample(), false)
	x.send(mouseMsg{x: 0, y: listTop + 2, button: leftButton})
	x.sees("> ?  @cleo")
	x.send(mouseMsg{x: 5, y: listTop + 2, button: leftButton})
	x.sees("Roster cleo")
	x.send(mouseMsg{x: 5, y: 4, button: leftButton}) // in a text it does nothing
	x.keys("esc")
	x.send(mouseMsg{x: strings.Index(x.m.shown(), "3 Board"), button: leftButton})
	x.sees("[3 Board 5]")
	x.send(mouseMsg{button: wheelDown})
	x.sees("> t_4")
	x.send(mouseMsg{button: wheelDown}, mouseMsg{button: wheelDown}, mouseMsg{button: wheelDown}, mouseMsg{button: wheelUp})
	x.sees("> t_5")
	for y := range 24 {
		for _, b := range []button{otherButton, leftButton} {
			x.send(mouseMsg{x: 79, y: y, button: b})
			x.keys("esc")
		}
	}
	x.detail = strings.Repeat("line\n", 100)
	x.keys("g", "enter")
	x.send(mouseMsg{button: wheelDown})
	x.sees("lines 4 to 24 of 101")
	x.send(mouseMsg{button: wheelUp}, mouseMsg{button: wheelUp})
	x.sees("lines 1 to 21 of 101")
	x.sawDone()
}

func TestActs(t *testing.T) {
	x := newTester(t, 80, 24, sample(), false)
	x.keys("x")
	x.sees("shut down @ann? y after its turn, ! at once, n no")
	x.keys("n")
	x.sawDone()
	x.keys("x", "y")
	x.sawDone("shutdown ann")
	x.sees("✓ shutdown")
	x.keys("j", "x", "!")
	x.sawDone("shutdown bob now")
	x.keys("s", "enter", "type:hello  there", "alt+enter", "type:you", "enter")
	x.sawDone("send bob  hello  there\nyou")

	x.keys("3", "c")
	x.sees("claim t_1 as: me")
	x.keys("ctrl+u", "type:@ann", "enter")
	x.sawDone("claim t_1 ann")
	x.keys("c", "enter", "j", "r", "o")
	x.sawDone("claim t_1 ann", "release t_2", "reopen t_2")
	x.keys("x")
	x.sees("cancel t_2? y or n")
	x.keys("enter", "x", "esc", "x", "y")
	x.sawDone("cancel t_2")
	x.keys("enter", "r", "esc", "c", "esc")
	x.sawDone("release t_2")
	x.m.o.Acts.NeedsName = false
	x.keys("c")
	x.sawDone("claim t_2 ")

	x.keys("4", "r")
	x.sees("reply to @ann:")
	x.keys("type:thanks", "enter")
	x.sawDone("send ann 3-ann thanks")
	x.keys("j", "r")
	x.sees("✗ only who got a message replies to it")
	x.keys("s")
	x.sees("send to: ann")
	x.keys("enter", "enter")
	x.sees("nothing was typed")
	x.send(pasteMsg("two\nlines\x1b[2J\x00"))
	x.keys("enter")
	x.sawDone("send ann  two\nlines[2J")

	x.keys("5", "a")
	x.sees("1 80, 2 8080:")
	x.keys("type:2", "enter")
	x.sawDone("answer q_1 2")
	x.keys("j", "a", "type:x y", "enter", "x", "y")
	x.sawDone("answer q_2 x y", "decline q_2")
}

// Who reads no mail is nobody to write to: the name is then left to be typed.
func TestNobodyToWriteTo(t *testing.T) {
	for _, from := range []string{"harness", "board", "unknown", "human", "leader"} {
		snap := sample()
		snap.Messages = snap.Messages[:1]
		snap.Messages[0].From = from
		x := newTester(t, 120, 24, snap, false)
		x.keys("4", "s")
		x.sees("send to: ")
		if strings.Contains(x.m.shown(), "send to: "+from) {
			t.Errorf("it would be sent to %s", from)
		}
		x.keys("type:bob", "enter", "type:hello", "enter")
		x.sawDone("send bob  hello")
		if from != "leader" {
			x.keys("r")
			x.sees("✗ it is from " + from + ", which reads no mail")
		}
	}
}

// What failed says why, and what was typed is there to be mended.
func TestActFails(t *testing.T) {
	x := newTester(t, 120, 24, sample(), false)
	x.keys("3")
	x.fail = errs.New(errs.AlreadyClaimed, "t_1 is held by bob\x1b[2J").WithHint("teams claim")
	x.keys("c", "enter")
	x.sawDone("claim t_1 me")
	x.sees("✗ t_1 is held by bob␛[2J (teams claim) · claim t_1 as: me")
	x.keys("backspace", "backspace", "type:you", "enter")
	x.sawDone("claim t_1 you")
	x.fail = errs.New(errs.NotHolder, "nobody holds it")
	x.keys("r")
	x.sees("✗ nobody holds it")
	x.keys("j")
	if strings.Contains(x.m.shown(), "nobody") {
		t.Error("the error stays after the next key")
	}
	x.sawDone("release t_1")
}

// An act that is not to be had has no key and no hint.
func TestNoActs(t *testing.T) {
	x := newTester(t, 80, 24, sample(), false)
	x.m.o.Acts = Acts{}
	for p := range pageCount {
		x.m.turn(p)
		x.keys("s", "x", "y", "c", "r", "o", "a", "?")
		x.keys("x")
		for _, word := range []string{"send", "shut", "claim", "cancel", "answer"} {
			if line := x.m.hintLine(); strings.Contains(line, word) {
				t.Errorf("%s: %s", p.title(), line)
			}
		}
	}
	x.sawDone()
}

func TestEditor(t *testing.T) {
	e := newEditor("one two")
	for _, s := range []struct{ key, want string }{
		{"home", "|one two"}, {"right", "o|ne two"}, {"end", "one two|"}, {"left", "one tw|o"}, {"backspace", "one t|o"},
		{"delete", "one t|"}, {"ctrl+w", "one |"}, {"ctrl+a", "|one "}, {"ctrl+k", "|"}, {"backspace", "|"}, {"delete", "|"}, {"left", "|"},
	} {
		if !e.key(s.key) {
			t.Errorf("%s is no key", s.key)
		}
		if got := string(e.text[:e.at]) + "|" + string(e.text[e.at:]); got != s.want {
			t.Errorf("after %s: %q, not %q", s.key, got, s.want)
		}
	}
	e.insert("日本\t\r\n\x1b語\u0085")
	if got := e.String(); got != "日本 \n語" {
		t.Errorf("inserted %q", got)
	}
	for cells := range 12 {
		text, cursor := e.view(cells)
		if w := widest(text); w > cells || cells > 1 && cursor >= cells {
			t.Errorf("in %d cells: %q, cursor at %d", cells, text, cursor)
		}
	}
}

// A very long paste is no burden.
func TestLongPaste(t *testing.T) {
	x := newTester(t, 80, 24, sample(), false)
	x.keys("s", "enter")
	x.send(pasteMsg(strings.Repeat("0123456789 日本語\n", maxPaste/24)))
	for range 200 {
		x.keys("left", "type:x")
	}
	x.keys("home", "end", "enter")
	if len(x.did) != 1 || len(x.did[0]) < maxPaste/2 {
		t.Errorf("%d messages were sent", len(x.did))
	}
}
