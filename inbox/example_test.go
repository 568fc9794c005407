package inbox_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/seed6990a682/teams/inbox"
)

func root() string {
	dir, err := os.MkdirTemp("", "inbox")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

// A message is published under an id of its sender's, and received once.
func Example() {
	root := root()
	defer os.RemoveAll(root)
	alice, bob := filepath.Join(root, "alice"), filepath.Join(root, "bob")
	if err := os.Mkdir(alice, 0o700); err != nil {
		log.Fatal(err)
	}
	box := inbox.Open(root, filepath.Join(bob, "inbox"))
	if err := box.Create(); err != nil {
		log.Fatal(err)
	}

	id, at, err := inbox.NextID(context.Background(), alice, "alice")
	if err != nil {
		log.Fatal(err)
	}
	body := []byte("Please challenge the backend finding\nagainst the current middleware.\n")
	err = box.Publish(&inbox.Message{
		Header: inbox.Header{ID: id, From: "alice", To: "bob", Kind: inbox.KindMessage,
			Title: inbox.Title(body), Sent: at.Format(time.RFC3339Nano)},
		Body: body,
	})
	if err != nil {
		log.Fatal(err)
	}

	show := func(m *inbox.Message) error {
		fmt.Printf("%s: %s (%d bytes)\n", m.From, m.Title, m.Size)
		return nil
	}
	for range 2 {
		n, problems, err := box.Receive(inbox.Receiving{Show: show})
		fmt.Println(n, len(problems), err)
	}
	// Output:
	// alice: Please challenge the backend finding (69 bytes)
	// 1 0 <nil>
	// 0 0 <nil>
}

// A notice is told once, however often and by however many it is tried.
func ExampleBox_PublishOnce() {
	root := root()
	defer os.RemoveAll(root)
	box := inbox.Open(root, filepath.Join(root, "inbox"))
	if err := box.Create(); err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		m := &inbox.Message{Header: inbox.Header{ID: id, From: "harness", Kind: inbox.KindNotice}, Body: []byte("t_1 failed its gate\n")}
		id, first, err := box.PublishOnce(filepath.Join(root, "noticed"), "gate_failed-t_1", m)
		fmt.Println(id, first, err)
	}
	ids, err := box.IDs(false)
	fmt.Println(ids, err)
	// Output:
	// a true <nil>
	// a false <nil>
	// [a] <nil>
}

// The read messages of one conversation, without opening what cannot belong to
// it.
func ExampleBox_Find() {
	root := root()
	defer os.RemoveAll(root)
	box := inbox.Open(root, filepath.Join(root, "inbox"))
	if err := box.Create(); err != nil {
		log.Fatal(err)
	}
	for i, from := range []string{"ann", "bob", "ann"} {
		m := &inbox.Message{Header: inbox.Header{ID: fmt.Sprintf("%d-%s-x", i, from), From: from, Thread: "0-ann-x"}, Body: []byte("hi")}
		if err := box.Publish(m); err != nil {
			log.Fatal(err)
		}
	}
	found, _, err := box.Find(inbox.Query{
		All:   true,
		ID:    func(id string) bool { return inbox.IDSender(id) == "ann" },
		Match: func(m *inbox.Message) bool { return m.Thread == "0-ann-x" },
	})
	for _, m := range found {
		fmt.Println(m.ID, m.Read)
	}
	fmt.Println(err)
	// Output:
	// 0-ann-x false
	// 2-ann-x false
	// <nil>
}
