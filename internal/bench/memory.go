package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// memory is how much of it was resident: at most, of a command; at the end of a
// while, of a process that waits.
type memory struct {
	Name  string  `json:"name"`
	Tasks int     `json:"tasks,omitempty"`
	MB    float64 `json:"megabytes"` // of 2^20 bytes, median of the runs
}

const (
	memClaim    = "claim"
	memHarness  = "harness, idle"
	memResident = "host of a resident, idle"
)

// memoryRuns is how often each command is run for its memory, which differs
// little from run to run.
const memoryRuns = 3

// peakText is a program that runs a command and prints its peak of resident
// memory in bytes. A process that bench starts itself would count with what
// bench has in memory: the two share it until the exec.
const peakText = `package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

func main() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	peak := int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	if runtime.GOOS == "linux" {
		peak *= 1024
	}
	fmt.Println(peak)
}
`

// measureMemory makes boards of its own.
func measureMemory(bin binaries, dir string, sizes []int) (list []memory, err error) {
	peak := func(name string, tasks int, c func() command, after func() error) error {
		mb, err := peakOf(bin.peak, c, after)
		list = append(list, memory{name, tasks, mb})
		return err
	}
	if err := peak("a Go program that does nothing", 0, func() command { return command{argv: []string{bin.nothing}, env: []string{}} }, nil); err != nil {
		return nil, err
	}
	for _, size := range sizes {
		b, err := newBoard(bin.teams, filepath.Join(dir, "memory-"+strconv.Itoa(size)), size, "")
		if err != nil {
			return nil, err
		}
		w, err := b.join("ann")
		if err != nil {
			return nil, err
		}
		var id string
		claim := func() command { id = b.nextID(); return w.command("claim", id, "-q") }
		if err := peak(memClaim, size, claim, func() error { return w.do("release", id) }); err != nil {
			return nil, err
		}
		if err := peak("send leader", size, func() command { return w.command("send", "leader", "Done.", "-q") }, nil); err != nil {
			return nil, err
		}
		mb, err := b.idleHarness()
		if err != nil {
			return nil, err
		}
		list = append(list, memory{memHarness, size, mb})
	}
	b, _, undo, err := newResident(bin.teams, filepath.Join(dir, "memory-resident"))
	defer undo()
	if err != nil {
		return nil, err
	}
	if err := b.idle("ann"); err != nil {
		return nil, err
	}
	pid, err := b.pid("ann/teammate.json")
	if err != nil {
		return nil, err
	}
	mb, err := residentSet(pid)
	return append(list, memory{memResident, small, mb}), err
}

// peakOf is the median peak of a command, in MB. after, if any, undoes a run.
func peakOf(peak string, next func() command, after func() error) (float64, error) {
	var all []time.Duration // of bytes: what quartilesOf takes
	for range memoryRuns {
		c := next()
		c.argv = append([]string{peak}, c.argv...)
		_, out, err := c.run()
		if err != nil {
			return 0, err
		}
		if after != nil {
			if err := after(); err != nil {
				return 0, err
			}
		}
		n, err := strconv.ParseInt(firstWord(out), 10, 64)
		if err != nil {
			return 0, err
		}
		all = append(all, time.Duration(n))
	}
	return quartilesOf(all).Median * 1e3 / (1 << 20), nil
}

// idleHarness runs a harness for a while and says how much memory it has then,
// in MB.
func (b *board) idleHarness() (mb float64, err error) {
	c := b.leader("harness", "-q", "--herdr", "off")
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env, cmd.Dir = c.env, c.dir
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	time.Sleep(1200 * time.Millisecond) // some passes
	mb, err = residentSet(cmd.Process.Pid)
	if serr := cmd.Process.Signal(syscall.SIGTERM); serr != nil && err == nil {
		err = serr
	}
	if werr := cmd.Wait(); werr != nil && err == nil {
		err = fmt.Errorf("harness: %w: %s", werr, &errOut)
	}
	return mb, err
}

// megabytes reads a number of units of 1024 bytes.
func megabytes(text string) (float64, error) {
	kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 64)
	return kb / 1024, err
}

// writeMemory prints the memory of all.
func (r *report) writeMemory(out *strings.Builder) {
	if len(r.Memory) == 0 {
		return
	}
	out.WriteByte('\n')
	rows := [][]string{{"memory", "tasks", "MB"}}
	for _, m := range r.Memory {
		tasks := ""
		if m.Tasks > 0 {
			tasks = strconv.Itoa(m.Tasks)
		}
		rows = append(rows, []string{m.Name, tasks, fmt.Sprintf("%.1f", m.MB)})
	}
	writeColumns(out, rows)
}

// memoryTargets are those of memory, on boards of every size.
func (r *report) memoryTargets() {
	limits := map[string]float64{memClaim: 16, memHarness: 24}
	for _, m := range r.Memory {
		if limit := limits[m.Name]; limit > 0 {
			r.Targets = append(r.Targets, target{
				Name: fmt.Sprintf("MB of %s, %d tasks", m.Name, m.Tasks), Value: m.MB, Limit: limit, Met: m.MB <= limit,
			})
		}
	}
}
