package team

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// sharing makes the process one of a shared session until the test ends.
func sharing(t *testing.T, tm *Team) *Team {
	t.Helper()
	t.Cleanup(func() { fsx.SetSharedMode(false); fsx.SetEarlierBoot(nil) })
	if err := tm.FindSharing(getenv(EnvShared, "1")); err != nil {
		t.Fatal(err)
	}
	return tm
}

func getenv(name, value string) func(string) string {
	return func(n string) string {
		if n == name {
			return value
		}
		return ""
	}
}

// writeHostRecord writes the record of some host.
func writeHostRecord(t *testing.T, tm *Team, r HostRecord) {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, tm.hostFile(r.Host), string(data))
}

func TestFindSharing(t *testing.T) {
	defer fsx.SetSharedMode(false)
	tm := newTeam(t)
	want := func(env string, on bool, source string) {
		t.Helper()
		fsx.SetSharedMode(false)
		tm.Sharing = Sharing{}
		if err := tm.FindSharing(getenv(EnvShared, env)); err != nil {
			t.Fatal(err)
		}
		if tm.Sharing.On != on || tm.Sharing.Source != source || fsx.SharedMode() != on {
			t.Errorf("with %q: %+v, mode %v; want %v by %s", env, tm.Sharing, fsx.SharedMode(), on, source)
		}
	}
	want("", false, SourceFileSystem)
	if tm.Sharing.FileSystem == "" {
		t.Error("no type of file system")
	}
	want("1", true, EnvShared)
	want("off", false, EnvShared)
	must(tm.EnsureSession())(t)
	want("", false, SourceFileSystem)
	s := must(tm.ReadSession())(t)
	for _, on := range []bool{true, false} {
		s.Shared = &on
		writeFile(t, tm.SessionFile(), string(must(marshalLines(s, nil))(t)))
		want("", on, SourceSession)
		want("yes", true, EnvShared)
	}
	writeFile(t, tm.SessionFile(), `{"shared": broken`)
	want("", false, SourceFileSystem)
	wantCode(t, tm.FindSharing(getenv(EnvShared, "maybe")), errs.Usage)
}

// What the type of the file system says goes into session.json, for the host
// that exports the files; what a person wrote there stays.
func TestSharingIsNoted(t *testing.T) {
	tm := newTeam(t)
	tm.Sharing = Sharing{On: true, Source: SourceFileSystem, FileSystem: "nfs"}
	if s := must(tm.EnsureSession())(t); s.Shared == nil || !*s.Shared {
		t.Error("a new session does not say that it is shared")
	}
	tm = newTeam(t)
	must(tm.EnsureSession())(t)
	if s := must(tm.ReadSession())(t); s.Shared != nil {
		t.Error("a local session says something")
	}
	tm.Sharing = Sharing{On: true, Source: EnvShared}
	must(tm.EnsureSession())(t)
	if s := must(tm.ReadSession())(t); s.Shared != nil {
		t.Error("a variable of one caller was noted for all")
	}
	tm.Sharing.Source = SourceFileSystem
	must(tm.EnsureSession())(t)
	s := must(tm.ReadSession())(t)
	if s.Shared == nil || !*s.Shared {
		t.Error("an old session was not told")
	}
	*s.Shared = false
	writeFile(t, tm.SessionFile(), string(must(marshalLines(s, nil))(t)))
	must(tm.EnsureSession())(t)
	if s := must(tm.ReadSession())(t); *s.Shared {
		t.Error("what a person wrote was changed")
	}
}

func TestHosts(t *testing.T) {
	tm := newTeam(t)
	tm.Present() // not shared: nothing
	wantNothing(t, tm.Root)
	sharing(t, tm)
	tm.Present() // no session yet
	wantNothing(t, tm.Root)
	must(tm.EnsureSession())(t)
	tm.Present()
	list, problems, err := tm.Hosts()
	if err != nil || len(problems) > 0 || len(list) != 1 || !list[0].Here || list[0].Host != fsx.Host() || list[0].Held || list[0].Gone {
		t.Fatalf("%+v %v %v", list, problems, err)
	}
	first := list[0].LastSeen
	time.Sleep(2 * time.Millisecond)
	tm.Present() // a moment ago is fresh enough
	if list, _, _ = tm.Hosts(); list[0].LastSeen != first {
		t.Error("written again at once")
	}

	stop := tm.StayPresent(context.Background())
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if list, _, _ = tm.Hosts(); list[0].Held || time.Now().After(end) {
			break
		}
	}
	if !list[0].Held {
		t.Error("its lock is not held")
	}
	stop()
	if list, _, _ = tm.Hosts(); list[0].Held {
		t.Error("its lock is held after the end")
	}

	// Another host, seen to hold its lock; a broken record spoils only itself.
	writeHostRecord(t, tm, HostRecord{Host: "Other.Host", BootID: "ob", LastSeen: nowMillis(), ClockAheadMs: 7000})
	writeHostRecord(t, tm, HostRecord{Host: "old", BootID: "x", LastSeen: nowMillis() - 3_600_000})
	writeFile(t, filepath.Join(tm.hostsDir(), "broken.json"), "{")
	lock := must(fsx.Acquire(context.Background(), tm.hostLock("Other.Host"), 0))(t)
	if tm.seesLocks("Other.Host", "ob") {
		t.Error("seen before anybody looked")
	}
	if _, err := tm.writeHost(nil, false); err != nil {
		t.Fatal(err)
	}
	lock.Unlock()
	if !tm.seesLocks("Other.Host", "ob") || tm.seesLocks("Other.Host", "another boot") || tm.seesLocks("old", "x") {
		t.Error("what locks were seen")
	}
	list, problems, err = tm.Hosts()
	if err != nil || len(problems) != 1 || len(list) != 3 {
		t.Fatalf("%+v %v %v", list, problems, err)
	}
	for _, h := range list {
		if h.Gone != (h.Host == "old") {
			t.Errorf("%s is gone: %v", h.Host, h.Gone)
		}
	}
	if tm.clockAhead("Other.Host") != 7000 || tm.clockAhead("") != 7000 || tm.clockAhead("nobody") != 0 {
		t.Error("clocks")
	}
}

// Only boots of this machine count as earlier ones, and a namesake is not
// written over.
func TestHostBoots(t *testing.T) {
	tm := sharing(t, newTeam(t))
	must(tm.EnsureSession())(t)
	if fsx.MachineID() == "" {
		t.Skip("this machine has no id")
	}
	mine := HostRecord{Host: fsx.Host(), Machine: fsx.MachineID(), BootID: "b2", Boots: []string{"b1", "b2"}, LastSeen: nowMillis()}
	writeHostRecord(t, tm, mine)
	if _, err := tm.writeHost(nil, false); err != nil {
		t.Fatal(err)
	}
	if !tm.earlierBoot("b1") || !tm.earlierBoot("b2") || tm.earlierBoot("b3") {
		t.Error("earlier boots")
	}
	p := must(fsx.Self())(t)
	if p.BootID = "b2"; p.Liveness() != fsx.Dead {
		t.Errorf("of an earlier boot: %v", p.Liveness())
	}
	if p.BootID = "b3"; p.Liveness() != fsx.Unknown {
		t.Errorf("of a boot that is not known: %v", p.Liveness())
	}
	other := mine
	other.Machine = "another"
	writeHostRecord(t, tm, other)
	_, err := tm.writeHost(nil, false)
	wantCode(t, err, errs.Conflict)
	if tm.earlierBoot("b1") {
		t.Error("a boot of a namesake counts")
	}
	if !hasFinding(tm.checkHosts(), "same_host_name") {
		t.Error("doctor does not tell of the namesake")
	}
	other.LastSeen -= 2 * presenceForgotten.Milliseconds()
	writeHostRecord(t, tm, other)
	if _, err := tm.writeHost(nil, false); err != nil || tm.earlierBoot("b1") {
		t.Errorf("after a namesake that is long gone: %v", err)
	}
}

func hasFinding(list []fsboard.Finding, code string) bool {
	for _, f := range list {
		if f.Code == code {
			return true
		}
	}
	return false
}

// The findings about other hosts.
func TestCheckHosts(t *testing.T) {
	tm := sharing(t, newTeam(t))
	must(tm.EnsureSession())(t)
	tm.Present()
	writeHostRecord(t, tm, HostRecord{Host: "skewed", BootID: "b", LastSeen: nowMillis() - 600_000, ClockAheadMs: -90_000})
	list := tm.checkHosts()
	if !hasFinding(list, "clock_skew") || !hasFinding(list, "host") || hasFinding(list, "locks_do_not_cross") {
		t.Errorf("%+v", list)
	}
	// One whose record is renewed while its lock is free.
	r := HostRecord{Host: "beating", BootID: "b", Stays: true, LastSeen: nowMillis()}
	writeHostRecord(t, tm, r)
	end, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for n := int64(1); ; n++ {
			select {
			case <-end:
				return
			case <-time.After(20 * time.Millisecond):
				next := r
				next.LastSeen += n
				data, _ := json.Marshal(next)
				_ = fsx.Replace(tm.hostFile(r.Host), data)
			}
		}
	}()
	if list = tm.checkHosts(); !hasFinding(list, "locks_do_not_cross") {
		t.Errorf("%+v", list)
	}
	close(end)
	<-ended
	// The same session, taken for local.
	tm.Sharing = Sharing{Source: EnvShared}
	if list = tm.CheckShared(context.Background(), nil); !hasFinding(list, "shared_elsewhere") {
		t.Errorf("%+v", list)
	}
}

// A harness of another host does not look after this one.
func TestHarnessHere(t *testing.T) {
	tm := newTeam(t)
	must(tm.EnsureSession())(t)
	lock := must(fsx.Acquire(context.Background(), tm.HarnessLock(), 0))(t)
	defer lock.Unlock()
	sharing(t, tm)
	if !tm.harnessHere() {
		t.Error("one of this host is not here")
	}
	data := must(os.ReadFile(tm.HarnessLock()))(t)
	if err := os.WriteFile(tm.HarnessLock(), []byte(strings.Replace(string(data), `"host":"`+fsx.Host(), `"host":"x`+fsx.Host()[1:], 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if tm.harnessHere() || !tm.HarnessLive() {
		t.Error("one of another host is here, or not live")
	}
	tm.Sharing.On = false
	if !tm.harnessHere() {
		t.Error("in a session of one host")
	}
}

// What was written to the leader while the session ended is kept.
func TestKeepLate(t *testing.T) {
	tm := newTeam(t)
	must(tm.EnsureSession())(t)
	gone := filepath.Join(filepath.Dir(tm.TeamDir()), ".s.ended-1")
	writeFile(t, filepath.Join(gone, LeaderName, "inbox", "new", "m1.md"), "late\n")
	writeFile(t, filepath.Join(gone, "ann", "outbox", "new", "m2.md"), "later\n")
	if err := tm.keepLate(gone); err != nil {
		t.Fatal(err)
	}
	if got := must(fsx.List(tm.boardMail()))(t); strings.Join(got, " ") != "m1.md m2.md" {
		t.Errorf("kept: %v", got)
	}
}

func TestShortDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{10 * time.Minute: "10m", 2 * time.Hour: "2h", 90 * time.Second: "1m30s", 1500 * time.Millisecond: "1.5s", 0: "0s"} {
		if got := ShortDuration(d); got != want {
			t.Errorf("%d is %q, want %q", d, got, want)
		}
	}
}

// A host renews the leases of its teammate in time, by the clock that nobody
// sets, and not before.
func TestRenewLeases(t *testing.T) {
	ctx := context.Background()
	team := newTeam(t)
	tm, lock, err := team.JoinHeld(ctx, JoinRequest{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	b := must(team.Board(BoardOptions{}))(t)
	must(b.Add(ctx, fsboard.NewTask{Subject: "one"}))(t)
	must(b.Claim(ctx, fsboard.ClaimRequest{Worker: "ann", SpawnID: tm.SpawnID, Lease: 9 * time.Minute}))(t)
	must(b.Fold(ctx, true))(t)
	h := &host{t: team, b: b, tm: tm, log: openActivityLog(team.ActivityLog("ann"))}
	defer h.log.Close()
	end := func() int64 { return must(b.Show("t_1"))(t).Claim.BootMs }
	first := end()
	if next := h.renewLeases(ctx); end() != first || next != leaseLook {
		t.Errorf("it was renewed while nearly all of it was left, or is looked at in %v", next)
	}
	// Four minutes later somebody has set the wall clock back.
	start := must(fsx.BootClock())(t)
	defer fsx.SetBootClock(func() (time.Duration, error) { return start + 4*time.Minute, nil })()
	wall := time.Now().Add(-time.Hour)
	defer fsx.SetNow(func() time.Time { return wall })()
	h.renewLeases(ctx)
	if got := end(); got < first+(3*time.Minute).Milliseconds() {
		t.Errorf("its end went from %d to %d", first, got)
	}
	// A short one is looked at before it ends.
	must(b.Renew(ctx, "t_1", "ann", tm.SpawnID, 6*time.Second))(t)
	if next := h.renewLeases(ctx); next > 2*time.Second {
		t.Errorf("a lease of 6 s is looked at in %v", next)
	}
}
