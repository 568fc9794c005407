package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// exitBusy is the exit code of teams for a lock that was not free in time.
const exitBusy = 75

// crowd is what so many claimers got done who claimed at once. Each starts one
// process after the other: it claims the next task and submits it.
type crowd struct {
	Claimers  int     `json:"claimers"`
	Claims    int     `json:"claims"`
	PerSecond float64 `json:"claimsPerSecond"`
	// Least and Most are the claims of the claimer with the fewest and the most.
	Least int `json:"least"`
	Most  int `json:"most"`
	// Refused is how many commands ended because a lock was busy.
	Refused int `json:"refused"`
	// What one command costs in the crowd.
	Claim  cost `json:"claim"`
	Submit cost `json:"submit"`
}

// cost is that of many runs of one command.
type cost struct {
	Wall quartiles `json:"wallUs"`
	CPU  quartiles `json:"cpuUs"`
}

func costOf(samples []sample) cost {
	walls, cpus := make([]time.Duration, len(samples)), make([]time.Duration, len(samples))
	for i, s := range samples {
		walls[i], cpus[i] = s.wall, s.cpu
	}
	return cost{quartilesOf(walls), quartilesOf(cpus)}
}

// claimAtOnce lets n claimers loose on a new board for a while.
func claimAtOnce(ctx context.Context, bin binaries, dir string, n, tasks int, window time.Duration) (c crowd, err error) {
	b, err := newBoard(bin.teams, filepath.Join(dir, "crowd-"+strconv.Itoa(n)), tasks, "")
	if err != nil {
		return c, err
	}
	workers := make([]*worker, n)
	for i := range workers {
		if workers[i], err = b.join("w" + strconv.Itoa(i+1)); err != nil {
			return c, err
		}
	}
	var (
		wg             sync.WaitGroup
		refused        atomic.Int64
		mu             sync.Mutex
		claims, submit []sample
		failed         error
	)
	counts := make([]int, n)
	start := time.Now()
	for i, w := range workers {
		wg.Go(func() {
			for time.Since(start) < window && ctx.Err() == nil {
				took, err := w.claimAndSubmit()
				var exit *exitError
				if errors.As(err, &exit) && exit.code == exitBusy {
					refused.Add(1)
					continue
				}
				mu.Lock()
				if err != nil {
					failed = err
					mu.Unlock()
					return
				}
				claims, submit = append(claims, took[0]), append(submit, took[1])
				mu.Unlock()
				counts[i]++
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	if err := errors.Join(failed, ctx.Err()); err != nil {
		return c, err
	}
	return crowd{
		Claimers: n, Claims: len(claims), PerSecond: float64(len(claims)) / took.Seconds(),
		Least: slices.Min(counts), Most: slices.Max(counts), Refused: int(refused.Load()),
		Claim: costOf(claims), Submit: costOf(submit),
	}, nil
}

// claimAndSubmit takes the next task and hands it in, and says what either
// cost.
func (w *worker) claimAndSubmit() (took [2]sample, err error) {
	for i, args := range [][]string{{"claim", "-q"}, {"submit", "--result", "done", "-q"}} {
		if took[i], _, err = w.command(args...).run(); err != nil {
			return took, fmt.Errorf("%s: %w", args[0], err)
		}
	}
	return took, nil
}
