package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFailedWake lets wakes fail: they are tried again after 1 s, doubling, the
// mail stays unread, and the leader is told once of five in a row.
func TestFailedWake(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	tries := filepath.Join(s.base, "tries")
	good := filepath.Join(s.base, "good")
	s.spawnExec("bot", "do it", fmt.Sprintf("date +%%s.%%N >> %s; cat > /dev/null; test -e %s || { echo no luck >&2; exit 7; }", tries, good))
	at := func() (out []float64) {
		data, _ := os.ReadFile(tries)
		for line := range strings.Lines(string(data)) {
			var f float64
			if _, err := fmt.Sscan(line, &f); err == nil {
				out = append(out, f)
			}
		}
		return out
	}
	if s.toldOf("escalation", 0); len(s.mailOf("bot", func(m message) bool { return !m.Read })) != 1 {
		t.Error("the message is not unread")
	}
	list := s.toldOf("escalation", 1) // after 1+2+4+8 s
	if !strings.Contains(list[0].Body, "bot could not be woken 5 times in a row") || !strings.Contains(list[0].Body, "no luck") {
		t.Errorf("the notice: %s", list[0].Body)
	}
	times := at()
	if len(times) != 5 {
		t.Fatalf("%d wakes: %v", len(times), times)
	}
	for i, want := range []float64{1, 2, 4, 8} {
		if got := times[i+1] - times[i]; got < want-0.05 || got > want+5 {
			t.Errorf("pause %d took %.2f s, want %.0f", i+1, got, want)
		}
	}
	r := s.resident("bot")
	if r.Status != "idle" || r.Child != nil {
		t.Errorf("between two wakes: %+v", r)
	}
	if !*long {
		return
	}
	write(t, good, "")
	eventually(t, "it is read", func() bool { return files(t, s.team("bot", "inbox", "new")) == 0 })
	s.toldOf("escalation", 1)
}

// TestTurns hands mail over once, in order, several at a time, and each sender's
// only when the turn before has ended well.
func TestTurns(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	got := filepath.Join(s.base, "got")
	s.spawnExec("bot", "", "cat >> "+got+"; "+s.until("on"))
	s.send("bot", "first")
	s.working("bot")
	for i := range 5 {
		s.send("bot", fmt.Sprintf("more %d", i))
	}
	s.goOn("on")
	s.idle("bot", 2)
	s.noMail("bot")
	text := read(t, got)
	last := -1
	for _, want := range []string{"first", "more 0", "more 1", "more 2", "more 3", "more 4"} {
		i := strings.Index(text, want)
		if i < last || strings.Count(text, want+"\n") != 1 {
			t.Errorf("%q is at %d, after %d:\n%s", want, i, last, text)
		}
		last = i
	}
	if r := s.resident("bot"); r.Turns != 2 {
		t.Errorf("%d turns", r.Turns)
	}
}

// TestLargeTurns gives a teammate much large mail at once: its host hands it over
// in pieces, and stays small.
func TestLargeTurns(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	const n, size = 30, 2<<20 - 1000
	file := filepath.Join(s.base, "large")
	write(t, file, strings.Repeat("0123456789 large\n", size/17))
	got := filepath.Join(s.base, "got")
	s.spawnExec("bot", "", "grep -c 'large$' >> "+got+"; "+s.until("on"))
	s.send("bot", "first")
	s.working("bot")
	for range n {
		s.ok("send", "bot", "@"+file, "-q")
	}
	s.goOn("on")
	s.noMail("bot")
	s.idle("bot", 2)
	sum, most := 0, 0
	for line := range strings.Lines(read(t, got)) {
		var lines int
		if _, err := fmt.Sscan(line, &lines); err != nil {
			t.Fatal(err)
		}
		sum, most = sum+lines, max(most, lines)
	}
	if each := size / 17; sum != n*each || most > 2*each {
		t.Errorf("%d lines in all, %d at most; a message has %d", sum, most, each)
	}
	if peak := peakMemory(s.resident("bot").PID); peak > 100<<20 {
		t.Errorf("the host had %d MiB", peak>>20)
	}
}

// TestInterrupt aborts a turn of a teammate, which lives on; its mail counts as
// read.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.spawnExec("bot", "do it", "trap '' TERM; test -e "+filepath.Join(s.base, "on")+" || sleep 600; echo again")
	child := s.working("bot").Child.PID
	host := s.resident("bot").PID
	s.goOn("on")
	s.ok("interrupt", "bot")
	eventually(t, "the child is gone", func() bool { return !alive(child) })
	s.idle("bot", 1)
	s.noMail("bot")
	if r := s.resident("bot"); r.PID != host || !alive(host) {
		t.Errorf("its host is another: %+v", r)
	}
	s.send("bot", "go on")
	s.idle("bot", 2)
	s.ok("interrupt", "bot") // nothing to abort
	s.ok("shutdown", "bot")
	s.fails(4, "stopped", "interrupt", "bot")
	s.fails(3, "not_found", "interrupt", "nobody")
}

// TestUnfinished asks a teammate that ended its turn without a terminal report
// for one, once in its life, and then tells the leader once.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	got := filepath.Join(s.base, "got")
	s.spawnExec("bot", "do it", "cat >> "+got+"; echo turn >> "+got)
	s.toldOf("unfinished", 1)
	asked := s.mailOf("bot", func(m message) bool { return m.Event == "unfinished" })
	if len(asked) != 1 || !strings.Contains(asked[0].Body, "--status completed") {
		t.Errorf("it was asked %q", lines(asked))
	}
	if n := strings.Count(read(t, got), "turn\n"); n != 2 {
		t.Errorf("%d turns", n)
	}
	s.send("bot", "and this")
	s.idle("bot", 3)
	s.ok("tick")
	s.toldOf("unfinished", 1)
	if asked := s.mailOf("bot", func(m message) bool { return m.Event == "unfinished" }); len(asked) != 1 {
		t.Errorf("it was asked %q", lines(asked))
	}
	// One that reports is asked for nothing, and one that peers write to neither.
	s.spawnExec("ann", "do it", "cat > /dev/null; teams send leader -q --status completed 'all done'")
	s.idle("ann", 1)
	s.spawnExec("cid", "", "cat > /dev/null")
	s.as("bot").with("TEAMS_SPAWN="+s.resident("bot").SpawnID).ok("send", "cid", "-q", "from a peer")
	s.idle("cid", 1)
	s.ok("tick")
	for _, name := range []string{"ann", "cid"} {
		if asked := s.mailOf(name, func(m message) bool { return m.Event == "unfinished" }); len(asked) > 0 {
			t.Errorf("%s was asked %q", name, lines(asked))
		}
	}
	s.toldOf("unfinished", 1)
}

// TestSpawnWait waits for the terminal report of a teammate: each outcome has its
// exit code.
func TestSpawnWait(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	for _, c := range []struct {
		name, script string
		code         int
		out          string
		flags        []string
	}{
		{"done", "teams send leader -q --status in_progress 'half way'; teams send leader -q --status completed 'all done'", 0, "all done", nil},
		{"bad", "teams send leader -q --status failed 'it does not work'", 1, "it does not work", nil},
		{"late", "sleep 600", 124, "", []string{"--timeout", "300ms"}},
		{"gone", s.until("kill"), 2, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"--json", "spawn", c.name, "worker", "do it", "--wait"}, c.flags...)
			p := s.start(append(args, "--", "sh", "-c", c.script)...)
			if c.name == "gone" {
				eventually(t, "it is there", func() bool { return exists(s.team("gone", "teammate.json")) })
				s.working("gone")
				s.ok("shutdown", "gone", "--now")
			}
			r := p.wait()
			if r.code != c.code || !strings.Contains(r.out+r.err, c.out) {
				t.Errorf("want exit %d and %q: %s", c.code, c.out, r)
			}
		})
	}
	if r := s.resident("done"); r.Status != "idle" && r.Status != "working" {
		t.Errorf("it has not stayed: %+v", r)
	}
	if n := len(s.mailOf("leader", func(m message) bool { return m.From == "done" && !m.Read })); n != 2 {
		t.Errorf("%d of its reports are unread", n)
	}
}

// TestSpawnSays looks at what a spawn prints for people: its rows, once that the
// teammate has begun, and of a wait that ends too early no more than what helps.
func TestSpawnSays(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	const started = "[worker] started · @%s · do it"
	out := s.ok("spawn", "ann", "worker", "do it\nand more", "--", "sh", "-c", "cat >/dev/null")
	if want := "spawn ann · worker\n✓ success\n" + fmt.Sprintf(started, "ann"); strings.TrimSpace(out) != want {
		t.Errorf("it says\n%s\nwant\n%s", out, want)
	}
	if out := s.ok("spawn", "eve", "worker", "-q", "--", "cat"); strings.TrimSpace(out) != "eve" {
		t.Errorf("-q says %q", out)
	}
	// What is captured of a wait is the report; a person sees who has begun, too.
	report := []string{"worker", "do it", "--wait", "--", "sh", "-c", "teams send leader -q --status completed 'all done'"}
	if out := s.ok(append([]string{"spawn", "bob"}, report...)...); strings.TrimSpace(out) != "all done" {
		t.Errorf("the report is %q", out)
	}
	out = strip(s.with("TERM=xterm").onTerminal(80, append([]string{"spawn", "cid"}, report...)...))
	if strings.Count(out, fmt.Sprintf(started, "cid")+"\n") != 1 || !strings.Contains(out, "all done\n") {
		t.Errorf("a terminal shows\n%s", out)
	}
	r := s.run("spawn", "dan", "worker", "do it", "--wait", "--timeout", "300ms", "--", "sh", "-c", "sleep 600")
	const why = "the time limit passed while waiting for the report of dan"
	if r.code != 124 || strings.Contains(r.out+r.err, "context") || !strings.Contains(r.out, "✗ failed · "+why+"\n") || !strings.Contains(r.err, "teams: "+why+"\nhint: teams activity dan ") {
		t.Errorf("out of time: %s", r)
	}
	s.ok("activity", "dan")
	s.ok("shutdown", "ann")
	id := s.ledger()[0].TaskID
	if out := s.ok("resume", id, "do it"); !strings.Contains(out, "✓ resumed\n"+fmt.Sprintf(started, "ann")) {
		t.Errorf("resume says\n%s", out)
	}
}

// TestLedger follows a life through the states of its row, and revives it.
func TestLedger(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	got := filepath.Join(s.base, "got")
	s.ok("spawn", "bot", "worker", "do it", "--wait", "--", "sh", "-c", "cat >> "+got+"; teams send leader -q --status completed done")
	s.idle("bot", 1)
	s.ok("shutdown", "bot")
	first := s.ledger()[0]
	seen := map[string]int{}
	for _, row := range s.ledger() {
		seen[row.Status]++
		if row.TaskID != first.TaskID || row.Name != "bot" || row.SpawnID != first.SpawnID {
			t.Errorf("another row: %+v", row)
		}
	}
	for _, status := range []string{"running", "settled", "consumed", "closed"} {
		if seen[status] != 1 {
			t.Errorf("%d rows say %s: %+v", seen[status], status, s.ledger())
		}
	}
	if last := s.ledger()[len(s.ledger())-1]; last.Status != "closed" {
		t.Errorf("the last row: %+v", last)
	}
	s.fails(3, "not_found", "resume", "ffffffff")
	s.ok("resume", first.TaskID[:8], "once more")
	s.fails(4, "name_taken", "resume", first.TaskID[:8])
	s.idle("bot", 1)
	eventually(t, "it was woken", func() bool { return strings.Contains(read(t, got), "once more") })
	r := s.resident("bot")
	if r.TaskID != first.TaskID || r.SpawnID == first.SpawnID || r.PreviousSpawnID != first.SpawnID {
		t.Errorf("revived as %+v", r)
	}
	rows := s.ledger()
	again := rows[len(rows)-1]
	for _, row := range rows {
		if row.TaskID != first.TaskID {
			t.Errorf("another row: %+v", row)
		}
	}
	if again.SpawnID != r.SpawnID {
		t.Errorf("the last row: %+v", again)
	}
	s.ok("shutdown", "bot")
	s.healthy()
}

// TestHandoff prints what a successor needs, and a successor takes it.
func TestHandoff(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.add("mend the door", "-d", "it does not close", "--verify", "echo it still squeaks; exit 3")
	s.spawnExec("bot", "look after the house", "cat > /dev/null; teams claim t_1 -q; teams submit t_1 -q; echo 'looked at the hinge'; teams send leader -q --status in_progress 'the hinge is loose'; touch "+filepath.Join(s.base, "said")+"; "+s.until("on"))
	eventually(t, "it has said so", func() bool { return exists(filepath.Join(s.base, "said")) })
	check := func(text string) {
		t.Helper()
		for _, want := range []string{"# Handoff from bot", "look after the house", "the hinge is loose", "t_1", "mend the door", "it does not close", "exit code 3", "looked at the hinge"} {
			if !strings.Contains(text, want) {
				t.Errorf("it lacks %q:\n%s", want, text)
			}
		}
	}
	check(s.ok("handoff", "bot"))
	s.killHost("bot")
	s.ok("shutdown", "bot", "--now")
	check(s.ok("handoff", "bot"))
	got := filepath.Join(s.base, "got")
	if r := s.sh("teams handoff bot | teams spawn bot2 worker - -- sh -c 'cat >> " + got + "'"); r.code != 0 {
		t.Fatal(r)
	}
	s.idle("bot2", 1)
	check(read(t, got))
	s.fails(3, "not_found", "handoff", "nobody")
}

// TestDelegate gives a teammate a task of its own, which wakes it.
func TestDelegate(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	s.spawnExec("bot", "", "cat > /dev/null; teams claim t_1 -q && teams submit t_1 -q")
	s.ok("delegate", "bot", "mend it", "--key", "k")
	s.ok("delegate", "bot", "mend it", "--key", "k")
	s.idle("bot", 1)
	eventually(t, "it is done", func() bool { return s.show("t_1").State == "completed" })
	if n := len(s.mailOf("bot", func(m message) bool { return m.Task == "t_1" && m.From == "leader" })); n != 1 {
		t.Errorf("%d messages", n)
	}
	s.fails(3, "not_found", "delegate", "nobody", "mend it")
	if n := len(s.tasks()); n != 1 {
		t.Errorf("%d tasks", n)
	}
}

// TestHostOutlivesAll lets a teammate outlive the shell that spawned it and the
// harness.
func TestHostOutlivesAll(t *testing.T) {
	t.Parallel()
	s := newTeam(t)
	h := s.sh("teams spawn bot worker 'do it' -- sh -c '" + s.until("on") + "'; teams harness & echo $!; sleep 0.3; kill -9 $!")
	if h.code != 0 {
		t.Fatal(h)
	}
	child := s.working("bot").Child.PID
	time.Sleep(50 * time.Millisecond)
	if !alive(child) {
		t.Error("it ended with its shell")
	}
	s.goOn("on")
	s.idle("bot", 1)
}
