package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// report is everything that one run of the bench found.
type report struct {
	Machine machine  `json:"machine"`
	Runs    int      `json:"runs"` // of each row
	Rows    []result `json:"rows"`
	Crowds  []crowd  `json:"crowds"`
	Memory  []memory `json:"memory"`
	Targets []target `json:"targets"`

	Shared []compared `json:"shared,omitempty"`
}

// result is one row: what a process cost, in microseconds.
type result struct {
	Name  string `json:"name"`
	Tasks int    `json:"tasks,omitempty"` // size of the board, 0 for none
	cost
}

// find returns a row, nil when there is none.
func (r *report) find(name string, tasks int) *result {
	for i := range r.Rows {
		if r.Rows[i].Name == name && r.Rows[i].Tasks == tasks {
			return &r.Rows[i]
		}
	}
	return nil
}

// sizes are the sizes of board that were measured, in order; never empty.
func (r *report) sizes() []int {
	sizes := []int{0}
	for _, row := range r.Rows {
		if row.Name == rowClaimNext {
			sizes = append(sizes, row.Tasks)
		}
	}
	slices.SortFunc(sizes, cmp.Compare[int])
	if len(sizes) > 1 {
		return sizes[1:]
	}
	return sizes
}

func (r *report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// writeTable prints the figures for people.
func (r *report) writeTable(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", r.Machine)
	if base := r.find(rowNothing, 0); base != nil {
		fmt.Fprintf(&out, "%d runs of each row, interleaved; medians, and the quarters of the wall time\n\n", r.Runs)
		rows := [][]string{{"", "tasks", "wall ms", "quarters", "x nothing", "CPU ms", "x nothing"}}
		for i := range r.Rows {
			rows = append(rows, r.Rows[i].cells(base))
		}
		writeColumns(&out, rows)
	}
	if len(r.Crowds) > 0 {
		out.WriteByte('\n')
		rows := [][]string{{"claimers at once", "claims", "claims/s", "least", "most", "refused", "claim ms", "CPU ms", "submit ms", "CPU ms"}}
		for _, c := range r.Crowds {
			rows = append(rows, []string{
				strconv.Itoa(c.Claimers), strconv.Itoa(c.Claims), fmt.Sprintf("%.1f", c.PerSecond), strconv.Itoa(c.Least),
				strconv.Itoa(c.Most), strconv.Itoa(c.Refused), ms(c.Claim.Wall.Median), ms(c.Claim.CPU.Median),
				ms(c.Submit.Wall.Median), ms(c.Submit.CPU.Median),
			})
		}
		writeColumns(&out, rows)
	}
	r.writeMemory(&out)
	r.writeShared(&out)
	out.WriteByte('\n')
	rows := [][]string{{"target", "", "is", ""}}
	for _, t := range r.Targets {
		rows = append(rows, t.cells())
	}
	writeColumns(&out, rows)
	_, err := io.WriteString(w, out.String())
	return err
}

func (r *result) cells(base *result) []string {
	tasks, cpu, cpuRatio := "", "", ""
	if r.Tasks > 0 {
		tasks = strconv.Itoa(r.Tasks)
	}
	if r.CPU.Median > 0 {
		cpu, cpuRatio = ms(r.CPU.Median), over(r.CPU.Median, base.CPU.Median)
	}
	return []string{
		r.Name, tasks, ms(r.Wall.Median), ms(r.Wall.Q1) + "-" + ms(r.Wall.Q3), over(r.Wall.Median, base.Wall.Median), cpu, cpuRatio,
	}
}

func (t *target) cells() []string {
	limit, value, met := "at most ", fmt.Sprintf("%.2f", t.Value), "met"
	if t.AtLeast {
		limit = "at least "
	}
	if !t.Met {
		met = "missed"
	}
	return []string{t.Name, limit + strconv.FormatFloat(t.Limit, 'g', -1, 64), value, met}
}

func ms(us float64) string { return fmt.Sprintf("%.2f", us/1e3) }

// over writes how many times b a is.
func over(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", a/b)
}

// writeColumns prints rows with the first column to the left and the others to
// the right.
func writeColumns(out *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(&line, "%-*s", widths[i], cell)
			} else {
				fmt.Fprintf(&line, "  %*s", widths[i], cell)
			}
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
