package fsboard

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// As many claimers as tasks: whoever looks further down the list after it lost
// finds what it passed over in the end, and nobody goes without.
func TestCrowdTakesEveryTask(t *testing.T) {
	const crowd = 24
	b := openTest(t, Options{})
	addN(t, b, crowd)
	var wg sync.WaitGroup
	got := make([]string, crowd)
	for i := range crowd {
		wg.Go(func() {
			// A Board of its own, as a process has.
			v, err := again(t, b).Claim(context.Background(), request("", fmt.Sprintf("w%d", i)))
			if err != nil {
				t.Errorf("w%d: %v", i, err)
				return
			}
			got[i] = v.ID
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for i, id := range got {
		if id == "" || seen[id] {
			t.Errorf("w%d was told %q", i, id)
		}
		seen[id] = true
	}
}
