package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestFind(t *testing.T) {
	defer withTestCommands()()
	tests := []struct {
		args  string // words; _ is a blank inside one
		path  string
		rest  string
		stuck bool
	}{
		{"", "", "", false},
		{"version", "version", "", false},
		{"version x", "version", "x", false},
		{"t echo a b", "t echo", "a b", false},
		{"t", "t", "", false},
		{"t nosuch a", "t", "nosuch a", true},
		{"nosuch", "", "nosuch", true},
		{"--json t -q echo -x a", "t echo", "--json -q -x a", false},
		{"--session version version", "version", "--session version", false},
		{"--session=version version", "version", "--session=version", false},
		{"-xC version version", "version", "-xC version", false},
		{"-Cversion version", "version", "-Cversion", false},
		{"--session", "", "--session", false},
		{"--wait version", "", "--wait version", true},
		{"t --on echo", "t", "--on echo", true},
		{"-_text version", "", "-_text version", true},
		{"t_echo", "", "t_echo", true},
		{"version --session", "version", "--session", false},
		{"herdr --socket s close x", "herdr close", "--socket s x", false},
		{"--socket s herdr close", "", "--socket s herdr close", true},
		{"t echo version", "t echo", "version", false},
		{"-h", "", "-h", false},
		{"- version", "", "- version", true},
	}
	for _, tt := range tests {
		var args []string
		for _, a := range strings.Fields(tt.args) {
			args = append(args, strings.ReplaceAll(a, "_", " "))
		}
		inv := find(args)
		rest := strings.ReplaceAll(strings.Join(inv.args, "\x00"), " ", "_")
		if rest = strings.ReplaceAll(rest, "\x00", " "); inv.path != tt.path || rest != tt.rest || inv.stuck != tt.stuck {
			t.Errorf("find(%s) = path %q, args %q, stuck %t; want %q, %q, %t", tt.args, inv.path, rest, inv.stuck, tt.path, tt.rest, tt.stuck)
		}
		if (inv.entry == nil) != (lookup(tt.path) == nil) {
			t.Errorf("find(%s) has entry %v", tt.args, inv.entry)
		}
	}
	if inv := find([]string{"", "version"}); !inv.stuck || inv.entry != nil {
		t.Errorf("an empty word is taken for a command: %+v", inv)
	}
}

// The scanner of global flags is written by hand; it must know what the
// grammar knows, and read the same values.
func TestGlobalFlagsAgreeWithTheGrammar(t *testing.T) {
	g := grammar{Cmd: new(versionCmd)}
	parser, err := newParser(&versionEntry, &g)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(parser.Model.Flags); n != reflect.TypeFor[Globals]().NumField() {
		t.Fatalf("%d global flags, %d fields", n, reflect.TypeFor[Globals]().NumField())
	}
	for _, f := range parser.Model.Flags {
		want := 2
		if f.IsBool() {
			want = 1
		}
		names := []string{"--" + f.Name}
		if f.Short != 0 {
			names = append(names, "-"+string(f.Short))
		}
		for _, name := range names {
			if got := globalFlag("", name); got != want {
				t.Errorf("globalFlag(%s) = %d, want %d", name, got, want)
			}
			if f.Name == "help" {
				continue
			}
			args := []string{name}
			if want == 2 {
				args = append(args, "1h")
			}
			var scanned Globals
			if rest := scanGlobals(&scanned, args); len(rest) > 0 {
				t.Errorf("scanGlobals leaves %q of %q", rest, args)
			}
			e := newEnv(nil, nil, nil)
			if err := e.parse(&versionEntry, new(versionCmd), args, commandLine{head: args}); err != nil {
				t.Errorf("%q: %v", args, err)
			}
			if scanned.LockTimeout == 0 {
				scanned.LockTimeout = Duration(10 * time.Second)
			}
			if scanned != e.Globals {
				t.Errorf("%q: scanned %+v, parsed %+v", args, scanned, e.Globals)
			}
		}
		if got := globalFlag("", "--"+f.Name+"=x"); got != 1 {
			t.Errorf("globalFlag(--%s=x) = %d", f.Name, got)
		}
	}
}

func TestIsText(t *testing.T) {
	for arg, want := range map[string]bool{
		"- a list": true, "-j is a flag": true, "--json is too": true, "-\n": true, "--no such=thing": true,
		"--Name=a b": true, "--na1me=a b": true, "--=a b": true, "---a=b c": true, "-d=a b": true,
		"-": false, "--": false, "-j": false, "--json": false, "--text=with blanks": false, "a b": false, "": false,
		"--depends-on=a b": false,
	} {
		if got := isText(arg); got != want {
			t.Errorf("isText(%q) = %t", arg, got)
		}
	}
}

func TestLiteralsAreRestored(t *testing.T) {
	args := []string{"- literal0000 x", "--text=a\xff", "plain", "literal", "literall0001", "\xfe"}
	l := literals{argv: args}
	hidden, err := l.hide(args)
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range hidden {
		if !utf8.ValidString(h) || strings.Contains(h, " ") {
			t.Errorf("argument %d is not hidden: %q", i, h)
		}
		if got := l.restore(h); got != args[i] {
			t.Errorf("argument %d: %q became %q", i, args[i], got)
		}
	}
	v := struct {
		S  string
		P  *string
		L  []string
		In any
	}{hidden[0], &hidden[1], []string{hidden[5], "plain"}, &struct{ T string }{hidden[1]}}
	l.restoreIn(reflect.ValueOf(&v))
	if v.S != args[0] || *v.P != args[1] || !slices.Equal(v.L, []string{args[5], "plain"}) || v.In.(*struct{ T string }).T != args[1] {
		t.Errorf("restored to %+v", v)
	}
	if _, err := l.hide([]string{"-d\xff"}); err == nil {
		t.Error("a short flag with bytes that are not UTF-8 is accepted")
	}
	if same, _ := l.hide([]string{"a", "b"}); !slices.Equal(same, []string{"a", "b"}) {
		t.Errorf("nothing to hide, and got %q", same)
	}
}

func TestParseDuration(t *testing.T) {
	good := map[string]time.Duration{
		"0": 0, "30s": 30 * time.Second, "250ms": 250 * time.Millisecond, "1h30m": 90 * time.Minute,
		"2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour, "1d0s": 24 * time.Hour,
		"106751d": 106751 * 24 * time.Hour, "+5s": 5 * time.Second,
	}
	for s, want := range good {
		if got, err := parseDuration(s); err != nil || got != want {
			t.Errorf("parseDuration(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "-5m", "30", "5x", "d", "1d-5h", "1d+5h", "2d3d", "1h2d", "106752d", "106751d24h", "9999999h", "1e3d", "nand", "infd", "1d12", "one day", "-1d", ".d", "-0s"} {
		if got, err := parseDuration(s); err == nil {
			t.Errorf("parseDuration(%q) = %v, want an error", s, got)
		} else if !strings.Contains(err.Error(), "is not a duration") {
			t.Errorf("parseDuration(%q): %v", s, err)
		}
	}
	var none *Duration
	if none.Std() != 0 {
		t.Error("an absent duration is not 0")
	}
}

func TestNearest(t *testing.T) {
	defer withTestCommands()()
	for word, want := range map[string]string{
		"verison": "version", "versoin": "version", "ver": "version", "hlep": "help", "echo": "t echo",
		"tt": "t", "qqqqqq": "", "": "", "completions": "completion",
	} {
		if got := nearest("", word); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
	if got := nearest("t", "pritn"); got != "t print" {
		t.Errorf("nearest below t = %q", got)
	}
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"claim", "clami", 1}, {"claim", "calm", 2}, {"submit", "sbumit", 1}, {"abc", "xyz", 3}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
