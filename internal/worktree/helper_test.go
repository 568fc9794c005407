package worktree

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// contextOfHelper bounds the life of a helper process.
func contextOfHelper() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

// helper is a process that creates or finalises a worktree.
func (s *site) helper(what, name, owner string) *exec.Cmd {
	s.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), helperEnv+"="+hex.EncodeToString([]byte(strings.Join([]string{what, s.project, name, owner}, "\x00"))))
	return cmd
}

// shell runs a line as a person would.
func shell(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// randomText does not get smaller when it is compressed.
func randomText(size int) string {
	rng := rand.New(rand.NewPCG(3, 4))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return string(data)
}
