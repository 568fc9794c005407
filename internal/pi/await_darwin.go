package pi

import (
	"time"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// awaitExit waits until the child pid has exited and leaves it unreaped, so
// that nobody else can get its number yet. waitid(2) is of no use here: it
// returns for a stopped child as well.
func awaitExit(pid int) {
	for {
		if _, err := fsx.ProcessOf(pid); errs.CodeOf(err) == errs.NotFound {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
