package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// row is one line of the table: a command line that is run once a round.
type row struct {
	name string
	// tasks is the size of the board, 0 for none.
	tasks int
	// before and after make and undo what a run needs; they are not timed.
	// Either may be nil. after gets what the command printed.
	before func() error
	after  func(out []byte) error
	// cmd is the command line of the next run. Where there is none, probe
	// measures a time by itself.
	cmd   func() command
	probe func() (time.Duration, error)
}

// rounds runs every row once a round, and once before the first, untimed. Each
// round has another order, since a row suffers from what ran right before it: a
// large one leaves nothing of others in the caches of the processor.
func rounds(ctx context.Context, rows []row, n int) ([]result, error) {
	samples := make([][]sample, len(rows))
	for round := -1; round < n; round++ {
		for _, i := range rand.Perm(len(rows)) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			s, err := rows[i].once()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", rows[i].name, err)
			}
			if round >= 0 {
				samples[i] = append(samples[i], s)
			}
		}
	}
	results := make([]result, len(rows))
	for i := range rows {
		results[i] = result{Name: rows[i].name, Tasks: rows[i].tasks, cost: costOf(samples[i])}
	}
	return results, nil
}

// once makes one run of a row.
func (r *row) once() (s sample, err error) {
	if r.before != nil {
		if err := r.before(); err != nil {
			return s, fmt.Errorf("before: %w", err)
		}
	}
	var out []byte
	if r.probe != nil {
		s.wall, err = r.probe()
	} else {
		s, out, err = r.cmd().run()
	}
	if err != nil || r.after == nil {
		return s, err
	}
	if err := r.after(out); err != nil {
		return s, fmt.Errorf("after: %w", err)
	}
	return s, nil
}
