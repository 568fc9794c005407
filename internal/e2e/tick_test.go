package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// harness holds harness.lock, as a live harness does. release frees it.
func (s *site) harness() (release func()) {
	s.t.Helper()
	f, err := os.OpenFile(s.team("harness.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		s.t.Fatal(err)
	}
	released := false
	release = func() {
		if !released {
			released = true
			f.Close()
		}
	}
	s.t.Cleanup(release)
	return release
}

// TestLiveHarness leaves the work to a harness that runs: tick does nothing,
// submit waits for its verdict, and takes over when the harness ends.
func TestLiveHarness(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.gateTask("true")
	b := s.add("plain")
	s.ok("claim", b, "--as", "bob")
	c := s.add("free")
	s.ok("tick")
	release := s.harness()
	before := tree(t, s.board())
	if r := s.exits(0, "tick"); r.out != "" || r.err != "" {
		t.Errorf("tick beside a harness: %s", r)
	}
	sameTree(t, "tick beside a harness", before, tree(t, s.board()))

	s.ok("submit", b, "--as", "bob", "--no-wait")
	if r := s.exits(0, "tick", "--json"); !strings.Contains(r.out, `"harness":true`) {
		t.Errorf("%s", r)
	}
	if got := s.show(b); got.State != "submitted" {
		t.Errorf("%+v", got)
	}
	// A claim is told at once, and stays a marker.
	s.ok("claim", c, "--as", "cid")
	if !exists(s.board("claims", c+".json")) || s.show(c).ClaimedBy != "cid" {
		t.Error("the claim was folded under the harness")
	}
	s.fails(4, "already_claimed", "claim", c, "--as", "dee")

	submit := s.as("ann").start("submit", a, "--result", "mine")
	if submit.ended(1200*time.Millisecond) || s.show(a).State != "submitted" {
		t.Errorf("submit did not wait for the harness: %+v", s.show(a))
	}
	release()
	if !submit.ended(10 * time.Second) {
		t.Error("submit does not decide when the harness is gone")
	}
	if r := submit.wait(); r.code != 0 || s.show(a).State != "completed" {
		t.Errorf("%s", r)
	}
	s.ok("tick")
	if got := s.show(b); got.State != "completed" {
		t.Errorf("%+v", got)
	}
	s.healthy()
}

// TestHarnessDecides has the verdict come while submit waits, as from a
// harness: here from a tick that a lock let in for a moment.
func TestHarnessDecides(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.gateTask("echo looked at; exit 6")
	s.ok("tick")
	release := s.harness()
	submit := s.as("ann").start("submit", id)
	eventually(t, "submitted", func() bool { return s.show(id).State == "submitted" })
	release()
	tick := s.run("tick")
	again := s.harness()
	if r := submit.wait(); r.code != 1 || !strings.Contains(r.err, "exit code 6") || !strings.Contains(r.out, "looked at") {
		t.Errorf("submit: %s\ntick: %s", r, tick)
	}
	again()
	if got := s.show(id); got.GateRuns != 1 || got.State != "claimed" {
		t.Errorf("%+v", got)
	}
}

// TestRealHarness has a harness look after everything: claims are folded, a
// submission is decided for its waiting submitter, a second harness says who
// runs, and it stops when asked.
func TestRealHarness(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.gateTask("sleep 0.2; echo by the harness; exit 5")
	h := s.start("harness")
	eventually(t, "it runs", func() bool { return strings.Contains(s.ok("harness", "status"), "running") })
	if r := s.exits(0, "harness"); !strings.Contains(r.out, fmt.Sprintf("process %d", h.pid())) {
		t.Errorf("a second one: %s", r)
	}
	if r := s.exits(0, "tick"); r.out != "" {
		t.Errorf("tick beside it: %s", r)
	}
	if r := s.run("submit", id, "--as", "ann"); r.code != 1 || !strings.Contains(r.out, "by the harness") {
		t.Errorf("submit: %s", r)
	}
	free := s.add("free")
	s.ok("claim", free, "--as", "bob", "--lease", "300ms")
	eventually(t, "the claim is folded", func() bool { return !exists(s.board("claims", free+".json")) })
	eventually(t, "the lease is over", func() bool { return s.show(free).State == "ready" })
	s.ok("harness", "stop")
	if r := h.wait(); r.code != 0 {
		t.Errorf("stopped: %s", r)
	}
	if got := s.show(id); got.GateRuns != 1 || got.State != "claimed" {
		t.Errorf("%+v", got)
	}
	s.healthy()
	s.noProcess()
}

// TestTicksOverlap runs ticks beside each other: gates run once, beside each
// other, and no tick waits for another's.
func TestTicksOverlap(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var ids []string
	for range 4 {
		id := s.gateTask(fmt.Sprintf(`echo "$TEAMS_TASK" >>%s/ran; %s`, s.base, s.until("go")))
		s.ok("submit", id, "--as", "ann", "--no-wait")
		ids = append(ids, id)
	}
	first := s.start("tick", "--gates", "4")
	eventually(t, "the gates run", func() bool {
		return exists(filepath.Join(s.base, "ran")) && strings.Count(read(t, filepath.Join(s.base, "ran")), "\n") == 4
	})
	second := s.run("tick")
	if second.code != 0 || second.out != "" || first.ended(0) {
		t.Errorf("the second tick waited, or did something: %s", second)
	}
	// Nobody is held up by the gates.
	other := s.add("another")
	s.ok("claim", other, "--as", "bob")
	s.ok("submit", other, "--as", "bob")
	if first.ended(0) {
		t.Error("the first tick ended before its gates")
	}
	s.goOn("go")
	if r := first.wait(); r.code != 0 || strings.Count(r.out, "completed") != 4 {
		t.Errorf("first tick: %s", r)
	}
	for _, id := range ids {
		if got := s.show(id); got.State != "completed" || got.GateRuns != 1 {
			t.Errorf("%+v", got)
		}
	}
	// Many at once over claims and submissions.
	var many []string
	for i := range 30 {
		many = append(many, s.add(fmt.Sprintf("many %d", i)))
	}
	for i, id := range many {
		write(t, s.board("claims", id+".json"), marker(id, "ann", s.spawn("ann")))
		if i%2 == 0 {
			write(t, s.board("submissions", id+".json"), marker(id, "ann", s.spawn("ann"), "status", "completed"))
		}
	}
	var ticks []*proc
	for range 8 {
		ticks = append(ticks, s.start("tick"))
	}
	out := ""
	for _, p := range ticks {
		r := p.wait()
		if r.code != 0 || r.err != "" {
			t.Errorf("%s", r)
		}
		out += r.out
	}
	if n := strings.Count(out, "claimed by ann"); n != 30 {
		t.Errorf("%d claims were told, of 30", n)
	}
	s.ok("tick")
	if e, _ := s.json("task", "list", "--state", "completed"); strings.Count(string(e.Data), `"id":"t_`) != 20 {
		t.Errorf("%s", e.Data)
	}
	s.healthy()
}

// TestTick says what it did, once; an idle one writes nothing and says
// nothing; without state it is exit 3.
func TestTick(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := s.fails(3, "no_session", "tick")
	key := strings.TrimSpace(filepath.Base(s.ok("where", "-q")))
	if !strings.Contains(e.Error.Message, key) || !strings.Contains(e.Error.Message, s.root) {
		t.Errorf("%s", e.Error.Message)
	}
	id := s.add("task")
	write(t, s.board("claims", id+".json"), marker(id, "nobody", "x"))
	if r := s.exits(0, "tick", "-q"); r.out != "" {
		t.Errorf("-q: %s", r)
	}
	before := tree(t, s.root)
	for range 3 {
		if r := s.exits(0, "tick"); r.out != "" || r.err != "" {
			t.Errorf("idle: %s", r)
		}
	}
	sameTree(t, "idle", before, tree(t, s.root))
	s.as("ann").fails(5, "leader_only", "tick")

	// Leases and deaths.
	holder := s.command("sleep", "100")
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	s.ok("join", "mortal", "-q", "--pid", fmt.Sprint(holder.Process.Pid))
	s.life("mortal", s.spawn("mortal")).ok("claim", id)
	long := s.add("a long lease")
	s.ok("claim", long, "--as", "cid", "--lease", "1h")
	if r := s.exits(0, "tick"); strings.Contains(r.out, "released") {
		t.Errorf("released too early: %s", r)
	}
	leased := s.add("leased")
	s.ok("claim", leased, "--as", "bob", "--lease", "600ms")
	_ = holder.Process.Kill()
	_ = holder.Wait()
	time.Sleep(600 * time.Millisecond)
	r := s.exits(0, "tick", "--json")
	var v struct {
		Data struct {
			Done []struct{ Step, Event, Subject, Message string }
		}
	}
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || strings.Count(r.out, `"event":"released"`) != 2 {
		t.Fatalf("%v: %s", err, r)
	}
	for _, d := range v.Data.Done {
		if d.Event != "released" {
			continue // notices of them
		}
		if d.Subject == id && !strings.Contains(d.Message, "dead") || d.Subject == leased && !strings.Contains(d.Message, "lease") {
			t.Errorf("%+v", d)
		}
	}
	if r := s.exits(0, "tick"); r.out != "" {
		t.Errorf("told again: %s", r)
	}
}

// TestBusy waits for a lock that somebody holds, and says who.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("task")
	f, err := os.OpenFile(s.board("board.lock"), os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	e := s.fails(75, "busy", "task", "add", "x", "--lock-timeout", "300ms")
	if took := time.Since(begin); took < 250*time.Millisecond || took > 30*time.Second {
		t.Errorf("it waited %v", took)
	}
	if !strings.Contains(e.Error.Message, "board.lock") || !strings.Contains(e.Error.Message, "held by") && !strings.Contains(e.Error.Message, "holds") {
		t.Errorf("%s", e.Error.Message)
	}
	// A claim needs no lock, and looking none either.
	s.ok("claim", "t_1", "--as", "ann")
	if got := s.show("t_1"); got.ClaimedBy != "ann" {
		t.Errorf("%+v", got)
	}
	p := s.start("submit", "t_1", "--as", "ann")
	if p.ended(300 * time.Millisecond) {
		t.Errorf("submit without the lock: %s", p.wait())
	}
	f.Close()
	if r := p.wait(); r.code != 0 {
		t.Errorf("%s", r)
	}
	s.healthy()
}
