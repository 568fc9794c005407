package herdr

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// Subscription asks for one kind of event, such as "pane.agent_status_changed",
// which needs a pane.
type Subscription struct {
	Type string `json:"type"`
	Pane string `json:"pane_id,omitempty"`
}

// Event is what herdr pushes. It is a reason to look and nothing to rely on: the
// history of things that are gone may be told first, events may be lost, and
// what one writes oneself comes back.
type Event struct {
	// Name has dots, as in a [Subscription], however herdr spelled it.
	Name   string
	Pane   string
	Status string
}

// Events is a subscription.
type Events struct{ s *stream }

// Subscribe asks for events until ctx ends or Close is called. What happened
// before is to be read after Subscribe has returned.
func (c *Client) Subscribe(ctx context.Context, subs ...Subscription) (*Events, error) {
	s, err := c.send(ctx, or(c.Retry, retryDeadline), "events.subscribe", struct {
		Subscriptions []Subscription `json:"subscriptions"`
	}{subs})
	if err != nil {
		return nil, err
	}
	if _, err := s.result(); err != nil {
		s.Close()
		return nil, err
	}
	s.extend(time.Time{})
	return &Events{s}, nil
}

// Next waits for an event. Once it has returned an error the subscription is of
// no more use; code events_lost says that the server has dropped some.
func (e *Events) Next() (Event, error) {
	r, err := e.s.next()
	if err != nil {
		return Event{}, err
	}
	if r.Error != nil {
		return Event{}, &Error{Code: r.Error.Code, Message: r.Error.Message, Method: e.s.method}
	}
	var data struct {
		Pane   string `json:"pane_id"`
		Status string `json:"agent_status"`
		Final  string `json:"final_status"`
	}
	// One without data, or with data of another shape, is still a reason to look.
	_ = json.Unmarshal(r.Data, &data)
	if data.Status == "" {
		data.Status = data.Final
	}
	return Event{Name: eventName(r.Event), Pane: data.Pane, Status: data.Status}, nil
}

// eventName makes the spelling with a dot of both: pane_exited and pane.exited.
func eventName(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return strings.Replace(name, "_", ".", 1)
}

// Close ends the subscription.
func (e *Events) Close() { e.s.Close() }
