package main

import "fmt"

// target is a promise about the figures of one run.
type target struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Limit is what Value may be at most, or has to be at least.
	Limit   float64 `json:"limit"`
	AtLeast bool    `json:"atLeast,omitempty"`
	Met     bool    `json:"met"`
}

// flat is how much more something may cost that should not grow at all: what
// two runs of the same differ by.
const flat = 1.25

// usual is the largest number of tasks that a board is expected to have.
const usual = 10_000

// judge compares the figures with the targets of the design. A target whose
// rows were not measured is left out.
func (r *report) judge() {
	sizes := r.sizes()
	low := sizes[0]
	r.ratio(rowVersion, rowVersion, 0, rowNothing, 0, 1.6)
	r.ratio(rowHelp, rowHelp, 0, rowNothing, 0, 6)
	r.ratio(rowClaim, rowClaim, low, rowNothing, 0, 4)
	r.ratio(rowClaimNext, rowClaimNext, low, rowNothing, 0, 4)
	r.ratio(rowSubmit, rowSubmit, low, rowNothing, 0, 4)
	r.ratio(rowSend, rowSend, 0, rowNothing, 0, 4)
	for i, high := range sizes[1:] {
		grows := func(name string, limit float64) {
			r.ratio(fmt.Sprintf("%s, %d tasks to %d", name, high, low), name, high, name, low, limit)
		}
		switch {
		case high > usual:
			grows(rowClaimNext, 12)
			grows(rowTick, flat)
		case i == len(sizes)-2 || sizes[i+2] > usual: // the largest of the usual ones
			grows(rowClaimNext, 3)
			grows(rowList, 4)
			grows(rowTick, flat)
		}
	}
	r.ratio(rowRecvMany+", to none", rowRecvMany, 0, rowRecv, 0, flat)
	r.ratio("send to amq send", rowSend, 0, rowAmq, 0, 1)
	r.ratio("claim to task start of taskwarrior", rowClaim, low, rowTaskStart, low, 1)
	r.ratio("task add to that of taskwarrior", rowAdd, low, rowTaskAdd, low, 1)
	r.crowdTargets()
	r.atMost("ms of "+rowWake, rowWake, 5)
	r.atMost("ms of "+rowResident, rowResident, 20)
	r.memoryTargets()
}

// atMost adds the target that something takes at most so many ms.
func (r *report) atMost(name, row string, limit float64) {
	if a := r.find(row, 0); a != nil {
		v := a.Wall.Median / 1e3
		r.Targets = append(r.Targets, target{Name: name, Value: v, Limit: limit, Met: v <= limit})
	}
}

// ratio adds the target that one row costs at most limit times another.
func (r *report) ratio(name, row string, tasks int, base string, baseTasks int, limit float64) {
	a, b := r.find(row, tasks), r.find(base, baseTasks)
	if a == nil || b == nil || b.Wall.Median == 0 {
		return
	}
	if base == rowNothing {
		name += " to nothing"
	}
	v := a.Wall.Median / b.Wall.Median
	r.Targets = append(r.Targets, target{Name: name, Value: v, Limit: limit, Met: v <= limit})
}

// crowdTargets are those of many claimers: they get about as much done as two,
// and nobody is refused.
func (r *report) crowdTargets() {
	var two *crowd
	refused := 0
	for i := range r.Crowds {
		c := &r.Crowds[i]
		refused += c.Refused
		if c.Claimers == 2 {
			two = c
		}
	}
	if len(r.Crowds) == 0 {
		return
	}
	if most := &r.Crowds[len(r.Crowds)-1]; two != nil && most != two && two.PerSecond > 0 {
		v := most.PerSecond / two.PerSecond
		r.Targets = append(r.Targets, target{
			Name:  fmt.Sprintf("claims a second, %d claimers to 2", most.Claimers),
			Value: v, Limit: 0.7, AtLeast: true, Met: v >= 0.7,
		})
	}
	r.Targets = append(r.Targets, target{Name: "commands refused for a busy lock", Value: float64(refused), Met: refused == 0})
}
