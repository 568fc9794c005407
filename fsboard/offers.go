package fsboard

import "math"

// Offer is a pending task that a worker may take now.
type Offer struct {
	ID      string
	Epoch   int64 // another claim, or a change of the task, raises it
	Subject string
}

// Offers are the tasks that a worker may take now, in claim order. They are a
// look and no promise: a rival may be first.
type Offers struct {
	Tasks    []Offer
	Revision int64 // of the snapshot they come from
	// Next is when the next back-off ends, in epoch ms; math.MaxInt64: none.
	// Before that, and with the same revision and markers, nothing is added.
	Next int64
}

// Revision is that of the snapshot, 0 when there is no board. It reads one line.
func (b *Board) Revision() (int64, error) {
	if ok, err := b.Exists(); err != nil || !ok {
		return 0, err
	}
	return b.revision()
}

// Offers lists what a worker of a role, which may be "", may take now. It reads
// the ready list when that is up to date, else the snapshot.
func (b *Board) Offers(worker, agent string) (Offers, error) {
	o := Offers{Next: math.MaxInt64}
	if ok, err := b.Exists(); err != nil || !ok {
		return o, err
	}
	v, err := b.viewMarkers()
	if err != nil {
		return o, err
	}
	if o.Revision, err = b.revision(); err != nil {
		return o, err
	}
	list, ok := b.readReady(o.Revision)
	if !ok {
		s, err := b.load()
		if err != nil {
			return o, err
		}
		if s == nil {
			return o, nil
		}
		if list, err = s.candidates(); err != nil {
			return o, corrupt(b.Path(), err)
		}
		o.Revision = s.head.Revision
	}
	r := &ClaimRequest{Worker: worker, Agent: agent}
	for row := range list.rows() {
		c, ok := parseCandidate(row)
		if !ok || v.isAhead(c.id, c.epoch) {
			continue
		}
		if c.notBefore > v.now {
			o.Next = min(o.Next, c.notBefore)
			continue
		}
		if c.mayTake(r, v.now) {
			o.Tasks = append(o.Tasks, Offer{c.id, c.epoch, rowSubject(row)})
		}
	}
	return o, nil
}

// rowSubject is the last field of a row.
func rowSubject(row []byte) string {
	for i := len(row) - 1; i >= 0; i-- {
		if row[i] == '\t' {
			return string(row[i+1:])
		}
	}
	return ""
}
