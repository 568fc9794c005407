package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// logFile is the part of *os.File that a log needs.
type logFile interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// output takes what a gate prints: it hashes all of it, writes the first half
// of the log as it comes, and keeps what may become the last half in a ring.
// Trouble with the log is remembered and otherwise ignored, so that a full
// disk cannot hold up a gate.
type output struct {
	sum   hash.Hash
	bytes int64

	log     logFile // nil: no log
	logErr  error   // the first trouble with it
	head    int64   // bytes in the first half
	headMax int64
	midLine bool // the first half does not end in a newline

	ring    []byte // the last half, allocated when the first one is full
	ringMax int64
	at      int  // where the next byte goes
	full    bool // the ring has been filled once
}

func newOutput(log logFile, maxLog int64) *output {
	return &output{sum: sha256.New(), log: log, headMax: maxLog / 2, ringMax: maxLog - maxLog/2}
}

// take accepts the next bytes of the output.
func (o *output) take(p []byte) {
	o.bytes += int64(len(p))
	o.sum.Write(p)
	if o.log == nil || o.logErr != nil || len(p) == 0 {
		return
	}
	if room := o.headMax - o.head; room > 0 {
		first := p[:min(int64(len(p)), room)]
		p = p[len(first):]
		o.head += int64(len(first))
		o.midLine = first[len(first)-1] != '\n'
		o.write(first)
	}
	if len(p) > 0 {
		o.keep(p)
	}
}

// keep puts p into the ring.
func (o *output) keep(p []byte) {
	if o.ring == nil {
		o.ring = make([]byte, o.ringMax)
	}
	if over := len(p) - len(o.ring); over > 0 {
		p = p[over:]
	}
	for len(p) > 0 {
		n := copy(o.ring[o.at:], p)
		p = p[n:]
		if o.at += n; o.at == len(o.ring) {
			o.at, o.full = 0, true
		}
	}
}

// write adds p to the log until that fails for the first time.
func (o *output) write(p []byte) {
	if o.logErr == nil && len(p) > 0 {
		_, o.logErr = o.log.Write(p)
	}
}

// finish writes the last half of the log, makes the log durable and closes
// it. It returns the first error the log met.
func (o *output) finish() error {
	if o.log == nil {
		return nil
	}
	var older []byte
	newer := o.ring[:o.at]
	if o.full {
		older = o.ring[o.at:]
	}
	if cut := o.bytes - o.head - int64(len(older)+len(newer)); cut > 0 {
		line := fmt.Sprintf("… %d bytes cut …\n", cut)
		if o.midLine {
			line = "\n" + line
		}
		o.write([]byte(line))
	}
	o.write(older)
	o.write(newer)
	o.ring = nil
	if err := o.log.Sync(); o.logErr == nil && !noSync(err) {
		o.logErr = err
	}
	if err := o.log.Close(); o.logErr == nil {
		o.logErr = err
	}
	return o.logErr
}

// digest returns the SHA-256 of the output in hex.
func (o *output) digest() string { return hex.EncodeToString(o.sum.Sum(nil)) }
