package team

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// herdrDriver runs an interactive agent in a pane of herdr: pi, or a command. A
// message counts as read when herdr has seen that it was submitted.
type herdrDriver struct {
	*host
	spawner *herdr.Spawner
	target  herdr.Target
	isAgent bool // herdr knows the program as an agent

	retry retry
	state string // of the pane, as it was seen last
	away  bool   // herdr could not be asked, and that was noted
	shown string // the end of what stands in the pane
	at    time.Time
}

// checkPane checks what a spawn says of its pane.
func (r *SpawnRequest) checkPane() error {
	placements := []string{"", herdr.PlaceRight, herdr.PlaceDown, herdr.PlaceTab, herdr.PlaceWorkspace}
	if !slices.Contains(placements, r.Placement) {
		return errs.New(errs.Usage, "%q is no placement", r.Placement).WithHint("%s", strings.Join(placements[1:], ", "))
	}
	if utf8.RuneCountInString(r.Tab) > 20 {
		return errs.New(errs.Usage, "the name of the tab has more than 20 characters")
	}
	if r.Grace < 0 {
		return errs.New(errs.Usage, "--grace must not be negative")
	}
	return nil
}

// newSpawner connects to nothing: it says where herdr is and whose panes are
// whose. It opens no pane before its leases have a cap.
func (t *Team) newSpawner(grace time.Duration, getenv func(string) string) (*herdr.Spawner, error) {
	client, err := herdr.Open("", getenv)
	if err != nil {
		return nil, err
	}
	return &herdr.Spawner{
		Client: client, Leases: &herdr.Leases{Root: t.Root}, Here: herdr.FindHere(getenv), Grace: grace, Shared: t.Sharing.On,
	}, nil
}

// How long the end of a life waits for herdr, and for one that has just not
// answered.
const (
	closeTime = 4 * time.Second
	awayTime  = 500 * time.Millisecond
)

// closePane closes the pane of a teammate, if it is still its own. Its lease says
// which herdr has it, so that whoever ends a life need not be inside that one.
// Where that herdr does not answer, or is on another host, the pane is left to the
// next tick there.
func (t *Team) closePane(ctx context.Context, tm Teammate, getenv func(string) string) error {
	leases := &herdr.Leases{Root: t.Root}
	lease, err := leases.Find(tm.SpawnID)
	if err != nil || lease == nil || lease.Over {
		return err
	}
	sp, err := t.newSpawner(time.Duration(tm.GraceMs)*time.Millisecond, getenv)
	if err != nil { // this process is in no herdr
		sp = &herdr.Spawner{Client: herdr.New(lease.Socket), Leases: leases}
	}
	bounded, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	err = sp.Close(bounded, tm.SpawnID)
	if err != nil && !herdr.IsUnavailable(err) && bounded.Err() == nil && lease.Owner.Host == fsx.Host() {
		return err
	}
	return nil
}

func (d *herdrDriver) start(ctx context.Context) (err error) {
	if d.spawner, err = d.t.newSpawner(time.Duration(d.tm.GraceMs)*time.Millisecond, os.Getenv); err != nil {
		return err
	}
	if d.spawner.Leases.Max, err = herdr.MaxPanes(os.Getenv); err != nil {
		return err
	}
	if err := d.prepareConversation(ctx); err != nil {
		return err
	}
	self, err := fsx.Self()
	if err != nil {
		return err
	}
	env := d.t.Env(d.tm)
	env["TEAMS_PROMPT"] = d.t.promptFile(d.tm.Name)
	env[envHosted] = d.tm.SpawnID
	r := herdr.SpawnRequest{
		SpawnID: d.tm.SpawnID, Session: d.t.Session, Name: d.tm.Name, Role: d.tm.Agent, Label: orWord(d.tm.Label, d.tm.Name), Owner: self,
		Tab: d.tm.Tab, Placement: d.tm.Placement, Cwd: d.tm.Cwd, Env: env, Command: d.tm.Command,
	}
	if d.isAgent = len(d.tm.Command) == 0; d.isAgent {
		r.Kind = "pi"
		if r.Args, err = d.piArgs(); err != nil {
			return err
		}
	}
	lease, err := d.spawner.Spawn(ctx, r)
	if err != nil {
		return err
	}
	d.state = herdr.StateIdle
	d.target = herdr.Target{Name: d.tm.Name, Pane: lease.Pane, Terminal: lease.Terminal}
	d.output = func() (string, time.Time) { return lastLine(d.shown), d.at }
	d.log.Event("its pane is open")
	return nil
}

// piArgs are the arguments of pi in a pane.
func (d *herdrDriver) piArgs() ([]string, error) {
	args := []string{"--session", d.tm.SessionFile, "--append-system-prompt", d.t.promptFile(d.tm.Name)}
	extension, err := d.writeExtension()
	if err != nil {
		return nil, err
	}
	if extension != "" {
		args = append(args, "--extension", extension)
	}
	if tools := d.piTools(); tools != nil {
		args = append(args, "--tools", strings.Join(tools, ","))
	}
	if model := d.piModel(); model != "" {
		args = append(args, "--model", model)
	}
	return args, nil
}

func (d *herdrDriver) run(ctx context.Context) error {
	for {
		stop, interrupt, err := d.look()
		if err != nil || stop != "" || ctx.Err() != nil {
			return err
		}
		if interrupt && d.takeInterrupt() {
			d.log.Event("interrupted")
			if err := d.control().Keys(ctx, d.target, "esc"); err != nil {
				d.log.Event("%v", err)
			}
		}
		if err := d.watchPane(ctx); err != nil {
			return err
		}
		if !d.retry.early() {
			d.deliver(ctx, false)
			if d.isIdle() {
				d.deliver(ctx, true)
			}
		}
		timer := time.NewTimer(time.Second)
		select {
		case <-ctx.Done():
		case <-d.watch.C:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (d *herdrDriver) control() *herdr.Control { return &herdr.Control{Client: d.spawner.Client} }

func (d *herdrDriver) isIdle() bool { return d.state == herdr.StateIdle || d.state == herdr.StateDone }

// watchPane takes the teammate's state from its pane. The error says that the
// pane, or the agent in it, is gone; herdr that cannot be asked says nothing.
func (d *herdrDriver) watchPane(ctx context.Context) error {
	p, err := d.where(ctx)
	switch {
	case err != nil:
		if !d.away && ctx.Err() == nil {
			d.log.Event("herdr cannot be asked: %v", err)
		}
		d.away = true
		return nil
	case p == nil:
		return errs.New(errs.Failure, "its pane was closed")
	case d.isAgent && p.Agent == "":
		return errs.New(errs.Failure, "the agent in its pane has ended")
	}
	d.away = false
	was := d.isIdle()
	d.state = p.Status
	if d.state != herdr.StateWorking && d.state != herdr.StateBlocked && !d.isIdle() {
		d.state = herdr.StateIdle // of a program that herdr does not know
	}
	d.readPane(ctx, p)
	if was == d.isIdle() {
		d.noteOutput(ctx, nil)
		return nil
	}
	d.noteOutput(ctx, func(tm *Teammate) {
		if tm.Status == StatusIdle || tm.Status == StatusWorking {
			tm.Status = StatusWorking
			if d.isIdle() {
				tm.Status, tm.Activity = StatusIdle, ""
				tm.Turns++
			}
		}
	})
	if d.isIdle() {
		return d.turnDone(ctx)
	}
	return nil
}

// where finds the pane. A herdr that does not answer is not waited for any longer
// once the end is wanted at once.
func (d *herdrDriver) where(ctx context.Context) (*herdr.Pane, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(200 * time.Millisecond):
			}
			if tm, err := d.t.Read(d.tm.Name); err == nil && (tm.Stop == StopNow || tm.SpawnID != d.tm.SpawnID) {
				cancel()
			}
		}
	}()
	return d.spawner.Client.Where(ctx, d.target.Pane, d.target.Terminal)
}

// readPane notes what has changed in the pane: that is its output.
func (d *herdrDriver) readPane(ctx context.Context, p *herdr.Pane) {
	if d.isIdle() && d.shown != "" {
		return
	}
	text, err := d.spawner.Client.ReadPane(ctx, p.ID, "visible", 20)
	if err != nil || text.Text == d.shown {
		return
	}
	d.shown, d.at = text.Text, fsx.Now()
}

// lastLine is the last line of a text that is not blank.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return cutRunes(strings.TrimSpace(lines[len(lines)-1]), 200)
}

// deliver hands over the unread messages, those with --later or the others.
func (d *herdrDriver) deliver(ctx context.Context, later bool) {
	who := Identity{Name: d.tm.Name, SpawnID: d.tm.SpawnID, Agent: d.tm.Agent}
	var why error
	n, _, problems, err := d.t.Receive(ctx, ReceiveRequest{
		Who: who, Max: maxWakeMessages, MaxBytes: maxWakeBytes, Only: func(m *inbox.Message) bool { return (m.Later != "") == later },
		Batch: func(list []*inbox.Message, _ int) error {
			d.assigned(list)
			if why = d.control().Send(ctx, d.target, strings.TrimRight(d.promptText(list), "\n")); why != nil {
				return errUnshown
			}
			d.introduced()
			d.log.Event("delivered: %s", wakeText(list))
			return nil
		},
	})
	for _, p := range problems {
		d.log.Event("%v", p)
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		if n > 0 {
			d.retry.succeeded()
			if d.isIdle() { // a steer is no sign of life
				d.noteOutput(ctx, func(tm *Teammate) { tm.ActiveAt, tm.ActiveBootMs = nowMillis(), bootMillis() })
			}
		}
	default:
		if !errors.Is(err, errUnshown) {
			why = err
		}
		d.wakeFailed(ctx, &d.retry, fmt.Sprint(why))
	}
}

// end waits for the running turn, unless the end is wanted at once. The pane is
// closed with the life.
func (d *herdrDriver) end(now bool) error {
	ctx := context.Background()
	// One that did not answer a moment ago is not asked for the turn.
	for limit := time.Now().Add(turnGrace); !now && !d.away && time.Now().Before(limit); time.Sleep(200 * time.Millisecond) {
		p, err := d.spawner.Client.Where(ctx, d.target.Pane, d.target.Terminal)
		if d.away = err != nil; d.away || p == nil || p.Status != herdr.StateWorking {
			break
		}
		stop, _, err := d.look()
		now = err != nil || stop == StopNow
	}
	if d.away {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, awayTime)
		defer cancel()
	}
	return d.t.closePane(ctx, d.tm, os.Getenv)
}
