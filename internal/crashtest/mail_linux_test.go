package crashtest

import (
	"encoding/json"
	"fmt"
	"testing"
)

// mailCalls are the calls at each of which sender and receiver are killed.
var mailCalls = []string{"openat", "write", "fsync", "linkat", "renameat", "renameat2", "unlinkat", "flock"}

// mailbox is what a listing or a receiver prints.
type mailbox struct {
	Messages []struct {
		ID    string `json:"id"`
		Bytes int    `json:"bytes"`
	} `json:"messages"`
}

func (r *result) mail(t *testing.T) mailbox {
	t.Helper()
	var m mailbox
	if err := json.Unmarshal(r.reply.Data, &m); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	return m
}

// killEach kills a command at each occurrence of each call and lets check look
// at what is left of a fresh copy of the world.
func killEach(t *testing.T, w *world, sc *scenario, check func(t *testing.T, c *world, r *result)) {
	kills := 0
	for _, call := range mailCalls {
		for n := 1; n < 500; n++ {
			c := w.clone(fmt.Sprintf("%s-%s-%d", w.root, call, n))
			r, _ := c.trace(sc, tracing{inject: fmt.Sprintf("%s:signal=KILL:when=%d", call, n)})
			check(t, c, &r)
			c.must("", nil, "doctor")
			c.remove()
			if t.Failed() {
				t.Fatalf("killed at %s %d", call, n)
			}
			if !r.killed() {
				break
			}
			kills++
		}
	}
	if kills < 20 {
		t.Errorf("only %d kills", kills)
	}
	t.Logf("%d kills", kills)
}

func mailWorld(t *testing.T) *world {
	w := newWorld(t)
	for _, name := range []string{"ann", "bob"} {
		w.ok("", "join", name)
	}
	return w
}

// A message is wholly there or not at all, and there if it was acknowledged.
func TestKillSend(t *testing.T) {
	need(t)
	t.Parallel()
	const body = "please look at the parser"
	sc := &scenario{name: "send", as: "ann", args: []string{"send", "bob", body}}
	killEach(t, mailWorld(t), sc, func(t *testing.T, c *world, r *result) {
		box := c.must("bob", nil, "inbox", "--all")
		list := box.mail(t).Messages
		switch {
		case len(list) > 1, len(list) == 1 && list[0].Bytes != len(body):
			t.Errorf("the mailbox holds %+v", list)
		case len(list) == 0 && r.reply.OK:
			t.Error("an acknowledged message is lost")
		}
		c.must("ann", nil, "send", "bob", "another one")
		got := c.must("bob", nil, "recv")
		if n := len(got.mail(t).Messages); n != len(list)+1 {
			t.Errorf("%d messages are received, want %d", n, len(list)+1)
		}
	})
}

// A message that was not printed whole, or not marked after that, is printed
// again under the same id; one that was marked is not.
func TestKillRecv(t *testing.T) {
	need(t)
	t.Parallel()
	w := mailWorld(t)
	w.ok("ann", "send", "bob", "please look at the parser")
	listed := w.must("bob", nil, "inbox")
	id := listed.mail(t).Messages[0].ID
	sc := &scenario{name: "recv", as: "bob", args: []string{"recv"}}
	killEach(t, w, sc, func(t *testing.T, c *world, r *result) {
		again := c.must("bob", []int{0, 2}, "recv")
		if again.code == 2 && !r.reply.OK {
			t.Error("a message that was not printed is gone")
		}
		if again.code == 0 {
			if list := again.mail(t).Messages; len(list) != 1 || list[0].ID != id {
				t.Errorf("printed again: %+v, want %s", list, id)
			}
		}
		c.must("bob", []int{2}, "recv")
	})
}
