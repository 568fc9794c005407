package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// runHarness starts a harness that ends with the test.
func (s *site) runHarness(args ...string) *proc {
	s.t.Helper()
	p := s.start(append([]string{"harness"}, args...)...)
	s.t.Cleanup(func() {
		p.signal(15)
		if r := p.wait(); r.code != 0 && r.code != 137 {
			s.t.Errorf("harness: %s", r)
		}
	})
	eventually(s.t, "the harness runs", func() bool { return exists(s.team("harness.json")) })
	return p
}

// TestStall is told of a silent teammate once, and once again after new output
// and new silence; nobody is told of an idle one.
func TestStall(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.spawnExec("idle", "", "true")
	s.spawnExec("bot", "do it", "echo first; "+s.until("more")+"; echo second; "+s.until("on"))
	child := s.working("bot").Child.PID
	s.runHarness("--stall", "2s")
	begin := time.Now()
	list := s.toldOf("stalled", 1)
	if d := time.Since(begin); d < time.Second {
		t.Errorf("told after %v", d)
	}
	for _, want := range []string{"bot is working", "first", "wait", "teams send bot", "teams interrupt bot", "teams shutdown bot", "teams handoff bot | teams spawn"} {
		if !strings.Contains(list[0].Body, want) {
			t.Errorf("the notice lacks %q:\n%s", want, list[0].Body)
		}
	}
	time.Sleep(1200 * time.Millisecond) // passes in which nothing may come
	s.toldOf("stalled", 1)
	s.goOn("more")
	list = s.toldOf("stalled", 2)
	if !strings.Contains(list[1].Body, "second") || !alive(child) {
		t.Errorf("the second notice: %s", list[1].Body)
	}
	s.goOn("on")
	s.idle("bot", 1)
	time.Sleep(1200 * time.Millisecond)
	s.toldOf("stalled", 2)
}

// TestStallClockStep sets the wall clock a day ahead and back under a host, a
// harness and a teammate that prints all the time, and one that is silent for
// less than it may: nobody is told of anything.
func TestStallClockStep(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	clock := filepath.Join(s.base, "clock")
	step := func(d string) {
		t.Helper()
		if err := os.WriteFile(clock+".new", []byte(d), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(clock+".new", clock); err != nil {
			t.Fatal(err)
		}
	}
	step("0s")
	s = s.clocked(clock)
	s.ok("spawn", "loud", "worker", "do it", "--", "sh", "-c", "while ! test -e "+filepath.Join(s.base, "on")+"; do echo tick tock; sleep 0.2; done")
	s.working("loud")
	stop := s.runHarness("--stall", "2s")
	for _, d := range []string{"24h", "-24h"} {
		step(d)
		time.Sleep(2700 * time.Millisecond)
		if list := s.told("stalled"); len(list) > 0 {
			t.Fatalf("the clock stepped by %s: %q %s", d, lines(list), list[0].Body)
		}
	}
	stop.signal(15)
	stop.wait()
	// Silent for less than an hour, whatever the clock says.
	for _, d := range []string{"0s", "240h", "-240h"} {
		step(d)
		s.ok("tick", "--stall", "1h")
	}
	s.toldOf("stalled", 0)
	// The same step and real silence: one notice.
	s.goOn("on")
	s.idle("loud", 1)
	s.ok("spawn", "bot", "worker", "do it", "--", "sh", "-c", s.until("off"))
	s.working("bot")
	time.Sleep(50 * time.Millisecond)
	for _, d := range []string{"0s", "24h", "-24h", "0s"} {
		step(d)
		s.ok("tick", "--stall", "10ms")
	}
	s.toldOf("stalled", 1)
	s.goOn("off")
}

// TestReportClockStep sets the clock back while a teammate works: its report
// counts all the same, and it is asked for none.
func TestReportClockStep(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	clock := filepath.Join(s.base, "clock")
	write(t, clock, "24h")
	s = s.clocked(clock)
	p := s.start("--json", "spawn", "bot", "worker", "do it", "--wait", "--timeout", "30s", "--", "sh", "-c",
		"cat > /dev/null; touch "+filepath.Join(s.base, "began")+"; "+s.until("on")+"; teams send leader -q --status completed 'all done'")
	eventually(t, "it works", func() bool { return exists(filepath.Join(s.base, "began")) })
	write(t, clock, "-24h")
	s.goOn("on")
	if r := p.wait(); r.code != 0 || !strings.Contains(r.out, "all done") {
		t.Errorf("--wait: %s", r)
	}
	s.idle("bot", 1)
	time.Sleep(200 * time.Millisecond)
	if asked := s.mailOf("bot", func(m message) bool { return m.Event == "unfinished" }); len(asked) > 0 {
		t.Errorf("it was asked %q", lines(asked))
	}
}
