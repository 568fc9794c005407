package fsx

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/seed6990a682/teams/internal/errs"
)

func TestCheckHandle(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "ann": true, "a-b_c9": true, strings.Repeat("a", 32): true,
		"": false, strings.Repeat("a", 33): false, strings.Repeat("a", 100_000): false,
		"../x": false, ".": false, "..": false, "-rf": false, "_a": false, "9a": false,
		"a/b": false, "LEADER": false, "Ann": false, "leader": false, "harness": false,
		"board": false, "all": false, "human": false, "leader2": true, "con": true,
		"\U0001F600": false, "a\x00": false, "a ": false, "a.b": false, "é": false, "a\n": false, "\x1b[2J": false,
	} {
		err := CheckHandle(name)
		if (err == nil) != ok {
			t.Errorf("CheckHandle(%.40q) = %v", name, err)
		}
		if err != nil {
			if errs.CodeOf(err) != errs.Usage || !strings.Contains(err.Error(), "name") || len(err.Error()) > 400 {
				t.Errorf("CheckHandle(%.40q) = %v", name, err)
			}
			if SafeLine(err.Error()) != err.Error() {
				t.Errorf("unsafe message: %q", err)
			}
		}
	}
}

func TestCheckSessionKey(t *testing.T) {
	for key, ok := range map[string]bool{
		"a": true, "9": true, "teams-1a2b.3_x": true, strings.Repeat("a", 64): true, "a..b": true,
		"": false, strings.Repeat("a", 65): false, ".": false, "..": false, ".a": false, "-a": false,
		"_a": false, "A": false, "a/b": false, "a b": false, "a\x00b": false, "ä": false,
	} {
		err := CheckSessionKey(key)
		if (err == nil) != ok || err != nil && errs.CodeOf(err) != errs.Usage {
			t.Errorf("CheckSessionKey(%q) = %v", key, err)
		}
	}
}

func TestRandom(t *testing.T) {
	id := regexp.MustCompile(`^[0-9a-f]{32}$`)
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 2000 {
		a, b := RandomID(), UUID()
		if !id.MatchString(a) || !uuid.MatchString(b) {
			t.Fatalf("%q %q", a, b)
		}
		if seen[a] || seen[b] {
			t.Fatalf("%q or %q came twice", a, b)
		}
		seen[a], seen[b] = true, true
	}
}

func TestSafe(t *testing.T) {
	for _, c := range []struct{ in, line, text string }{
		{"", "", ""},
		{"plain ASCII ~!", "plain ASCII ~!", "plain ASCII ~!"},
		{"Grüße, 世界 👩‍👩‍👧 é", "Grüße, 世界 👩‍👩‍👧 é", "Grüße, 世界 👩‍👩‍👧 é"},
		{"a\nb\tc", "a b c", "a\nb\tc"},
		{"a\r\nb", "a  b", "a\nb"},
		{"good\rbad", "good bad", "good␍bad"},
		{"\r", " ", "␍"},
		{"\x1b[31mred\x1b[0m", "␛[31mred␛[0m", "␛[31mred␛[0m"},
		{"\x1b]0;title\x07", "␛]0;title␇", "␛]0;title␇"},
		{"a\x00b\x08c\x7f", "a␀b␈c␡", "a␀b␈c␡"},
		{"\v\f", "␋␌", "␋␌"},
		{"\u009b31m", "\ufffd31m", "\ufffd31m"},
		{"\u0085\u0080\u009f\u00a0", "\ufffd\ufffd\ufffd\u00a0", "\ufffd\ufffd\ufffd\u00a0"},
		{"\x9b31m", "\ufffd31m", "\ufffd31m"},
		{"a\xffb\xc3", "a\ufffdb\ufffd", "a\ufffdb\ufffd"},
		{"\xed\xa0\x80", "\ufffd\ufffd\ufffd", "\ufffd\ufffd\ufffd"},
		{"\xc0\x8a", "\ufffd\ufffd", "\ufffd\ufffd"},
		{"x\u202etxt.exe", "x\ufffdtxt.exe", "x\ufffdtxt.exe"},
		{"\u202a\u202b\u202c\u202d\u202e", strings.Repeat("\ufffd", 5), strings.Repeat("\ufffd", 5)},
		{"\u2066\u2067\u2068\u2069", strings.Repeat("\ufffd", 4), strings.Repeat("\ufffd", 4)},
		{"\u200e\u200f\u061c", strings.Repeat("\ufffd", 3), strings.Repeat("\ufffd", 3)},
		{"a\u2028b\u2029c", "a b c", "a b c"},
		{"שלום", "שלום", "שלום"},
		{"\ufffd", "\ufffd", "\ufffd"},
	} {
		if got := SafeLine(c.in); got != c.line {
			t.Errorf("SafeLine(%q) = %q, want %q", c.in, got, c.line)
		}
		if got := SafeText(c.in); got != c.text {
			t.Errorf("SafeText(%q) = %q, want %q", c.in, got, c.text)
		}
	}
	long := strings.Repeat("plain ", 1000)
	if n := testing.AllocsPerRun(10, func() { SafeLine(long); SafeText(long) }); n != 0 {
		t.Errorf("plain text costs %v allocations", n)
	}
}

func seeds(f *testing.F) {
	for _, s := range []string{"", "plain", "a\nb\tc\r\n", "\x1b[2J\x1b]8;;x\x07", "\u009b\x9b", "\u202eabc\u2069",
		"\xff\xfe", "é\xc3", "👩‍👩‍👧", "\u2028", "\x7f\x00"} {
		f.Add(s)
	}
}

func checkSafe(t *testing.T, in, out, allowed string) {
	if !utf8.ValidString(out) {
		t.Errorf("%q gives invalid UTF-8: %q", in, out)
	}
	for _, r := range out {
		if !strings.ContainsRune(allowed, r) && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) ||
			r == '\u2028' || r == '\u2029') {
			t.Errorf("%q gives %U: %q", in, r, out)
		}
	}
}

func FuzzSafeLine(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		out := SafeLine(s)
		checkSafe(t, s, out, "")
		if SafeLine(out) != out {
			t.Errorf("%q changes again: %q", s, out)
		}
	})
}

func FuzzSafeText(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		out := SafeText(s)
		checkSafe(t, s, out, "\n\t")
		if SafeText(out) != out {
			t.Errorf("%q changes again: %q", s, out)
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"ann", "../x", ".", "a/b", "leader", "a\x00"} {
		f.Add(s)
	}
	handle := regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}\z`)
	key := regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}\z`)
	f.Fuzz(func(t *testing.T, s string) {
		reserved := s == "leader" || s == "harness" || s == "board" || s == "all" || s == "human"
		if (CheckHandle(s) == nil) != (handle.MatchString(s) && !reserved) {
			t.Errorf("CheckHandle(%q) = %v", s, CheckHandle(s))
		}
		if (CheckSessionKey(s) == nil) != key.MatchString(s) {
			t.Errorf("CheckSessionKey(%q) = %v", s, CheckSessionKey(s))
		}
	})
}
