package main

import (
	"context"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/render"
)

var taskAddEntry = Entry{
	Path:    "task add",
	Group:   groupBoard,
	Summary: "Add a task, or many with --batch",
	Examples: []string{
		`teams task add "Fix the login page" --verify "go test ./login"`,
		`teams task add "Document it" --depends-on t_1 --priority 1 -d @notes.md`,
		`teams task add --batch plan.jsonl`,
	},
	New:   func() Command { return new(taskAddCmd) },
	Quick: true,
}

// taskFields are the flags that add, edit and delegate share.
type taskFields struct {
	Description   *string   `short:"d" placeholder:"TEXT" help:"What is to be done, in Markdown; - reads it from stdin, @FILE from a file (preferred)."`
	DependsOn     *[]string `placeholder:"ID,..." complete:"task" help:"Tasks that must be completed first."`
	Verify        *string   `placeholder:"CMD" help:"Gate: sh -c CMD must exit 0 before a submission completes the task."`
	VerifyTimeout *Duration `placeholder:"DURATION" help:"Limit of the gate, 0 for none (10m)."`
	Priority      *int      `placeholder:"0..4" help:"0 comes first, 4 last (2)."`
	Role          *string   `placeholder:"AGENT" complete:"agent" help:"Only a teammate of this agent may claim it."`
	Assignee      *string   `placeholder:"NAME" complete:"name" help:"Only this teammate may claim it."`
	Tag           *[]string `sep:"none" placeholder:"TAG" help:"A tag to filter by; may be repeated."`
	MaxAttempts   *int      `placeholder:"N" help:"Failed submissions after which it ends as failed (3)."`
	Key           *string   `placeholder:"KEY" help:"Idempotency key: adding the same key again returns the task that has it."`
}

type taskAddCmd struct {
	Subject string `arg:"" optional:"" help:"One line, at most 200 characters."`
	taskFields
	Batch string `placeholder:"FILE|-" complete:"file" help:"Add one task a line: JSON with the field names as keys, or a Markdown checklist; all or none. Later lines may name earlier ones by key."`
}

// ReadPlain implements plainReader.
func (c *taskAddCmd) ReadPlain(args []string) bool {
	if len(args) != 1 || hasFlag(args) {
		return false
	}
	c.Subject = args[0]
	return true
}

func (c *taskAddCmd) Help() string {
	return `In a batch each JSON line is an object with subject and, as needed, description, dependsOn, verify, ` +
		`verifyTimeoutMs, priority, role, assignee, tags, maxAttempts and key. dependsOn may name the key of an earlier line. ` +
		`In a Markdown checklist each "- [ ] subject" is a task, indented text below it its description; checked items are left out.`
}

func (c *taskAddCmd) Run(ctx context.Context, e *Env) error {
	t, b, err := e.openAsLeader()
	if err != nil {
		return err
	}
	// Nothing is made for input that is refused, so the session comes last; the
	// next writer makes it when that fails.
	defer func() {
		if exists, berr := b.Exists(); berr == nil && exists {
			if _, serr := t.EnsureSession(); serr != nil {
				e.Warnf("%v", serr)
			}
		}
	}()
	if c.Batch != "" {
		return c.batch(ctx, e, b)
	}
	if c.Subject == "" {
		return errs.New(errs.Usage, "a subject is needed").WithHint(`teams task add "Fix the login page"`)
	}
	n, err := c.newTask(e)
	if err != nil {
		return err
	}
	list, err := b.Add(ctx, n)
	if err != nil {
		return err
	}
	e.after(ctx, b)
	verb := "added"
	if list[0].Known {
		verb = "already there"
	}
	e.taskResult(list[0], verb)
	return nil
}

// newTask is the task that the flags describe.
func (c *taskAddCmd) newTask(e *Env) (fsboard.NewTask, error) {
	n := fsboard.NewTask{Subject: c.Subject, Priority: c.Priority, MaxAttempts: c.MaxAttempts}
	if c.Description != nil {
		text, err := e.Text(*c.Description)
		if err != nil {
			return n, err
		}
		n.Description = text
	}
	for _, f := range []struct{ to, from *string }{{&n.Verify, c.Verify}, {&n.Role, c.Role}, {&n.Assignee, c.Assignee}, {&n.Key, c.Key}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if c.DependsOn != nil {
		n.DependsOn = idList(*c.DependsOn)
	}
	if c.Tag != nil {
		n.Tags = *c.Tag
	}
	if c.VerifyTimeout != nil {
		ms := c.VerifyTimeout.Std().Milliseconds()
		n.VerifyTimeoutMs = &ms
	}
	return n, nil
}

// batch adds the tasks of a file.
func (c *taskAddCmd) batch(ctx context.Context, e *Env, b *fsboard.Board) error {
	if c.Subject != "" || c.taskFields != (taskFields{}) {
		return errs.New(errs.Usage, "--batch takes everything from its file, no subject and no other flags")
	}
	source := c.Batch
	if source != "-" {
		source = "@" + source
	}
	data, err := e.fileOrStdin(c.Batch)
	if err != nil {
		return err
	}
	tasks, err := parseBatch(data)
	if err != nil {
		return err
	}
	if len(tasks) == 0 {
		return errs.New(errs.Usage, "%s holds no task", source).WithHint("one JSON object a line, or a Markdown checklist of - [ ] items")
	}
	list, err := b.Add(ctx, tasks...)
	if err != nil {
		return err
	}
	e.after(ctx, b)
	e.Result(listData(list, len(list)), func(w *render.Writer) { e.writeIDsOr(w, list, writeTaskList) })
	return nil
}

// writeIDsOr writes ids alone with -q, and otherwise what full writes.
func (e *Env) writeIDsOr(w *render.Writer, list []*fsboard.TaskView, full func(*render.Writer, []*fsboard.TaskView)) {
	if !e.Quiet {
		full(w, list)
		return
	}
	for _, t := range list {
		w.Linef("%s", t.ID)
	}
}
