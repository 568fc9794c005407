package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/seed6990a682/teams/internal/sharedfs"
)

// onShared marks the rows that are measured on a file system of several hosts.
const onShared = ", shared"

// compared is what a row costs on a shared file system beside what it costs on
// the local one.
type compared struct {
	Name  string  `json:"name"`
	Local float64 `json:"local"`  // median wall time, microseconds
	There float64 `json:"shared"` // the same there
	Ratio float64 `json:"ratio"`
}

// sharedRows makes a volume that is mounted twice, with a small board on it, and
// the rows that are compared. Where there can be none it says so, and there are
// no rows. undo is never nil.
func sharedRows(bin, dir string, progress io.Writer) (rows []row, undo func() error, err error) {
	undo = func() error { return nil }
	if why := sharedfs.Available(); why != nil {
		fmt.Fprintf(progress, "bench: nothing is measured on a shared file system: %v\n", why)
		return nil, undo, nil
	}
	v, err := sharedfs.Start(filepath.Join(dir, "volume"))
	if err != nil {
		return nil, undo, err
	}
	undo = v.Stop
	board, err := boardRows(bin, filepath.Join(v.A, "board"), small, true)
	if err != nil {
		return nil, undo, err
	}
	for _, r := range board {
		switch r.name {
		case rowClaim, rowClaimNext, rowSubmit:
			rows = append(rows, r)
		}
	}
	send, err := sendRow(bin, filepath.Join(v.A, "mail"))
	if err != nil {
		return nil, undo, err
	}
	rows = append(rows, send)
	for i := range rows {
		rows[i].name += onShared
	}
	return rows, undo, nil
}

// compare sets what was measured on the shared file system beside the rest.
func (r *report) compare() {
	for _, row := range r.Rows {
		name, ok := strings.CutSuffix(row.Name, onShared)
		if !ok {
			continue
		}
		local := r.find(name, row.Tasks)
		if local == nil || local.Wall.Median == 0 {
			continue
		}
		r.Shared = append(r.Shared, compared{name, local.Wall.Median, row.Wall.Median, row.Wall.Median / local.Wall.Median})
	}
}

// writeShared prints the comparison.
func (r *report) writeShared(out *strings.Builder) {
	if len(r.Shared) == 0 {
		return
	}
	out.WriteByte('\n')
	rows := [][]string{{"on a shared file system", "local ms", "there ms", "x local"}}
	for _, c := range r.Shared {
		rows = append(rows, []string{c.Name, ms(c.Local), ms(c.There), over(c.There, c.Local)})
	}
	writeColumns(out, rows)
}
