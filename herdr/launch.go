package herdr

import (
	"context"
	"strings"
	"time"

	"github.com/seed6990a682/teams/internal/errs"
)

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// launch starts what is to run in a pane and waits until it is ready.
func (s *Spawner) launch(ctx context.Context, r *SpawnRequest, l *Lease) error {
	if r.Kind == "" && len(r.Command) == 0 {
		return nil
	}
	limit := or(r.Ready, 30*time.Second)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errs.New(errs.TimedOut, "%s was not ready within %s", r.Name, limit))
	defer cancel()
	err := s.start(ctx, r, l)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (s *Spawner) start(ctx context.Context, r *SpawnRequest, l *Lease) error {
	modern, err := s.Client.modern(ctx)
	if err != nil {
		return err
	}
	if r.Kind == "" {
		return s.typeCommand(ctx, l, r.Command, modern, false)
	}
	if !modern {
		return s.typeCommand(ctx, l, append([]string{r.Kind}, r.Args...), modern, true)
	}
	l.Agent = r.Name
	err = s.startAgent(ctx, r, l)
	if CodeOf(err) == CodeNameTaken { // by one of another session, or of a person
		l.Agent = agentName(r.Name, r.SpawnID)
		err = s.startAgent(ctx, r, l)
	}
	if err != nil {
		return err
	}
	if err := s.Leases.Update(l); err != nil {
		return err
	}
	for {
		p, err := s.Client.Agent(ctx, l.Pane)
		switch {
		case err != nil && !Gone(err):
			return err
		case err != nil:
			return errs.New(errs.Failure, "%s ended while it was starting", r.Name)
		case p.Terminal != l.Terminal:
			return errs.New(errs.Conflict, "the pane of %s is another one's now", r.Name)
		case p.InteractiveReady:
			return nil
		case !p.LaunchPending:
			return errs.New(errs.Failure, "%s did not start, herdr gave up on it", r.Name)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// maxAgentName is how long the name of an agent may be for herdr.
const maxAgentName = 32

// agentName is a name for an agent whose own is taken in herdr: with the last
// digits of its spawn id.
func agentName(name, spawnID string) string {
	var digits []byte
	for i := len(spawnID) - 1; i >= 0 && len(digits) < 6; i-- {
		if c := spawnID[i] | 0x20; 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			digits = append([]byte{c}, digits...)
		}
	}
	return name[:min(len(name), maxAgentName-1-len(digits))] + "-" + string(digits)
}

// startAgent asks herdr for the start. The shell of a fresh pane needs a moment,
// in which herdr says that the pane is busy.
func (s *Spawner) startAgent(ctx context.Context, r *SpawnRequest, l *Lease) error {
	begin, wait := time.Now(), 150*time.Millisecond
	for {
		_, err := s.Client.StartAgent(ctx, AgentStart{Name: l.Agent, Kind: r.Kind, Pane: l.Pane, Args: r.Args, Timeout: or(r.Ready, 30*time.Second)})
		if CodeOf(err) != CodeAgentBusy || time.Since(begin) > 10*time.Second {
			return err
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, 2*time.Second)
	}
}

// typeCommand types a command into the shell of a fresh pane. It is ready when
// something else than the shell is in the foreground, or herdr has detected an
// agent.
func (s *Spawner) typeCommand(ctx context.Context, l *Lease, argv []string, modern, agent bool) error {
	if err := s.typeInto(ctx, l.Pane, l.Terminal, argv); err != nil {
		return err
	}
	for {
		if agent {
			p, err := s.Client.Pane(ctx, l.Pane)
			if err != nil || p.Agent != "" {
				return err
			}
		} else if ok, err := s.atShell(ctx, l.Pane); err != nil || !ok || !modern {
			return err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// atShell reports whether the shell of a pane waits for a command; true where
// that cannot be told.
func (s *Spawner) atShell(ctx context.Context, pane string) (bool, error) {
	info, err := s.Client.Processes(ctx, pane)
	if unknownMethod(err) {
		return true, nil
	}
	return err == nil && info.AtShell(), err
}

// typeInto types a command once the shell of a pane waits for one, as one line
// that the shell reads word by word as it was given.
func (s *Spawner) typeInto(ctx context.Context, pane, terminal string, argv []string) error {
	for _, a := range argv {
		if strings.ContainsFunc(a, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return errs.New(errs.Usage, "a command that is typed into a pane must not have control characters")
		}
	}
	for {
		ok, err := s.atShell(ctx, pane)
		if err != nil {
			return err
		}
		if ok {
			break
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	if p, err := s.Client.Pane(ctx, pane); err != nil {
		return err
	} else if p.Terminal != terminal {
		return errs.New(errs.Conflict, "the pane is another one's now, nothing was typed into it")
	}
	return s.Client.SendInput(ctx, pane, ShellJoin(argv), "Enter")
}

// OpenTab opens a tab of its own for a command, which takes the place of the
// tab's shell. It needs no lease. When it fails nothing is left.
func (s *Spawner) OpenTab(ctx context.Context, n NewPlace, argv []string) (*Pane, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	if n.Workspace == "" {
		n.Workspace = s.Here.Workspace
	}
	c, err := s.Client.CreateTab(ctx, n)
	if err != nil {
		return nil, err
	}
	if err := s.typeInto(ctx, c.Pane.ID, c.Pane.Terminal, append([]string{"exec"}, argv...)); err != nil {
		return nil, s.takeBack(ctx, err, []undo{{"closing the pane", func(ctx context.Context) error {
			return s.Client.CloseOwn(ctx, c.Pane.ID, c.Pane.Terminal, s.Here)
		}}})
	}
	return &c.Pane, nil
}

// ShellJoin quotes words so that a POSIX shell reads them as they are.
func ShellJoin(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		plain := a != ""
		for j := 0; j < len(a) && plain; j++ {
			plain = isWordByte(a[j]) || strings.IndexByte("./:@%+,=", a[j]) >= 0 && (i > 0 || a[j] != '=')
		}
		if quoted[i] = a; !plain {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
