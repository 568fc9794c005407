package main

import (
	"slices"
	"time"
)

// quartiles are the median of a set of times and the quarters beside it, in
// microseconds.
type quartiles struct {
	Q1     float64 `json:"q1"`
	Median float64 `json:"median"`
	Q3     float64 `json:"q3"`
}

func quartilesOf(times []time.Duration) quartiles {
	us := make([]float64, len(times))
	for i, t := range times {
		us[i] = float64(t.Nanoseconds()) / 1e3
	}
	slices.Sort(us)
	return quartiles{quantile(us, 0.25), quantile(us, 0.5), quantile(us, 0.75)}
}

// quantile interpolates between the two nearest of the sorted values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}
