package main

import (
	"context"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/render"
)

var herdrStatusEntry = Entry{
	Path:     "herdr status",
	Group:    groupRuns,
	Summary:  "Tell whether herdr is there, its version, and the last trouble with it",
	Examples: []string{"teams herdr status", "teams herdr status --socket ~/.config/herdr/herdr.sock"},
	New:      func() Command { return new(herdrStatusCmd) },
}

type herdrStatusCmd struct{ herdrFlags }

// herdrStatus is the data of herdr status.
type herdrStatus struct {
	Available bool   `json:"available"`
	Version   string `json:"version"`
	Protocol  int    `json:"protocol"`
	Socket    string `json:"socket"`
	LastError string `json:"lastError,omitempty"`
	LastAt    int64  `json:"lastErrorAt,omitempty"`
	Inside    bool   `json:"inside"` // this runs in a pane of it
}

func (c *herdrStatusCmd) Help() string {
	return "Verbs that only show something in herdr go on without it; what they met stands here once."
}

func (c *herdrStatusCmd) Run(ctx context.Context, e *Env) error {
	p, err := e.place()
	if err != nil {
		return err
	}
	s := herdrStatus{Inside: herdr.FindHere(e.getenv).Inside()}
	s.Socket, err = herdr.Locate(c.Socket, e.getenv)
	if err != nil && !herdr.IsUnavailable(err) {
		return err
	}
	client, err := e.herdrClient(c.herdrFlags)
	if err == nil {
		var pong herdr.Pong
		if pong, err = client.Ping(ctx); err == nil {
			s.Available, s.Version, s.Protocol = true, pong.Version, pong.Protocol
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		s.LastError = err.Error()
	}
	leases := &herdr.Leases{Root: p.Root}
	if n := leases.LastNoted(); n != nil && n.Socket == s.Socket {
		if s.LastError == "" {
			s.LastError = n.Error
		}
		s.LastAt = n.At
		if s.Available {
			leases.ForgetNoted() // it has been told
		}
	}
	e.Result(s, func(w *render.Writer) {
		if s.Available {
			w.Linef("herdr %s, protocol %d, at %s", s.Version, s.Protocol, s.Socket)
		} else {
			w.Linef("herdr is not available")
		}
		if s.LastError != "" {
			at := ""
			if s.LastAt != 0 {
				at = ", " + w.AgoMs(s.LastAt)
			}
			w.Linef("problem%s: %s", at, s.LastError)
		}
	})
	return nil
}
