package term

import (
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// process is what one look at a process tells.
type process struct {
	pid, parent, session int
	start                uint64 // as that of [fsx.Process]; with pid it names a process
	zombie               bool
}

// life names one process: its number is used again.
type life struct {
	pid   int
	start uint64
}

func (p process) life() life { return life{p.pid, p.start} }

// tree is what runs in a terminal: what has its mark, the shell and what is in
// its session, and what any of these has started. A mark is lost with the
// environment, as by env -i, a session with setsid, and a parent with its end;
// so whoever was seen to belong to it stays known.
type tree struct {
	mark  string
	shell life // zero: not known, or gone
	known map[life]bool
	asked map[life]bool // to end
	self  int
}

// tree begins to look at what runs in a terminal. Only a shell that still lives
// leads its session: later the number may be that of a stranger.
func (t *Terminal) tree() *tree {
	f := &tree{mark: t.Mark, known: map[life]bool{}, asked: map[life]bool{}, self: os.Getpid()}
	if t.shell.PID > 0 && t.shell.Liveness() == fsx.Alive {
		f.shell = life{t.shell.PID, t.shell.StartTime}
		f.known[f.shell] = true
	}
	return f
}

// look returns those that live. We ourselves are left out, with what we start.
func (f *tree) look() (left []process) {
	all := processes()
	session := f.shell.pid
	if i := slices.IndexFunc(all, func(p process) bool { return p.pid == session }); i >= 0 && all[i].start != f.shell.start {
		session = 0 // the number is another one's now
	}
	marks := marked(f.mark)
	in := map[int]uint64{} // their start times
	for found := true; found; {
		found = false
		for _, p := range all {
			switch {
			case p.pid <= 1, p.pid == f.self, p.zombie, in[p.pid] != 0:
			case p.parent == f.self && p.life() != f.shell:
			case f.known[p.life()], session > 0 && p.session == session, in[p.parent] != 0 && in[p.parent] <= p.start, slices.Contains(marks, p.pid):
				in[p.pid], f.known[p.life()], found = p.start, true, true
				left = append(left, p)
			}
		}
	}
	return left
}

// signal signals a process of the tree. The handle comes first and the look
// after it, so that whoever got the number meanwhile is not hit.
func (p process) signal(signals ...syscall.Signal) {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer func() { _ = handle.Release() }()
	if now, ok := lookup(p.pid); !ok || now.life() != p.life() {
		return
	}
	for _, s := range signals {
		_ = handle.Signal(s)
	}
}

// endTree ends what runs in a terminal: a hang-up and a request, and after
// grace, for those that did not listen, the end. It returns when they are gone:
// when two looks have found nobody, since one may miss who is in execve(2).
func (t *Terminal) endTree(grace time.Duration) error {
	if t.Mark == "" {
		return errs.New(errs.Internal, "a terminal without a mark")
	}
	f := t.tree()
	begin := time.Now()
	for none := 0; ; {
		left := f.look()
		if len(left) == 0 {
			if none++; none == 2 {
				return nil
			}
			time.Sleep(time.Millisecond)
			continue
		}
		none = 0
		hard := time.Since(begin) >= grace
		for _, p := range left {
			switch {
			case hard:
				p.signal(syscall.SIGKILL)
			case !f.asked[p.life()]:
				f.asked[p.life()] = true
				// An interactive shell ignores TERM, and a stopped one hears nothing.
				p.signal(syscall.SIGHUP, syscall.SIGTERM, syscall.SIGCONT)
			}
		}
		if time.Since(begin) > grace+5*time.Second {
			return errs.New(errs.Failure, "%d processes of the terminal %s do not end, such as %d", len(left), t.ID, left[0].pid)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
