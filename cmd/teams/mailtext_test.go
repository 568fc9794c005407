package main

import (
	"strings"
	"testing"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/render"
)

// What a message is and what became of it are words of their own.
func TestMailState(t *testing.T) {
	for _, tt := range []struct {
		h    inbox.Header
		want string
	}{
		{inbox.Header{}, "a title"},
		{inbox.Header{Status: "completed"}, "completed  a title"},
		{inbox.Header{Event: "kickoff", Outcome: "undelivered"}, "kickoff · undelivered  a title"},
		{inbox.Header{Status: "failed", Outcome: "undelivered"}, "failed · undelivered  a title"},
	} {
		tt.h.ID, tt.h.To, tt.h.Title = "id", "ann", "a title"
		w := render.New(render.Options{})
		writeMail(w, []*inbox.Message{{Header: tt.h}}, mailTo)
		if line := w.String(); !strings.HasSuffix(line, "  ann  "+tt.want+"\n") {
			t.Errorf("%+v: %q", tt.h, line)
		}
	}
}
