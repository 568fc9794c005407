package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/gobuild"
)

// The program has no seam for its clock, so it is built with a standard library
// in which [time.Now] adds what a file says. The clock that durations are
// measured with goes on as it is, like that of a machine whose date is set.
const (
	clockEnv = "STORM_CLOCK"

	nowBegins = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"

	shiftSource = `package time

import "sync/atomic"

var wallShift atomic.Int64

// SetWallShift sets how far Now is ahead of the wall clock.
func SetWallShift(d Duration) { wallShift.Store(int64(d)) }

func shiftWall(sec int64, nsec int32) (int64, int32) {
	d := wallShift.Load()
	sec, nsec = sec+d/1e9, nsec+int32(d%1e9)
	switch {
	case nsec < 0:
		return sec - 1, nsec + 1e9
	case nsec >= 1e9:
		return sec + 1, nsec - 1e9
	}
	return sec, nsec
}
`
	followSource = `package main

import (
	"os"
	"time"
)

func init() {
	path := os.Getenv("` + clockEnv + `")
	if path == "" {
		return
	}
	read := func() {
		text, err := os.ReadFile(path)
		if err != nil {
			return // the storm is over
		}
		d, err := time.ParseDuration(string(text))
		if err != nil {
			os.Exit(99)
		}
		time.SetWallShift(d)
	}
	read()
	go func() {
		for {
			time.Sleep(20 * time.Millisecond)
			read()
		}
	}()
}
`
)

// buildShifted builds the program with a wall clock that follows the file which
// clockEnv names.
func buildShifted(ctx context.Context, dir, bin string) error {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "time", gobuild.Teams).Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	dirs := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(dirs) != 2 {
		return fmt.Errorf("go list printed %q", out)
	}
	source := filepath.Join(dirs[0], "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	shifted := strings.Replace(string(text), nowBegins, nowBegins+"\tsec, nsec = shiftWall(sec, nsec)\n", 1)
	if shifted == string(text) {
		return fmt.Errorf("%s: time.Now is not as it was in Go 1.26; -clock=false leaves the clock alone", source)
	}
	replace := map[string]string{}
	for path, text := range map[string]string{
		source:                                shifted,
		filepath.Join(dirs[0], "zz_storm.go"): shiftSource,
		filepath.Join(dirs[1], "zz_storm.go"): followSource,
	} {
		mine := filepath.Join(dir, fmt.Sprintf("clock%d.go", len(replace)))
		if err := os.WriteFile(mine, []byte(text), 0o600); err != nil {
			return err
		}
		replace[path] = mine
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		return err
	}
	return gobuild.Build(ctx, gobuild.Teams, bin, "-overlay", overlay)
}

// clockFile is what a program whose clock is shifted reads.
func (w *world) clockFile() string { return filepath.Join(w.dir, "clock") }

// setClock sets the clock of every process of the storm, within some 20 ms.
func (w *world) setClock(ahead time.Duration) error {
	next := w.clockFile() + ".new"
	if err := os.WriteFile(next, []byte(ahead.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, w.clockFile())
}

// jumpClock sets the clock now and then: by seconds, hours or days, forward and
// back, and back to what it was.
func (w *world) jumpClock(ctx context.Context) {
	if !w.clock {
		return
	}
	steps := [...]time.Duration{2 * time.Second, time.Minute, 3 * time.Hour, 24 * time.Hour, 40 * 24 * time.Hour}
	ahead := time.Duration(0)
	for wait(ctx, time.Second+time.Duration(w.random(int(4*time.Second)))) {
		switch step := steps[w.random(len(steps))]; w.random(3) {
		case 0:
			ahead += step
		case 1:
			ahead -= step
		default:
			ahead = 0
		}
		if err := w.setClock(ahead); err != nil {
			w.wrong("the clock: %v", err)
			return
		}
		w.note("the clock was set")
	}
}
