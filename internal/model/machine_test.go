package model

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"pgregory.net/rapid"

	"github.com/seed6990a682/teams/internal/fsx"
)

// machine is a world with what rapid may do to it.
type machine struct {
	*world
	trace []string // what was done, for whoever reads a failure
}

func (m *machine) log(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, args...))
}

// fatal ends the run with all that led to it.
func (m *machine) fatal(t *rapid.T, format string, args ...any) {
	t.Helper()
	t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(m.trace, "\n"))
}

// done takes in how a verb ended: what a living caller was told is true from
// now on, and one that died is dead.
func (m *machine) done(t *rapid.T, v verb, o *op, out outcome) {
	t.Helper()
	m.log("  %s, %s: %v dead %v fault %v", v.who.name, v.name, out.err, out.dead, out.faulty)
	if out.panic != nil {
		m.fatal(t, "panic: %v", out.panic)
	}
	if !out.dead && !out.faulty && !expected(out.err) {
		m.fatal(t, "%s by %s: %v", v.name, v.who.name, out.err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if out.dead || out.err != nil {
		for _, id := range o.shown { // shown, and perhaps not marked
			list := m.printed[id]
			list[len(list)-1].sure = false
		}
	}
	if out.faulty { // some mark may have failed on the way
		for _, list := range m.printed {
			list[len(list)-1].sure = false
		}
	}
	if !out.dead {
		for _, f := range o.told {
			f()
		}
		return
	}
	m.die(v.who)
}

// run makes one call and takes in how it ended.
func (m *machine) run(t *rapid.T, v verb, tr trouble) outcome {
	t.Helper()
	o := &op{who: v.who, name: v.name}
	m.begin(v)
	s := m.slots[0]
	s.prepare(o, tr)
	out := m.exec(s, v, o)
	m.done(t, v, o, out)
	return out
}

func (m *machine) begin(v verb) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.before != nil {
		v.before()
	}
}

// Verb is a call without any trouble.
func (m *machine) Verb(t *rapid.T) { m.run(t, m.draw(t), trouble{}) }

// Work is another one: most that happens is no accident.
func (m *machine) Work(t *rapid.T) { m.run(t, m.drawBusy(t), trouble{}) }

// Busy is one more.
func (m *machine) Busy(t *rapid.T) { m.Work(t) }

// Crash is a call whose process dies before one of its system calls.
func (m *machine) Crash(t *rapid.T) {
	m.run(t, m.draw(t), trouble{dieAt: rapid.IntRange(1, 90).Draw(t, "call")})
}

// Fault is a call of which one system call fails.
func (m *machine) Fault(t *rapid.T) {
	errno := rapid.SampledFrom([]syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EACCES, syscall.EINTR}).Draw(t, "errno")
	out := m.run(t, m.draw(t), trouble{faultAt: rapid.IntRange(1, 90).Draw(t, "call"), errno: errno})
	if out.faulty && errno == syscall.EINTR && errors.Is(out.err, errno) {
		m.fatal(t, "an interrupted call failed: %v", out.err)
	}
}

// Full is a call during which the disk becomes full, and has room again
// afterwards.
func (m *machine) Full(t *rapid.T) {
	m.run(t, m.drawBusy(t), trouble{faultAt: rapid.IntRange(1, 60).Draw(t, "call"), errno: syscall.ENOSPC, full: true})
}

// Overlap is a call in whose middle others make calls. The first goes on
// afterwards, or dies where it stood.
func (m *machine) Overlap(t *rapid.T) {
	a := m.drawBusy(t)
	if a.alone {
		t.Skip("not beside others")
	}
	tr := trouble{pauseAt: rapid.IntRange(1, 60).Draw(t, "call"), thenDie: rapid.IntRange(0, 3).Draw(t, "then it dies") == 0}
	oa := &op{who: a.who, name: a.name, loose: true}
	first, second := m.slots[0], m.slots[1]
	first.prepare(oa, tr)
	m.begin(a)
	ended := make(chan outcome, 1)
	go func() { ended <- m.exec(first, a, oa) }()
	select {
	case out := <-ended: // it has fewer calls
		m.done(t, a, oa, out)
		return
	case <-first.paused:
	}
	if tr.thenDie {
		first.mu.Lock()
		first.dead = true // from where it stands
		first.mu.Unlock()
	}
	m.log("  %s, %s stands before call %d, dies %v", a.who.name, a.name, tr.pauseAt, tr.thenDie)
	for range rapid.IntRange(1, 4).Draw(t, "meanwhile") {
		b := m.drawBusy(t)
		if b.alone || a.who == b.who && (a.life || b.life || a.who.kind == isWorker) {
			continue // one caller does not end and go on at once
		}
		ob := &op{who: b.who, name: b.name, loose: true}
		second.prepare(ob, trouble{})
		m.begin(b)
		m.done(t, b, ob, m.exec(second, b, ob))
	}
	first.release()
	m.done(t, a, oa, <-ended)
}

// Meet is another one: most defects are between two.
func (m *machine) Meet(t *rapid.T) { m.Overlap(t) }

// Cross is one more.
func (m *machine) Cross(t *rapid.T) { m.Overlap(t) }

// Kill ends the process of somebody between two calls.
func (m *machine) Kill(t *rapid.T) {
	c := rapid.SampledFrom(m.callers).Draw(t, "who")
	if rapid.Bool().Draw(t, "spared") {
		t.Skip("not so often")
	}
	m.log("  %s is killed", c.name)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.die(c)
}

// Harness starts one, or stops it.
func (m *machine) Harness(t *rapid.T) {
	if m.held != nil {
		m.held.Unlock()
		m.held = nil
		m.log("  the harness ends")
		return
	}
	tm, _ := m.observer()
	if there, err := tm.Exists(); err != nil || !there {
		t.Skip("no session")
	}
	if _, err := tm.EnsureSession(); err != nil {
		m.fatal(t, "%v", err)
	}
	lock, ok, err := fsx.TryAcquire(tm.HarnessLock())
	if err != nil || !ok {
		m.fatal(t, "harness.lock: %v %v", ok, err)
	}
	m.held = lock
	m.log("  a harness runs")
}

// Time passes, for both clocks.
func (m *machine) Time(t *rapid.T) {
	d := time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second
	m.wall, m.boot = m.wall.Add(d), m.boot+d
	m.log("  %v pass", d)
}

// Step sets the wall clock ahead or back; the boot clock does not care.
func (m *machine) Step(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{24 * time.Hour, -24 * time.Hour, time.Hour, -time.Minute}).Draw(t, "step")
	m.wall = m.wall.Add(d)
	m.log("  the wall clock is set by %v", d)
}

// Reboot starts the machine anew: all processes are gone.
func (m *machine) Reboot(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		t.Skip("not often")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boots++
	m.boot = time.Minute
	fsx.SetBootID(fmt.Sprint("boot-", m.boots))
	for _, c := range m.callers {
		m.die(c)
	}
	m.log("  the machine starts anew")
}

// Check is asked after each step.
func (m *machine) Check(t *rapid.T) {
	if broken := m.check(); len(broken) > 0 {
		m.fatal(t, "%s", strings.Join(broken, "\n"))
	}
}
