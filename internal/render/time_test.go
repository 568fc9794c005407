package render

import (
	"testing"
	"time"
)

func TestRelTime(t *testing.T) {
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	tests := []struct {
		t    time.Time
		want string
	}{
		{now, "just now"},
		{now.Add(-4 * time.Second), "just now"},
		{now.Add(-12 * time.Second), "12s ago"},
		{now.Add(-3*time.Minute - 40*time.Second), "3m ago"},
		{now.Add(-59*time.Minute - 59*time.Second), "59m ago"},
		{now.Add(-5 * time.Hour), "5h ago"},
		{now.Add(-47 * time.Hour), "47h ago"},
		{now.Add(-12 * 24 * time.Hour), "12d ago"},
		{now.Add(-200 * 24 * time.Hour), "2025-08-26"},
		{now.Add(500 * time.Millisecond), "just now"},
		{now.Add(5 * time.Minute), "in 5m"},
		{now.Add(5*time.Minute - time.Second), "in 5m"},
		{now.Add(59*time.Second + time.Millisecond), "in 1m"},
		{now.Add(36 * time.Hour), "in 36h"},
		{now.Add(300 * 24 * time.Hour), "2027-01-08"},
		{time.Time{}, "never"},
	}
	for _, tt := range tests {
		if got := RelTime(now, tt.t); got != tt.want {
			t.Errorf("RelTime(now%+v) = %q, want %q", tt.t.Sub(now), got, tt.want)
		}
	}
	if got := Ago(now, now.Add(time.Hour)); got != "just now" {
		t.Errorf("Ago of a time ahead = %q, want just now", got)
	}
	if got := Ago(now, now.Add(-time.Hour)); got != "1h ago" {
		t.Errorf("Ago = %q", got)
	}
	if got := AbsTime(now); got != "2026-03-14 15:09:26 +0000" {
		t.Errorf("AbsTime = %q", got)
	}
}

func TestDuration(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{0, "0s"},
		{900 * time.Microsecond, "<1ms"},
		{850 * time.Millisecond, "850ms"},
		{4200 * time.Millisecond, "4.2s"},
		{4 * time.Second, "4s"},
		{12900 * time.Millisecond, "12s"},
		{3*time.Minute + 5*time.Second, "3m05s"},
		{30 * time.Minute, "30m"},
		{2*time.Hour + 3*time.Minute, "2h03m"},
		{76 * time.Hour, "3d4h"},
		{48 * time.Hour, "2d"},
		{-90 * time.Second, "-1m30s"},
		{-1 << 63, "-106751d23h"},
	}
	for _, tt := range tests {
		if got := Duration(tt.d); got != tt.want {
			t.Errorf("Duration(%d) = %q, want %q", tt.d, got, tt.want)
		}
	}
}

func TestBytes(t *testing.T) {
	tests := []struct {
		n    int64
		want string
	}{
		{0, "0 B"}, {999, "999 B"}, {1000, "1.0 kB"}, {1449, "1.4 kB"}, {999_600, "1.0 MB"},
		{23_400_000, "23 MB"}, {1<<63 - 1, "9.2 EB"}, {-1 << 63, "-9.2 EB"},
	}
	for _, tt := range tests {
		if got := Bytes(tt.n); got != tt.want {
			t.Errorf("Bytes(%d) = %q, want %q", tt.n, got, tt.want)
		}
	}
}
