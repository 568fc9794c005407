package main

import (
	"time"

	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

// sharedData is what where tells of a session that several hosts share.
type sharedData struct {
	team.Sharing
	Hosts       []team.HostInfo `json:"hosts"`
	Unsupported []string        `json:"unsupported"`
}

// sharedOf collects what is known of the hosts of a shared session; nil when it
// is not shared.
func (e *Env) sharedOf(t *team.Team) *sharedData {
	if !t.Sharing.On {
		return nil
	}
	hosts, problems, err := t.Hosts()
	if err != nil {
		e.Warnf("hosts: %v", err)
	}
	for _, p := range problems {
		e.Warnf("%s: %v", p.Path, p.Err)
	}
	if hosts == nil {
		hosts = []team.HostInfo{}
	}
	return &sharedData{Sharing: t.Sharing, Hosts: hosts, Unsupported: team.SharedLimits()}
}

// write writes it under the rows of where.
func (d *sharedData) write(w *render.Writer) {
	kind := ""
	if d.FileSystem != "" {
		kind = ", on " + d.FileSystem
	}
	w.Linef("several hosts share this session (source: %s%s); it runs on these:", d.Source, kind)
	table := w.Table()
	for _, h := range d.Hosts {
		here, state := "", "last seen "+w.AgoMs(h.LastSeen)
		if h.Here {
			here = "this one"
		}
		switch {
		case h.Held:
			state = "present"
		case h.Gone:
			state = "gone, " + state
		}
		table.Row("  "+fsx.SafeLine(h.Host), here, state, h.Root, fsx.SafeLine(h.FileSystem))
	}
	table.Flush()
	for _, limit := range d.Unsupported {
		w.Linef("not supported: %s", limit)
	}
}

// tellPolling says once that changes are looked for, where nobody tells of them.
func (e *Env) tellPolling(t *team.Team, poll time.Duration) {
	if t.Sharing.On && !e.Quiet {
		e.printErr("teams: ", "several hosts share this session, so its files are looked at every "+poll.String())
	}
}

// tellLease says that a claim has a lease that nobody asked for.
func (e *Env) tellLease(t *team.Team, id string, lease time.Duration) {
	if t.Sharing.On && !e.Quiet && !e.JSON {
		e.printErr("teams: ", id+" has a lease of "+team.ShortDuration(lease)+", since several hosts share this session; "+e.hint("teams renew "+id+" makes it last"))
	}
}
