package fsboard

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// The test binary is also the processes that these tests start: the first
// argument behind roleFlag says what to be.
const roleFlag = "FSBOARD_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleFlag); role != "" {
		os.Exit(play(role))
	}
	os.Exit(m.Run())
}

// play is the main function of a started process: its role, the board's
// directory and its name stand in the environment variable.
func play(role string) int {
	f := strings.SplitN(role, " ", 3)
	dir, name := f[2], f[1]
	b, err := Open(Options{Dir: dir, Root: filepath.Dir(filepath.Dir(dir)), Roster: graveyard(dir + ".dead"), LockTimeout: time.Minute})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	switch f[0] {
	case "racer":
		return race(b, name)
	case "worker":
		return work(b, name)
	}
	return 2
}

// graveyard is a roster of the dead: one file for each.
type graveyard string

func (g graveyard) Lookup(name, _ string) Worker {
	if exists(filepath.Join(string(g), name)) {
		return Worker{Life: LifeDead}
	}
	return Worker{Life: LifeAlive}
}

// race claims each task that it reads the id of, and says what it was told.
func race(b *Board, name string) int {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		r := request(in.Text(), name)
		r.Max = 1_000_000
		_, err := b.Claim(context.Background(), r)
		switch {
		case err == nil:
			fmt.Println("won")
		case errs.CodeOf(err) == errs.AlreadyClaimed:
			fmt.Println("lost")
		default:
			fmt.Println("error", errs.CodeOf(err), err)
		}
	}
	return 0
}

// work adds, claims and submits until nothing is left, and says what it was
// told at once, so that its words outlive it.
func work(b *Board, name string) int {
	ctx := context.Background()
	for i := 0; ; i++ {
		if i%4 == 0 {
			list, err := b.Add(ctx, NewTask{Subject: "by " + name})
			if err != nil {
				fmt.Println("error", err)
				return 1
			}
			fmt.Println("added", list[0].ID)
		}
		v, err := b.Claim(ctx, request("", name))
		switch errs.CodeOf(err) {
		case "":
		case errs.NothingClaimable:
			time.Sleep(5 * time.Millisecond)
			continue
		case errs.BoardDrained:
			fmt.Println("drained")
			return 0
		default:
			fmt.Println("error", err)
			return 1
		}
		fmt.Println("claimed", v.ID, v.Claim.Token)
		s := submission(v.ID, name)
		if i%5 == 4 {
			s.NoWait = true
		}
		r, err := b.Submit(ctx, s)
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Println("submitted", v.ID, r.Submission)
		for r.Queued {
			if r, err = b.Submit(ctx, submission(v.ID, name)); err != nil {
				fmt.Println("error", err)
				return 1
			}
		}
	}
}

// process is a started role.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
}

func start(t testing.TB, role, name, dir string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self), lines: make(chan string, 1000)}
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s", roleFlag, role, name, dir), "GOCOVERDIR="+t.TempDir())
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

// TestRace: of 8 processes that claim one task at once, one is told that it
// holds it, and the others that they do not, round after round.
func TestRace(t *testing.T) {
	rounds := 60
	if *long {
		rounds = 1000
	}
	dir := filepath.Join(t.TempDir(), "tasks", "race")
	b := openTest(t, Options{Dir: dir})
	addN(t, b, rounds)
	racers := make([]*process, 8)
	for i := range racers {
		racers[i] = start(t, "racer", fmt.Sprintf("w%d", i), dir)
	}
	for round := 1; round <= rounds; round++ {
		for _, r := range racers {
			if _, err := fmt.Fprintln(r.in, taskID(int64(round))); err != nil {
				t.Fatal(err)
			}
		}
		won := 0
		for i, r := range racers {
			select {
			case line, ok := <-r.lines:
				if line == "won" {
					won++
				} else if line != "lost" {
					t.Errorf("round %d: w%d says %q, %v", round, i, line, ok)
				}
			case <-time.After(time.Minute):
				t.Fatalf("round %d: w%d says nothing", round, i)
			}
		}
		if won != 1 {
			t.Fatalf("round %d: %d have won", round, won)
		}
	}
	for _, r := range racers {
		r.in.Close()
		if err := r.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	mustFold(t, b)
	wantSound(t, b)
}

// TestStorm lets processes add, claim and submit while some of them are killed
// at random points: what they were told is true, no task is lost, and each is
// completed once. The board parses at every instant.
func TestStorm(t *testing.T) {
	workers, lives := 4, 40
	if *long {
		workers, lives = 16, 1500
	}
	dir := filepath.Join(t.TempDir(), "tasks", "storm")
	b := openTest(t, Options{Dir: dir, LockTimeout: time.Minute})
	if err := os.MkdirAll(dir+".dead", 0o700); err != nil {
		t.Fatal(err)
	}
	addN(t, b, 20)
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for looks := 0; ; looks++ {
			select {
			case <-done:
				if looks < 10 {
					t.Errorf("only %d looks", looks)
				}
				return
			default:
			}
			data, err := os.ReadFile(b.Path())
			if err != nil || !json.Valid(data) {
				t.Errorf("the board does not parse: %v\n%s", err, data)
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
	var mu sync.Mutex
	var words []string
	var slots sync.WaitGroup
	next := 0
	for range workers {
		slots.Go(func() {
			for {
				mu.Lock()
				next++
				n := next
				mu.Unlock()
				if n > lives || t.Failed() {
					return
				}
				name := fmt.Sprintf("w%d", n)
				p := start(t, "worker", name, dir)
				// It is killed at a random moment behind a random word.
				life, left := time.After(20*time.Second), rand.IntN(20)
				heard := func(line string, ok bool) bool {
					if ok {
						mu.Lock()
						words = append(words, name+" "+line)
						mu.Unlock()
					}
					return ok
				}
				for open := true; open; {
					select {
					case line, ok := <-p.lines:
						open = heard(line, ok)
						if left--; left < 0 {
							life = time.After(time.Duration(rand.IntN(4000)) * time.Microsecond)
						}
					case <-life:
						if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
							t.Error(err)
						}
						for line := range p.lines { // its last words
							heard(line, true)
						}
						open = false
					}
				}
				_ = p.cmd.Wait()
				if err := os.WriteFile(filepath.Join(dir+".dead", name), nil, 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	slots.Wait()
	close(done)
	reader.Wait()
	// The survivors' part: release the claims of the dead and do what is left.
	b = openTest(t, Options{Dir: dir, Roster: graveyard(dir + ".dead")})
	for range 1_000_000 {
		mustFold(t, b)
		ids, err := b.Waiting()
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if _, err := b.Decide(context.Background(), id); err != nil {
				t.Fatal(err)
			}
		}
		v, err := b.Claim(context.Background(), request("", "last"))
		if errs.CodeOf(err) == errs.BoardDrained {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		mustSubmit(t, b, v.ID, "last")
	}
	wantSound(t, b)
	completed := map[string]int{}
	granted := map[string]bool{} // or refused since its holder is dead
	decided := map[string]bool{}
	for _, e := range history(t, b) {
		switch e.Event {
		case EventCompleted:
			completed[e.Task]++
			decided[e.Submission] = true
		case EventClaimed:
			granted[e.Token] = true
		case EventClaimRefused:
			// One that was granted may be refused later on: a marker that a crash
			// left beside its claim, found after that claim was released.
			granted[e.Token] = granted[e.Token] || e.Reason == refusedDead
		}
	}
	list, err := b.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		if v.State != StateCompleted || completed[v.ID] != 1 {
			t.Errorf("%s is %s and was completed %d times", v.ID, v.State, completed[v.ID])
		}
	}
	counts := map[string]int{}
	for _, w := range words {
		f := strings.Fields(w)
		counts[f[1]]++
		switch f[1] {
		case "added":
			if completed[f[2]] != 1 {
				t.Errorf("%q, but it is lost", w)
			}
		case "claimed":
			if !granted[f[3]] {
				t.Errorf("%q, but it was never granted", w)
			}
		case "submitted":
			if !decided[f[3]] {
				t.Errorf("%q, but it never counted", w)
			}
		case "drained":
		default:
			t.Errorf("%q", w)
		}
	}
	for _, dir := range []string{"claims", "submissions"} {
		if entries, err := os.ReadDir(b.path(dir)); err != nil {
			t.Error(err)
		} else {
			for _, e := range entries {
				if !bytes.HasPrefix([]byte(e.Name()), []byte(".")) {
					t.Errorf("%s/%s is left", dir, e.Name())
				}
			}
		}
	}
	t.Logf("%d tasks, %v", len(list), counts)
	if counts["submitted"] < 10 {
		t.Errorf("too little happened: %v", counts)
	}
}
