package outbox_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/outbox"
)

// A report waits in its sender's outbox until a drain delivers or rejects it.
func Example() {
	root, err := os.MkdirTemp("", "outbox")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	out := outbox.Open(root, filepath.Join(root, "alice", "outbox"))
	leader := inbox.Open(root, filepath.Join(root, "leader", "inbox"))
	if err := out.Create(); err != nil {
		log.Fatal(err)
	}
	if err := leader.Create(); err != nil {
		log.Fatal(err)
	}

	for i, spawn := range []string{"past life", "this life"} {
		m := &inbox.Message{
			Header: inbox.Header{ID: fmt.Sprint("report-", i), From: "alice", To: "leader", Kind: inbox.KindReport,
				Status: inbox.StatusCompleted, Spawn: spawn},
			Body: []byte("The login form rejects empty passwords now.\n"),
		}
		if err := out.Send(m); err != nil {
			log.Fatal(err)
		}
	}

	drained, err := out.Drain(leader, func(m *inbox.Message) string {
		if m.From != "alice" || m.Spawn != "this life" {
			return "it is of a life that is over"
		}
		return ""
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range drained.Delivered {
		fmt.Println("delivered", m.ID)
	}
	for _, m := range drained.Rejected {
		fmt.Println("rejected", m.ID+":", m.Outcome)
	}
	// Output:
	// delivered report-1
	// rejected report-0: it is of a life that is over
}
