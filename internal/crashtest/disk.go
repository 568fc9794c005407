package crashtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Disk is a directory as a power cut may leave it. The model:
//
//   - What is there when [NewDisk] reads it is durable.
//   - A change of a name (create, link, rename, unlink, mkdir) is durable after
//     a successful fsync of its directory, not before. The fsync of a file makes
//     its contents durable, not its name.
//   - A write is durable after a successful fsync of its file.
//   - Before that, each change may be there or not, whatever became of the
//     others: of an unsynced write nothing, all, the first half, or zeros of its
//     length. A rename is one change, as file systems with a journal make it.
//   - An fsync that failed made nothing durable.
//
// Real file systems promise more; none that is in use for such files promises
// less.
type Disk struct {
	root   string
	top    *node
	nodes  int
	played int // calls so far
	ops    []op

	cur map[*node]map[string]*node // the names as the kernel shows them
	len map[*node]int              // the sizes as the kernel shows them
	fds map[int]*handle
}

// node is a file or a directory.
type node struct {
	id    int
	dir   bool
	names map[string]*node // of a directory, at the start
	data  []byte           // of a file, at the start
}

// op is one change that a power cut may undo.
type op struct {
	begin, durable int // indices of the call and of the fsync that made it last
	sets           []nameSet
	file           *node
	off            int
	data           []byte
	truncate       bool // to off
	what           string
}

// nameSet gives a name in a directory to a node, or to nothing.
type nameSet struct {
	dir    *node
	name   string
	to     *node
	synced bool
}

type handle struct {
	n      *node
	pos    int
	append bool
}

const never = math.MaxInt

// NewDisk reads the directory root.
func NewDisk(root string) (*Disk, error) {
	d := &Disk{root: filepath.Clean(root), cur: map[*node]map[string]*node{}, len: map[*node]int{}, fds: map[int]*handle{}}
	var err error
	d.top, err = d.read(d.root)
	return d, err
}

func (d *Disk) read(path string) (*node, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	n := d.newNode(info.IsDir())
	switch {
	case info.IsDir():
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if n.names[e.Name()], err = d.read(filepath.Join(path, e.Name())); err != nil {
				return nil, err
			}
		}
		d.cur[n] = maps.Clone(n.names)
	case info.Mode().IsRegular():
		if n.data, err = os.ReadFile(path); err != nil {
			return nil, err
		}
		d.len[n] = len(n.data)
	default:
		return nil, fmt.Errorf("%s is neither a file nor a directory", path)
	}
	return n, nil
}

func (d *Disk) newNode(dir bool) *node {
	d.nodes++
	n := &node{id: d.nodes, dir: dir}
	if dir {
		n.names = map[string]*node{}
		d.cur[n] = map[string]*node{}
	}
	return n
}

// find returns the directory and the base name of a path below root, and what
// is there now; a nil directory for any other path.
func (d *Disk) find(path string) (dir *node, name string, n *node) {
	if path == d.root {
		return nil, "", d.top
	}
	rel, ok := strings.CutPrefix(path, d.root+"/")
	if !ok {
		return nil, "", nil
	}
	dir = d.top
	parts := strings.Split(filepath.Clean(rel), "/")
	for _, p := range parts[:len(parts)-1] {
		if dir = d.cur[dir][p]; dir == nil || !dir.dir {
			return nil, "", nil
		}
	}
	name = parts[len(parts)-1]
	return dir, name, d.cur[dir][name]
}

// Play takes over what the calls of one process did below root. They must have
// been recorded with -y and with all of the data of each write. The calls of
// the next process are counted on from them.
func (d *Disk) Play(calls []Call) error {
	clear(d.fds)
	for i := range calls {
		c := &calls[i]
		if !c.OK() || c.Injected {
			continue
		}
		if err := d.play(d.played+i, c); err != nil {
			return fmt.Errorf("call %d, %s %s: %w", i, c.Name, c.Path(), err)
		}
	}
	d.played += len(calls)
	return nil
}

// Played is the number of calls that were played.
func (d *Disk) Played() int { return d.played }

func (d *Disk) play(i int, c *Call) error {
	if c.Kind() == "open" {
		return d.open(i, c)
	}
	path := c.Path()
	dir, name, n := d.find(path)
	if dir == nil && n == nil {
		return nil // not ours
	}
	what := c.Name + " " + strings.TrimPrefix(path, d.root+"/")
	switch c.Kind() {
	case "mkdir":
		d.name(i, what, nameSet{dir: dir, name: name, to: d.newNode(true)})
	case "unlink":
		d.name(i, what, nameSet{dir: dir, name: name})
	case "link", "rename":
		fromDir, fromName, from := d.find(c.From())
		if from == nil {
			return fmt.Errorf("there is no %s", c.From())
		}
		var sets []nameSet
		switch {
		case c.Has(4, "RENAME_EXCHANGE"):
			sets = append(sets, nameSet{dir: fromDir, name: fromName, to: n})
		case c.Kind() == "rename":
			sets = append(sets, nameSet{dir: fromDir, name: fromName})
		}
		d.name(i, what, append(sets, nameSet{dir: dir, name: name, to: from})...)
	case "write", "truncate":
		return d.write(i, c, what)
	case "fsync":
		d.sync(i, n)
	}
	return nil
}

// open remembers what a descriptor stands for, and creates or cuts the file if
// the call did.
func (d *Disk) open(i int, c *Call) error {
	fd := int(c.Ret)
	delete(d.fds, fd)
	dir, name, n := d.find(c.Path())
	if dir == nil {
		return nil
	}
	what := c.Name + " " + strings.TrimPrefix(c.Path(), d.root+"/")
	flags := len(c.Args) - 1
	if flags > 0 && !strings.HasPrefix(c.Args[flags], "O_") {
		flags-- // the mode
	}
	switch {
	case n == nil && !c.Has(flags, "O_CREAT"):
		return fmt.Errorf("it was opened, but should not be there")
	case n == nil:
		n = d.newNode(false)
		d.name(i, what, nameSet{dir: dir, name: name, to: n})
	case c.Has(flags, "O_TRUNC") && d.len[n] > 0:
		d.len[n] = 0
		d.ops = append(d.ops, op{begin: i, durable: never, file: n, truncate: true, what: what})
	}
	d.fds[fd] = &handle{n: n, append: c.Has(flags, "O_APPEND")}
	return nil
}

func (d *Disk) name(i int, what string, sets ...nameSet) {
	o := op{begin: i, durable: never, sets: sets, what: what}
	o.apply(func(dir *node) map[string]*node { return d.cur[dir] })
	d.ops = append(d.ops, o)
}

// apply changes the names that it is given for each directory.
func (o *op) apply(names func(*node) map[string]*node) {
	for _, s := range o.sets {
		if s.to == nil {
			delete(names(s.dir), s.name)
		} else {
			names(s.dir)[s.name] = s.to
		}
	}
}

func (d *Disk) write(i int, c *Call, what string) error {
	h := d.fds[c.FD()]
	if h == nil || h.n.dir {
		return fmt.Errorf("descriptor %d was never opened", c.FD())
	}
	o := op{begin: i, durable: never, file: h.n, what: what}
	switch {
	case c.Kind() == "truncate":
		size, err := strconv.Atoi(c.Args[1])
		if err != nil {
			return err
		}
		o.truncate, o.off, d.len[h.n] = true, size, size
	default:
		o.data = c.Data()
		if int64(len(o.data)) != c.Ret {
			return fmt.Errorf("%d of its %d bytes were recorded", len(o.data), c.Ret)
		}
		switch {
		case c.Name == "pwrite64":
			off, err := strconv.Atoi(c.Args[len(c.Args)-1])
			if err != nil {
				return err
			}
			o.off = off
		case h.append:
			o.off = d.len[h.n]
		default:
			o.off = h.pos
			h.pos += len(o.data)
		}
		d.len[h.n] = max(d.len[h.n], o.off+len(o.data))
	}
	d.ops = append(d.ops, o)
	return nil
}

// sync makes durable what an fsync of n does.
func (d *Disk) sync(i int, n *node) {
	for k := range d.ops {
		o := &d.ops[k]
		switch {
		case o.durable != never:
		case o.file != nil:
			if o.file == n {
				o.durable = i
			}
		default:
			all := true
			for s := range o.sets {
				o.sets[s].synced = o.sets[s].synced || o.sets[s].dir == n
				all = all && o.sets[s].synced
			}
			if all {
				o.durable = i
			}
		}
	}
}

// Tree is a directory: the contents of each file by its path below the root,
// nil for a directory.
type Tree map[string][]byte

// Sum is the same for two trees only if they are.
func (t Tree) Sum() string {
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(h, "%q %v %d\n", path, t[path] == nil, len(t[path]))
		h.Write(t[path])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// WriteTo creates the tree below root.
func (t Tree) WriteTo(root string) error {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(t)) { // a directory before what is in it
		var err error
		if t[path] == nil {
			err = os.Mkdir(filepath.Join(root, path), 0o700)
		} else {
			err = os.WriteFile(filepath.Join(root, path), t[path], 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ReadTree reads a directory.
func ReadTree(root string) (Tree, error) {
	t := Tree{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			t[rel] = nil
			return nil
		}
		data, err := os.ReadFile(path)
		if data == nil {
			data = []byte{}
		}
		t[rel] = data
		return err
	})
	return t, err
}
