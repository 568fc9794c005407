package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
)

// TestNothingTerminates is the promise that nothing ends a working teammate but
// an explicit command: whatever harness and tick are told to do, and whatever
// goes wrong under them, the processes of teammates at work go on.
func TestNothingTerminates(t *testing.T) {
	t.Parallel()
	rounds := 2
	if *long {
		rounds = 25
	}
	for n := range rounds {
		seed := uint64(time.Now().UnixNano()) + uint64(n)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			newSiege(t, seed).run()
		})
	}
}

// siege is a team at work, of which nobody may be ended.
type siege struct {
	*site
	r       *rand.Rand
	clock   string
	alive   map[string]fsx.Process // who has to live: children and hosts
	harness *proc
	said    []string
	spare   int
}

func newSiege(t *testing.T, seed uint64) *siege {
	s := newTeam(t)
	g := &siege{r: rand.New(rand.NewPCG(seed, 1)), clock: filepath.Join(s.base, "clock"), alive: map[string]fsx.Process{}}
	write(t, g.clock, "0s")
	g.site = s.clocked(g.clock)
	return g
}

func (g *siege) must(name string, pid int) {
	g.t.Helper()
	p, err := fsx.ProcessOf(pid)
	if err != nil {
		g.t.Fatal(err)
	}
	g.alive[name] = p
}

func (g *siege) run() {
	t := g.t
	for i := range 6 {
		g.add(fmt.Sprintf("task %d", i), "--verify", []string{"true", "false", "sleep 0.2"}[g.r.IntN(3)])
	}
	hold := "teams claim -q; "
	for name, script := range map[string]string{
		"silent": hold + "exec sleep 600",
		"loud":   hold + "while :; do echo noise; sleep 0.2; done",
		"deaf":   "trap '' TERM INT HUP; exec <&- >&- 2>&-; while :; do sleep 0.2; done",
		"orphan": hold + "exec sleep 600",
	} {
		g.ok("spawn", name, "worker", "do it", "--host", "exec", "--", "sh", "-c", script)
		r := g.working(name)
		g.must(name+"'s host", r.PID)
		g.must(name, r.Child.PID)
	}
	g.ok("spawn", "idle", "worker", "--", "true")
	g.must("idle's host", g.resident("idle").PID)
	time.Sleep(100 * time.Millisecond)
	steps := 14
	if *long {
		steps = 40
	}
	for range steps {
		g.step()
		for name, p := range g.alive {
			if p.Liveness() != fsx.Alive {
				t.Fatalf("%s has ended after\n%s", name, strings.Join(g.said, "\n"))
			}
		}
	}
	write(t, g.clock, "0s")
	if g.harness != nil {
		g.harness.kill()
	}
	g.site.ok("shutdown", "--all", "--now")
	for name, p := range g.alive {
		if p.Liveness() == fsx.Alive {
			t.Errorf("%s lives after shutdown --all --now", name)
		}
	}
}

// flags are random flags of harness and tick.
func (g *siege) flags() (out []string) {
	for _, f := range [][]string{
		{"--stall", "1ms"}, {"--gates", "1"}, {"--gate-retries", "1"}, {"--on-notice", "exit 1"}, {"--on-report", "kill -9 $$"},
		{"--on-notice", "sleep 0.3; cat > /dev/null"},
	} {
		if g.r.IntN(2) == 0 {
			out = append(out, f...)
		}
	}
	return out
}

// do runs a command, whose answer does not matter.
func (g *siege) do(args ...string) {
	g.said = append(g.said, fmt.Sprintf("teams %q", args))
	if r := g.site.run(args...); r.code < 0 || strings.Contains(r.err, "panic") || strings.Contains(r.err, "goroutine") {
		g.t.Errorf("%s", r)
	}
}

// step does one of the things that go on in a session, or go wrong.
func (g *siege) step() {
	pick := func(list ...string) string { return list[g.r.IntN(len(list))] }
	name := pick("silent", "loud", "deaf", "orphan", "idle")
	id := fmt.Sprintf("t_%d", 1+g.r.IntN(6))
	switch g.r.IntN(13) {
	case 0, 1, 2:
		g.do(append([]string{"tick"}, g.flags()...)...)
	case 3:
		if g.harness == nil {
			flags := g.flags()
			g.said = append(g.said, fmt.Sprintf("harness %q", flags))
			g.harness = g.site.start(append([]string{"harness"}, flags...)...)
			time.Sleep(150 * time.Millisecond)
		}
	case 4:
		if g.harness != nil {
			g.said = append(g.said, "harness killed")
			g.harness.kill()
			g.harness = nil
		}
	case 5:
		g.do("harness", "stop")
		if g.harness != nil {
			g.harness.wait()
			g.harness = nil
		}
	case 6:
		d := pick("24h", "-24h", "720h", "0s", "-87600h")
		g.said = append(g.said, "clock "+d)
		write(g.t, g.clock+".new", d)
		_ = os.Rename(g.clock+".new", g.clock)
	case 7: // mailboxes that nothing goes into
		box := g.team(pick("leader", name), "inbox", "new")
		g.said = append(g.said, box+" is in the way")
		if os.Rename(box, box+".away") != nil {
			return
		}
		write(g.t, box, "in the way")
		g.do(append([]string{"tick"}, g.flags()...)...)
		if err := os.Remove(box); err != nil {
			g.t.Fatal(err)
		}
		if err := os.Rename(box+".away", box); err != nil {
			g.t.Fatal(err)
		}
	case 8: // much mail
		g.do("send", name, "-q", strings.Repeat("much ", 20000))
		if err := g.as("idle").with("TEAMS_SPAWN="+g.resident("idle").SpawnID).runSender("silent", 60); err != nil {
			g.said = append(g.said, err.Error())
		}
	case 9:
		g.do(pick("list", "status", "sessions", "where", "ledger", "recv", "inbox"))
		g.do(pick("doctor", "gc", "activity")) // activity without a name is refused
		g.do("handoff", name)
	case 10:
		g.do("task", pick("cancel", "reopen", "show"), id)
		g.do("release", id)
	case 11: // another one comes and goes
		g.spare++
		other := fmt.Sprintf("spare%d", g.spare)
		g.do("spawn", other, "worker", "do it", "--", "sh", "-c", "exit 1")
		g.do("spawn", name, "worker", "--", "true") // its name is in use
		g.do("shutdown", other, "--now")
	case 12: // a host dies beside its child
		if p, there := g.alive["orphan's host"]; there {
			g.said = append(g.said, "the host of orphan killed")
			g.killHost("orphan")
			if p.Liveness() == fsx.Alive {
				g.t.Fatal("it lives")
			}
			delete(g.alive, "orphan's host")
		}
	}
}
