package fsx

import "github.com/seed6990a682/teams/internal/errs"

// CheckHandle checks the name of a teammate or an agent: a lower-case letter,
// then up to 31 lower-case letters, digits, "-" or "_", and none of the
// reserved names. The error has code usage and states the rule. Names are
// refused, never repaired.
func CheckHandle(name string) error {
	if !matches(name, 32, func(c byte, first bool) bool {
		return isLower(c) || !first && (isDigit(c) || c == '-' || c == '_')
	}) {
		return errs.New(errs.Usage, "%q is no valid name: names are a lower-case letter, "+
			"then up to 31 lower-case letters, digits, - or _", clip(name))
	}
	switch name {
	case "leader", "harness", "board", "all", "human":
		return errs.New(errs.Usage, "%q is a reserved name: leader, harness, board, all "+
			"and human cannot be given to anybody", name)
	}
	return nil
}

// CheckSessionKey checks a session key: a lower-case letter or digit, then up
// to 63 lower-case letters, digits, ".", "-" or "_". The error has code usage
// and states the rule.
func CheckSessionKey(key string) error {
	// "." and ".." fail at their first byte.
	if !matches(key, 64, func(c byte, first bool) bool {
		return isLower(c) || isDigit(c) || !first && (c == '.' || c == '-' || c == '_')
	}) {
		return errs.New(errs.Usage, "%q is no valid session key: keys are a lower-case letter "+
			"or digit, then up to 63 lower-case letters, digits, ., - or _", clip(key))
	}
	return nil
}

func matches(s string, most int, ok func(c byte, first bool) bool) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !ok(s[i], i == 0) {
			return false
		}
	}
	return true
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// clip keeps a message about an endless name readable; %q makes the cut safe.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}
