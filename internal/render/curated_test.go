package render

import (
	"strings"
	"testing"
)

// The long form of what comes back is for people: of a teammate what they ask of
// it, and nothing that is empty. The results of other programs are left alone.
func TestCuratedReturn(t *testing.T) {
	const life = `"name":"ann","agent":"coder","kind":"exec","spawnId":"b37458fc5864cd4fd7bf30f1d06c8435","status":"stopped","pid":12,"host":"box","cwd":"/x",` +
		`"command":["sh"],"tools":["bash"],"sessionFile":"/x/s.jsonl","graceMs":1,"activeAt":1796056180351,"updatedAt":1796056180351,"taskUsage":{"t_1":{"tokens":1}},` +
		`"worktree":"/x/w","branch":"teams/ann-1","turns":2,"usage":{"tokens":5},"currentTask":"t_1","error":"killed"`
	const shown = "spawn id: b37458fc5864cd4fd7bf30f1d06c8435\nworktree: /x/w\nbranch: teams/ann-1\nturns: 2\nusage:\n  tokens: 5\ncurrent task: t_1\nerror: killed\n"
	for _, tt := range []struct{ name, input, want string }{
		{"a teammate", `{"tool":"shutdown","call":{"name":"ann","host":"exec"},"return":{` + life + `,"taskId":"b37458fc5864cd4fd7bf30f1d06c8435"},"returnCode":0}`, "status: stopped\nagent: coder\n" + shown},
		{"one that was revived", `{"tool":"resume","call":{"name":"ann","agent":"coder"},"return":{"name":"ann","spawnId":"b37458fc5864cd4fd7bf30f1d06c8435","status":"idle","taskId":"0f6c1a2b-one","usage":{}}}`,
			"status: resumed\nspawn id: b37458fc5864cd4fd7bf30f1d06c8435\nstate: idle\nledger id: 0f6c1a2b-one\n"},
		{"nothing is settled", `{"tool":"watch","call":{"ids":["t_1"]},"return":{"settled":[],"pending":["t_1"],"list":[],"obj":{},"text":"","nothing":0,"no":false}}`,
			"status: watching…\npending:\n  - t_1\nnothing: 0\nno: no\n"},
		{"another program's", `{"tool":"shepherd_delegate","call":{"target":"a"},"return":{"list":[],"pid":7,"spawnId":"x"}}`, "status: delegated\nlist: []\npid: 7\nspawn id: x\n"},
		{"an unknown tool's", `{"tool":"frob","call":{},"return":{"list":[]}}`, "status: success\nlist: []\n"},
	} {
		// shutdown of a record with an error is a success all the same.
		d, err := Decode([]byte(tt.input), func(string) int { return 3 })
		if err != nil {
			t.Fatal(err)
		}
		d.Operation.OK = tt.name == "a teammate"
		w := New(Options{Expanded: true})
		w.Operation(d.Operation)
		if _, got, _ := strings.Cut(w.String(), "\nreturn\n"); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}
