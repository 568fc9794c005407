package pi

import (
	"slices"
	"sync"
	"time"
)

// maxActivities bounds what waits for a slow consumer.
const maxActivities = 512

// dispatcher hands events to the consumer in its own goroutine. What waits is
// bounded, so whoever puts something in never waits.
type dispatcher struct {
	to Events

	mu         sync.Mutex
	activities []Activity
	dropped    int
	usage      Usage
	state      State
	told       State
	ends       []RunEnd
	wake       chan struct{}
	exit       *Exit
	done       chan struct{}
}

func newDispatcher(to Events) *dispatcher {
	return &dispatcher{to: to, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

func (d *dispatcher) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *dispatcher) activity(a Activity) {
	if a.Time.IsZero() {
		a.Time = time.Now()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.activities)
	if (a.Kind == Text || a.Kind == Thinking) && n > 0 && d.activities[n-1].Kind == a.Kind {
		d.activities[n-1].Text, d.activities[n-1].Time = a.Text, a.Time
	} else {
		if n == maxActivities {
			d.activities = slices.Delete(d.activities, 0, maxActivities/4)
			d.dropped += maxActivities / 4
		}
		d.activities = append(d.activities, a)
	}
	d.signal()
}

func (d *dispatcher) used(u Usage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.usage.Add(u)
	d.signal()
}

func (d *dispatcher) now(s State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = s
	d.signal()
}

func (d *dispatcher) runEnd(r RunEnd) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ends) == 64 {
		d.ends = slices.Delete(d.ends, 0, 1)
	}
	d.ends = append(d.ends, r)
	d.signal()
}

// finish hands over what is left and the exit, and returns when the consumer
// has it.
func (d *dispatcher) finish(e Exit) {
	d.mu.Lock()
	d.state, d.exit = Ended, &e
	d.signal()
	d.mu.Unlock()
	<-d.done
}

// run hands over until finish.
func (d *dispatcher) run() {
	defer close(d.done)
	for range d.wake {
		d.mu.Lock()
		activities, dropped, usage, ends, state, exit := d.activities, d.dropped, d.usage, d.ends, d.state, d.exit
		changed := state != d.told
		d.activities, d.dropped, d.usage, d.ends, d.told = nil, 0, Usage{}, nil, state
		d.mu.Unlock()
		for i, a := range activities {
			if i == 0 {
				a.Dropped = dropped
			}
			if d.to.OnActivity != nil {
				d.to.OnActivity(a)
			}
		}
		if usage != (Usage{}) && d.to.OnUsage != nil {
			d.to.OnUsage(usage)
		}
		for _, r := range ends {
			if d.to.OnRunEnd != nil {
				d.to.OnRunEnd(r)
			}
		}
		if changed && d.to.OnState != nil {
			d.to.OnState(state)
		}
		if exit != nil {
			if d.to.OnExit != nil {
				d.to.OnExit(*exit)
			}
			return
		}
	}
}
