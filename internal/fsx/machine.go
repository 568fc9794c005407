package fsx

import (
	"crypto/sha256"
	"encoding/hex"
	"sync/atomic"
)

// MachineID is a text that is the same at each start of this machine and
// another one on every other, "" when there is none to be had. It tells nothing
// else: the system's own id, which is not for others, cannot be found from it.
func MachineID() string {
	id := machineID()
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("teams\x00" + id))
	return hex.EncodeToString(sum[:8])
}

var earlierBoot atomic.Pointer[func(id string) bool]

// SetEarlierBoot gives f the word on whether a boot id is that of an earlier
// start of this very machine. On one machine every other boot id is. Where
// several share their files (see SetSharedMode) two of them may have the same
// host name, and then a boot id that is not the present one proves nothing by
// itself.
func SetEarlierBoot(f func(id string) bool) (restore func()) {
	p := &f
	if f == nil {
		p = nil
	}
	old := earlierBoot.Swap(p)
	return func() { earlierBoot.Store(old) }
}

// Rebooted reports whether the machine of p, which has the name of this one,
// was proven to have been started anew since: nothing of that time runs.
func (p Process) Rebooted() bool {
	if p.BootID == "" || BootID() == "" || p.BootID == BootID() {
		return false
	}
	if !sharedMode.Load() {
		return true
	}
	f := earlierBoot.Load()
	return f != nil && (*f)(p.BootID)
}
