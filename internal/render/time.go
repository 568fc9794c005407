package render

import (
	"strconv"
	"time"
)

const day = 24 * time.Hour

// RelTime names t as seen from now: "just now", "3m ago", "5h ago", "12d ago",
// "in 5m". What is further away than 90 days is its date. The zero time is
// "never".
func RelTime(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := now.Sub(t)
	switch {
	case d > 90*day || d < -90*day:
		return t.Format("2006-01-02")
	case d > -time.Second && d < 5*time.Second:
		return "just now"
	case d < 0:
		return "in " + span(-d, true)
	}
	return span(d, false) + " ago"
}

// Ago is RelTime for what has happened already: a time stamp that lies ahead
// of now is the mistake of some clock and counts as now.
func Ago(now, t time.Time) string {
	if t.After(now) {
		t = now
	}
	return RelTime(now, t)
}

// AbsTime names t by date, time and zone, in the zone of t. The zero time is
// "never".
func AbsTime(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Format("2006-01-02 15:04:05 -0700")
}

// span is d in its largest unit alone. What is still to come is rounded up, so
// that a lease of five minutes reads "in 5m" and not "in 4m" a moment later.
func span(d time.Duration, up bool) string {
	for _, u := range [...]struct {
		name  string
		unit  time.Duration
		below time.Duration
	}{
		{"s", time.Second, time.Minute},
		{"m", time.Minute, time.Hour},
		{"h", time.Hour, 2 * day},
		{"d", day, 1 << 62},
	} {
		n := d / u.unit
		if up && d%u.unit > 0 {
			n++
		}
		if n*u.unit < u.below {
			return strconv.FormatInt(int64(n), 10) + u.name
		}
	}
	return ""
}

// Duration writes d in at most two units, which is as exact as a reader needs:
// "0s", "850ms", "4.2s", "12s", "3m05s", "2h03m", "3d4h". A negative d gets a
// minus sign.
func Duration(d time.Duration) string {
	if d < 0 {
		if d == -1<<63 {
			d++ // its positive form does not fit
		}
		return "-" + Duration(-d)
	}
	switch {
	case d == 0:
		return "0s"
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		tenths := d.Milliseconds() / 100
		s := strconv.FormatInt(tenths/10, 10)
		if tenths%10 != 0 {
			s += "." + strconv.FormatInt(tenths%10, 10)
		}
		return s + "s"
	case d < time.Minute:
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	case d < time.Hour:
		return two(d, time.Minute, "m", time.Second, "s", 2)
	case d < day:
		return two(d, time.Hour, "h", time.Minute, "m", 2)
	}
	return two(d, day, "d", time.Hour, "h", 1)
}

// two writes d as so many big units and, unless there are none, small ones with
// at least digits digits.
func two(d, big time.Duration, bigName string, small time.Duration, smallName string, digits int) string {
	s := strconv.FormatInt(int64(d/big), 10) + bigName
	n := strconv.FormatInt(int64(d%big/small), 10)
	if n == "0" {
		return s
	}
	for len(n) < digits {
		n = "0" + n
	}
	return s + n + smallName
}

// Bytes writes a size: "0 B", "812 B", "1.4 kB", "23 MB" (powers of 1000).
func Bytes(n int64) string {
	if n < 0 {
		return "-" + Bytes(-(n + 1)) // -(n+1): the smallest number has no positive form
	}
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, unit := float64(n), 0
	units := [...]string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	for v >= 999.5 && unit < len(units)-1 {
		v /= 1000
		unit++
	}
	if v < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64) + " " + units[unit]
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + " " + units[unit]
}
