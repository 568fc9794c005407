package todo

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed6990a682/teams/internal/errs"
)

// Status is the state of an item.
type Status string

// The states of an item.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Blocked    Status = "blocked" // with a blocker, always
	Abandoned  Status = "abandoned"
)

// Statuses lists the states in the order of a life.
func Statuses() []Status { return []Status{Pending, InProgress, Completed, Blocked, Abandoned} }

// Human is the DoneBy of an item that a person has marked as done.
const Human = "human"

// What an item may hold at most, in characters, and how many a list may have.
const (
	maxContent = 1000
	maxPhase   = 30
	maxItems   = 500
)

// Item is one line of a list.
type Item struct {
	// ID is i_1, i_2, …; no other item of the list ever has it. It is empty in
	// what is written, or the id of an item whose content changes.
	ID      string `json:"id"`
	Content string `json:"content"` // one line, unique in its list
	Status  Status `json:"status"`
	Blocker string `json:"blocker,omitempty"` // of a blocked one: what it waits for
	Phase   string `json:"phase,omitempty"`   // the heading that it stands under, at most 30 characters
	// CompletedAt is when it was completed, in epoch ms, and DoneBy who said so:
	// [Human], or the name of a teammate.
	CompletedAt int64  `json:"completedAt,omitempty"`
	DoneBy      string `json:"doneBy,omitempty"`
}

// same says whether an item needs no new line because of another.
func (it Item) same(o Item) bool {
	return it.ID == o.ID && it.Content == o.Content && it.Status == o.Status && it.Blocker == o.Blocker && it.Phase == o.Phase
}

// Fold makes one line of a text: white space becomes single spaces.
func Fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// tidy folds the texts of a written list, and refuses one that no list may be.
// The error is of code usage and names the item.
func tidy(items []Item) ([]Item, error) {
	if len(items) > maxItems {
		return nil, invalid("a list has at most %d items, and these are %d", maxItems, len(items))
	}
	out := make([]Item, 0, len(items))
	contents, ids := make(map[string]bool, len(items)), make(map[string]bool, len(items))
	for i, it := range items {
		it = Item{ID: it.ID, Content: Fold(it.Content), Status: it.Status, Blocker: Fold(it.Blocker), Phase: Fold(it.Phase)}
		what := "item " + strconv.Itoa(i+1)
		switch {
		case it.Content == "":
			return nil, invalid("%s has no content", what)
		case utf8.RuneCountInString(it.Content) > maxContent:
			return nil, invalid("%s is longer than %d characters", what, maxContent)
		case contents[it.Content]:
			return nil, invalid("%q stands there twice", it.Content)
		case it.ID != "" && ids[it.ID]:
			return nil, invalid("the id %s stands there twice", it.ID)
		case !known(it.Status):
			return nil, invalid("%q has the status %q, which is none of pending, in_progress, completed, blocked, abandoned", it.Content, it.Status)
		case it.Status == Blocked && it.Blocker == "":
			return nil, invalid("%q is blocked without a blocker", it.Content).WithHint("[!] content — what it waits for")
		case it.Status != Blocked && it.Blocker != "":
			return nil, invalid("%q has a blocker and is %s: only a blocked item has one", it.Content, it.Status)
		case utf8.RuneCountInString(it.Blocker) > maxContent:
			return nil, invalid("the blocker of %q is longer than %d characters", it.Content, maxContent)
		case utf8.RuneCountInString(it.Phase) > maxPhase:
			return nil, invalid("the phase %q is longer than %d characters", it.Phase, maxPhase)
		}
		contents[it.Content], ids[it.ID] = true, true
		out = append(out, it)
	}
	return out, nil
}

func known(s Status) bool {
	switch s {
	case Pending, InProgress, Completed, Blocked, Abandoned:
		return true
	}
	return false
}

func invalid(format string, args ...any) *errs.Error {
	e := errs.New(errs.Usage, format, args...)
	e.Msg = "this is no list: " + e.Msg
	return e
}

// Find returns the index of the item that a person means by query: its id, its
// content, else what only one content begins with, else what only one has in it.
// Upper and lower case are one. The error is of code usage, with the candidates,
// when there are several, and not_found when there is none.
func Find(items []Item, query string) (int, error) {
	query = Fold(query)
	if query == "" {
		return 0, errs.New(errs.Usage, "no item was named")
	}
	lower := strings.ToLower(query)
	for _, fits := range []func(it Item) bool{
		func(it Item) bool { return it.ID == query || it.Content == query },
		func(it Item) bool { return strings.ToLower(it.Content) == lower },
		func(it Item) bool { return strings.HasPrefix(strings.ToLower(it.Content), lower) },
		func(it Item) bool { return strings.Contains(strings.ToLower(it.Content), lower) },
	} {
		var found []int
		for i, it := range items {
			if fits(it) {
				found = append(found, i)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return 0, ambiguous(items, found, query)
		}
	}
	return 0, errs.New(errs.NotFound, "no item of the list has %q in it", query).WithHint("teams todo list")
}

// ambiguous lists what a query could mean.
func ambiguous(items []Item, found []int, query string) error {
	var names []string
	var candidates []Item
	for _, i := range found {
		names = append(names, items[i].ID+" "+items[i].Content)
		candidates = append(candidates, items[i])
	}
	const most = 10
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return errs.New(errs.Usage, "%q could be %d items: %s", query, len(found), strings.Join(names, "; ")).
		WithHint("name it by its id").WithDetail("candidates", candidates)
}
