package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Everything is measured once on small boards, and reported.
func TestBench(t *testing.T) {
	dir := t.TempDir()
	s := settings{runs: 1, large: 200, crowds: []int{1, 2}, window: 200 * time.Millisecond, dir: dir}
	r, err := measure(context.Background(), s, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	for _, row := range []struct {
		name  string
		tasks int
	}{
		{rowNothing, 0}, {rowVersion, 0}, {rowHelp, 0}, {rowSend, 0}, {rowClaim, 10}, {rowClaimNext, 10}, {rowClaimNext, 20},
		{rowClaimNext, 200}, {rowSubmit, 10}, {rowAdd, 200}, {rowList, 10}, {rowList, 200}, {rowTick, 10}, {rowTick, 200},
		{rowStatus, 200}, {rowRecv, 0}, {rowRecvMany, 0}, {rowOldest + "1,000", 0}, {rowSendFull, 0},
	} {
		got := r.find(row.name, row.tasks)
		if got == nil {
			t.Errorf("%s on %d tasks was not measured", row.name, row.tasks)
		} else if got.Wall.Median <= 0 || got.CPU.Median <= 0 {
			t.Errorf("%s on %d tasks: %+v", row.name, row.tasks, got)
		}
	}
	for _, name := range []string{rowWake, rowWakeEnd, rowResident} {
		if got := r.find(name, 0); got == nil || got.Wall.Median < 0 || got.Wall.Median > 30e6 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	what := map[string]int{}
	for _, m := range r.Memory {
		what[m.Name]++
		if m.MB < 0.5 || m.MB > 500 {
			t.Errorf("%+v", m)
		}
	}
	if what[memClaim] != 2 || what[memHarness] != 2 || what[memResident] != 1 {
		t.Errorf("memory: %+v", r.Memory)
	}
	for _, c := range r.Crowds {
		if c.Claims < c.Claimers || c.Least < 1 || c.Refused > 0 || c.PerSecond <= 0 {
			t.Errorf("%+v", c)
		}
	}
	if len(r.Crowds) != 2 || len(r.Targets) < 9 {
		t.Errorf("%d crowds, %d targets", len(r.Crowds), len(r.Targets))
	}
	var table, data strings.Builder
	if err := r.writeTable(&table); err != nil || strings.Count(table.String(), "\n") < len(r.Rows)+len(r.Targets)+3 {
		t.Errorf("%v\n%s", err, &table)
	}
	if err := r.writeJSON(&data); err != nil || !json.Valid([]byte(data.String())) {
		t.Errorf("%v\n%s", err, &data)
	}
}

func TestQuartiles(t *testing.T) {
	ms := func(list ...int) (out []time.Duration) {
		for _, n := range list {
			out = append(out, time.Duration(n)*time.Millisecond)
		}
		return out
	}
	for _, tt := range []struct {
		times []time.Duration
		want  quartiles
	}{
		{nil, quartiles{}},
		{ms(3), quartiles{3000, 3000, 3000}},
		{ms(4, 1), quartiles{1750, 2500, 3250}},
		{ms(5, 1, 4, 2, 3), quartiles{2000, 3000, 4000}},
	} {
		if got := quartilesOf(tt.times); got != tt.want {
			t.Errorf("quartiles of %v: %+v, want %+v", tt.times, got, tt.want)
		}
	}
}

func TestJudge(t *testing.T) {
	wall := func(name string, tasks int, us float64) result {
		return result{Name: name, Tasks: tasks, cost: cost{Wall: quartiles{Median: us}}}
	}
	r := &report{
		Rows: []result{
			wall(rowNothing, 0, 100), wall(rowVersion, 0, 150), wall(rowHelp, 0, 700), wall(rowClaimNext, 10, 300),
			wall(rowClaimNext, 100, 600), wall(rowTick, 10, 200), wall(rowTick, 100, 300),
			wall(rowClaimNext, 100_000, 3900), wall(rowWake, 0, 5100), wall(rowResident, 0, 19_000), wall(rowSend, 0, 300), wall(rowAmq, 0, 200),
		},
		Memory: []memory{{memClaim, 10, 17}, {memHarness, 10, 23}, {memResident, 10, 99}},
		Crowds: []crowd{{Claimers: 2, PerSecond: 10}, {Claimers: 64, PerSecond: 6, Refused: 1}},
	}
	r.judge()
	want := map[string]struct {
		value float64
		met   bool
	}{
		"version to nothing": {1.5, true}, "--help to nothing": {7, false}, "claim to nothing": {3, true},
		"claim, 100 tasks to 10": {2, true}, "tick, idle, 100 tasks to 10": {1.5, false},
		"claims a second, 64 claimers to 2": {0.6, false}, "commands refused for a busy lock": {1, false},
		"claim, 100000 tasks to 10": {13, false}, "ms of " + rowWake: {5.1, false}, "ms of " + rowResident: {19, true},
		"send leader to nothing": {3, true}, "send to amq send": {1.5, false}, "MB of claim, 10 tasks": {17, false}, "MB of harness, idle, 10 tasks": {23, true},
	}
	for _, got := range r.Targets {
		w, ok := want[got.Name]
		if !ok || math.Abs(got.Value-w.value) > 1e-9 || got.Met != w.met {
			t.Errorf("%+v, want %+v", got, w)
		}
		delete(want, got.Name)
	}
	for name := range want {
		t.Errorf("%s was not judged", name)
	}
}

func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		s    settings
		want string
	}{
		{settings{large: 10_000}, "[10 100 1000 10000]"},
		{settings{large: 10_000, quick: true}, "[10 10000]"},
		{settings{large: 10_000, big: true}, "[10 100 1000 10000 100000]"},
		{settings{large: 200}, "[10 20 200]"},
	} {
		if got := fmt.Sprint(tt.s.sizes()); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.s, got, tt.want)
		}
	}
}

// A peer of another version than the bench knows is left out, with a word.
func TestPeerThatRefuses(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	for _, name := range []string{"amq", "bd"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexit 64\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	var progress strings.Builder
	rows, undo, err := peerRows(dir, &progress)
	defer undo()
	if err != nil || len(rows) > 0 || strings.Count(progress.String(), " is left out: ") != 2 {
		t.Errorf("%d rows, %v\n%s", len(rows), err, &progress)
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-n", "-1"}, {"-crowds", "0"}, {"-crowds", "2,x"}, {"word"}, {"-nosuch"}} {
		if err := run(args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
