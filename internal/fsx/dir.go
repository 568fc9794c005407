package fsx

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed6990a682/teams/internal/errs"
)

// MkdirAll creates the directory path, which is root or lies below it, and
// what is missing on the way. Each new directory has mode 0700, whatever the
// umask, and is durable when MkdirAll returns. Below root, a component that is
// a symbolic link, or no directory, is refused with ErrIrregular; root itself,
// and what lies above it, may be reached through links. Directories that exist
// keep their modes. Several processes may call it at the same time.
func MkdirAll(root, path string) error {
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return errs.New(errs.Usage, "is not below %s", root).WithPath(path)
	}
	if rel == "." {
		return mkRoot(filepath.Clean(root))
	}
	dir := filepath.Clean(root)
	haveRoot := false
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		parent := dir
		dir = filepath.Join(dir, name)
		err := CheckDir(dir)
		if os.IsNotExist(err) {
			// The first missing component tells whether root is there.
			if !haveRoot {
				if err := mkRoot(filepath.Clean(root)); err != nil {
					return err
				}
			}
			err = mkdir(parent, dir, CheckDir)
		}
		if err != nil {
			return err
		}
		haveRoot = true
	}
	return nil
}

// mkRoot creates dir and its parents; links are followed.
func mkRoot(dir string) error {
	err := checkFollowed(dir)
	if !os.IsNotExist(err) {
		return err
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return err
	}
	if err := mkRoot(parent); err != nil {
		return err
	}
	return mkdir(parent, dir, checkFollowed)
}

// mkdir creates one directory. If somebody else has done so meanwhile, check
// says whether it will do; the parent is fsynced in this case too, since the
// other one may not have come that far.
func mkdir(parent, dir string, check func(string) error) error {
	err := call(OpMkdir, dir, func() error { return unix.Mkdir(dir, dirMode) })
	switch err {
	case nil:
		var st unix.Stat_t
		if err := lstat(dir, &st); err != nil {
			return pathErr("mkdir", dir, err)
		}
		if uint32(st.Mode)&0o777 != dirMode {
			if err := unix.Chmod(dir, dirMode); err != nil {
				return pathErr("mkdir", dir, err)
			}
		}
	case unix.EEXIST:
		if err := check(dir); err != nil {
			return err
		}
	default:
		return pathErr("mkdir", dir, err)
	}
	return FsyncDir(parent)
}

// CheckDir reports whether path is a directory and no symbolic link: nil,
// fs.ErrNotExist, ErrIrregular (code corrupt), or what else prevents a look.
func CheckDir(path string) error {
	var st unix.Stat_t
	// A trailing slash would make lstat follow a link.
	if err := lstat(filepath.Clean(path), &st); err != nil {
		return pathErr("lstat", path, err)
	}
	if !isDir(&st) {
		return irregular("", path, kindOf(uint32(st.Mode)), "directory")
	}
	return nil
}

// checkFollowed is CheckDir for a path that may be a link to a directory.
func checkFollowed(path string) error {
	fi, err := os.Stat(path)
	if err == nil && !fi.IsDir() {
		err = irregular("", path, "file", "directory")
	}
	return err
}

// FsyncDir makes the names in the directory path durable. File systems that
// cannot do so (EINVAL, ENOTSUP) are taken to need it not.
func FsyncDir(path string) error {
	err := call(OpFsyncDir, path, func() error {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return fsync(fd)
	})
	if err == unix.EINVAL || err == unix.ENOTSUP {
		return nil
	}
	return pathErr("fsync", path, err)
}

// List returns the names in the directory dir, sorted, without those that
// begin with a dot. A missing directory has none. One that cannot be read, or
// is no directory, is an error, never an empty list. A dir that is a symbolic
// link is followed; use CheckDir where it must not be.
func List(dir string) ([]string, error) {
	var fd int
	err := call(OpOpen, dir, func() (err error) {
		fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	if err == unix.ENOENT {
		return nil, nil
	}
	if err != nil {
		return nil, pathErr("list", dir, err)
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	var names []string
	err = call(OpRead, dir, func() (err error) {
		names, err = f.Readdirnames(-1)
		return err
	})
	if err != nil {
		return nil, pathErr("list", dir, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name[0] == '.' })
	slices.Sort(names)
	return names, nil
}
