package fsboard_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed6990a682/teams/fsboard"
)

func Example() {
	dir, err := os.MkdirTemp("", "board")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	board, err := fsboard.Open(fsboard.Options{Dir: filepath.Join(dir, "app"), Project: "/srv/app"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = board.Add(ctx,
		fsboard.NewTask{Subject: "Fix the login page", Key: "login"},
		fsboard.NewTask{Subject: "Announce it", DependsOn: []string{"login"}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	task, err := board.Claim(ctx, fsboard.ClaimRequest{Worker: "ann", SpawnID: "1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ann works on", task.ID, task.Subject)
	done, err := board.Submit(ctx, fsboard.SubmitRequest{ID: task.ID, Worker: "ann", SpawnID: "1", Result: "the cookie had expired"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(done.Task.ID, "is", done.Outcome, "and now", done.Ready, "can be claimed")
	// Output:
	// ann works on t_1 Fix the login page
	// t_1 is completed and now [t_2] can be claimed
}
