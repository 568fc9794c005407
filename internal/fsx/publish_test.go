package fsx

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// payload is content that shows whether it is whole: one word, repeated, with
// the length in front.
func payload(word string, size int) []byte {
	body := strings.Repeat(word, size/len(word)+1)[:size]
	return fmt.Appendf(nil, "%d %s %s\n", size, word, body)
}

func checkPayload(b []byte) error {
	var size int
	var word string
	if _, err := fmt.Sscan(string(b[:min(len(b), 100)]), &size, &word); err != nil {
		return fmt.Errorf("%.40q: %v", b, err)
	}
	if !bytes.Equal(b, payload(word, size)) {
		return fmt.Errorf("torn: %d bytes of %q", len(b), word)
	}
	return nil
}

func publishRounds(dir, tag string) error {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		path := filepath.Join(dir, in.Text())
		err := Publish(path, payload(tag, 20_000))
		answer := "won"
		if errors.Is(err, fs.ErrExist) {
			answer = "lost"
		} else if err != nil {
			return err
		}
		b, err := ReadFile(path, 1<<20)
		if err == nil {
			err = checkPayload(b)
		}
		if err == nil && (answer == "won") != bytes.Equal(b, payload(tag, 20_000)) {
			err = fmt.Errorf("%s the round, but found %.40q", answer, b)
		}
		if err != nil {
			return err
		}
		fmt.Println(answer)
	}
	return nil
}

func TestPublishRace(t *testing.T) {
	const racers = 8
	rounds := 50
	if *long {
		rounds = 1000
	}
	dir := t.TempDir()
	var peers []*peer
	for i := range racers {
		peers = append(peers, start(t, "publish", dir, string(rune('a'+i))))
	}
	for round := range rounds {
		for _, p := range peers {
			fmt.Fprintf(p.in, "r%d\n", round)
		}
		won := 0
		for _, p := range peers {
			if p.line(t) == "won" {
				won++
			}
		}
		if won != 1 {
			t.Fatalf("round %d has %d winners", round, won)
		}
	}
	for _, p := range peers {
		p.finish(t)
	}
	wantNoTemps(t, dir)
}

func TestPublish(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	if err := Publish(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	err := Publish(path, []byte("two"))
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("second Publish: %v", err)
	}
	wantContent(t, path, "one")

	// What is in the way is never followed and never replaced.
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{link, sub} {
		if err := Publish(p, []byte("x")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Publish(%s): %v", p, err)
		}
	}
	wantMissing(t, filepath.Join(dir, "elsewhere"))

	if err := Publish(filepath.Join(dir, "empty"), nil); err != nil {
		t.Error(err)
	}
	wantContent(t, filepath.Join(dir, "empty"), "")
	for _, bad := range []string{"", ".", "..", dir + "/", dir + "/..", dir + "/a\x00b"} {
		if err := Publish(bad, nil); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("Publish(%q): %v", bad, err)
		}
	}
	err = Publish(filepath.Join(dir, "no", "x"), nil)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
	wantNoTemps(t, dir)
}

func TestPublishRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := Publish("x", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := Replace("x", []byte("2")); err != nil {
		t.Fatal(err)
	}
	wantContent(t, "x", "2")
	wantNoTemps(t, ".")
}

func TestPublishFunc(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "big")
	want := payload("xyz", 300_000)
	err := PublishFunc(path, func(w io.Writer) error {
		for chunk := range bytes.SplitAfterSeq(want, []byte("y")) {
			if _, err := w.Write(chunk); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, string(want))

	boom := errors.New("boom")
	other := filepath.Join(dir, "other")
	err = PublishFunc(other, func(w io.Writer) error {
		w.Write(want)
		return boom
	})
	if err != boom {
		t.Errorf("error of the writer: %v", err)
	}
	func() {
		defer func() { recover() }()
		PublishFunc(other, func(io.Writer) error { panic("caller's") })
	}()
	wantMissing(t, other)
	wantNoTemps(t, dir)
}

// A link may be carried out and reported as failed; nothing but a look tells.
func TestPublishLinkDoneButReported(t *testing.T) {
	for _, errno := range []error{syscall.EIO, syscall.EEXIST, syscall.EINTR} {
		for _, moved := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v moved=%v", errno, moved), func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "x")
				now := path
				defer SetFault(func(op Op, p string) error {
					if op != OpLink {
						return nil
					}
					err := os.Link(filepath.Join(dir, temps(t, dir)[0]), p)
					if err == nil && moved {
						// The reader is quick.
						now = filepath.Join(dir, "moved")
						err = os.Rename(p, now)
					}
					if err != nil {
						t.Error(err)
					}
					return errno
				})()
				if err := Publish(path, []byte("whole")); err != nil {
					t.Fatal(err)
				}
				wantContent(t, now, "whole")
				names, err := List(dir)
				if err != nil || len(names) != 1 {
					t.Errorf("published more than once: %q %v", names, err)
				}
				wantNoTemps(t, dir)
			})
		}
	}
}
