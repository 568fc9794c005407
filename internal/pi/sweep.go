package pi

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// proc is what is known about a process from one look.
type proc struct {
	pid    int
	parent int
	start  uint64 // with pid it names a process
	zombie bool
}

const (
	scanPause = 10 * time.Millisecond
	// execPause is for a process whose environment cannot be seen for a moment,
	// since it is becoming another program.
	execPause = 2 * time.Millisecond
)

// Sweep ends every process that has TEAMS_HOSTED=<spawnID> in its environment,
// and nothing else: SIGTERM, and SIGKILL after grace (0: 2 s). The calling
// process and its ancestors are spared. It returns when they are gone, with
// their number. A process that was started with an environment of its own is
// not found.
//
// The error has code usage for an empty id, and failure when processes are left
// or could not be looked for.
func Sweep(spawnID string, grace time.Duration) (ended int, err error) {
	if spawnID == "" || strings.ContainsRune(spawnID, 0) {
		return 0, errs.New(errs.Usage, "bad spawn id %q", spawnID)
	}
	grace = orElse(grace, defaultGrace)
	entry := []byte("TEAMS_HOSTED=" + spawnID)
	spared := ancestors()
	begin := time.Now()
	hit := make(map[proc]bool)
	for clean := 0; ; {
		live, unsure, err := carriers(entry, spared)
		if err != nil {
			return len(hit), errs.New(errs.Failure, "cannot look for processes of %s: %w", spawnID, err)
		}
		if len(live) == 0 {
			// A process may be born behind the look, and be seen in the next.
			if clean++; clean >= 2 && (!unsure || clean > 20) {
				return len(hit), nil
			}
			time.Sleep(execPause)
			continue
		}
		clean = 0
		since := time.Since(begin)
		if since > grace+afterKill {
			return len(hit), errs.New(errs.Failure, "could not end all processes of %s, left: %s", spawnID, pids(live))
		}
		for _, q := range live {
			key := proc{pid: q.pid, start: q.start}
			switch {
			case since >= grace:
				signalProc(q, entry, syscall.SIGKILL)
			case !hit[key]:
				// A stopped process takes SIGTERM only when it goes on.
				signalProc(q, entry, syscall.SIGTERM, syscall.SIGCONT)
			}
			hit[key] = true
		}
		time.Sleep(scanPause)
	}
}

// carriers returns the living processes whose environment has the entry. unsure:
// the environment of some process could not be seen at this moment.
func carriers(entry []byte, spared []int) (live []proc, unsure bool, err error) {
	list, err := processIDs()
	if err != nil {
		return nil, false, err
	}
	for _, pid := range list {
		if pid <= 1 || slices.Contains(spared, pid) {
			continue
		}
		env, ok := environOf(pid)
		if !ok {
			continue
		}
		if len(env) > 0 && !hasEntry(env, entry) {
			continue
		}
		q, ok := lookup(pid)
		if !ok || q.zombie {
			continue
		}
		if len(env) == 0 {
			unsure = unsure || fresh(q)
			continue
		}
		live = append(live, q)
	}
	return live, unsure, nil
}

// signalProc signals the process that q was when it was looked at. The handle,
// a pidfd on Linux, comes first and the second look after it, so that whoever
// got the number meanwhile is not hit.
func signalProc(q proc, entry []byte, signals ...syscall.Signal) {
	handle, err := os.FindProcess(q.pid)
	if err != nil {
		return
	}
	defer func() { _ = handle.Release() }()
	again, ok := lookup(q.pid)
	env, _ := environOf(q.pid)
	if !ok || again.start != q.start || !hasEntry(env, entry) {
		return
	}
	for _, s := range signals {
		if handle.Signal(s) != nil {
			return
		}
	}
}

// ancestors returns this process and those that it descends from.
func ancestors() []int {
	list := []int{os.Getpid()}
	for pid := os.Getppid(); pid > 1 && len(list) < 64; {
		list = append(list, pid)
		q, ok := lookup(pid)
		if !ok {
			break
		}
		pid = q.parent
	}
	return list
}

// hasEntry tells whether a block of NUL-ended entries has one that is entry.
func hasEntry(block, entry []byte) bool {
	for kv := range bytes.SplitSeq(block, []byte{0}) {
		if bytes.Equal(kv, entry) {
			return true
		}
	}
	return false
}

func pids(list []proc) string {
	words := make([]string, len(list))
	for i, q := range list {
		words[i] = fmt.Sprint(q.pid)
	}
	return strings.Join(words, " ")
}
