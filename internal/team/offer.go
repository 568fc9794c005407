package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/inbox"
	"github.com/seed6990a682/teams/internal/fsx"
)

const (
	offerPace = 2 * time.Second // between two notices of claimable tasks to one teammate
	maxOffers = 10              // tasks in one notice
)

// offerRecord is claimable.json of a teammate: which tasks it was told of as
// claimable. A notice that is about to be published stands in it first, so that
// a crash neither loses nor doubles it.
type offerRecord struct {
	SpawnID string           `json:"spawnId"` // the life that was told
	Told    map[string]int64 `json:"told"`    // task: epoch
	At      int64            `json:"at"`      // of the last notice, epoch ms
	Message string           `json:"message"` // its id
	Tasks   []offeredTask    `json:"tasks"`   // what stands in it
	Pending bool             `json:"pending"` // it may not be published yet
}

type offeredTask struct {
	ID      string `json:"id"`
	Epoch   int64  `json:"epoch"`
	Subject string `json:"subject"`
}

func (p Place) offerFile(name string) string {
	return filepath.Join(p.TeamDir(), name, "claimable.json")
}
func (p Place) offerLock(name string) string {
	return filepath.Join(p.TeamDir(), name, "claimable.lock")
}

// tickOffers tells each idle resident that has nothing to do which tasks it may
// take: of each task in each epoch once, so that an idle team stays idle.
func (t *Team) tickOffers(ctx context.Context, b *fsboard.Board, all []Teammate, r *TickReport) {
	revision, err := b.Revision()
	if err != nil {
		r.problem(stepWake, err)
		return
	}
	for _, tm := range all {
		if !tm.Resident() || tm.Status != StatusIdle || tm.Stop != "" || t.offers.nothingNew(tm.SpawnID, revision) {
			continue
		}
		if t.seenOnDisk(tm, revision) || t.Liveness(tm) != fsx.Alive {
			continue
		}
		n, err := t.offer(ctx, b, tm, revision)
		r.problem(stepWake, err)
		if n > 0 {
			r.Done = append(r.Done, Done{stepWake, eventClaimable, tm.Name, tm.Name + " was told of " + countTasks(n)})
		}
	}
}

// offer tells one teammate. It returns how many tasks are new to it. revision is
// that of the board, or an earlier one.
func (t *Team) offer(ctx context.Context, b *fsboard.Board, tm Teammate, revision int64) (int, error) {
	held, err := b.Held(tm.Name, tm.SpawnID)
	if err != nil {
		return 0, err
	}
	if len(held) > 0 { // it has something to do until the board says otherwise
		t.noteSeen(tm, offerSeen{revision, math.MaxInt64}, t.toldMark(tm.Name), "")
		return 0, nil
	}
	busy, err := t.hasOtherMail(tm.Name)
	if err != nil || busy {
		return 0, err
	}
	offers, err := b.Offers(tm.Name, tm.Agent)
	if err != nil {
		return 0, err
	}
	// A look before the lock, which is a write.
	told := t.toldMark(tm.Name)
	rec, err := t.readOffers(tm)
	if err != nil {
		return 0, err
	}
	if !rec.Pending {
		if fresh, _, _, err := t.choose(tm, &rec, &offers, told); err != nil || len(fresh) == 0 {
			return 0, err
		}
	}
	lock, free, err := fsx.TryAcquire(t.offerLock(tm.Name))
	if err != nil || !free {
		return 0, err
	}
	defer lock.Unlock()
	told = t.toldMark(tm.Name)
	if rec, err = t.readOffers(tm); err != nil {
		return 0, err
	}
	if rec.Pending {
		if err := t.publishOffer(tm, &rec); err != nil {
			return 0, err
		}
		told = t.toldMark(tm.Name)
	}
	fresh, still, more, err := t.choose(tm, &rec, &offers, told)
	if err != nil || len(fresh) == 0 {
		return 0, err
	}
	list := append(slices.Clone(fresh), still...)
	id, _, err := t.noticeID(ctx)
	if err != nil {
		return 0, err
	}
	rec.Message, rec.At, rec.Tasks, rec.Pending = id, nowMillis(), list, true
	if err := t.writeOffers(tm.Name, rec); err != nil {
		return 0, err
	}
	rec.prune(offers.Tasks)
	if err := t.publishOffer(tm, &rec); err != nil {
		return 0, err
	}
	if !more {
		t.noteSeen(tm, offerSeen{offers.Revision, offers.Next}, t.toldMark(tm.Name), "")
	}
	return len(fresh), nil
}

// choose says which tasks a notice would tell of now that are new, which of the
// last one it would repeat, and whether there are more; no new ones: there is
// nothing to tell now. told is the toldMark of rec.
func (t *Team) choose(tm Teammate, rec *offerRecord, offers *fsboard.Offers, told string) (fresh, still []offeredTask, more bool, err error) {
	fresh = rec.fresh(offers.Tasks)
	if len(fresh) == 0 {
		t.noteSeen(tm, offerSeen{offers.Revision, offers.Next}, told, "")
		return nil, nil, false, nil
	}
	if age := nowMillis() - rec.At; age >= 0 && age < offerPace.Milliseconds() {
		return nil, nil, false, nil
	}
	if unread, err := t.isUnread(tm.Name, rec.Message); err != nil {
		return nil, nil, false, err
	} else if unread { // it is replaced by this one
		still = rec.still(offers.Tasks)
	}
	room := maxOffers - len(still)
	if room <= 0 { // it has enough to choose from, and is told of the others when it has read that
		t.noteSeen(tm, offerSeen{offers.Revision, offers.Next}, told, rec.Message)
		return nil, nil, false, nil
	}
	more = len(fresh) > room
	return fresh[:min(len(fresh), room)], still, more, nil
}

// fresh are the offers of which the life was not told.
func (r *offerRecord) fresh(offers []fsboard.Offer) (out []offeredTask) {
	for _, o := range offers {
		if epoch, told := r.Told[o.ID]; !told || epoch != o.Epoch {
			out = append(out, offeredTask(o))
		}
	}
	return out
}

// still are the tasks of the last notice that are still on offer.
func (r *offerRecord) still(offers []fsboard.Offer) (out []offeredTask) {
	for _, task := range r.Tasks {
		if slices.Contains(offers, fsboard.Offer(task)) {
			out = append(out, task)
		}
	}
	return out
}

// prune forgets what is no longer on offer: when it comes back its epoch is
// another.
func (r *offerRecord) prune(offers []fsboard.Offer) {
	on := make(map[string]bool, len(offers))
	for _, o := range offers {
		on[o.ID] = true
	}
	for id := range r.Told {
		if !on[id] {
			delete(r.Told, id)
		}
	}
}

func (t *Team) readOffers(tm Teammate) (offerRecord, error) {
	rec := offerRecord{SpawnID: tm.SpawnID, Told: map[string]int64{}}
	path := t.offerFile(tm.Name)
	data, err := fsx.ReadFile(path, 16<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return rec, nil
	}
	if err != nil {
		return rec, err
	}
	var old offerRecord
	if err := json.Unmarshal(data, &old); err != nil {
		return rec, corrupt(path, "is no record of claimable tasks", err)
	}
	if old.SpawnID != tm.SpawnID || old.Told == nil {
		return rec, nil
	}
	return old, nil
}

func (t *Team) writeOffers(name string, rec offerRecord) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return fsx.Replace(t.offerFile(name), append(data, '\n'))
}

// publishOffer publishes the notice that stands in a record, unless it is there
// already, and notes that it is.
func (t *Team) publishOffer(tm Teammate, rec *offerRecord) error {
	box := t.Box(tm.Name)
	there, _, err := box.Has(rec.Message)
	if err != nil {
		return err
	}
	if !there {
		m := t.noticeMessage(rec.Message, notice{to: tm.Name, toSpawn: tm.SpawnID, event: eventClaimable, body: offerBody(rec.Tasks), about: tm.Name})
		if err := box.Publish(m); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := box.Coalesce(rec.Message, func(old *inbox.Message) bool {
		return old.Kind == inbox.KindNotice && old.Event == eventClaimable && about(old) == tm.Name
	}); err != nil {
		return err
	}
	for _, task := range rec.Tasks {
		rec.Told[task.ID] = task.Epoch
	}
	rec.Pending = false
	return t.writeOffers(tm.Name, *rec)
}

func countTasks(n int) string {
	if n == 1 {
		return "1 claimable task"
	}
	return fmt.Sprintf("%d claimable tasks", n)
}

func offerBody(tasks []offeredTask) string {
	var b strings.Builder
	if len(tasks) == 1 {
		b.WriteString("A task can be claimed:\n")
	} else {
		fmt.Fprintf(&b, "%d tasks can be claimed:\n", len(tasks))
	}
	for _, task := range tasks {
		fmt.Fprintf(&b, "- %s %s\n", task.ID, task.Subject)
	}
	b.WriteString("teams claim takes the next free one. When another was faster, nothing is to be done.\n")
	return b.String()
}

// hasOtherMail reports whether a mailbox has unread mail that is more than a
// notice of claimable tasks: its owner has something to do then.
func (t *Team) hasOtherMail(name string) (bool, error) {
	box := t.Box(name)
	ids, err := box.IDs(false)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		m, err := box.Peek(id, false)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || m.Kind != inbox.KindNotice || m.Event != eventClaimable {
			return true, nil
		}
	}
	return false, nil
}

// isUnread reports whether a message lies unread in a mailbox.
func (t *Team) isUnread(name, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	there, read, err := t.Box(name).Has(id)
	return there && !read, err
}
