package verify_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed6990a682/teams/verify"
)

func ExampleRun() {
	dir, err := os.MkdirTemp("", "gate")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	receipt, err := verify.Run(context.Background(), verify.Gate{
		Command: "echo checking; echo 'FAIL: two tests'; exit 1",
		Dir:     dir,
		Timeout: time.Minute,
		Log:     filepath.Join(dir, "t_12.1.log"),
		RunID:   "0123456789abcdef0123456789abcdef",
	})
	if err != nil { // interrupted, or not a gate: no verdict
		fmt.Println(err)
		return
	}
	fmt.Println(receipt.Verdict, receipt.ExitCode)
	if receipt.Verdict != verify.Passed {
		tail, _ := verify.Tail(receipt.Log, 20)
		fmt.Print(tail)
	}
	// Output:
	// failed 1
	// FAIL: two tests
}
