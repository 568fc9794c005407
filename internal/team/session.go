package team

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
	"github.com/seed6990a682/teams/internal/rawjson"
)

// maxRecord bounds what is read of a one-record file, in bytes.
const maxRecord = 1 << 20

// Session is the record of a session, session.json.
type Session struct {
	Key     string `json:"key"`
	Project string `json:"project"`
	Label   string `json:"label,omitempty"`
	Created int64  `json:"created"` // epoch ms
	// Shared says whether several hosts use the session; nil leaves that to the
	// type of the file system.
	Shared *bool `json:"shared,omitempty"`

	extra map[string]json.RawMessage // members we do not know
}

// sessionFields are the members of session.json.
var sessionFields = []rawjson.Field[Session]{
	{Name: "key", Of: func(s *Session) any { return &s.Key }},
	{Name: "project", Of: func(s *Session) any { return &s.Project }},
	{Name: "label", Opt: true, Of: func(s *Session) any { return &s.Label }},
	{Name: "created", Of: func(s *Session) any { return &s.Created }},
	{Name: "shared", Opt: true, Of: func(s *Session) any { return &s.Shared }},
}

// ReadSession reads session.json. A missing one is fs.ErrNotExist, one that is
// no record of a session an error of code corrupt with its path.
func (t *Team) ReadSession() (Session, error) {
	if err := t.checkDirs("teammate", t.Session); err != nil {
		return Session{}, err
	}
	return readSession(t.SessionFile())
}

func readSession(path string) (Session, error) {
	data, err := fsx.ReadFile(path, maxRecord)
	if err != nil {
		return Session{}, err
	}
	var s Session
	if s.extra, err = rawjson.Decode(sessionFields, &s, data); err != nil {
		return Session{}, corrupt(path, "is not a session record", err)
	}
	if s.Project == "" {
		return Session{}, corrupt(path, "is not a session record: it names no project", nil)
	}
	return s, nil
}

func corrupt(path, msg string, err error) error {
	if err != nil {
		msg += ": " + err.Error()
	}
	return &errs.Error{Code: errs.Corrupt, Path: path, Msg: msg, Hint: "teams doctor", Err: err}
}

// EnsureSession makes the session's team directory, the leader's mailbox and,
// last, session.json, unless they are there. Every verb that writes to the
// team calls it. A session of another project is used as it is: doctor tells.
// A directory of the session that is a symlink is refused.
func (t *Team) EnsureSession() (Session, error) {
	s, err := t.ReadSession()
	if err == nil {
		if err := t.checkBoardDir(); err != nil {
			return s, err
		}
		return t.noteSharing(s)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return Session{}, err
	}
	if err := t.checkBoardDir(); err != nil {
		return Session{}, err
	}
	dirs := mailboxDirs(t.InboxDir(LeaderName))
	dirs = append(dirs, t.NoticedDir(LeaderName))
	for _, dir := range dirs {
		if err := fsx.MkdirAll(t.Root, dir); err != nil {
			return Session{}, err
		}
	}
	s = Session{Key: t.Session, Project: t.Project, Created: nowMillis()}
	if t.Sharing.On && t.Sharing.Source == SourceFileSystem {
		on := true
		s.Shared = &on
	}
	data, err := marshalLines(s, nil)
	if err != nil {
		return Session{}, err
	}
	// What the leader had not read when the session ended before is unread again.
	if err := t.restoreMail(); err != nil {
		return Session{}, err
	}
	err = fsx.Publish(t.SessionFile(), data)
	if errors.Is(err, fs.ErrExist) { // somebody else was as quick
		return t.ReadSession()
	}
	return s, err
}

// checkBoardDir refuses a board directory that is not a real one. It need not
// be there.
func (t *Team) checkBoardDir() error {
	if err := t.checkDirs("tasks", t.Session); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// mailboxDirs are the directories of a mailbox.
func mailboxDirs(box string) []string {
	return []string{
		filepath.Join(box, "tmp"), filepath.Join(box, "new"), filepath.Join(box, "cur"),
	}
}

// A Problem is one bad entry that a scan came across. It spoils only itself.
type Problem struct {
	Path string
	Err  error
}

// SessionInfo is what [Sessions] knows of one session.
type SessionInfo struct {
	Session           // Project is "" when neither session.json nor board.json says it
	HasBoard   bool   `json:"hasBoard"`   // it has a board
	HasTeam    bool   `json:"hasTeam"`    // it has a running team's directory
	Living     int    `json:"living"`     // teammates that are neither stopped nor proven dead
	LastChange int64  `json:"lastChange"` // of board or team, epoch ms
	BoardDir   string `json:"board"`      // where its board is, or would be
}

// Sessions lists the sessions below a root, in the order of their keys. A root
// without sessions, or that is not there, gives none. What cannot be read of
// one session is a problem and leaves the others whole; the error is for a
// root that cannot be listed.
func Sessions(root string) ([]SessionInfo, []Problem, error) {
	found := make(map[string]*SessionInfo)
	var problems []Problem
	for _, top := range [...]string{"tasks", "teammate"} {
		dir := filepath.Join(root, top)
		if err := fsx.CheckDir(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, nil, err
		}
		names, err := fsx.List(dir)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range names {
			path := filepath.Join(dir, name)
			if err := fsx.CheckSessionKey(name); err != nil {
				problems = append(problems, Problem{path, err})
				continue
			}
			if err := fsx.CheckDir(path); err != nil {
				if !errors.Is(err, fs.ErrNotExist) {
					problems = append(problems, Problem{path, err})
				}
				continue
			}
			info := found[name]
			if info == nil {
				info = &SessionInfo{Session: Session{Key: name}}
				found[name] = info
			}
			if top == "tasks" {
				info.HasBoard = true
			} else {
				info.HasTeam = true
			}
		}
	}
	infos := make([]SessionInfo, 0, len(found))
	for _, info := range found {
		problems = append(problems, info.fill(root)...)
		infos = append(infos, *info)
	}
	slices.SortFunc(infos, func(a, b SessionInfo) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
	return infos, problems, nil
}

// fill reads what there is of one session.
func (s *SessionInfo) fill(root string) (problems []Problem) {
	t := Open(Place{Root: root, Session: s.Key})
	s.BoardDir = t.BoardDir()
	board := filepath.Join(s.BoardDir, "board.json")
	if s.HasTeam {
		rec, err := t.ReadSession()
		switch {
		case err == nil:
			key := s.Key
			s.Session = rec
			s.Key = key // the directory decides
		case !errors.Is(err, fs.ErrNotExist):
			problems = append(problems, Problem{t.SessionFile(), err})
		}
		teammates, bad, err := t.List()
		if err != nil {
			bad = append(bad, Problem{t.TeamDir(), err})
		}
		problems = append(problems, bad...)
		for _, tm := range teammates {
			if t.Liveness(tm) != fsx.Dead {
				s.Living++
			}
			s.LastChange = max(s.LastChange, modTime(t.TeammateFile(tm.Name)))
		}
		s.LastChange = max(s.LastChange, modTime(t.TeamDir()), modTime(t.SessionFile()))
	}
	if s.HasBoard {
		for _, name := range [...]string{"", "board.json", "history.jsonl", "claims", "submissions"} {
			s.LastChange = max(s.LastChange, modTime(filepath.Join(s.BoardDir, name)))
		}
		if s.Project == "" {
			s.Project = boardProject(board)
		}
	}
	return problems
}

// modTime is when a file was last changed, in epoch ms; 0 when there is none.
func modTime(path string) int64 {
	fi, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return fi.ModTime().UnixMilli()
}

// boardProject reads whose board a snapshot is from its first line, which is
// the opened head of a JSON object. "" when it does not say.
func boardProject(path string) string {
	data, err := fsx.ReadHead(path, 64<<10)
	if err != nil {
		return ""
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return ""
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil || key == "tasks" {
			return ""
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return ""
		}
		if key == "project" {
			var project string
			if json.Unmarshal(value, &project) != nil {
				return ""
			}
			return project
		}
	}
	return ""
}
