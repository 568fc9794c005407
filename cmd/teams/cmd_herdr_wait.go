package main

import (
	"context"
	"time"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/render"
)

var herdrWaitEntry = Entry{
	Path:    "herdr wait",
	Group:   groupRuns,
	Summary: "Wait until agents in panes are idle, done or blocked",
	Examples: []string{
		"teams herdr wait bob cid --timeout 20m",
		"teams herdr wait bob --until blocked",
		"teams herdr wait w1:p2 bob --any",
	},
	New: func() Command { return new(herdrWaitCmd) },
}

type herdrWaitCmd struct {
	herdrFlags
	Targets []string  `arg:"" name:"target" complete:"name" help:"Teammates, or ids of panes."`
	Any     bool      `help:"Until one of them is there; else all."`
	Until   []string  `enum:"idle,working,blocked,done,unknown" placeholder:"STATE" help:"idle, working, blocked, done or unknown; may be repeated. Without it idle, done and blocked."`
	Timeout *Duration `placeholder:"DURATION" help:"Wait at most this long (exit 124); 30m without it."`
}

func (c *herdrWaitCmd) Help() string {
	return "What ends while nobody looks is done, and not idle. Exit codes: 3 a pane is closed; 124 not in time, with those that were there."
}

// settledData is one that has settled.
type settledData struct {
	Target string `json:"target"`
	State  string `json:"state"`
}

// herdrWaitData is the data of herdr wait: the last that settled, and all.
type herdrWaitData struct {
	settledData
	Settled []settledData `json:"settled"`
}

func (c *herdrWaitCmd) Run(ctx context.Context, e *Env) error {
	client, err := e.herdrClient(c.herdrFlags)
	if err != nil {
		return err
	}
	p, err := e.place()
	if err != nil {
		return err
	}
	var targets []herdr.Target
	for _, arg := range c.Targets {
		t, err := e.target(p, client, arg)
		if err != nil {
			return err
		}
		t.Name = arg
		targets = append(targets, t)
	}
	ctx, cancel := limited(ctx, c.Timeout, 30*time.Minute)
	defer cancel()
	live := e.Live("waiting for agents in herdr")
	defer live.Done()
	list, err := (&herdr.Control{Client: client}).Wait(ctx, targets, c.Until, c.Any)
	live.Done()
	data := herdrWaitData{Settled: []settledData{}}
	for _, s := range list {
		data.settledData = settledData{s.Target.Name, s.State}
		data.Settled = append(data.Settled, data.settledData)
	}
	text := func(w *render.Writer) {
		for _, s := range data.Settled {
			w.Row(s.Target, s.State)
		}
	}
	if err != nil {
		if len(list) == 0 {
			return err
		}
		return e.Fail(err, data, text)
	}
	e.Result(data, text)
	return nil
}
