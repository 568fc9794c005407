package main

import (
	"context"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
	"github.com/seed6990a682/teams/internal/team"
)

var delegateEntry = Entry{
	Path:     "delegate",
	Group:    groupTeam,
	Summary:  "Give a teammate a task of its own, with a message that wakes it",
	Examples: []string{`teams delegate ann "Fix the login page" -d @notes.md --verify "go test ./login"`},
	New:      func() Command { return new(delegateCmd) },
}

type delegateCmd struct {
	Name    string `arg:"" complete:"name" help:"The teammate."`
	Subject string `arg:"" help:"One line, at most 200 characters."`
	taskFields
}

func (c *delegateCmd) Help() string {
	return "The task is assigned to the teammate: nobody else may claim it. With --key the second call adds no second task and sends no second message."
}

func (c *delegateCmd) Check() error {
	if c.Assignee != nil {
		return errs.New(errs.Usage, "the task is assigned to %s, so --assignee is not needed", c.Name)
	}
	return nil
}

func (c *delegateCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.openAsLeader()
	if err != nil {
		return err
	}
	add := taskAddCmd{Subject: c.Subject, taskFields: c.taskFields}
	add.Assignee = &c.Name
	n, err := add.newTask(e)
	if err != nil {
		return err
	}
	leader, err := t.Leader()
	if err != nil {
		return err
	}
	// Whoever cannot be told gets no task either.
	r := team.SendRequest{From: leader, To: []string{c.Name}, Body: []byte("x"), Key: delegateKey(c.Key)}
	if err := t.CheckSend(ctx, r); err != nil {
		return err
	}
	p := e.Begin(render.Operation{Tool: "delegate", Call: c.call(&n)})
	defer p.Close()
	list, err := b.Add(ctx, n)
	if err != nil {
		return p.Fail(err, nil, nil)
	}
	e.after(ctx, b)
	task := list[0]
	r.Task = task.ID
	r.Body = []byte(task.ID + " is yours: " + task.Subject + "\n\nteams claim " + task.ID + " takes it, teams task show " + task.ID + " says what is to be done.\n")
	sent, err := t.Send(ctx, r)
	if err = e.explain(err); err != nil {
		return p.Fail(errs.New(errs.CodeOf(err), "%s was added and assigned, but the message failed: %w", task.ID, err).
			WithHint("teams send %s --task %s -", c.Name, task.ID), nil, nil)
	}
	p.Done(render.Pairs("task", task.ID, "state", string(task.State), "message", sent[0].Message.ID), struct {
		Task    any         `json:"task"`
		Message messageData `json:"message"`
	}{task, newMessageData(sent[0].Message, false)})
	return nil
}

// call is all that was given. A number that was given is shown, 0 too.
func (c *delegateCmd) call(n *fsboard.NewTask) render.Fields {
	call := render.Pairs("target", c.Name, "task", c.Subject)
	add := func(given bool, name string, value any) {
		if given {
			call = append(call, render.Pairs(name, value)...)
		}
	}
	add(n.Description != "", "description", n.Description)
	add(len(n.DependsOn) > 0, "dependsOn", n.DependsOn)
	add(n.Verify != "", "verify", n.Verify)
	if c.VerifyTimeout != nil {
		add(true, "verifyTimeout", c.VerifyTimeout.Std())
	}
	if c.Priority != nil {
		add(true, "priority", *c.Priority)
	}
	add(n.Role != "", "role", n.Role)
	add(len(n.Tags) > 0, "tags", n.Tags)
	if c.MaxAttempts != nil {
		add(true, "maxAttempts", *c.MaxAttempts)
	}
	add(n.Key != "", "key", n.Key)
	return call
}

// delegateKey keeps the keys of messages apart from those of tasks.
func delegateKey(key *string) string {
	if key == nil || *key == "" {
		return ""
	}
	return "delegate-" + *key
}
