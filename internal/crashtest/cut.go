package crashtest

import (
	"iter"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
)

// What may be left of a change.
const (
	gone  = iota // nothing
	whole        // all of it
	half         // of a write: its first half
	zeros        // of a write: its length, filled with zeros
	kinds
)

// Cut is one state that a power cut may leave.
type Cut struct {
	After int    // the index of the first call that did not happen any more
	Lost  string // what is not there as it was written, for people
	Tree  Tree
}

// Now is the tree as the kernel shows it after all calls.
func (d *Disk) Now() Tree {
	left := make([]int, len(d.ops))
	for i := range left {
		left[i] = whole
	}
	return d.tree(left)
}

// Cuts returns the states that a power cut just before call at may leave: all
// combinations of what was not durable yet when there are at most limit of
// them, else the least, the most, every prefix, each change alone lost or kept,
// each kind of damage, and a sample of limit others. The sample is always the
// same. With a limit of 0 it is the least and the most only.
func (d *Disk) Cuts(at, limit int) iter.Seq[Cut] {
	return func(yield func(Cut) bool) {
		left := make([]int, len(d.ops))
		var free []int // what may or may not be there
		all := 1
		for i := range d.ops {
			o := &d.ops[i]
			switch {
			case o.begin >= at:
			case o.durable < at:
				left[i] = whole
			default:
				free = append(free, i)
				if all *= o.choices(); all > limit {
					all = limit + 1
				}
			}
		}
		seen := map[string]bool{}
		emit := func() bool {
			c := Cut{After: at, Tree: d.tree(left)}
			sum := c.Tree.Sum()
			if seen[sum] {
				return true
			}
			seen[sum] = true
			c.Lost = d.lost(free, left)
			return yield(c)
		}
		set := func(f func(k, i int) int) bool {
			for k, i := range free {
				left[i] = f(k, i)
			}
			return emit()
		}
		if limit == 0 {
			_ = set(func(_, _ int) int { return gone }) && set(func(_, _ int) int { return whole })
			return
		}
		if all <= limit {
			for n := range all {
				if !set(func(_, i int) int {
					c := n % d.ops[i].choices()
					n /= d.ops[i].choices()
					return c
				}) {
					return
				}
			}
			return
		}
		for n := range len(free) + 1 { // every prefix: n = 0 is the least, the last one the most
			if !set(func(k, _ int) int { return one(k < n) }) {
				return
			}
		}
		for n := range free {
			if !set(func(k, _ int) int { return one(k != n) }) || !set(func(k, _ int) int { return one(k == n) }) {
				return
			}
		}
		for _, damage := range []int{gone, half, zeros} { // the names, not the contents
			if !set(func(_, i int) int {
				if d.ops[i].file != nil {
					return damage % d.ops[i].choices()
				}
				return whole
			}) {
				return
			}
		}
		r := rand.New(rand.NewPCG(1, uint64(at)))
		for range limit {
			if !set(func(_, i int) int { return r.IntN(d.ops[i].choices()) }) {
				return
			}
		}
	}
}

// Least is the tree when everything is lost that may be lost by a power cut
// just before call at.
func (d *Disk) Least(at int) Tree {
	left := make([]int, len(d.ops))
	for i := range d.ops {
		left[i] = one(d.ops[i].durable < at)
	}
	return d.tree(left)
}

// Points returns the indices before which a cut differs from the one before:
// after each change and each fsync.
func (d *Disk) Points() []int {
	points := map[int]bool{}
	for i := range d.ops {
		points[d.ops[i].begin+1] = true
		if d.ops[i].durable != never {
			points[d.ops[i].durable+1] = true
		}
	}
	return slices.Sorted(maps.Keys(points))
}

func one(b bool) int {
	if b {
		return whole
	}
	return gone
}

// choices is how many kinds of remains a change can leave.
func (o *op) choices() int {
	if o.file != nil && !o.truncate && len(o.data) > 1 {
		return kinds
	}
	return 2
}

// tree applies what is left of each change.
func (d *Disk) tree(left []int) Tree {
	names := map[*node]map[string]*node{}
	data := map[*node][]byte{}
	for i, l := range left {
		o := &d.ops[i]
		if l == gone {
			continue
		}
		if o.file != nil {
			content, there := data[o.file]
			if !there {
				content = append([]byte{}, o.file.data...)
			}
			data[o.file] = o.write(content, l)
			continue
		}
		o.apply(func(dir *node) map[string]*node {
			if names[dir] == nil {
				names[dir] = maps.Clone(dir.names)
			}
			return names[dir]
		})
	}
	t := Tree{}
	var walk func(path string, n *node)
	walk = func(path string, n *node) {
		if !n.dir {
			content, there := data[n]
			if !there {
				content = n.data
			}
			if content == nil {
				content = []byte{}
			}
			t[path] = content
			return
		}
		if path != "" {
			t[path] = nil
		}
		entries, there := names[n]
		if !there {
			entries = n.names
		}
		for name, to := range entries {
			walk(filepath.Join(path, name), to)
		}
	}
	walk("", d.top)
	return t
}

// write applies what is left of a write to content.
func (o *op) write(content []byte, left int) []byte {
	data := o.data
	switch {
	case o.truncate:
		data = nil
		content = content[:min(len(content), o.off)]
	case left == half:
		data = data[:len(data)/2]
	case left == zeros:
		data = make([]byte, len(data))
	}
	for len(content) < o.off+len(data) {
		content = append(content, 0)
	}
	copy(content[o.off:], data)
	return content
}

func (d *Disk) lost(free, left []int) string {
	var out []string
	for _, i := range free {
		switch what := d.ops[i].what; left[i] {
		case gone:
			out = append(out, what)
		case half:
			out = append(out, "half of "+what)
		case zeros:
			out = append(out, "the data of "+what)
		}
	}
	return strings.Join(out, ", ")
}
