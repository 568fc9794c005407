package pi

import (
	"crypto/sha256"
	"hash"
	"strconv"
)

// What is kept of a line, whatever its length.
const (
	maxWord    = 128      // types, names, ids
	maxError   = 4 << 10  // error texts
	maxDelta   = 16 << 10 // one piece of streamed text
	maxPath    = 8 << 10  // paths
	maxHead    = 400      // beginnings of texts, to show
	maxOptions = 64       // of a dialog
	maxQueue   = 4096     // queued messages that are looked at
)

// digest names a text without holding it.
type digest struct {
	size int64
	sum  [sha256.Size]byte
}

func digestOf(text string) digest {
	return digest{int64(len(text)), sha256.Sum256([]byte(text))}
}

// event is what is needed of one line of pi's output.
type event struct {
	kind      string // the type
	id        string
	command   string // of a response
	success   bool
	err       string
	state     *stateData
	role      string
	text      digest // of a user message
	head      string // its beginning
	stop      string // reason
	usage     Usage
	update    string // kind of a piece of a message
	delta     string
	callID    string
	tool      string
	args      []arg
	isError   bool
	reason    string // of a compaction
	willRetry bool
	aborted   bool
	attempt   int64
	attempts  int64
	delayMs   float64
	queued    []digest
	ui        UIRequest
	extension string // path
}

// arg is one argument of a tool: its name and the beginning of its value.
type arg struct{ name, value string }

// stateData is what get_state answers.
type stateData struct {
	model, provider string
	streaming       bool
	compacting      bool
	sessionFile     string
	sessionID       string
	messages        int64
	pending         int64
}

// readEvent reads one line whole. ok is false at the end of the stream. A line
// that is no event has no kind and comes with its beginning as head.
func readEvent(l *lexer) (ev event, ok bool) {
	head := l.head(120)
	if !l.fill() {
		return ev, false
	}
	err := l.object(func(key string) error { return ev.field(l, key) })
	if err != nil && err != errEnough {
		ev = event{head: head}
	}
	if !l.endLine() {
		return event{}, false // cut by the end of the process
	}
	if ev.kind == "" {
		ev.head = head
	}
	return ev, true
}

// field reads one member of a line's object. What comes behind the needed part
// of the long ones is not looked at.
func (ev *event) field(l *lexer, key string) (err error) {
	switch key {
	case "type":
		if ev.kind, err = l.text(maxWord); err != nil {
			return err
		}
		if ev.kind == "agent_end" || ev.kind == "turn_end" || ev.kind == "tool_execution_update" {
			return errEnough
		}
	case "id":
		ev.id, err = l.text(maxWord)
	case "command":
		ev.command, err = l.text(maxWord)
	case "success":
		ev.success, err = l.truth()
	case "error", "errorMessage", "finalError":
		err = l.keep(&ev.err, maxError)
	case "data":
		if ev.command == "get_state" {
			ev.state = new(stateData)
			return ev.state.read(l)
		}
		err = l.skip()
	case "message":
		if k, kerr := l.kind(); kerr != nil || k != '{' {
			ev.ui.Message, err = l.text(maxError)
			return err
		}
		return ev.message(l)
	case "assistantMessageEvent":
		return ev.piece(l)
	case "toolCallId":
		ev.callID, err = l.text(maxWord)
	case "toolName":
		ev.tool, err = l.text(maxWord)
	case "args":
		err = l.object(func(name string) error {
			v, err := l.text(maxHead)
			if err == nil && v != "" && len(ev.args) < 16 {
				ev.args = append(ev.args, arg{name, v})
			}
			return err
		})
	case "isError":
		ev.isError, err = l.truth()
	case "reason":
		ev.reason, err = l.text(maxWord)
	case "willRetry":
		ev.willRetry, err = l.truth()
	case "aborted":
		ev.aborted, err = l.truth()
	case "attempt":
		ev.attempt, err = l.whole()
	case "maxAttempts":
		ev.attempts, err = l.whole()
	case "delayMs":
		ev.delayMs, err = l.number()
	case "steering", "followUp":
		err = l.array(func() error {
			d, _, err := l.digest(nil, 0)
			if err == nil && len(ev.queued) < maxQueue {
				ev.queued = append(ev.queued, d.digest())
			}
			return err
		})
	case "method":
		ev.ui.Method, err = l.text(maxWord)
	case "title":
		ev.ui.Title, err = l.text(maxError)
	case "prefill":
		ev.ui.Prefill, err = l.text(maxError)
	case "placeholder":
		ev.ui.Placeholder, err = l.text(maxError)
	case "options":
		err = l.array(func() error {
			v, err := l.text(maxError)
			if err == nil && len(ev.ui.Options) < maxOptions {
				ev.ui.Options = append(ev.ui.Options, v)
			}
			return err
		})
	case "extensionPath":
		ev.extension, err = l.text(maxPath)
	default:
		err = l.skip()
	}
	return err
}

// message reads the message of message_start, message_end and others.
func (ev *event) message(l *lexer) error {
	if ev.kind == "message_update" {
		return l.skip() // the piece says it
	}
	return l.object(func(key string) (err error) {
		switch key {
		case "role":
			ev.role, err = l.text(maxWord)
			if err == nil && !ev.wanted() {
				return errEnough
			}
		case "content":
			if ev.role != "user" {
				return l.skip()
			}
			ev.text, ev.head, err = l.content()
		case "stopReason":
			ev.stop, err = l.text(maxWord)
		case "errorMessage":
			err = l.keep(&ev.err, maxError)
		case "usage":
			ev.usage, err = l.usage()
		default:
			err = l.skip()
		}
		return err
	})
}

// wanted tells whether the message at hand has anything that is needed.
func (ev *event) wanted() bool {
	switch ev.kind {
	case "message_start":
		return ev.role == "user"
	case "message_end":
		return ev.role == "assistant"
	}
	return ev.kind == "" // not known yet
}

// piece reads what a message_update adds. The message so far, which is in the
// line twice, comes behind it.
func (ev *event) piece(l *lexer) error {
	err := l.object(func(key string) (err error) {
		switch key {
		case "type":
			ev.update, err = l.text(maxWord)
			if err == nil && ev.update != "text_delta" && ev.update != "thinking_delta" && ev.kind != "" {
				return errEnough
			}
		case "delta":
			ev.delta, err = l.text(maxDelta)
			if err == nil && ev.update != "" && ev.kind != "" {
				return errEnough
			}
		default:
			err = l.skip()
		}
		return err
	})
	return err
}

func (s *stateData) read(l *lexer) error {
	return l.object(func(key string) (err error) {
		switch key {
		case "model":
			return l.object(func(key string) (err error) {
				switch key {
				case "id":
					s.model, err = l.text(maxError)
				case "provider":
					s.provider, err = l.text(maxError)
				default:
					err = l.skip()
				}
				return err
			})
		case "isStreaming":
			s.streaming, err = l.truth()
		case "isCompacting":
			s.compacting, err = l.truth()
		case "sessionFile":
			s.sessionFile, err = l.text(maxPath)
		case "sessionId":
			s.sessionID, err = l.text(maxWord)
		case "messageCount":
			s.messages, err = l.whole()
		case "pendingMessageCount":
			s.pending, err = l.whole()
		default:
			err = l.skip()
		}
		return err
	})
}

// keep reads a text into s unless s has one already.
func (l *lexer) keep(s *string, limit int) error {
	v, err := l.text(limit)
	if err == nil && *s == "" {
		*s = v
	}
	return err
}

func (l *lexer) truth() (bool, error) {
	v, err := l.text(maxWord)
	return v == "true", err
}

// number reads a number; what is none is 0.
func (l *lexer) number() (float64, error) {
	v, err := l.text(maxScalar)
	if err != nil {
		return 0, err
	}
	f, _ := strconv.ParseFloat(v, 64)
	return f, nil
}

func (l *lexer) whole() (int64, error) {
	f, err := l.number()
	if f > 1<<52 || f < 0 {
		f = 0
	}
	return int64(f), err
}

// summer makes the digest of a text that comes in pieces.
type summer struct {
	size int64
	hash hash.Hash
}

func (s *summer) digest() (d digest) {
	d.size = s.size
	s.hash.Sum(d.sum[:0])
	return d
}

// digest reads a string, adds it to s (nil: a new one), and returns its first
// head bytes. Another value counts as "".
func (l *lexer) digest(s *summer, head int) (*summer, string, error) {
	if s == nil {
		s = &summer{hash: sha256.New()}
	}
	k, err := l.kind()
	if err != nil {
		return s, "", err
	}
	if k != '"' {
		return s, "", l.skip()
	}
	var first []byte
	err = l.decode(func(piece []byte) {
		s.size += int64(len(piece))
		s.hash.Write(piece)
		if n := head - len(first); n > 0 {
			first = append(first, piece[:min(n, len(piece))]...)
		}
	})
	return s, cut(string(first)), err
}

// content reads what a user message says: a string, or blocks of which the
// texts count, joined.
func (l *lexer) content() (digest, string, error) {
	s := &summer{hash: sha256.New()}
	k, err := l.kind()
	if err != nil {
		return digest{}, "", err
	}
	if k == '"' {
		_, head, err := l.digest(s, maxHead)
		return s.digest(), head, err
	}
	var head string
	err = l.array(func() error {
		return l.object(func(key string) error {
			if key != "text" {
				return l.skip()
			}
			_, h, err := l.digest(s, maxHead-len(head))
			head += h
			return err
		})
	})
	return s.digest(), head, err
}

func (l *lexer) usage() (u Usage, err error) {
	u.Turns = 1
	err = l.object(func(key string) (err error) {
		switch key {
		case "input":
			u.Input, err = l.whole()
		case "output":
			u.Output, err = l.whole()
		case "cacheRead":
			u.CacheRead, err = l.whole()
		case "cacheWrite":
			u.CacheWrite, err = l.whole()
		case "totalTokens":
			u.Total, err = l.whole()
		case "cost":
			return l.object(func(key string) (err error) {
				if key != "total" {
					return l.skip()
				}
				u.Cost, err = l.number()
				return err
			})
		default:
			err = l.skip()
		}
		return err
	})
	return u, err
}
