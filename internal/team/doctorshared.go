package team

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/fsx"
)

// SharedLimits says what a session that several hosts share cannot do.
func SharedLimits() []string {
	return []string{
		"ending a process, resident, gate, pane or terminal of another host: they stay where they were started, and so do worktrees",
		"proof that a process of another host is dead: claims there end by release, by leave or by their lease",
		"notification between hosts: whoever waits looks every TEAMS_POLL",
	}
}

// skewTold is how far the clocks of two hosts may be apart before doctor tells.
const skewTold = 5 * time.Second

// CheckShared looks at a session that several hosts share, and tries what its
// file system has to be able to do: it makes files in a directory of its own
// below the root, which it removes. hold is a command line to which the path of
// a file is appended; it takes the lock of that file as HoldForProbe does. A
// session that is not shared gives nothing.
func (t *Team) CheckShared(ctx context.Context, hold []string) []fsboard.Finding {
	if !t.Sharing.On {
		return t.checkUnshared()
	}
	var out []fsboard.Finding
	add := func(code, severity, path string, format string, args ...any) {
		out = append(out, fsboard.Finding{Code: code, Severity: severity, Path: path, Message: fmt.Sprintf(format, args...)})
	}
	kind := t.Sharing.FileSystem
	if kind == "" {
		if fsys, err := fsx.FileSystemOf(t.Root); err == nil {
			kind = fsys.Type
		}
	}
	add("shared", fsboard.SeverityInfo, t.Root, "several hosts share this session (from %s), its files are on %s", t.Sharing.Source, kind)
	for _, limit := range SharedLimits() {
		add("not_supported", fsboard.SeverityInfo, t.Root, "%s", limit)
	}
	found, err := probeRoot(ctx, t.Root, hold)
	switch {
	case err != nil:
		add("probe_failed", fsboard.SeverityError, t.Root, "%v", err)
	default:
		add("probe", fsboard.SeverityInfo, t.Root, "link is exclusive, rename replaces whole files, locks exclude other processes and were free %s after their holder was killed",
			found.Round(100*time.Microsecond))
	}
	return append(out, t.checkHosts()...)
}

// checkUnshared tells of a session that is used as if it were on one host only
// although others were seen.
func (t *Team) checkUnshared() []fsboard.Finding {
	hosts, _, err := t.Hosts()
	if err != nil {
		return nil
	}
	for _, h := range hosts {
		if !h.Here && !h.Gone {
			return []fsboard.Finding{{Code: "shared_elsewhere", Severity: fsboard.SeverityError, Path: t.hostFile(h.Host),
				Message: fmt.Sprintf("host %s shares this session, and here it counts as local (from %s): unset %s, or set \"shared\": true in session.json", h.Host, t.Sharing.Source, EnvShared)}}
		}
	}
	return nil
}

// checkHosts compares what the hosts say with what can be seen of them.
func (t *Team) checkHosts() []fsboard.Finding {
	var out []fsboard.Finding
	add := func(code, severity, path string, format string, args ...any) {
		out = append(out, fsboard.Finding{Code: code, Severity: severity, Path: path, Message: fmt.Sprintf(format, args...)})
	}
	hosts, problems, err := t.Hosts()
	if err != nil {
		add("unreadable", fsboard.SeverityError, t.hostsDir(), "%v", err)
	}
	for _, p := range problems {
		add("unreadable", fsboard.SeverityError, p.Path, "%v", p.Err)
	}
	var here *HostInfo
	for i := range hosts {
		if hosts[i].Here {
			here = &hosts[i]
		}
	}
	if here != nil && t.namesake(here.HostRecord) {
		add("same_host_name", fsboard.SeverityError, t.hostFile(here.Host), "another machine that shares this session is named %s too: give each its own name", here.Host)
	}
	for _, h := range hosts {
		if h.Here {
			continue
		}
		path := t.hostFile(h.Host)
		switch {
		case h.Held:
			add("host", fsboard.SeverityInfo, path, "host %s is present, and its locks are seen from here", h.Host)
		case !h.Gone && t.beatsUnlocked(h):
			add("locks_do_not_cross", fsboard.SeverityError, path,
				"host %s works on this session now, and the lock that it holds is not seen from here: with locks that do not exclude other hosts the board is not safe; see docs/shared.md", h.Host)
		default:
			add("host", fsboard.SeverityInfo, path, "host %s was last seen %s ago", h.Host, (time.Duration(max(nowMillis()-h.LastSeen, 0)) * time.Millisecond).Round(time.Second))
		}
		if here == nil {
			continue
		}
		skew := time.Duration(h.ClockAheadMs-here.ClockAheadMs) * time.Millisecond
		if skew > skewTold || skew < -skewTold {
			add("clock_skew", fsboard.SeverityWarning, path, "the clock of host %s is %s off that of this one: leases of its claims end so much early or late here", h.Host, skew.Abs().Round(time.Second))
		}
	}
	return out
}

// beatsUnlocked reports whether a long-running process of a host, which holds
// the host's lock, renews its record while that lock is free as seen from here.
func (t *Team) beatsUnlocked(h HostInfo) bool {
	if !h.Stays {
		return false
	}
	for end := time.Now().Add(presenceEvery + 2*time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		now, err := t.readHost(t.hostFile(h.Host))
		if err != nil || now.LastSeen == h.LastSeen {
			continue
		}
		held, err := fsx.Held(t.hostLock(h.Host))
		return err == nil && !held && now.Stays
	}
	return false // it has died
}

// probeTime bounds what a probe waits for.
const probeTime = 10 * time.Second

// probeRoot tries what the promises rest on, and returns how long after the
// death of its holder a lock was free.
func probeRoot(ctx context.Context, root string, hold []string) (time.Duration, error) {
	dir, err := os.MkdirTemp(root, ".probe-*")
	if err != nil {
		return 0, fmt.Errorf("cannot write: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "file")
	if err := fsx.Publish(path, []byte("one\n")); err != nil {
		return 0, fmt.Errorf("a file cannot be published by link: %w", err)
	}
	if err := fsx.Publish(path, []byte("two\n")); !errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("link is not exclusive: the second one to a name gave %w", orElse(err, errors.New("no error")))
	}
	if err := fsx.Replace(path, []byte("three\n")); err != nil {
		return 0, fmt.Errorf("a file cannot be replaced by rename: %w", err)
	}
	if data, err := fsx.ReadFile(path, 100); err != nil || string(data) != "three\n" {
		return 0, fmt.Errorf("a replaced file reads as %q (%w)", data, orElse(err, errors.New("stale")))
	}
	return probeLock(ctx, filepath.Join(dir, "held"), hold)
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// probeLock has another process hold a lock, and kills it.
func probeLock(ctx context.Context, path string, hold []string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, hold[0], append(hold[1:len(hold):len(hold)], path)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		return 0, fmt.Errorf("another process could not take a lock (it said %q)", line)
	}
	if _, ok, err := fsx.TryAcquire(path); err != nil || ok {
		return 0, fmt.Errorf("locks do not exclude other processes (%w)", orElse(err, errors.New("a held one was taken")))
	}
	if held, err := fsx.Held(path); err != nil || !held {
		return 0, fmt.Errorf("a held lock looks free (%w)", orElse(err, errors.New("no error")))
	}
	if err := cmd.Process.Kill(); err != nil {
		return 0, err
	}
	killed := time.Now()
	for time.Since(killed) < probeTime {
		lock, ok, err := fsx.TryAcquire(path)
		if err != nil {
			return 0, err
		}
		if ok {
			took := time.Since(killed)
			return took, lock.Unlock()
		}
		time.Sleep(time.Millisecond)
	}
	return 0, fmt.Errorf("a lock stays held %v after its holder was killed", probeTime)
}

// HoldForProbe takes the lock of path, says so, and keeps it until in ends or
// the process is killed.
func HoldForProbe(path string, in io.Reader, out io.Writer) error {
	lock, ok, err := fsx.TryAcquire(path)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s is held already", path)
	}
	defer lock.Unlock()
	if _, err := io.WriteString(out, "held\n"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}
