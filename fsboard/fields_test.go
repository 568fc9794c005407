package fsboard

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/rawjson/rawjsontest"
)

func TestTablesOfFields(t *testing.T) {
	rawjsontest.SameAsTags(t, taskFields)
	rawjsontest.SameAsTags(t, claimFields)
	rawjsontest.SameAsTags(t, gateFields)
	rawjsontest.SameAsTags(t, receiptFields)
	rawjsontest.SameAsTags(t, decidedFields)
	rawjsontest.SameAsTags(t, headFields)
	rawjsontest.SameAsTags(t, markerFields)
	rawjsontest.SameAsTags(t, eventFields)
}

// A task is read and written as encoding/json would by its tags, unknown
// fields apart.
func TestTaskAsByItsTags(t *testing.T) {
	type plain Task // has the tags, not the methods
	full := Task{
		ID: "t_1", Status: Claimed, Subject: `a "b" <&> é`, Description: "# x\n\ty\u2028", DependsOn: []string{"t_2"}, Verify: "true",
		ClaimedBy: "ann", Result: "r", ErrorMessage: "e", CreatedAt: 1, UpdatedAt: 2, CompletedAt: 3, VerifyTimeoutMs: 4, Priority: 1,
		Role: "dev", Assignee: "ann", Tags: []string{"x", "y"}, Attempt: 1, MaxAttempts: 2, Epoch: 3, NotBefore: 4,
		Claim: &Claim{Token: "t", Worker: "ann", SpawnID: "s", Host: "h", ClaimedAt: 1, LeaseUntil: 2, LeaseMs: 3, BootID: "b", BootMs: 4},
		Gate:  &Gate{Command: "c", Source: "task", TimeoutMs: 1, Cwd: "/", Host: "h"}, GateRuns: 1, GateFailures: 2,
		LastGate: &Receipt{
			Run: 1, Submission: "s", Verdict: VerdictKilled, ExitCode: -1, Signal: "KILL", DurationMs: 1, Log: "/l",
			OutputBytes: 2, OutputSHA256: "00", Commit: "c", FinishedAt: 3, Reason: "r",
		},
		LastSubmission: &Decided{ID: "i", Token: "t", Worker: "w", SpawnID: "s", Status: "completed", Outcome: OutcomeDropped},
		Key:            "k", CreatedBy: "leader",
	}
	for _, task := range []Task{full, {DependsOn: []string{}}} {
		got, err := task.encode()
		if err != nil {
			t.Fatal(err)
		}
		want, err := encodeJSON(plain(task))
		if err != nil || string(got) != string(want) {
			t.Errorf("written\n%s, by the tags\n%s %v", got, want, err)
		}
		back := *newTask()
		if err := json.Unmarshal(got, (*plain)(&back)); err != nil {
			t.Fatal(err)
		}
		var read Task
		if err := read.UnmarshalJSON(got); err != nil || !reflect.DeepEqual(read, back) {
			t.Errorf("read %+v, by the tags %+v, %v", read, back, err)
		}
	}
	v := reflect.ValueOf(full)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && v.Field(i).IsZero() {
			t.Errorf("the test leaves out %s", f.Name)
		}
	}
}

// Fields that this version does not know survive in every record.
func TestUnknownFieldsOfRecords(t *testing.T) {
	const row = `{"id":"t_1","status":"claimed","subject":"s","dependsOn":[],"createdAt":0,"updatedAt":0,"verifyTimeoutMs":0,"priority":0,` +
		`"attempt":0,"maxAttempts":1,"epoch":0,"claim":{"token":"t","worker":"w","claimedAt":0,"x":[1]},"gate":{"command":"c","source":"task",` +
		`"timeoutMs":0,"cwd":"","host":"","y":{}},"z":null,"zz":"a"}`
	task, err := decodeTask([]byte(row))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := task.encode(); err != nil || string(out) != row {
		t.Errorf("%s %v, want\n%s", out, err, row)
	}
	if _, err := decodeTask([]byte(strings.Replace(row, `"priority":0`, `"priority":"high"`, 1))); err == nil || !strings.Contains(err.Error(), "priority") {
		t.Errorf("a priority that is no number: %v", err)
	}
}
