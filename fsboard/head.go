package fsboard

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strconv"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/rawjson"
)

// head is line 1 of the snapshot without its opening of the tasks. It holds
// what an idle look needs, so that such a look reads nothing else.
type head struct {
	Format    int    `json:"format"`
	Revision  int64  `json:"revision"`
	Project   string `json:"project"`
	Session   string `json:"session"`
	NextTask  int64  `json:"nextTask"`
	UpdatedAt int64  `json:"updatedAt"`
	// Due is the earliest lease end or back-off on the wall clock. DueBoot is
	// the earliest end of the leases that began on one boot, and decides on
	// that boot; LeaseDue is that of the other leases, on the wall clock.
	Due      int64    `json:"due,omitempty"`
	DueBoot  *bootDue `json:"dueBoot,omitempty"`
	LeaseDue int64    `json:"leaseDue,omitempty"`
	// Holders are the names that hold claims; HolderSpawns the lives of each.
	Holders      []string            `json:"holders"`
	HolderSpawns map[string][]string `json:"holderSpawns,omitempty"`
	// NoticeRev is the last revision whose events owe notices; NoticeAt the time
	// of the last notice's id, in microseconds since the epoch.
	NoticeRev int64 `json:"noticeRev,omitempty"`
	NoticeAt  int64 `json:"noticeAt,omitempty"`

	extra rawFields
}

// bootPoint is a point on the boot clock of one boot, and what is known there of
// the wall clocks of other hosts.
type bootPoint struct {
	BootID string
	Ms     int64

	clockAhead func(host string) int64 // see Options.ClockAhead; may be nil
}

// ahead is how far the wall clock of a host is ahead of this one's, in ms.
func (p bootPoint) ahead(host string) int64 {
	if p.clockAhead == nil || host == fsx.Host() {
		return 0
	}
	return p.clockAhead(host)
}

// mostAhead is how far the clock of any host is ahead, at least 0.
func (p bootPoint) mostAhead() int64 {
	if p.clockAhead == nil {
		return 0
	}
	return max(p.clockAhead(""), 0)
}

// bootDue is the earliest end of the leases of one boot: on its boot clock,
// and on the wall clock for whoever cannot read that.
type bootDue struct {
	BootID string `json:"bootId"`
	Ms     int64  `json:"ms"`
	Until  int64  `json:"until,omitempty"`
}

// parseHead decodes line 1, with or without its end of line.
func parseHead(line1 []byte) (head, error) {
	var h head
	line1 = bytes.TrimRight(line1, "\r\n")
	obj, ok := bytes.CutSuffix(line1, []byte(headTail))
	if !ok {
		return h, errors.New("line 1 is no snapshot head")
	}
	obj = bytes.TrimSuffix(bytes.TrimRight(obj, " "), []byte(","))
	obj = append(append(make([]byte, 0, len(obj)+1), obj...), '}')
	extra, err := rawjson.Decode(headFields, &h, obj)
	if err != nil {
		return h, fmt.Errorf("line 1: %w", err)
	}
	h.extra = extra
	return h, h.check()
}

func (h *head) check() error {
	if h.Format <= 0 {
		return errors.New("it has no format")
	}
	if h.Revision < 0 || h.NextTask < 1 {
		return errors.New("line 1 has an impossible revision or nextTask")
	}
	if h.Holders == nil {
		h.Holders = []string{}
	}
	return nil
}

// formatOf reads the format from the start of a file that this version cannot
// parse; 0 when it does not begin with one.
func formatOf(data []byte) int {
	b, ok := bytes.CutPrefix(bytes.TrimLeft(data[:min(len(data), 64)], " \t\r\n"), []byte(`{"format":`))
	if !ok {
		return 0
	}
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	format, err := strconv.Atoi(string(b[:n]))
	if err != nil || n == len(b) {
		return 0
	}
	return format
}

// line returns line 1 with its end of line.
func (h *head) line() ([]byte, error) {
	obj, err := rawjson.Append(nil, headFields, h, h.extra)
	if err != nil {
		return nil, err
	}
	obj = append(bytes.TrimSuffix(obj, []byte("}")), ',')
	return append(append(obj, headTail...), '\n'), nil
}

// recount brings the head's due times and holders up to date. Tasks that can
// have neither are not decoded. While nothing was due, only what has changed
// since can have a back-off.
func (s *snapshot) recount(boot bootPoint) error {
	h := &s.head
	idle := h.Due == 0
	h.Due, h.DueBoot, h.LeaseDue, h.Holders, h.HolderSpawns = 0, nil, 0, []string{}, nil
	backoff := []byte(`Before":`) // of notBefore; capitals are rare, so this is a fast search
	for i := range s.lines {
		l := &s.lines[i]
		switch l.status() {
		case claimed:
		case pending:
			if !l.dirty && (idle || !l.mentions(backoff)) {
				continue
			}
		default:
			continue
		}
		task, err := s.at(i)
		if err != nil {
			return err
		}
		h.count(task, boot)
	}
	sort.Strings(h.Holders)
	return nil
}

// count adds one task to the head's due times and holders.
func (h *head) count(task *Task, boot bootPoint) {
	switch {
	case task.Status == Pending:
		sooner(&h.Due, task.NotBefore)
	case task.Status == Claimed && task.Claim != nil:
		c := task.Claim
		if _, known := h.HolderSpawns[c.Worker]; !known {
			h.Holders = append(h.Holders, c.Worker)
			if h.HolderSpawns == nil {
				h.HolderSpawns = map[string][]string{}
			}
		}
		h.HolderSpawns[c.Worker] = appendNew(h.HolderSpawns[c.Worker], c.SpawnID)
		sooner(&h.Due, c.LeaseUntil)
		switch {
		case c.LeaseUntil == 0:
		case c.BootID != "" && c.BootID == boot.BootID:
			if h.DueBoot == nil {
				h.DueBoot = &bootDue{BootID: boot.BootID}
			}
			sooner(&h.DueBoot.Ms, c.BootMs)
			sooner(&h.DueBoot.Until, c.LeaseUntil)
		default:
			sooner(&h.LeaseDue, c.LeaseUntil)
		}
	}
}

// sooner makes *at v if v is set and earlier.
func sooner(at *int64, v int64) {
	if v > 0 && (*at == 0 || v < *at) {
		*at = v
	}
}

func appendNew(list []string, v string) []string {
	for _, have := range list {
		if have == v {
			return list
		}
	}
	return append(list, v)
}

// due reports whether a lease may be over, or the clock went back since the
// last write. Back-offs need no write to end.
func (h *head) due(now int64, boot bootPoint) bool {
	// Whose clock an end is by does not stand here: a look too many does no harm.
	passed := func(at int64) bool { return at > 0 && at <= now+boot.mostAhead() }
	switch {
	case h.UpdatedAt > now+clockSlack+boot.mostAhead(), passed(h.LeaseDue):
		return true
	case h.DueBoot == nil:
		return false
	case h.DueBoot.BootID == boot.BootID:
		return h.DueBoot.Ms <= boot.Ms
	}
	return passed(h.DueBoot.Until)
}
