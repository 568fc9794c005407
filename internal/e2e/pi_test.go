package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/pi/pitest"
)

// piTeam is a team whose pi teammates talk to a scripted model. which is fake,
// for the test double, or real, which is skipped where there is no pi.
func piTeam(t *testing.T, which string) (*site, *pitest.Model) {
	t.Helper()
	program := ""
	if which == "real" {
		program = pitest.RealPi(t)
	} else {
		program = pitest.FakePi(t)
	}
	m := pitest.NewModel(t)
	s := newTeam(t)
	bin := filepath.Join(s.base, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(bin, "pi"), "#!/bin/sh\nexec "+program+" \"$@\"\n")
	if err := os.Chmod(filepath.Join(bin, "pi"), 0o755); err != nil {
		t.Fatal(err)
	}
	return s.with("PI_CODING_AGENT_DIR="+m.AgentDir(t, pitest.Settings{}), "PI_OFFLINE=1", "NO_PROXY=127.0.0.1",
		"PATH="+bin+":"+filepath.Dir(teamsBin)+":"+os.Getenv("PATH")), m
}

// onBoth runs a test with the test double of pi and with the real one.
func onBoth(t *testing.T, f func(t *testing.T, s *site, m *pitest.Model)) {
	for _, which := range []string{"fake", "real"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			s, m := piTeam(t, which)
			f(t, s, m)
		})
	}
}

// A pi teammate takes a task, hands it in, mends what the gate finds, and
// reports; idle it asks the model nothing.
func TestPiTask(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site, m *pitest.Model) {
		id := s.add("write a greeting", "--verify", "grep -q hello "+filepath.Join(s.project, "greeting"))
		s.ok("spawn", "ann", "worker", "RUN teams claim -q; echo helo > greeting; teams submit -q; true")
		s.becomes("ann", "idle after a turn", func(r resident) bool { return r.Status == "idle" && r.Turns > 0 })
		if task := s.show(id); task.State != "claimed" || task.ClaimedBy != "ann" {
			t.Fatalf("%+v\n%s", task, s.run("activity", "ann").out)
		}
		s.ok("send", "ann", "RUN echo hello > greeting; teams submit -q; teams send leader --status completed 'it greets'")
		s.ok("wait", id, "--timeout", "60s")
		got := s.report("ann", "completed")
		if got.Title != "it greets" {
			t.Errorf("%+v", got)
		}
		s.becomes("ann", "idle", func(r resident) bool { return r.Status == "idle" })
		asked := len(m.Requests())
		time.Sleep(time.Second)
		if n := len(m.Requests()); n != asked {
			t.Errorf("%d requests while it was idle", n-asked)
		}
		if r := s.resident("ann"); r.Usage.Tokens == 0 || r.TaskUsage[id].Tokens == 0 {
			t.Errorf("usage %+v, of the task %+v", r.Usage, r.TaskUsage[id])
		}
		s.ok("shutdown", "ann")
		s.noProcess()
	})
}

// report waits for a report of a teammate with a status.
func (s *site) report(from, status string) message {
	s.t.Helper()
	for range 600 {
		for _, m := range s.mail("inbox", "--all").Messages {
			if m.From == from && m.Status == status {
				return m
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("no report of %s: %s\n%s", from, s.run("inbox", "--all"), s.run("activity", from).out)
	return message{}
}

// No message is lost or shown twice, to a busy and to an idle pi.
func TestPiMail(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site, m *pitest.Model) {
		n := 40
		if *long {
			n = 200
		}
		s.ok("spawn", "ann", "worker", "RUN sleep 1")
		for i := range n {
			args := []string{"send", "ann", fmt.Sprintf("message %d of all", i), "-q"}
			if i%3 == 0 {
				args = append(args, "--later")
			}
			s.ok(args...)
			if i == n/2 { // the rest comes while it is idle
				s.becomes("ann", "idle", func(r resident) bool { return r.Status == "idle" && r.Turns > 0 })
			}
		}
		for end := time.Now().Add(time.Minute); s.as("ann").mail("inbox").Unread > 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("unread: %s\n%s", s.as("ann").run("inbox"), s.run("activity", "ann").out)
			}
		}
		s.becomes("ann", "idle", func(r resident) bool { return r.Status == "idle" })
		// What the model was asked last has the whole conversation. It counts as
		// read when pi has it, which is just before.
		var text string
		eventually(t, "the model was asked with the last messages", func() bool {
			all := m.Requests()
			text = strings.Join(users(all[len(all)-1]), "\n") + "\n"
			return strings.Contains(text, fmt.Sprintf("message %d of all\n", n-1)) && // of each kind
				strings.Contains(text, fmt.Sprintf("message %d of all\n", (n-1)/3*3))
		})
		for i := range n {
			if c := strings.Count(text, fmt.Sprintf("message %d of all\n", i)); c != 1 {
				t.Errorf("message %d was shown %d times", i, c)
			}
		}
		s.ok("shutdown", "ann")
	})
}

// However a teammate with a running tool ends, nothing of it is left.
func TestPiEnds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site, m *pitest.Model) {
		busy := func(name string) resident {
			s.ok("spawn", name, "worker", "RUN touch "+s.base+"/"+name+"; sleep 600 & setsid sleep 600 & sleep 600")
			s.waitFile(name)
			return s.working(name)
		}
		busy("ann")
		s.ok("interrupt", "ann")
		s.becomes("ann", "idle", func(r resident) bool { return r.Status == "idle" })
		s.ok("shutdown", "ann", "--now")
		s.noProcess()

		busy("bob")
		s.ok("shutdown", "bob", "--now")
		s.noProcess()

		r := busy("cid")
		if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		s.ok("shutdown", "cid", "--now")
		s.noProcess()

		// A pi that dies: the teammate has stopped, and the leader is told once.
		r = busy("dan")
		if err := syscall.Kill(r.Child.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		r = s.becomes("dan", "stopped", func(r resident) bool { return r.Status == "stopped" })
		if !strings.Contains(r.Error, "killed") {
			t.Errorf("error %q", r.Error)
		}
		s.noProcess()
		told := 0
		for _, m := range s.mail("inbox", "--all").Messages {
			if m.Event == "stopped" && strings.Contains(m.Title, "dan") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("told %d times: %s", told, s.run("inbox", "--all"))
		}
	})
}

// waitFile waits until a file of the site is there.
func (s *site) waitFile(name string) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(s.base, name)); err == nil {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("there is no %s after a minute", name)
		}
	}
}

// A teammate comes back with its conversation, also with a torn last line.
func TestPiResume(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site, m *pitest.Model) {
		s.ok("spawn", "ann", "worker", "SAY the word is zebra")
		s.becomes("ann", "idle after a turn", func(r resident) bool { return r.Status == "idle" && r.Turns > 0 })
		file := s.resident("ann").SessionFile
		s.ok("shutdown", "ann")
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, `{"type":"message","id":"x","mess`)
		f.Close()
		id := strings.TrimSpace(s.ok("ledger", "-q", "--limit", "1"))
		for _, end := range []string{"shutdown ann", "session end"} { // the second time from where the end has put it
			s.ok("resume", id[:8], "SAY again")
			s.becomes("ann", "idle after a turn", func(r resident) bool { return r.Status == "idle" && r.Turns > 0 })
			all := m.Requests()
			found := false
			for _, msg := range all[len(all)-1].Messages {
				found = found || strings.Contains(msg.Text, "zebra")
			}
			if !found {
				t.Errorf("the conversation is gone: %+v", all[len(all)-1].Messages)
			}
			s.ok(strings.Fields(end)...)
		}
		s.ok("resume", id[:8])
		if data, err := os.ReadFile(s.resident("ann").SessionFile); err != nil || !strings.Contains(string(data), "zebra") {
			t.Errorf("%v: %s", err, data)
		}
		if rows := s.ok("ledger", "-q"); strings.Count(rows, id) != 1 {
			t.Errorf("ledger %s", rows)
		}
		s.ok("shutdown", "ann")
	})
}

// What keeps pi from being of use refuses the spawn, and leaves nothing.
func TestPiRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site, m *pitest.Model) {
		empty := t.TempDir()
		bad := s.with("PI_CODING_AGENT_DIR=" + empty)
		r := bad.exits(1, "spawn", "ann", "worker", "--host", "pi")
		if !strings.Contains(r.err, "models.json") {
			t.Errorf("%s", r)
		}
		if _, err := os.Stat(s.team("ann")); !os.IsNotExist(err) {
			t.Errorf("left: %v", err)
		}
		r = s.with("PATH=/usr/bin:/bin").exits(1, "spawn", "ann", "worker")
		if !strings.Contains(r.err, "pi is not in PATH") {
			t.Errorf("%s", r)
		}
		s.noProcess()
	})
}

// What a host costs beside its pi: little, also after much output.
func TestPiHostMemory(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site, m *pitest.Model) {
		began := time.Now()
		s.ok("spawn", "ann", "worker")
		took := time.Since(began)
		s.ok("send", "ann", "TEXT 20000")
		r := s.becomes("ann", "idle after a turn", func(r resident) bool { return r.Status == "idle" && r.Turns > 0 })
		host, child := rss(t, r.PID), rss(t, r.Child.PID)
		t.Logf("spawn took %s; host %d KiB, pi %d KiB", took.Round(time.Millisecond), host, child)
		if host > 15<<10 {
			t.Errorf("the host has %d KiB", host)
		}
		s.ok("shutdown", "ann")
	})
}

// rss is the resident set of a process, in KiB.
func rss(t *testing.T, pid int) (kib int) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		if n, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			_, err = fmt.Sscan(n, &kib)
		}
	}
	if err != nil || kib == 0 {
		t.Fatalf("%v: %s", err, data)
	}
	return kib
}

// A host that is killed between sends loses no message: each one was shown once,
// or comes back to its sender.
func TestPiMailHostKilled(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site, m *pitest.Model) {
		n := 20
		if *long {
			n = 200
		}
		s.ok("spawn", "ann", "worker", "RUN sleep 1")
		var ids []string
		send := func(i int) {
			r := s.run("send", "ann", fmt.Sprintf("message %d of all", i), "-q")
			switch r.code {
			case 0:
				ids = append(ids, strings.TrimSpace(r.out))
			case 4: // it has stopped: nothing was sent
				ids = append(ids, "")
			default:
				t.Fatal(r)
			}
		}
		for i := range n / 2 {
			send(i)
		}
		if err := syscall.Kill(s.resident("ann").PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for i := n / 2; i < n; i++ {
			send(i)
		}
		s.ok("shutdown", "ann", "--now")
		s.noProcess()
		var shown strings.Builder
		for _, r := range m.Requests() {
			shown.Reset() // the last one has the whole conversation
			for _, msg := range r.Messages {
				if msg.Role == "user" {
					shown.WriteString(msg.Text + "\n")
				}
			}
		}
		var returned strings.Builder
		for _, msg := range s.mail("inbox", "--all").Messages {
			if msg.Event == "undelivered" {
				_, r := s.json("read", msg.ID, "--peek")
				returned.WriteString(r.out)
			}
		}
		lost := 0
		for i, id := range ids {
			c := strings.Count(shown.String(), fmt.Sprintf("message %d of all\n", i))
			back := id == "" || strings.Contains(returned.String(), id)
			if c > 1 {
				t.Errorf("message %d was shown %d times", i, c)
			}
			if c == 0 && !back {
				lost++
				t.Errorf("message %d, %s, was neither shown nor returned", i, id)
			}
		}
		if lost > 0 {
			t.Logf("returned: %s\n%s", returned.String(), s.run("activity", "ann").out)
		}
	})
}

// Why a teammate has ended is not taken for what its last run failed of.
func TestPiHostDies(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site, m *pitest.Model) {
		// Not by the leader, who would have it asked for its report, which is a run too.
		s.ok("join", "bob", "-q")
		s.ok("spawn", "ann", "worker")
		s.as("bob").ok("send", "ann", "ERROR 503", "-q")
		s.becomes("ann", "idle after a run that failed", func(r resident) bool {
			return r.Status == "idle" && strings.Contains(r.Error, "its last run failed")
		})
		child := s.killHost("ann").Child // which reads the end of its input, and ends too
		eventually(t, "its pi is gone", func() bool { return !alive(child.PID) })
		eventually(t, "a tick finds that it has died", func() bool {
			s.ok("tick", "-q")
			return s.resident("ann").Status == "stopped"
		})
		if r := s.resident("ann"); r.Error != "its host has died" {
			t.Errorf("error %q", r.Error)
		}
		if told := s.toldOf("stopped", 1); !strings.Contains(told[0].Body, "its host has died") {
			t.Errorf("%s", told[0].Body)
		}
		s.noProcess()
	})
}
