package fsboard

import "github.com/seed6990a682/teams/internal/rawjson"

// The tables of the fields of the records, which say what their tags say.

// taskFields are the fields of a task in board.json.
var taskFields = []rawjson.Field[Task]{
	{Name: "id", Of: func(t *Task) any { return &t.ID }},
	{Name: "status", Of: func(t *Task) any { return (*string)(&t.Status) }},
	{Name: "subject", Of: func(t *Task) any { return &t.Subject }},
	{Name: "description", Opt: true, Of: func(t *Task) any { return &t.Description }},
	{Name: "dependsOn", Of: func(t *Task) any { return &t.DependsOn }},
	{Name: "verify", Opt: true, Of: func(t *Task) any { return &t.Verify }},
	{Name: "claimedBy", Opt: true, Of: func(t *Task) any { return &t.ClaimedBy }},
	{Name: "result", Opt: true, Of: func(t *Task) any { return &t.Result }},
	{Name: "errorMessage", Opt: true, Of: func(t *Task) any { return &t.ErrorMessage }},
	{Name: "createdAt", Of: func(t *Task) any { return &t.CreatedAt }},
	{Name: "updatedAt", Of: func(t *Task) any { return &t.UpdatedAt }},
	{Name: "completedAt", Opt: true, Of: func(t *Task) any { return &t.CompletedAt }},
	{Name: "verifyTimeoutMs", Of: func(t *Task) any { return &t.VerifyTimeoutMs }},
	{Name: "priority", Of: func(t *Task) any { return &t.Priority }},
	{Name: "role", Opt: true, Of: func(t *Task) any { return &t.Role }},
	{Name: "assignee", Opt: true, Of: func(t *Task) any { return &t.Assignee }},
	{Name: "tags", Opt: true, Of: func(t *Task) any { return &t.Tags }},
	{Name: "attempt", Of: func(t *Task) any { return &t.Attempt }},
	{Name: "maxAttempts", Of: func(t *Task) any { return &t.MaxAttempts }},
	{Name: "epoch", Of: func(t *Task) any { return &t.Epoch }},
	{Name: "notBefore", Opt: true, Of: func(t *Task) any { return &t.NotBefore }},
	{Name: "claim", Opt: true, Of: func(t *Task) any { return &t.Claim }},
	{Name: "gate", Opt: true, Of: func(t *Task) any { return &t.Gate }},
	{Name: "gateRuns", Opt: true, Of: func(t *Task) any { return &t.GateRuns }},
	{Name: "gateFailures", Opt: true, Of: func(t *Task) any { return &t.GateFailures }},
	{Name: "lastGate", Opt: true, Of: func(t *Task) any { return &t.LastGate }},
	{Name: "lastSubmission", Opt: true, Of: func(t *Task) any { return &t.LastSubmission }},
	{Name: "key", Opt: true, Of: func(t *Task) any { return &t.Key }},
	{Name: "createdBy", Opt: true, Of: func(t *Task) any { return &t.CreatedBy }},
}

// claimFields are the fields of claim.
var claimFields = []rawjson.Field[Claim]{
	{Name: "token", Of: func(c *Claim) any { return &c.Token }},
	{Name: "worker", Of: func(c *Claim) any { return &c.Worker }},
	{Name: "spawnId", Opt: true, Of: func(c *Claim) any { return &c.SpawnID }},
	{Name: "host", Opt: true, Of: func(c *Claim) any { return &c.Host }},
	{Name: "claimedAt", Of: func(c *Claim) any { return &c.ClaimedAt }},
	{Name: "leaseUntil", Opt: true, Of: func(c *Claim) any { return &c.LeaseUntil }},
	{Name: "leaseMs", Opt: true, Of: func(c *Claim) any { return &c.LeaseMs }},
	{Name: "bootId", Opt: true, Of: func(c *Claim) any { return &c.BootID }},
	{Name: "bootMs", Opt: true, Of: func(c *Claim) any { return &c.BootMs }},
}

// gateFields are the fields of gate.
var gateFields = []rawjson.Field[Gate]{
	{Name: "command", Of: func(g *Gate) any { return &g.Command }},
	{Name: "source", Of: func(g *Gate) any { return &g.Source }},
	{Name: "timeoutMs", Of: func(g *Gate) any { return &g.TimeoutMs }},
	{Name: "cwd", Of: func(g *Gate) any { return &g.Cwd }},
	{Name: "host", Of: func(g *Gate) any { return &g.Host }},
}

// receiptFields are the fields of lastGate.
var receiptFields = []rawjson.Field[Receipt]{
	{Name: "run", Of: func(r *Receipt) any { return &r.Run }},
	{Name: "submission", Opt: true, Of: func(r *Receipt) any { return &r.Submission }},
	{Name: "verdict", Of: func(r *Receipt) any { return &r.Verdict }},
	{Name: "exitCode", Of: func(r *Receipt) any { return &r.ExitCode }},
	{Name: "signal", Opt: true, Of: func(r *Receipt) any { return &r.Signal }},
	{Name: "durationMs", Of: func(r *Receipt) any { return &r.DurationMs }},
	{Name: "log", Of: func(r *Receipt) any { return &r.Log }},
	{Name: "outputBytes", Of: func(r *Receipt) any { return &r.OutputBytes }},
	{Name: "outputSha256", Of: func(r *Receipt) any { return &r.OutputSHA256 }},
	{Name: "commit", Opt: true, Of: func(r *Receipt) any { return &r.Commit }},
	{Name: "finishedAt", Of: func(r *Receipt) any { return &r.FinishedAt }},
	{Name: "reason", Opt: true, Of: func(r *Receipt) any { return &r.Reason }},
}

// decidedFields are the fields of lastSubmission.
var decidedFields = []rawjson.Field[Decided]{
	{Name: "id", Of: func(d *Decided) any { return &d.ID }},
	{Name: "token", Of: func(d *Decided) any { return &d.Token }},
	{Name: "worker", Opt: true, Of: func(d *Decided) any { return &d.Worker }},
	{Name: "spawnId", Opt: true, Of: func(d *Decided) any { return &d.SpawnID }},
	{Name: "status", Of: func(d *Decided) any { return &d.Status }},
	{Name: "outcome", Of: func(d *Decided) any { return &d.Outcome }},
}

// headFields are the fields of line 1 of the snapshot.
var headFields = []rawjson.Field[head]{
	{Name: "format", Of: func(h *head) any { return &h.Format }},
	{Name: "revision", Of: func(h *head) any { return &h.Revision }},
	{Name: "project", Of: func(h *head) any { return &h.Project }},
	{Name: "session", Of: func(h *head) any { return &h.Session }},
	{Name: "nextTask", Of: func(h *head) any { return &h.NextTask }},
	{Name: "updatedAt", Of: func(h *head) any { return &h.UpdatedAt }},
	{Name: "due", Opt: true, Of: func(h *head) any { return &h.Due }},
	{Name: "dueBoot", Opt: true, Of: func(h *head) any { return &h.DueBoot }},
	{Name: "leaseDue", Opt: true, Of: func(h *head) any { return &h.LeaseDue }},
	{Name: "holders", Of: func(h *head) any { return &h.Holders }},
	{Name: "holderSpawns", Opt: true, Of: func(h *head) any { return &h.HolderSpawns }},
	{Name: "noticeRev", Opt: true, Of: func(h *head) any { return &h.NoticeRev }},
	{Name: "noticeAt", Opt: true, Of: func(h *head) any { return &h.NoticeAt }},
}

// markerFields are the fields of a claim or a submission on disk.
var markerFields = []rawjson.Field[Marker]{
	{Name: "taskId", Of: func(m *Marker) any { return &m.TaskID }},
	{Name: "worker", Of: func(m *Marker) any { return &m.Worker }},
	{Name: "spawnId", Of: func(m *Marker) any { return &m.SpawnID }},
	{Name: "status", Opt: true, Of: func(m *Marker) any { return &m.Status }},
	{Name: "result", Opt: true, Of: func(m *Marker) any { return &m.Result }},
	{Name: "timestamp", Of: func(m *Marker) any { return &m.Timestamp }},
	{Name: "submission", Opt: true, Of: func(m *Marker) any { return &m.Submission }},
	{Name: "token", Opt: true, Of: func(m *Marker) any { return &m.Token }},
	{Name: "epoch", Opt: true, Of: func(m *Marker) any { return &m.Epoch }},
	{Name: "pid", Opt: true, Of: func(m *Marker) any { return &m.PID }},
	{Name: "host", Opt: true, Of: func(m *Marker) any { return &m.Host }},
	{Name: "leaseMs", Opt: true, Of: func(m *Marker) any { return &m.LeaseMs }},
	{Name: "bootId", Opt: true, Of: func(m *Marker) any { return &m.BootID }},
	{Name: "bootMs", Opt: true, Of: func(m *Marker) any { return &m.BootMs }},
}

// eventFields are the fields of a line of history.jsonl.
var eventFields = []rawjson.Field[Event]{
	{Name: "rev", Of: func(e *Event) any { return &e.Rev }},
	{Name: "n", Of: func(e *Event) any { return &e.N }},
	{Name: "of", Of: func(e *Event) any { return &e.Of }},
	{Name: "at", Of: func(e *Event) any { return &e.At }},
	{Name: "time", Of: func(e *Event) any { return &e.Time }},
	{Name: "event", Of: func(e *Event) any { return &e.Event }},
	{Name: "task", Opt: true, Of: func(e *Event) any { return &e.Task }},
	{Name: "epoch", Opt: true, Of: func(e *Event) any { return &e.Epoch }},
	{Name: "worker", Opt: true, Of: func(e *Event) any { return &e.Worker }},
	{Name: "spawnId", Opt: true, Of: func(e *Event) any { return &e.SpawnID }},
	{Name: "token", Opt: true, Of: func(e *Event) any { return &e.Token }},
	{Name: "by", Opt: true, Of: func(e *Event) any { return &e.By }},
	{Name: "reason", Opt: true, Of: func(e *Event) any { return &e.Reason }},
	{Name: "message", Opt: true, Of: func(e *Event) any { return &e.Message }},
	{Name: "submission", Opt: true, Of: func(e *Event) any { return &e.Submission }},
	{Name: "run", Opt: true, Of: func(e *Event) any { return &e.Run }},
	{Name: "verdict", Opt: true, Of: func(e *Event) any { return &e.Verdict }},
	{Name: "receipt", Opt: true, Of: func(e *Event) any { return &e.Receipt }},
	{Name: "fields", Opt: true, Of: func(e *Event) any { return &e.Fields }},
	{Name: "notices", Opt: true, Of: func(e *Event) any { return &e.Notices }},
	{Name: "record", Opt: true, Of: func(e *Event) any { return &e.Record }},
}
