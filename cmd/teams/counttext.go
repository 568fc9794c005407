package main

import (
	"strconv"
	"strings"

	"github.com/seed6990a682/teams/fsboard"
)

// countText says how many tasks are in each state, those with none left out.
func countText(counts map[fsboard.State]int) string {
	var parts []string
	for _, s := range fsboard.States() {
		if n := counts[s]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+string(s))
		}
	}
	if len(parts) == 0 {
		return "no tasks"
	}
	return strings.Join(parts, ", ")
}

func living(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 living teammate"
	}
	return strconv.Itoa(n) + " living teammates"
}
