package todo

import (
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/render"
)

func TestTitle(t *testing.T) {
	now := time.UnixMilli(1_000_000_000_000)
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixMilli() }
	done := func(d time.Duration) Item { return Item{Content: "d", Status: Completed, CompletedAt: ago(d)} }
	work := Item{Content: "Clone kimi-code", Status: InProgress}
	open, dropped, blocked := Item{Content: "o", Status: Pending}, Item{Content: "x", Status: Abandoned}, Item{Content: "b", Status: Blocked, Blocker: "k"}
	for _, c := range []struct {
		items []Item
		want  string
	}{
		{nil, ""},
		{[]Item{dropped}, ""},
		{[]Item{open}, "▶0 ○1 ■0 ✓0 (0/1)"},
		{[]Item{work, work, open, done(time.Hour)}, "▶2 ○1 ■0 ✓1 (1/4) · Clone kimi-code"},
		{[]Item{work, open, blocked, dropped, done(time.Minute)}, "▶1 ○1 ■1 ✓1 (1/4) · Clone kimi-code"},
		{[]Item{work, open, done(2 * time.Minute), done(4 * time.Minute)}, "▶1 ○1 ■0 ✓2 (2/4 ~4m) · Clone kimi-code"},
		{[]Item{open, done(time.Second), done(11 * time.Second)}, "▶0 ○1 ■0 ✓2 (2/3 <1m)"},
		{[]Item{open, done(time.Minute), done(91 * time.Minute)}, "▶0 ○1 ■0 ✓2 (2/3 ~1.5h)"},
		{[]Item{open, done(time.Minute), done(61 * time.Minute)}, "▶0 ○1 ■0 ✓2 (2/3 ~1h)"},
		{[]Item{open, done(6 * time.Minute), done(8 * time.Minute)}, "▶0 ○1 ■0 ✓2 (2/3)"},              // too old to tell
		{[]Item{open, done(time.Minute), done(time.Minute)}, "▶0 ○1 ■0 ✓2 (2/3)"},                      // written at once
		{[]Item{open, done(-time.Hour), done(2 * time.Minute)}, "▶0 ○1 ■0 ✓2 (2/3 ~2m)"},               // another clock
		{[]Item{done(time.Minute), done(time.Minute), dropped}, "▶0 ○0 ■0 ✓2 (2/2 ✓)"},                 // just finished
		{[]Item{done(16*time.Hour + time.Minute), done(20 * time.Hour)}, "✓2 done 16h"},                // long finished
		{[]Item{done(time.Hour)}, "✓1 done 1h"},                                                        //
		{[]Item{done(49 * time.Hour)}, "✓1 done 2d"},                                                   //
		{[]Item{{Content: "a\x1b[2J\u202eb", Status: InProgress}}, "▶1 ○0 ■0 ✓0 (0/1) · a␛[2J\ufffdb"}, // harmless
	} {
		if got := Title(c.items, now); got != c.want {
			t.Errorf("%v:\n got %q\nwant %q", show(c.items), got, c.want)
		}
	}
	wide := Title([]Item{{Content: strings.Repeat("語", 80), Status: InProgress}}, now)
	if n := render.Width(wide); n > 80 || n < 79 || !strings.HasSuffix(wide, "…") {
		t.Errorf("%d cells: %q", n, wide)
	}
}
