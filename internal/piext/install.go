package piext

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// State is what became of a file.
type State string

// The states of a file.
const (
	Written   State = "written"   // it was not there
	Updated   State = "updated"   // an earlier version of ours was replaced
	Replaced  State = "replaced"  // somebody's was replaced, by force
	Unchanged State = "unchanged" // it is there as it would be written
	Kept      State = "kept"      // somebody's, and not touched
)

// File is one file of an installation.
type File struct {
	Path  string `json:"path"` // absolute
	State State  `json:"state"`
}

// Target says where and what to install.
type Target struct {
	// Dir is where Pi looks: its agent directory, or .pi of a project.
	Dir string
	// Within is the directory that need not be made safe: Dir or a parent of it
	// that is there. Nothing below it may be a symbolic link.
	Within string
	// Force replaces files that somebody has changed.
	Force bool
	Options
}

// maxFile bounds what is read of a file that is in the way.
const maxFile = 4 << 20

// The digest of a file of ours stands in its last line, in a comment.
const (
	sealMark = "teams pi install sha256:"
	tsOpen   = "// " + sealMark
	mdOpen   = "<!-- " + sealMark
)

// Install writes extensions/teams.ts and skills/teams/SKILL.md below t.Dir, and
// with pier's tools the role agents/task.md unless there is one. It tells what
// became of each file, in this order, also of those before an error. A file that
// somebody has changed is kept unless t.Force is set. The error is that of the
// file system, with its path.
func Install(t Target) ([]File, error) {
	extension, err := Extension(t.Options)
	if err != nil {
		return nil, err
	}
	skill, err := Skill()
	if err != nil {
		return nil, err
	}
	var files []File
	put := func(name string, text []byte, own bool) error {
		path := filepath.Join(t.Dir, name)
		state, err := t.put(path, text, own)
		if err == nil {
			files = append(files, File{path, state})
		}
		return err
	}
	if err := put("extensions/teams.ts", seal(extension, tsOpen, "\n"), true); err != nil {
		return files, err
	}
	if err := put("skills/teams/SKILL.md", seal(skill, mdOpen, " -->\n"), true); err != nil {
		return files, err
	}
	if t.Pier {
		role, err := sources.ReadFile("task.md")
		if err != nil {
			return files, err
		}
		if err := put("agents/task.md", role, false); err != nil {
			return files, err
		}
	}
	return files, nil
}

// seal puts the digest of text behind it.
func seal(text []byte, open, end string) []byte {
	sum := sha256.Sum256(text)
	return append(append(bytes.Clone(text), open...), hex.EncodeToString(sum[:])+end...)
}

// sealed says whether data is a text of ours that nobody has changed.
func sealed(data []byte) bool {
	at := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1
	text, line := data[:at], data[at:]
	return bytes.Equal(line, seal(text, tsOpen, "\n")[at:]) || bytes.Equal(line, seal(text, mdOpen, " -->\n")[at:])
}

// put writes one file. One that is not ours alone (own is false) is meant to be
// changed: it is never replaced.
func (t Target) put(path string, text []byte, own bool) (State, error) {
	if err := fsx.MkdirAll(t.Within, filepath.Dir(path)); err != nil {
		return "", err
	}
	old, err := fsx.ReadFile(path, maxFile)
	state := Updated
	switch {
	case errors.Is(err, fs.ErrNotExist):
		state = Written
	case err != nil && errs.CodeOf(err) != errs.Corrupt:
		return "", err
	case bytes.Equal(old, text) && err == nil:
		return Unchanged, nil
	case !own:
		return Kept, nil
	case err != nil: // too large, a symbolic link, or no file at all
		return Kept, nil
	case !sealed(old) && !t.Force:
		return Kept, nil
	case !sealed(old):
		state = Replaced
	}
	if err := fsx.Replace(path, text); err != nil {
		return "", err
	}
	return state, nil
}
