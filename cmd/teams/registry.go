package main

import (
	"context"
	"strings"
)

// Command is one verb: a pointer to a struct whose fields are its flags and
// arguments, described by kong tags.
//
// These methods are optional:
//
//	Help() string         extended help, in paragraphs
//	Check() error         checks of the decoded fields, before Run
//	SetCommand([]string)  the verb takes CMD: what stands after the first "--"
//
// kong's own hooks (Validate, AfterApply, ...) and its env tags are not used.
type Command interface {
	// Run does the work. It hands its result to e.Result, e.Fail or e.Stream
	// and returns what went wrong; it never prints and never exits. It ends
	// soon after ctx is done.
	Run(ctx context.Context, e *Env) error
}

// commandTaker is a Command that takes CMD after "--". SetCommand is not
// called when there is no "--".
type commandTaker interface {
	SetCommand(argv []string)
}

// plainReader is a Command whose usual command lines have few or no flags of its
// own. Building a grammar takes longer than most commands do, so these are read
// without one.
type plainReader interface {
	// ReadPlain takes the arguments without global flags, sets all fields as the
	// grammar would, and answers true; or sets nothing and answers false.
	ReadPlain(args []string) bool
}

// checker is a Command whose fields have to agree with each other.
type checker interface {
	Check() error
}

// helper is a Command with extended help.
type helper interface {
	Help() string
}

// The groups of the overview, in the order of the registry.
const (
	groupBoard  = "Tasks"
	groupMail   = "Mail"
	groupTeam   = "Team"
	groupRuns   = "Runs, panes and terminals"
	groupPeople = "People"
	groupSetup  = "Setup and information"
)

// Entry describes one command path. It must be made of constants, so that it
// costs nothing at start.
type Entry struct {
	// Path is the words of the command, such as "task add".
	Path string
	// Group is the heading under which the overview lists it.
	Group string
	// Summary says in one line what it does, without a full stop.
	Summary string
	// Usage replaces the generated usage lines; each begins with "teams".
	Usage []string
	// Examples are command lines that work, at least one.
	Examples []string
	// New returns a pointer to the zero value of the command's struct.
	New func() Command
	// NoJSON: the command refuses --json.
	NoJSON bool
	// Hidden: the command is in no list.
	Hidden bool
	// OwnSignals: the command handles SIGINT and SIGTERM itself.
	OwnSignals bool
	// Quick: the command is over in a moment, unless it calls HandleSignals
	// before it waits or starts a program.
	Quick bool
	// Bare: the command has no flags and no arguments. It is run without a
	// grammar and without signal handling when nothing but global flags is given.
	Bare bool
}

// registry lists every command in the order of the overview. Each Entry stands
// in the file of its command.
var registry = []*Entry{
	&taskAddEntry,
	&taskListEntry,
	&taskShowEntry,
	&taskEditEntry,
	&taskCancelEntry,
	&taskReopenEntry,
	&taskWhyEntry,
	&taskGraphEntry,
	&claimEntry,
	&renewEntry,
	&releaseEntry,
	&submitEntry,
	&workEntry,
	&waitEntry,
	&verifyEntry,
	&logEntry,
	&exportEntry,
	&importEntry,
	&gcEntry,
	&sendEntry,
	&replyEntry,
	&inboxEntry,
	&recvEntry,
	&readEntry,
	&unreadEntry,
	&threadEntry,
	&sentEntry,
	&followEntry,
	&spawnEntry,
	&shutdownEntry,
	&interruptEntry,
	&resumeEntry,
	&handoffEntry,
	&activityEntry,
	&delegateEntry,
	&watchEntry,
	&listEntry,
	&statusEntry,
	&joinEntry,
	&leaveEntry,
	&envEntry,
	&worktreesEntry,
	&agentsEntry,
	&agentsShowEntry,
	&agentsCheckEntry,
	&agentsNewEntry,
	&guideEntry,
	&ledgerEntry,
	&ledgerListEntry,
	&ledgerShowEntry,
	&tickEntry,
	&harnessEntry,
	&harnessStatusEntry,
	&harnessStopEntry,
	&sessionEndEntry,
	&askEntry,
	&asksEntry,
	&answerEntry,
	&consoleEntry,
	&todoWriteEntry,
	&todoListEntry,
	&todoDoneEntry,
	&todoDropEntry,
	&todoRmEntry,
	&todoUnblockEntry,
	&todoRewindEntry,
	&todoTitleEntry,
	&runStartEntry,
	&runSetEntry,
	&runPauseEntry,
	&runResumeEntry,
	&runStopEntry,
	&runRmEntry,
	&runShowEntry,
	&runListEntry,
	&runLineEntry,
	&runReconcileEntry,
	&herdrStatusEntry,
	&herdrReportEntry,
	&herdrClearEntry,
	&herdrHerdEntry,
	&herdrPruneEntry,
	&herdrNotifyEntry,
	&herdrWaitEntry,
	&herdrWaitOutputEntry,
	&herdrReadEntry,
	&herdrSendEntry,
	&herdrKeysEntry,
	&herdrFocusEntry,
	&termOpenEntry,
	&termSendEntry,
	&termReadEntry,
	&termSignalEntry,
	&termCloseEntry,
	&termListEntry,
	&whereEntry,
	&sessionsEntry,
	&doctorEntry,
	&demoEntry,
	&piInstallEntry,
	&renderEntry,
	&helpEntry,
	&manEntry,
	&versionEntry,
	&completionEntry,
	&completeEntry,
	&termHoldEntry,
}

// lookup returns the entry of a path, nil when there is none.
func lookup(path string) *Entry {
	for _, e := range registry {
		if e.Path == path {
			return e
		}
	}
	return nil
}

// children returns the visible commands whose path begins with path and has
// more words. The empty path has them all.
func children(path string) (out []*Entry) {
	for _, e := range registry {
		if !e.Hidden && under(e.Path, path) {
			out = append(out, e)
		}
	}
	return out
}

// isPrefix reports whether path begins a longer one of the registry.
func isPrefix(path string) bool {
	for _, e := range registry {
		if under(e.Path, path) {
			return true
		}
	}
	return false
}

func under(path, prefix string) bool {
	return prefix == "" || len(path) > len(prefix) && path[len(prefix)] == ' ' && strings.HasPrefix(path, prefix)
}
