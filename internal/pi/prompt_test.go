package pi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/pi/pitest"
)

// A prompt, a tool, an answer: what everybody is told of it.
func TestOneRun(t *testing.T) {
	both(t, func(t *testing.T, b backend) {
		m := pitest.NewModel(t)
		dir := m.AgentDir(t, pitest.Settings{})
		settings := read(t, filepath.Join(dir, "settings.json"))
		r := startWith(t, b, m, dir, func(c *Config) { c.Model = "fake/fake-1" })
		if info := r.Info(); info.Model != "fake/fake-1" || info.SessionFile != r.c.Session || info.SessionID == "" || info.Messages != 0 {
			t.Errorf("Info %+v", info)
		}
		if r.State() != Idle {
			t.Errorf("state %v after the start", r.State())
		}
		r.say("THINK first\\n**let me** look\nRUN echo $TEAMS_NAME-$PI_CODING_AGENT", Steer)
		r.rest()
		r.until("two calls", func() bool { return r.Usage().Turns == 2 })
		if got := r.model.Requests()[1].Last(); strings.TrimSpace(got) != "ann-true" {
			t.Errorf("the tool said %q", got)
		}
		if u := r.Usage(); u.Input != 20 || u.Output != 10 || u.Total != 30 || u.Cost < 0.0399 || u.Cost > 0.0401 {
			t.Errorf("usage %+v", u)
		}
		r.stop(0)
		if info, err := os.Stat(r.c.Session); err != nil || info.Mode() != 0o600 {
			t.Errorf("session file: %v, %v", info, err)
		}
		want := "run_start  \ndelivered  THINK first\\n**let me** look\nthinking  **let me** look\ntool_start bash echo $TEAMS_NAME-$PI_CODING_AGENT\ntool_end bash \ntext  TOOL SAID: ann-true\nrun_end  stop\n"
		if got := lines(r.watch.activities); got != want {
			t.Errorf("activities:\n%s\nwant:\n%s", got, want)
		}
		if now := read(t, filepath.Join(dir, "settings.json")); now != settings {
			t.Errorf("settings were\n%s\nand are\n%s", settings, now)
		}
		if r.watch.usage != r.Usage() || len(r.watch.exits) != 1 || r.watch.exits[0].Status != 0 {
			t.Errorf("told usage %+v, exits %+v", r.watch.usage, r.watch.exits)
		}
		if got, want := r.watch.states, []State{Working, Idle, Ended}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("states %v", got)
		}
	})
}
