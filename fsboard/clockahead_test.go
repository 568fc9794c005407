package fsboard

import (
	"testing"

	"github.com/seed6990a682/teams/internal/fsx"
)

// A lease is by the clock of its own host, as far as that is known.
func TestLeaseOfAnotherClock(t *testing.T) {
	const hour, lease = int64(3_600_000), int64(600_000)
	now := int64(1_800_000_000_000)
	for name, ahead := range map[string]int64{"ahead": hour, "behind": -hour, "same": 0} {
		boot := bootPoint{BootID: "here", Ms: 1000, clockAhead: func(string) int64 { return ahead }}
		m := &Marker{TaskID: "t_1", Worker: "ann", Host: "elsewhere", Timestamp: now + ahead, LeaseMs: lease, BootID: "there", BootMs: 7}
		c := m.claim(now, boot)
		if left := c.leaseLeft(now, boot); left != lease {
			t.Errorf("%s: %d ms are left of a new lease, want %d", name, left, lease)
		}
		if c.ClaimedAt > now {
			t.Errorf("%s: claimed in the future", name)
		}
		if c.leaseOver(now+lease-1, boot) || !c.leaseOver(now+lease, boot) {
			t.Errorf("%s: it does not end when it should", name)
		}
		if until := c.mended(now, boot); until != 0 {
			t.Errorf("%s: mended to %d", name, until)
		}
		// One from further ahead than its own clock can be is cut, and stays by that clock.
		c.LeaseUntil += 5 * hour
		if until := c.mended(now, boot); until != now+ahead+lease {
			t.Errorf("%s: mended to %d, want %d", name, until, now+ahead+lease)
		}
		// On its own host nothing is corrected.
		c = (&Marker{TaskID: "t_1", Host: fsx.Host(), Timestamp: now, LeaseMs: lease}).claim(now, boot)
		if left := c.leaseLeft(now, boot); left != lease {
			t.Errorf("%s: here %d ms are left", name, left)
		}
	}
}

// A look at line 1 does not miss the end of a lease by a clock that is ahead.
func TestDueOfAnotherClock(t *testing.T) {
	boot := bootPoint{BootID: "here", clockAhead: func(string) int64 { return 5000 }}
	h := head{DueBoot: &bootDue{BootID: "there", Ms: 1, Until: 14_000}}
	if h.due(8_999, boot) || !h.due(9_000, boot) {
		t.Error("the end of a lease of another boot")
	}
	h = head{LeaseDue: 14_000}
	if h.due(8_999, boot) || !h.due(9_000, boot) {
		t.Error("the end of a lease without a boot")
	}
	h = head{UpdatedAt: 10_000}
	if h.due(4_000, boot) || !h.due(2_000, boot) {
		t.Error("a clock that went back")
	}
}
