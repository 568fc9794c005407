package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// diskSize is that of the root's file system.
const diskSize = "384m"

// mount puts the root on a file system of its own. It returns why it cannot.
func (w *world) mount() string {
	if os.Getuid() != 0 {
		return "only root can mount a tmpfs"
	}
	if err := syscall.Mount("tmpfs", w.root, "tmpfs", 0, "size="+diskSize+",mode=0700"); err != nil {
		return "a tmpfs cannot be mounted here: " + err.Error()
	}
	w.mounted = true
	return ""
}

func (w *world) unmount() {
	if w.mounted {
		_ = syscall.Unmount(w.root, syscall.MNT_DETACH)
		w.mounted = false
	}
}

// save returns where the root can be looked at when this process has ended.
func (w *world) save() string {
	if !w.mounted {
		return w.root
	}
	kept := filepath.Join(w.dir, "kept")
	if out, err := exec.Command("cp", "-a", w.root, kept).CombinedOutput(); err != nil {
		w.say("cp: %s", out)
		w.mounted = false // it stays mounted
		return w.root
	}
	return kept
}

// fillDisk fills the disk now and then for a moment, until ctx ends.
func (w *world) fillDisk(ctx context.Context) {
	if !w.mounted {
		return
	}
	path := filepath.Join(w.root, ".fill")
	free := func() {
		os.Remove(path)
		w.fulled.Store(int64(time.Since(w.begun)))
		w.full.Store(false)
	}
	defer free()
	for wait(ctx, 2*time.Second+time.Duration(w.random(int(5*time.Second)))) {
		var st syscall.Statfs_t
		if syscall.Statfs(w.root, &st) != nil {
			return
		}
		w.full.Store(true)
		f, err := os.Create(path)
		if err != nil {
			free()
			continue
		}
		// All but a few pages, or all: some calls find room and some do not.
		room := int64(st.Bavail)*int64(st.Bsize) - int64(w.random(4))*4096
		err = syscall.Fallocate(int(f.Fd()), 0, 0, max(room, 4096))
		f.Close()
		if err == nil || err == syscall.ENOSPC {
			w.note("the disk was filled")
			wait(ctx, 100*time.Millisecond+time.Duration(w.random(int(500*time.Millisecond))))
		}
		free()
	}
}
