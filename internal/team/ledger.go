package team

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/herdr"
	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// The states of a row of the ledger, in the order of a life.
const (
	LedgerRunning  = "running"  // it works, or waits for work
	LedgerSettled  = "settled"  // it has given its terminal report
	LedgerConsumed = "consumed" // the report was handed to whoever waited for it
	LedgerClosed   = "closed"   // it has ended
)

// LedgerRow is one state of one spawned teammate, in the row format of pi-pier
// (member names of the first group; what it has no value for is left empty).
// A later row of a taskId stands for the earlier ones. Times are epoch ms.
type LedgerRow struct {
	TaskID        string   `json:"taskId"`
	Kind          string   `json:"kind"` // always "task" here
	PaneID        string   `json:"paneId"`
	TabID         string   `json:"tabId"`
	TabName       string   `json:"tabName,omitempty"`
	WorkspaceID   string   `json:"workspaceId"`
	Cwd           string   `json:"cwd"`
	Description   string   `json:"description"`
	SessionFile   *string  `json:"sessionFile"`
	LaunchCommand []string `json:"launchCommand"`
	Status        string   `json:"status"`
	Outcome       string   `json:"outcome,omitempty"`
	CreatedAt     int64    `json:"createdAt"`
	ConsumedAt    int64    `json:"consumedAt,omitempty"`
	ClosedAt      int64    `json:"closedAt,omitempty"`
	RevivedFrom   string   `json:"revivedFrom,omitempty"`
	Via           string   `json:"via,omitempty"` // what wrote the row

	// Beside pi-pier's.
	Name    string `json:"name,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Host    string `json:"host,omitempty"` // KindPi, KindExec or KindHerdr
	SpawnID string `json:"spawnId,omitempty"`
	Session string `json:"session,omitempty"`
	At      int64  `json:"at,omitempty"` // of this row

	// How its pane was asked for, besides TabName.
	Placement string `json:"placement,omitempty"`
	GraceMs   int64  `json:"graceMs,omitempty"`
}

// ledgerRow is the row of a teammate in a state.
func (t *Team) ledgerRow(tm Teammate, status, via string) LedgerRow {
	row := LedgerRow{
		TaskID: tm.TaskID, Kind: "task", Cwd: tm.Cwd, Description: tm.Label, LaunchCommand: tm.Command, Status: status,
		CreatedAt: tm.CreatedAt, Via: via, Name: tm.Name, Agent: tm.Agent, Host: tm.Kind, SpawnID: tm.SpawnID,
		Session: t.Session, At: nowMillis(),
	}
	if row.TaskID == "" {
		row.TaskID = tm.SpawnID
	}
	if row.LaunchCommand == nil {
		row.LaunchCommand = []string{}
	}
	if strings.HasSuffix(tm.SessionFile, ".jsonl") {
		row.SessionFile = &tm.SessionFile
	}
	if tm.Kind == KindHerdr {
		row.TabName, row.Placement, row.GraceMs = tm.Tab, tm.Placement, tm.GraceMs
		// Whoever wants the pane has its lease; here it is for the record.
		if l, err := (&herdr.Leases{Root: t.Root}).Find(tm.SpawnID); err == nil && l != nil {
			row.PaneID, row.TabID, row.WorkspaceID = l.Pane, l.Tab, l.Workspace
		}
	}
	switch status {
	case LedgerClosed:
		row.ClosedAt = row.At
	case LedgerConsumed:
		row.ConsumedAt = row.At
	}
	return row
}

// writeLedger adds a row, durably.
func (t *Team) writeLedger(row LedgerRow) error {
	if row.Description == "" {
		row.Description = row.Name
	}
	data, err := json.Marshal(row)
	if err != nil {
		return err
	}
	path := t.LedgerPath()
	if err := fsx.MkdirAll(t.Root, filepath.Dir(path)); err != nil {
		return err
	}
	return fsx.Append(path, append(data, '\n'), true)
}

// maxLedger bounds what is read of one ledger.
const maxLedger = 64 << 20

// Ledger lists what was spawned in the project, oldest first, each with its
// latest state. Rows that earlier tools wrote under their flat names are there
// too. Lines that are no rows are skipped; skipped says how many.
func (t *Team) Ledger() (rows []LedgerRow, skipped int, err error) {
	at := map[string]int{}
	read := func(path string, ours bool) error {
		data, err := fsx.ReadFile(path, maxLedger)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for line := range bytes.Lines(data) {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			row, ok := parseLedgerRow(line)
			if !ok {
				skipped++
				continue
			}
			if !ours && row.Cwd != t.Project {
				continue // the old name stands for other projects too
			}
			i, known := at[row.TaskID]
			if !known {
				at[row.TaskID] = len(rows)
				rows = append(rows, row)
				continue
			}
			if row.Outcome == "" {
				row.Outcome = rows[i].Outcome
			}
			if row.PaneID == "" && row.SpawnID == rows[i].SpawnID {
				row.PaneID, row.TabID, row.WorkspaceID = rows[i].PaneID, rows[i].TabID, rows[i].WorkspaceID
			}
			rows[i] = row
		}
		return nil
	}
	for _, path := range t.OldLedgerPaths() {
		if err := read(path, false); err != nil {
			return nil, 0, err
		}
	}
	if err := read(t.LedgerPath(), true); err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(rows, func(a, b LedgerRow) int { return int(min(max(a.CreatedAt-b.CreatedAt, -1), 1)) })
	return rows, skipped, nil
}

// parseLedgerRow reads a row; false for what is none.
func parseLedgerRow(line []byte) (LedgerRow, bool) {
	var row LedgerRow
	if json.Unmarshal(line, &row) != nil || row.TaskID == "" {
		return row, false
	}
	switch row.Status {
	case LedgerRunning, LedgerSettled, LedgerConsumed, LedgerClosed:
	default:
		return row, false
	}
	switch row.Kind {
	case "short", "resident", "":
		row.Kind = "task" // as pi-pier reads them
	}
	if row.SessionFile != nil && !strings.HasSuffix(*row.SessionFile, ".jsonl") {
		row.SessionFile = nil
	}
	if row.LaunchCommand == nil {
		row.LaunchCommand = []string{}
	}
	return row, true
}

// minLedgerPrefix is how much of an id has to be given.
const minLedgerPrefix = 4

// LedgerFind returns the row of an id, or of a unique prefix of at least four
// characters.
func (t *Team) LedgerFind(id string) (LedgerRow, error) {
	rows, _, err := t.Ledger()
	if err != nil {
		return LedgerRow{}, err
	}
	var found []LedgerRow
	for _, row := range rows {
		if row.TaskID == id {
			return row, nil
		}
		if len(id) >= minLedgerPrefix && strings.HasPrefix(row.TaskID, id) {
			found = append(found, row)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return LedgerRow{}, errs.New(errs.Usage, "%d rows of the ledger begin with %s", len(found), id).WithHint("teams ledger list")
	case len(id) < minLedgerPrefix:
		return LedgerRow{}, errs.New(errs.NotFound, "the ledger has no %s; a prefix needs at least %d characters", id, minLedgerPrefix).
			WithHint("teams ledger list")
	}
	return LedgerRow{}, errs.New(errs.NotFound, "the ledger has no %s", id).WithHint("teams ledger list")
}

// keptConversation is where the conversation of a row lies: where the row says,
// or where the end of its session has put it. "" when there is none.
func (t *Team) keptConversation(row *LedgerRow) string {
	if row.SessionFile == nil {
		return ""
	}
	if kept := filepath.Join(filepath.Dir(t.LedgerPath()), row.TaskID+".jsonl"); !fileExists(*row.SessionFile) && fileExists(kept) {
		return kept
	}
	return *row.SessionFile
}

// keepConversations moves the conversations of a session that ends beside the
// ledger, and says there where they are, so that their teammates can be revived:
// those of earlier lives too.
func (t *Team) keepConversations() error {
	rows, _, err := t.Ledger()
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.SessionFile == nil || row.Session != t.Session || filepath.Dir(filepath.Dir(*row.SessionFile)) != t.TeamDir() {
			continue
		}
		id := row.TaskID
		if fsx.CheckSessionKey(id) != nil {
			id = row.SpawnID
		}
		kept := filepath.Join(filepath.Dir(t.LedgerPath()), id+".jsonl")
		err := fsx.Move(*row.SessionFile, kept)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // it has never said anything
		case errors.Is(err, fs.ErrExist):
			// An earlier life of it was kept, and this one went on from a copy.
			kept = filepath.Join(filepath.Dir(kept), id+"-"+row.SpawnID+".jsonl")
			err = fsx.Move(*row.SessionFile, kept)
		}
		if err != nil {
			return err
		}
		if err := fsx.FsyncDir(filepath.Dir(kept)); err != nil {
			return err
		}
		row.SessionFile, row.Status, row.Via, row.At = &kept, LedgerClosed, "gc", nowMillis()
		if row.ClosedAt == 0 {
			row.ClosedAt = row.At
		}
		if err := t.writeLedger(row); err != nil {
			return err
		}
	}
	return nil
}
