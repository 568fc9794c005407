package main

import "context"

// candidate is one possible completion.
type candidate struct {
	Value string
	Help  string // shown beside it where the shell can; may be empty
}

// completer knows the values that are in use. kind is the text of a field's
// "complete" tag: "task", "name", "agent", "session", "message", ... It
// returns quickly, and nothing rather than an error.
type completer interface {
	Complete(ctx context.Context, kind, prefix string) []candidate
}

// newCompleter returns the completer for the session that e's global flags and
// environment name.
var newCompleter = func(*Env) completer { return noCompleter{} }

type noCompleter struct{}

func (noCompleter) Complete(context.Context, string, string) []candidate { return nil }
