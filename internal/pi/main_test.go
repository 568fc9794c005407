package pi

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/pi/pitest"
	"github.com/seed6990a682/teams/verify"
)

var update = flag.Bool("update", false, "record the exchanges of testdata/pi anew, from the real pi")

// patience bounds waits that only end when something is broken.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	pitest.Clean()
	os.Exit(code)
}

// backend is a pi to test against: the test double, or the real one.
type backend struct {
	name string
	find func(testing.TB) string
}

// both runs a test against the test double, and against the real pi where it
// is installed.
func both(t *testing.T, f func(t *testing.T, pi backend)) {
	t.Helper()
	for _, b := range []backend{{"fake", pitest.FakePi}, {"real", pitest.RealPi}} {
		t.Run(b.name, func(t *testing.T) {
			b.find(t) // skips here
			f(t, b)
		})
	}
}

// watch collects what a process tells.
type watch struct {
	mu         sync.Mutex
	states     []State
	activities []Activity
	usage      Usage
	ends       []RunEnd
	exits      []Exit
}

func (w *watch) events() Events {
	return Events{
		OnState:    func(s State) { w.do(func() { w.states = append(w.states, s) }) },
		OnActivity: func(a Activity) { w.do(func() { w.activities = append(w.activities, a) }) },
		OnUsage:    func(u Usage) { w.do(func() { w.usage.Add(u) }) },
		OnRunEnd:   func(r RunEnd) { w.do(func() { w.ends = append(w.ends, r) }) },
		OnExit:     func(e Exit) { w.do(func() { w.exits = append(w.exits, e) }) },
	}
}

func (w *watch) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// of returns the activities of some kinds.
func (w *watch) of(kinds ...ActivityKind) (list []Activity) {
	w.do(func() {
		for _, a := range w.activities {
			for _, k := range kinds {
				if a.Kind == k {
					list = append(list, a)
				}
			}
		}
	})
	return list
}

func (w *watch) runEnds() (list []RunEnd) {
	w.do(func() { list = append(list, w.ends...) })
	return list
}

// rig is a started pi with its model.
type rig struct {
	*Process
	t     *testing.T
	model *pitest.Model
	watch *watch
	c     Config
}

// start starts a pi, which is stopped when the test ends. change may be nil.
func start(t *testing.T, b backend, s pitest.Settings, change func(*Config)) *rig {
	t.Helper()
	m := pitest.NewModel(t)
	return startWith(t, b, m, m.AgentDir(t, s), change)
}

func startWith(t *testing.T, b backend, m *pitest.Model, agentDir string, change func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, model: m, watch: new(watch)}
	r.c = config(t, b, agentDir)
	r.c.Events = r.watch.events()
	if change != nil {
		change(&r.c)
	}
	p, err := Start(context.Background(), r.c)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	r.Process = p
	t.Cleanup(func() { r.stop(500 * time.Millisecond) })
	return r
}

func config(t *testing.T, b backend, agentDir string) Config {
	dir := t.TempDir()
	spawn := fsx.UUID()
	return Config{
		Command: b.find(t), Dir: dir, Session: filepath.Join(dir, "session.jsonl"), Sweep: sweepOf(spawn),
		Env:       pitest.Env(agentDir, "TEAMS_HOSTED="+spawn, "TEAMS_NAME=ann"),
		ExtraArgs: []string{"-ne", "-ns", "-np", "--no-themes", "-nc"}, Quiet: 200 * time.Millisecond,
	}
}

// sweepOf ends what carries the mark of a life, as the host of a teammate does.
func sweepOf(spawn string) func(time.Duration) error {
	return func(grace time.Duration) error {
		_, err := verify.EndMarked("TEAMS_HOSTED", spawn, grace)
		return err
	}
}

// marked is the mark in an environment.
func marked(c Config) string { return c.lookup("TEAMS_HOSTED") }

// left counts what a start has left behind, and ends it.
func left(c Config) (int, error) { return verify.EndMarked("TEAMS_HOSTED", marked(c), 0) }

func (r *rig) stop(grace time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.Stop(ctx, grace); err != nil {
		r.t.Errorf("Stop: %v", err)
	}
}

// say prompts and wants the prompt acknowledged.
func (r *rig) say(text string, mode Mode) {
	r.t.Helper()
	if out, err := r.tell(fsx.RandomID(), text, mode); out != Acknowledged {
		r.t.Fatalf("Prompt(%q) = %v, %v", text, out, err)
	}
}

func (r *rig) tell(id, text string, mode Mode) (Outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.Prompt(ctx, id, text, mode)
}

// rest waits until pi is idle.
func (r *rig) rest() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.WaitIdle(ctx); err != nil {
		r.t.Fatalf("not idle: %v, %v", err, r.State())
	}
	if s := r.State(); s != Idle {
		r.t.Fatalf("state %v, %s", s, r.Exit().Reason())
	}
}

// until waits for a condition.
func (r *rig) until(what string, f func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("never: %s; state %v, activities %+v", what, r.State(), r.watch.activities)
		}
	}
}

// asked counts how often the model saw a user message with the text in its last
// request.
func (r *rig) asked(text string) int {
	list := r.model.Requests()
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1].Count("user", text)
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func lines(activities []Activity) string {
	var b strings.Builder
	for _, a := range activities {
		fmt.Fprintf(&b, "%s %s %s\n", a.Kind, a.Tool, a.Text)
	}
	return b.String()
}
