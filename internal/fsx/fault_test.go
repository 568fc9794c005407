package fsx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const oldContent, newContent = "old line\n", "new line\n"

// operation returns one of the operations that change a file. All of them
// write newContent.
func operation(what string) func(path string) error {
	parts := [][]byte{[]byte(newContent[:3]), []byte(newContent[3:])}
	switch what {
	case "publish":
		return func(p string) error { return Publish(p, []byte(newContent)) }
	case "publishfunc":
		return func(p string) error {
			return PublishFunc(p, func(w io.Writer) error {
				_, err := io.WriteString(w, newContent)
				return err
			})
		}
	case "replace":
		return func(p string) error { return Replace(p, []byte(newContent)) }
	case "parts":
		return func(p string) error { return ReplaceParts(p, parts) }
	case "hint":
		return func(p string) error { return ReplaceHint(p, parts) }
	case "append":
		return func(p string) error { return Append(p, []byte(newContent), true) }
	}
	panic(what)
}

type change struct {
	what       string
	old        bool   // the file is there beforehand
	then       string // content afterwards
	steps      []Op   // what the seam is asked
	mayBeThere []Op   // a failure here leaves the new content visible
	noMatter   []Op   // a failure here changes nothing
}

func changes() []change {
	publish := []Op{OpOpen, OpWrite, OpFsync, OpLink, OpUnlink, OpFsyncDir}
	rep := []Op{OpOpen, OpWrite, OpFsync, OpRename, OpFsyncDir}
	dir, unlink := []Op{OpFsyncDir}, []Op{OpUnlink}
	return []change{
		{"publish", false, newContent, publish, dir, unlink},
		{"publishfunc", false, newContent, publish, dir, unlink},
		{"replace", true, newContent, rep, dir, nil},
		{"replace", false, newContent, rep, dir, nil},
		{"parts", true, newContent, rep, dir, nil},
		{"hint", true, newContent, []Op{OpOpen, OpWrite, OpRename, OpUnlink}, nil, unlink},
		{"append", true, oldContent + newContent, []Op{OpOpen, OpRead, OpWrite, OpFsync}, []Op{OpFsync}, nil},
		{"append", false, newContent, append([]Op{OpOpen}, publish...), dir, unlink},
	}
}

func (c change) setup(t testing.TB) (path string) {
	path = filepath.Join(t.TempDir(), "file")
	if c.old {
		write(t, path, oldContent)
	}
	return path
}

func TestSteps(t *testing.T) {
	for _, c := range changes() {
		path := c.setup(t)
		var steps []Op
		restore := SetFault(func(op Op, p string) error {
			steps = append(steps, op)
			switch {
			case op == OpFsyncDir:
				path := filepath.Dir(path)
				if filepath.Clean(p) != path {
					t.Errorf("%s: fsync of %s", c.what, p)
				}
			case op == OpUnlink:
				if !IsTemp(filepath.Base(p)) {
					t.Errorf("%s: unlink of %s", c.what, p)
				}
			case p != path:
				t.Errorf("%s: %s %s", c.what, op, p)
			}
			return nil
		})
		err := operation(c.what)(path)
		restore()
		if err != nil || !slices.Equal(steps, c.steps) {
			t.Errorf("%s: %v %v, want %v", c.what, err, steps, c.steps)
		}
		wantContent(t, path, c.then)
		wantNoTemps(t, filepath.Dir(path))
	}
}

// Every step of every operation fails once, in every way.
func TestFaults(t *testing.T) {
	for _, c := range changes() {
		for n, op := range c.steps {
			for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EXDEV, syscall.EACCES} {
				t.Run(fmt.Sprintf("%s old=%v/%d %s/%v", c.what, c.old, n, op, errno), func(t *testing.T) {
					path := c.setup(t)
					k := 0
					restore := SetFault(func(Op, string) error {
						if k++; k == n+1 {
							return errno
						}
						return nil
					})
					err := operation(c.what)(path)
					restore()
					switch {
					case slices.Contains(c.noMatter, op):
						if err != nil {
							t.Error(err)
						}
						wantContent(t, path, c.then)
						return // the temporary file could not be removed
					case !errors.Is(err, errno):
						t.Errorf("error is %v", err)
					case !strings.Contains(err.Error(), path) && op != OpFsyncDir, strings.Contains(err.Error(), "/."):
						t.Errorf("error names the wrong path: %v", err)
					}
					if slices.Contains(c.mayBeThere, op) {
						if !errors.Is(err, ErrUncertain) {
							t.Errorf("not uncertain: %v", err)
						}
						wantContent(t, path, c.then)
					} else {
						if errors.Is(err, ErrUncertain) {
							t.Errorf("uncertain: %v", err)
						}
						wantOld(t, c, path)
					}
					wantNoTemps(t, filepath.Dir(path))
				})
			}
		}
	}
}

func wantOld(t *testing.T, c change, path string) {
	t.Helper()
	if c.old {
		wantContent(t, path, oldContent)
	} else {
		wantMissing(t, path)
	}
}

// A signal may interrupt every step.
func TestInterrupted(t *testing.T) {
	for _, c := range changes() {
		path := c.setup(t)
		seen := map[int]bool{}
		k := 0
		restore := SetFault(func(Op, string) error {
			if k++; k%2 == 1 {
				seen[k] = true
				return syscall.EINTR
			}
			return nil
		})
		err := operation(c.what)(path)
		restore()
		if err != nil || len(seen) != len(c.steps) {
			t.Errorf("%s: %v after %d interruptions", c.what, err, len(seen))
		}
		wantContent(t, path, c.then)
		wantNoTemps(t, filepath.Dir(path))
	}
}

func TestFsyncDirTolerates(t *testing.T) {
	for errno, want := range map[syscall.Errno]bool{
		syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.EIO: false, syscall.ENOSYS: false, syscall.EBADF: false,
	} {
		restore := SetFault(func(Op, string) error { return errno })
		if err := FsyncDir(t.TempDir()); (err == nil) != want {
			t.Errorf("%v: %v", errno, err)
		}
		restore()
	}
}

// The process dies at every step; what is visible is old or new, and the next
// one gets its way.
func TestKilledAtEachStep(t *testing.T) {
	for _, c := range changes() {
		if c.what == "publishfunc" || c.what == "parts" {
			continue // the same steps
		}
		for n := 1; ; n++ {
			path := c.setup(t)
			cmd := command0(t, "die", c.what, path, strconv.Itoa(n))
			out, err := cmd.CombinedOutput()
			if err == nil {
				if n != len(c.steps)+1 {
					t.Errorf("%s: ended by itself at step %d", c.what, n)
				}
				break
			}
			if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() {
				t.Fatalf("%s: %v: %s", c.what, err, out)
			}
			b, err := os.ReadFile(path)
			switch {
			case err == nil && string(b) == c.then:
			case err == nil && c.old && string(b) == oldContent:
			case os.IsNotExist(err) && !c.old:
			default:
				t.Errorf("%s killed at step %d: %q %v", c.what, n, b, err)
			}
			temps(t, filepath.Dir(path)) // each must be known as one
			if c.what == "append" && len(b) > 0 {
				continue // it would be there twice
			}
			if err := operation(c.what)(path); err != nil && !errors.Is(err, os.ErrExist) {
				t.Errorf("%s after a kill at step %d: %v", c.what, n, err)
			}
		}
	}
}

// storm changes files until it is killed.
func storm(dir string) error {
	for i := 0; ; i++ {
		body := payload(string(rune('a'+i%26)), 1+rand.IntN(30_000))
		if err := Publish(filepath.Join(dir, fmt.Sprintf("p%d-%d", os.Getpid(), i)), body); err != nil {
			return err
		}
		if err := ReplaceParts(filepath.Join(dir, "r"), [][]byte{body[:1], body[1:]}); err != nil {
			return err
		}
		if err := ReplaceHint(filepath.Join(dir, "h"), [][]byte{body}); err != nil {
			return err
		}
	}
}

func TestStormOfKills(t *testing.T) {
	dir := t.TempDir()
	end := time.Now().Add(time.Second)
	if *long {
		end = end.Add(time.Minute)
	}
	files := 0
	for time.Now().Before(end) {
		var peers []*peer
		for range 3 {
			peers = append(peers, start(t, "storm", dir))
		}
		for i := range 3 {
			time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
			peers[i].kill(t)
		}
		names, err := List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := ReadFile(filepath.Join(dir, name), 1<<20)
			if err == nil {
				err = checkPayload(b)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		files = len(names)
		temps(t, dir)
	}
	if files == 0 {
		t.Error("nothing was written")
	}
}

func TestConcurrentAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "torn")
	var peers []*peer
	for _, tag := range []string{"a", "b", "c", "d"} {
		peers = append(peers, start(t, "append", path, tag, "200"))
	}
	for _, p := range peers {
		p.finish(t)
	}
	b, err := ReadFile(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	next := map[string]int{}
	blank := 0
	for i, line := range bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) {
		if i == 0 && string(line) != "torn" {
			t.Errorf("first line is %q", line)
		}
		if len(line) == 0 {
			// Whoever saw the torn line ends it, however late it comes to write.
			if blank++; blank >= len(peers) {
				t.Errorf("line %d is the %dth empty one of %d writers", i, blank, len(peers))
			}
			continue
		}
		if i == 0 {
			continue
		}
		f := strings.Fields(string(line))
		if len(f) != 3 || f[1] != strconv.Itoa(next[f[0]]) || f[2] != strings.Repeat(f[0], 500) {
			t.Fatalf("line %d is %.60q", i, line)
		}
		next[f[0]]++
	}
	for _, tag := range []string{"a", "b", "c", "d"} {
		if next[tag] != 200 {
			t.Errorf("%d lines of %s", next[tag], tag)
		}
	}
}
