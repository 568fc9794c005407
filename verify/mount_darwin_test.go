package verify

import (
	"errors"
	"os/exec"
)

// ownMounts and mountSmall have no counterpart here.
func ownMounts(*exec.Cmd) {}

func mountSmall(string) error { return errors.ErrUnsupported }
