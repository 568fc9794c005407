package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// world is the team under the storm and what its callers were told.
type world struct {
	settings
	dir, bin      string
	root, project string
	evidence      string // what work loops and residents saw, a file each
	mounted       bool
	noDisk        string // why the disk is not filled
	out           io.Writer
	begun         time.Time

	verbs  chan struct{} // a slot for each call of a verb at a time
	full   atomic.Bool   // the disk is full, or was a moment ago
	fulled atomic.Int64  // when it was full last, in ns since begun
	calm   atomic.Bool   // nothing is killed any more

	mu         sync.Mutex
	rng        *rand.Rand
	ops        map[string]int // calls by verb
	kills      map[string]int // by what was killed
	noted      map[string]int // what is no violation, but worth a line
	victims    map[*proc]string
	violations []string

	facts
}

// facts are what somebody was told.
type facts struct {
	keys    map[string]string    // key of a task: its id, "" while nobody was told
	claims  map[string]string    // task and epoch: the token
	holders map[string]string    // task and epoch: who was told
	leases  map[string]*lease    // by token
	sent    map[string]*message  // by id
	tried   map[string]*message  // by body
	shown   map[string]*showings // by mailbox and id
	back    map[string]bool      // by the mailbox that was told and the id of what came back
}

// message is one that somebody tried to send.
type message struct {
	id, from, to, body string
}

// showings are how often a message was shown: surely, and by a process that may
// have died before it marked it.
type showings struct{ sure, maybe int }

func newWorld(dir, bin string, s settings, out io.Writer) (*world, error) {
	w := &world{
		settings: s, dir: dir, bin: bin, out: out, begun: time.Now(),
		root: filepath.Join(dir, "root"), project: filepath.Join(dir, "app"), evidence: filepath.Join(dir, "evidence"),
		verbs: make(chan struct{}, 3), rng: rand.New(rand.NewPCG(s.seed, 1)),
		ops: map[string]int{}, kills: map[string]int{}, noted: map[string]int{}, victims: map[*proc]string{},
		facts: facts{keys: map[string]string{}, claims: map[string]string{}, holders: map[string]string{}, leases: map[string]*lease{}, sent: map[string]*message{}, tried: map[string]*message{}, shown: map[string]*showings{}, back: map[string]bool{}},
	}
	for _, d := range []string{w.root, filepath.Join(w.project, ".git"), filepath.Join(w.project, ".pi", "agents"), w.evidence, filepath.Join(dir, "home"), filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	role := "---\nname: worker\ndescription: use when something is to be done\n---\nYou work.\n"
	if err := os.WriteFile(filepath.Join(w.project, ".pi", "agents", "worker.md"), []byte(role), 0o600); err != nil {
		return nil, err
	}
	if err := w.scripts(); err != nil {
		return nil, err
	}
	if err := w.setClock(0); err != nil {
		return nil, err
	}
	w.noDisk = "it was not asked for"
	if s.disk {
		w.noDisk = w.mount()
	}
	return w, nil
}

// scripts writes what work loops and residents run. The work loop's keeps what
// the loop was told it holds; now and then it gives a task back. The resident's
// keeps each message before it counts as read, and takes a task.
func (w *world) scripts() error {
	// Process numbers come again within minutes, so they name nothing here.
	work := `f=$(mktemp "$EVIDENCE/.taskXXXXXXXXXX") && cp "$TEAMS_TASK_FILE" "$f" && mv "$f" "$EVIDENCE/task.$TEAMS_TASK.$TEAMS_NAME.${f##*.task}"
case $$ in *7) sleep 0.1;; *3) exit 75;; esac
echo "done by $TEAMS_NAME"
`
	resident := `f=$(mktemp "$EVIDENCE/.mailXXXXXXXXXX") && cat > "$f" && mv "$f" "$EVIDENCE/mail.$TEAMS_NAME.${f##*.mail}"
id=$(teams claim -q 2>/dev/null) && teams submit -q --result "by $TEAMS_NAME" >/dev/null 2>&1
teams claim --mine -q 2>/dev/null | while read -r id; do teams submit "$id" -q >/dev/null 2>&1; done
case $$ in *9) exit 1;; esac
exit 0
`
	for name, text := range map[string]string{"work.sh": work, "resident.sh": resident} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) say(format string, args ...any) {
	if !w.quiet {
		fmt.Fprintf(w.out, format+"\n", args...)
	}
}

// wrong notes a broken promise.
func (w *world) wrong(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := fmt.Sprintf("%6.1f s  ", time.Since(w.begun).Seconds()) + fmt.Sprintf(format, args...)
	if len(w.violations) < 200 {
		w.violations = append(w.violations, text)
	}
	w.say("VIOLATION %s", text)
}

func (w *world) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noted[what]++
}

// random is a number from 0 to n-1.
func (w *world) random(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// pause sleeps for a random time below most.
func (w *world) pause(most time.Duration) { time.Sleep(time.Duration(w.random(int(most)))) }

// proc is a running process of the storm.
type proc struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
	done     chan struct{}
	killed   atomic.Bool
}

// start starts a command, whose name the counts have, as somebody: "" is the
// leader.
func (w *world) start(what, name string, argv ...string) (*proc, error) {
	p := &proc{cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	p.cmd.Dir = w.project
	p.cmd.Env = []string{
		"PATH=" + filepath.Dir(w.bin) + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.dir, "home"), "TMPDIR=" + filepath.Join(w.dir, "tmp"),
		"LC_ALL=C.UTF-8", "TEAMS_ROOT=" + w.root, "TEAMS_HERDR=off", "EVIDENCE=" + w.evidence,
		clockEnv + "=" + w.clockFile(),
	}
	if name != "" {
		p.cmd.Env = append(p.cmd.Env, "TEAMS_NAME="+name)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = time.Second // a grandchild may hold the output
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.ops[what]++
	w.victims[p] = what
	w.mu.Unlock()
	go func() {
		_ = p.cmd.Wait()
		w.mu.Lock()
		delete(w.victims, p)
		w.mu.Unlock()
		close(p.done)
	}()
	return p, nil
}

func (p *proc) code() int { return p.cmd.ProcessState.ExitCode() }

func (p *proc) ended(d time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}

// hang is how long a verb may take at most: whatever takes longer hangs.
const hang = 2 * time.Minute

// result is what came of a verb.
type result struct {
	code     int // -1: it was killed
	out, err string
	excused  bool // the disk was full meanwhile
}

func (r result) String() string {
	return fmt.Sprintf("exit %d: %s %s", r.code, strings.TrimSpace(clip(r.out)), strings.TrimSpace(clip(r.err)))
}

func clip(s string) string {
	if len(s) > 600 {
		return s[:600] + "…"
	}
	return s
}

// teams makes one call as somebody. While the storm rages every fourth is killed
// after a random time, unless it is faster.
func (w *world) teams(name string, args ...string) result {
	w.verbs <- struct{}{}
	defer func() { <-w.verbs }()
	what := verbOf(args)
	began := time.Since(w.begun)
	p, err := w.start(what, name, append([]string{w.bin}, args...)...)
	if err != nil {
		return result{code: -1, err: err.Error()}
	}
	if !w.calm.Load() && w.random(4) == 0 && !p.ended(time.Duration(w.random(int(12*time.Millisecond)))) {
		w.kill(p, what)
	}
	if !p.ended(hang) {
		w.wrong("teams %s hangs", strings.Join(args, " "))
		w.kill(p, what)
		<-p.done
	}
	r := result{code: p.code(), out: p.out.String(), err: p.err.String()}
	if p.killed.Load() {
		r.code = -1
	}
	r.excused = w.full.Load() || time.Duration(w.fulled.Load()) >= began && w.fulled.Load() > 0
	return r
}

// verbOf is how the counts call a call.
func verbOf(args []string) string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	if len(args) > 1 && (args[0] == "task" || args[0] == "session") {
		return args[0] + " " + args[1]
	}
	if len(args) == 0 {
		return "teams"
	}
	return args[0]
}

// kill ends a process of ours, and nothing that it has started.
func (w *world) kill(p *proc, what string) {
	select {
	case <-p.done:
		return
	default:
	}
	p.killed.Store(true)
	if p.cmd.Process.Kill() == nil {
		w.mu.Lock()
		w.kills[what]++
		w.mu.Unlock()
	}
}

// surprising says whether the exit of a verb is none of those that it may have,
// and notes it as a violation when nothing excuses it.
func (w *world) surprising(r result, what string, may ...int) bool {
	if r.code == -1 {
		return true
	}
	for _, code := range append(may, 0) {
		if r.code == code {
			return false
		}
	}
	switch {
	case r.excused && (r.code == 1 || strings.Contains(r.err+r.out, "no space left")):
		w.note(what + ": the disk was full")
	case r.code == 75:
		w.note(what + ": busy")
	default:
		w.wrong("%s: %s", what, r)
	}
	return true
}
