package main

import (
	"context"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
)

var taskEditEntry = Entry{
	Path:    "task edit",
	Group:   groupBoard,
	Summary: "Change a task",
	Examples: []string{
		`teams task edit t_12 --priority 0`,
		`teams task edit t_12 --assignee ann`,
		`teams task edit t_12 --depends-on ''   # it waits for nothing any more`,
	},
	New:   func() Command { return new(taskEditCmd) },
	Quick: true,
}

type taskEditCmd struct {
	ID      string  `arg:"" complete:"task" help:"The task."`
	Subject *string `placeholder:"TEXT" help:"Its subject."`
	taskFields
}

func (c *taskEditCmd) Help() string {
	return "A claimed task keeps its holder and the gate that was fixed when it was claimed; assigning it to somebody else releases it. " +
		"An empty value removes the field."
}

func (c *taskEditCmd) Run(ctx context.Context, e *Env) error {
	_, b, err := e.openAsLeader()
	if err != nil {
		return err
	}
	if c.Subject == nil && c.taskFields == (taskFields{}) {
		return errs.New(errs.Usage, "nothing to change was given").WithHint("teams task edit --help")
	}
	edit := fsboard.Edit{
		Subject: c.Subject, Verify: c.Verify, Priority: c.Priority, Role: c.Role, Assignee: c.Assignee, MaxAttempts: c.MaxAttempts, Key: c.Key,
	}
	if c.Description != nil {
		text, err := e.Text(*c.Description)
		if err != nil {
			return err
		}
		edit.Description = &text
	}
	if c.DependsOn != nil {
		ids := idList(*c.DependsOn)
		edit.DependsOn = &ids
	}
	if c.Tag != nil {
		tags := nonEmpty(*c.Tag)
		edit.Tags = &tags
	}
	if c.VerifyTimeout != nil {
		ms := c.VerifyTimeout.Std().Milliseconds()
		edit.VerifyTimeoutMs = &ms
	}
	t, err := b.Edit(ctx, taskIDArg(c.ID), edit)
	if err != nil {
		return err
	}
	e.after(ctx, b)
	e.taskResult(t, "edited")
	return nil
}

func nonEmpty(list []string) []string {
	out := []string{}
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
