package fsboard

import "slices"

// Held returns the tasks that a worker's life holds, claims that are still
// only a marker included. An empty spawnID means every life of the name.
func (b *Board) Held(worker, spawnID string) ([]*TaskView, error) {
	maybe, err := b.mayHold(worker)
	if err != nil || !maybe {
		return nil, err
	}
	v, err := b.View()
	if err != nil {
		return nil, err
	}
	return v.Held(worker, spawnID)
}

// mayHold reports, from line 1 and the markers alone, whether a worker holds
// anything.
func (b *Board) mayHold(worker string) (bool, error) {
	h, err := b.readHead()
	if err != nil || h == nil {
		return false, err
	}
	if slices.Contains(h.Holders, worker) || h.Format == 0 {
		return true, nil
	}
	marked, err := b.hasMarker(worker)
	if err != nil || marked {
		return marked, err
	}
	// A marker may have been folded between the two looks.
	again, err := b.readHead()
	if err != nil || again == nil {
		return false, err
	}
	return slices.Contains(again.Holders, worker), nil
}

// hasMarker reports whether a claim marker of the worker is on disk.
func (b *Board) hasMarker(worker string) (bool, error) {
	ids, _, err := b.markerIDs("claims")
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if m, err := readMarker(b.claimPath(id), id); err == nil && m.Worker == worker {
			return true, nil
		}
	}
	return false, nil
}

// Held returns the tasks that a worker's life holds; an empty spawnID means
// every life of the name. A lease that is over holds nothing, unless a
// submission for its claim waits.
func (v *View) Held(worker, spawnID string) ([]*TaskView, error) {
	var out []*TaskView
	for i := range v.snap.lines {
		l := &v.snap.lines[i]
		if l.status() != claimed {
			if len(v.claims) == 0 || v.claims[taskID(l.num)] == nil {
				continue
			}
		}
		t, err := v.At(i)
		if err != nil {
			return nil, err
		}
		if t.Status != Claimed || t.Claim == nil || t.Claim.Worker != worker || spawnID != "" && t.Claim.SpawnID != spawnID {
			continue
		}
		if t.Claim.leaseOver(v.now, v.boot) && t.State == StateClaimed {
			continue
		}
		out = append(out, t)
	}
	return out, nil
}
