package console

import "context"

// Page is one of the pages of the console.
type Page int

// The pages, in their order.
const (
	Roster Page = iota
	Roles
	Board
	Mail
	Questions
	pageCount
)

// title is what the tab of a page says.
func (p Page) title() string {
	switch p {
	case Roster:
		return "Roster"
	case Roles:
		return "Roles"
	case Board:
		return "Board"
	case Mail:
		return "Mail"
	case Questions:
		return "Questions"
	}
	return ""
}

// Snapshot is what there is at one moment. The console changes nothing of it.
type Snapshot struct {
	Session string // the key of the session
	Who     string // under whose name the console acts

	Teammates []Teammate
	Roles     []Role
	Tasks     []Task
	Messages  []Message // newest first
	Earlier   int       // messages that there are beside those
	Questions []Question

	Problems []string // what could not be read; it spoils only itself
}

// Teammate is one row of the roster. Times are epoch ms, 0 for never.
type Teammate struct {
	Name     string
	Kind     string // pi, exec, herdr, work or shell
	Role     string
	Status   string // as recorded, or dead when that is proven
	Task     string // what it holds, several ids when it holds several
	Activity string // the last that it did
	ActiveAt int64  // when it did that
	Awaiting string // AWAITING HUMAN: "…" while a question of its is open, "" for none
}

// Role is one definition of an agent.
type Role struct {
	File        string // its path, which names it
	Name        string
	Scope       string
	Path        string // its path as people read it
	GitManaged  bool
	Shadowed    bool // another definition of the name is used instead
	Shadows     int  // definitions that are not used because of this one
	Marks       string
	Tools       string
	Description string
}

// Task is one task of the board.
type Task struct {
	ID      string
	State   string
	Note    string // who holds it, or what it waits for
	Marks   string // priority, attempts, tags
	Subject string
	Changed int64 // epoch ms
	Ended   bool
}

// Message is one message of any mailbox. Owner and ID together name it.
type Message struct {
	ID     string
	Owner  string // whose mailbox it lies in, or is on its way to
	From   string
	To     string
	Kind   string // message, report or notice; of reports the status
	Title  string
	Sent   int64 // epoch ms
	Unread bool
}

// Question is one open question to a human.
type Question struct {
	ID      string
	From    string
	Text    string
	Options []string
	Multi   bool // several options may be chosen
	Other   bool // an answer of one's own is taken too
	Asked   int64
}

// Source is where the console looks. Its methods are called from one goroutine
// at a time, except Detail, which may run beside them.
type Source interface {
	// Look returns what there is now. With an error the console keeps showing
	// what it knew, and says why it is old.
	Look(ctx context.Context) (*Snapshot, error)
	// Wait returns when Look may find something else than before, or ctx ended.
	Wait(ctx context.Context) error
	// Detail returns everything about one row, as text of several lines.
	Detail(ctx context.Context, page Page, id string) (string, error)
}

// Acts are what can be done. Each returns a line that says what was done. An
// act that is nil is not to be had here.
type Acts struct {
	// Claim takes a task in the name of as; "" is whoever runs the console.
	Claim   func(ctx context.Context, id, as string) (string, error)
	Release func(ctx context.Context, id string) (string, error)
	Cancel  func(ctx context.Context, id string) (string, error)
	Reopen  func(ctx context.Context, id string) (string, error)
	// Send sends text to a teammate or the leader; replyTo is the message that
	// it answers, "" for none.
	Send     func(ctx context.Context, to, replyTo, text string) (string, error)
	Shutdown func(ctx context.Context, name string, now bool) (string, error)
	// Answer settles a question with what was typed: numbers or labels of its
	// options, or a text.
	Answer  func(ctx context.Context, id, text string) (string, error)
	Decline func(ctx context.Context, id string) (string, error)

	// NeedsName: whoever runs the console has no name to claim in, so one is
	// asked for; Name is what is proposed.
	NeedsName bool
	Name      string
}

// MessageID is the id under which Detail is asked for a message.
func MessageID(owner, id string) string { return owner + "/" + id }
