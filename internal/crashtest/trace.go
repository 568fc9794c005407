package crashtest

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// Call is one system call as strace recorded it.
type Call struct {
	TID  int
	Name string   // as strace names it, such as renameat
	Args []string // as strace prints them
	Ret  int64    // what it returned; -1 when it failed or was never carried out
	Err  string   // the name of the error, such as EIO; "" when it succeeded
	Done bool     // it was carried out, or failed; false when the process was killed in it
	// Injected says that strace made the result up and the call never took place.
	Injected bool
	// Begin and End are the numbers of the lines where it began and ended. A
	// call happened before another one if its End is below the other's Begin.
	Begin, End int
}

// Parse reads the output of strace -f -y -o. Lines that are no system calls
// are left out. Calls come in the order in which they ended; those that never
// ended come last.
func Parse(r io.Reader) ([]Call, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	var calls []Call
	type started struct {
		text string
		line int
	}
	open := map[int]started{}
	for n := 1; ; n++ {
		row, err := in.ReadString('\n')
		if row == "" && err == io.EOF {
			break
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		row = strings.TrimRight(row, "\n")
		tid, text, err := splitTID(row)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		begin := n
		switch {
		case strings.HasPrefix(text, "---"), strings.HasPrefix(text, "+++"), strings.HasPrefix(text, "???"):
			continue
		case strings.HasPrefix(text, "<... "):
			_, rest, ok := strings.Cut(text, " resumed>")
			was, there := open[tid]
			if !there && strings.HasPrefix(text, "<... ???") {
				continue // strace came too late to see what it was
			}
			if !ok || !there {
				return nil, fmt.Errorf("line %d: the end of a call without its beginning: %s", n, row)
			}
			delete(open, tid)
			text, begin = was.text+rest, was.line
		case strings.HasSuffix(text, "<unfinished ...>"), strings.HasSuffix(text, "<detached ...>"):
			open[tid] = started{text[:strings.LastIndexByte(text, '<')], n}
			continue
		}
		c, err := parseCall(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		c.TID, c.Begin, c.End = tid, begin, n
		calls = append(calls, c)
	}
	for tid, s := range open {
		// What was cut off has no closing bracket; the arguments may lack some.
		c, err := parseCall(strings.TrimRight(s.text, ", ") + ") = ?")
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", s.line, err)
		}
		c.TID, c.Begin, c.End = tid, s.line, int(^uint(0)>>1)
		calls = append(calls, c)
	}
	return calls, nil
}

func splitTID(row string) (int, string, error) {
	id, text, ok := strings.Cut(row, " ")
	tid, err := strconv.Atoi(id)
	if !ok || err != nil {
		return 0, "", fmt.Errorf("no thread id: %s", row)
	}
	return tid, strings.TrimLeft(text, " "), nil
}

func parseCall(text string) (Call, error) {
	c := Call{Ret: -1}
	name, rest, ok := strings.Cut(text, "(")
	if !ok {
		return c, fmt.Errorf("no call: %s", text)
	}
	c.Name = name
	args, rest, ok := splitArgs(rest)
	if !ok {
		return c, fmt.Errorf("no end of the arguments: %s", text)
	}
	c.Args = args
	_, result, ok := strings.Cut(rest, "= ")
	if !ok {
		return c, fmt.Errorf("no result: %s", text)
	}
	c.Injected = strings.HasSuffix(result, "(INJECTED)")
	if strings.HasPrefix(result, "?") {
		return c, nil
	}
	c.Done = true
	word, more, _ := strings.Cut(result, " ")
	word, _, _ = strings.Cut(word, "<")
	ret, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		return c, fmt.Errorf("no result: %s", text)
	}
	c.Ret = ret
	if ret == -1 {
		c.Err, _, _ = strings.Cut(more, " ")
	}
	return c, nil
}

// splitArgs splits what stands between the brackets of a call.
func splitArgs(s string) (args []string, rest string, ok bool) {
	depth, start := 0, 0
	add := func(end int) {
		if arg := strings.TrimSpace(s[start:end]); arg != "" {
			args = append(args, arg)
		}
		start = end + 1
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '<': // the path of a descriptor
			for i++; i < len(s) && s[i] != '>'; i++ {
			}
		case '{', '[', '(':
			depth++
		case ')':
			if depth == 0 {
				add(i)
				return args, s[i+1:], true
			}
			depth--
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				add(i)
			}
		}
	}
	return nil, "", false
}

// OK reports whether the call took place and succeeded.
func (c *Call) OK() bool { return c.Done && c.Err == "" }

// Kind is the name of the call without what tells its variants apart: open,
// write, fsync, link, rename, unlink, mkdir, flock, truncate, chmod. The name
// itself for every other call.
func (c *Call) Kind() string {
	switch c.Name {
	case "openat", "open", "openat2", "creat":
		return "open"
	case "write", "pwrite64", "writev":
		return "write"
	case "fsync", "fdatasync":
		return "fsync"
	case "link", "linkat":
		return "link"
	case "rename", "renameat", "renameat2":
		return "rename"
	case "unlink", "unlinkat":
		return "unlink"
	case "mkdir", "mkdirat":
		return "mkdir"
	case "truncate", "ftruncate":
		return "truncate"
	case "chmod", "fchmod", "fchmodat", "fchmodat2":
		return "chmod"
	}
	return c.Name
}

// Path is the absolute path that the call is about: the file that is opened or
// written, the new name of a link or rename.
func (c *Call) Path() string {
	switch {
	case c.Kind() == "link" || c.Kind() == "rename":
		if strings.Contains(c.Name, "at") {
			return c.at(2)
		}
		return c.at(1)
	case len(c.Args) == 0:
		return ""
	case c.Args[0][0] == '"' || strings.HasPrefix(c.Args[0], "AT_FDCWD") || strings.HasSuffix(c.Name, "at"):
		return c.at(0)
	}
	_, path := descriptor(c.Args[0])
	return path
}

// From is the old name of a link or rename.
func (c *Call) From() string { return c.at(0) }

// at reads the path at argument i, which is a path or a directory and a path.
func (c *Call) at(i int) string {
	if i >= len(c.Args) {
		return ""
	}
	if c.Args[i][0] == '"' {
		return Unquote(c.Args[i])
	}
	_, dir := descriptor(c.Args[i])
	if i+1 >= len(c.Args) {
		return dir
	}
	path := Unquote(c.Args[i+1])
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// FD is the descriptor that the call is given as its first argument; -1 when
// that is none.
func (c *Call) FD() int {
	if len(c.Args) == 0 {
		return -1
	}
	fd, _ := descriptor(c.Args[0])
	return fd
}

// descriptor reads 7</some/file>.
func descriptor(arg string) (fd int, path string) {
	num, rest, _ := strings.Cut(arg, "<")
	fd, err := strconv.Atoi(num)
	if err != nil {
		fd = -1
	}
	return fd, Unquote(strings.TrimSuffix(strings.TrimSuffix(rest, ">"), " (deleted)"))
}

// Data is what a write wrote, as far as strace was told to record it (-s), cut
// to what the call took.
func (c *Call) Data() []byte {
	if len(c.Args) < 2 {
		return nil
	}
	data := []byte(Unquote(c.Args[1]))
	if c.Ret >= 0 && int64(len(data)) > c.Ret {
		data = data[:c.Ret]
	}
	return data
}

// Has reports whether argument i is an or of flags that has flag.
func (c *Call) Has(i int, flag string) bool {
	if i >= len(c.Args) {
		return false
	}
	for f := range strings.SplitSeq(c.Args[i], "|") {
		if f == flag {
			return true
		}
	}
	return false
}

// Unquote returns the bytes of a string as strace prints it, with or without
// its quotes.
func Unquote(s string) string {
	s = strings.TrimSuffix(s, "...")
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'f':
			out = append(out, '\f')
		case 'v':
			out = append(out, '\v')
		case 'x':
			end := min(i+3, len(s))
			n, _ := strconv.ParseUint(s[i+1:end], 16, 8)
			out = append(out, byte(n))
			i = end - 1
		default:
			end := i
			for end < len(s) && end < i+3 && s[end] >= '0' && s[end] <= '7' {
				end++
			}
			if end == i { // a character that stands for itself
				out = append(out, c)
				continue
			}
			n, _ := strconv.ParseUint(s[i:end], 8, 16)
			out = append(out, byte(n))
			i = end - 1
		}
	}
	return string(out)
}
