package main

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// Duration is the value of a flag or a setting: Go's durations and d for days
// of 24 hours, such as "90s", "2d" or "1d12h". It is never negative. Use
// *Duration for a flag that may be absent; 0 is a value.
type Duration time.Duration

// UnmarshalText parses a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := parseDuration(string(text))
	if err == nil {
		*d = Duration(v)
	}
	return err
}

// String writes the duration as Go does.
func (d Duration) String() string { return time.Duration(d).String() }

// Std returns the duration as the standard library's type; that of nil is 0.
func (d *Duration) Std() time.Duration {
	if d == nil {
		return 0
	}
	return time.Duration(*d)
}

func parseDuration(s string) (time.Duration, error) {
	bad := func(why string) (time.Duration, error) {
		return 0, errs.New(errs.Usage, "%q is not a duration, %s", s, why)
	}
	if strings.HasPrefix(s, "-") {
		return bad("it must not be negative")
	}
	var days time.Duration
	rest := s // what time.ParseDuration gets
	if end := strings.IndexByte(s, 'd'); end >= 0 {
		n, err := strconv.ParseFloat(s[:end], 64)
		if err != nil || strings.Trim(s[:end], "0123456789.") != "" {
			return bad("write it like 30s, 5m, 1h30m or 2d")
		}
		if n*24 > math.MaxInt64/float64(time.Hour) {
			return bad("it is too long")
		}
		days = time.Duration(n * 24 * float64(time.Hour))
		if rest = s[end+1:]; rest == "" {
			return days, nil
		}
		if c := rest[0]; c < '0' || c > '9' {
			return bad("write it like 1d12h")
		}
	}
	d, err := time.ParseDuration(rest)
	switch {
	case err != nil && strings.Trim(rest, "0123456789.") == "" && rest != "":
		return bad("it needs a unit, such as " + s + "s")
	case err != nil:
		return bad("write it like 30s, 5m, 1h30m or 2d")
	case d < 0 || d > math.MaxInt64-days:
		return bad("it is too long")
	}
	return days + d, nil
}
