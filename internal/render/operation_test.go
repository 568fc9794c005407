package render

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// rows decodes an operation and returns its call row and its result row.
func rows(t *testing.T, input string) (call, result string) {
	t.Helper()
	d, err := Decode([]byte(input), func(string) int { return 3 })
	if err != nil {
		t.Fatalf("%s: %v", input, err)
	}
	return d.Operation.CallLine(), d.Operation.ResultLine()
}

func expanded(t *testing.T, input string, opt Options) string {
	t.Helper()
	d, err := Decode([]byte(input), func(string) int { return 3 })
	if err != nil {
		t.Fatalf("%s: %v", input, err)
	}
	opt.Expanded = true
	w := New(opt)
	w.Operation(d.Operation)
	return w.String()
}

func TestRows(t *testing.T) {
	const uuid = "4c1e9b2a-7d30-4f68-9a51-c2e8d07b6f13"
	long := strings.Repeat("word ", 30)
	for _, tt := range []struct{ name, input, call, result string }{
		{"only the call", `{"tool":"spawn","call":{"agent":"worker"}}`, "spawn worker", ""},
		{"absent arguments are left out", `{"tool":"spawn","call":{"agent":"worker","label":"","placement":null},"return":{}}`, "spawn worker", "✓ success"},
		{"a name of its own", `{"tool":"spawn","call":{"name":"ann","agent":"coder","label":"parser","placement":"tab"},"partial":true}`, "spawn ann · coder · parser · tab", "spawning…"},
		{"a name that is the agent's", `{"tool":"teammate_spawn","call":{"name":"coder","agent":"coder","prompt":"do it"}}`, "teammate_spawn coder", ""},
		{"an argument is folded and cut at 72", `{"tool":"spawn","call":{"agent":"worker","label":"a \n b\t` + long + `"}}`,
			"spawn worker · a b " + strings.Repeat("word ", 13) + "wo…", ""},
		{"no opaque ids", `{"tool":"status","call":{"id":"shepherd-agent-00ff00ff-` + uuid + `"},"return":{"state":"done"}}`, "status", "done"},
		{"the name of what an opaque id meant", `{"tool":"close","call":{"id":"` + uuid + `"},"return":{"agent":"worker"}}`, "close worker", "✓ closed"},
		{"no pane id as target", `{"tool":"read","call":{"target":"w6528f78e5be462:p1","lines":5},"return":{"output":"\n\n  a  b\nc"}}`, "read 5 lines", "a b"},
		{"nothing to read", `{"tool":"read","call":{"name":"ann"},"return":{"output":" \n"}}`, "read ann", "(no terminal output)"},
		{"delegate", `{"tool":"delegate","call":{"target":"worker","task":"fix\nit","timeout":20},"return":{"task":{"id":"t_1","status":"pending"}}}`, "delegate worker · fix it · timeout 20m", "✓ delegated"},
		{"delegate, a duration", `{"tool":"delegate","call":{"name":"ann","subject":"fix","timeoutMs":90000}}`, "delegate ann · fix · timeout 1m30s", ""},
		{"message", `{"tool":"send_message","call":{"to":"bob","message":"hi","expectsReply":true,"delivery":"followUp"},"return":{"id":"x"}}`, "send_message bob · hi · expects reply · followUp", "✓ queued"},
		{"message to several", `{"tool":"send","call":{"to":["bob","cid"],"text":"hi"},"partial":true}`, "send bob, cid · hi", "waiting…"},
		{"message, the target waits", `{"tool":"message","call":{"target":"bob"},"return":{"targetTaskState":"waiting"}}`, "message bob", "waiting…"},
		{"message that came back", `{"tool":"message","call":{"target":"bob"},"return":{"outcome":"undelivered"}}`, "message bob", "✗ failed · undelivered"},
		{"watch", `{"tool":"watch","call":{"ids":["t_1","t_2"]},"return":{"pending":["t_2"],"settled":[{"id":"t_1","state":"failed"}]}}`, "watch t_1, t_2", "watching…"},
		{"watch, all settled", `{"tool":"watch","call":{"ids":["t_1"]},"return":{"pending":[],"settled":[{"id":"t_1","state":"completed"}]}}`, "watch t_1", "✓ completed"},
		{"watch, one failed", `{"tool":"watch","call":{"ids":["t_1","t_2"]},"return":{"pending":[],"settled":[{"id":"t_1","state":"completed"},{"id":"t_2","state":"timed_out"}]}}`, "watch t_1, t_2", "✗ failed · t_2 timed out"},
		{"watch, a completion with a code", `{"tool":"watch","call":{"ids":["` + uuid + `"]},"return":{"completed":[{"taskId":"` + uuid + `","status":"completed","returnCode":1}]}}`, "watch 1 task", "✗ failed · 1 of 1 task failed"},
		{"watch with numbers of pending", `{"tool":"watch","call":{"taskIds":["` + uuid + `","t_1"]},"return":{"pending":2}}`, "watch 2 tasks", "watching…"},
		{"status, its first line", `{"tool":"status","call":{"name":"ann"},"return":{"output":"agent done.\nmore"}}`, "status ann", "agent done."},
		{"status of a teammate", `{"schema":1,"ok":true,"data":{"teammate":{"name":"ann","status":"working","currentTask":"t_3","activity":"bash: go test","error":"earlier"}}}`, "operation", "✓ success"},
		{"herd", `{"tool":"shepherd herd","call":{},"return":{"agents":[{"id":"a"},{"state":"working"}]}}`, "shepherd herd", "Active agents: 2"},
		{"herd, counted", `{"tool":"herd","return":{"active":1,"agents":[{"id":"a"},{"state":"working"}]}}`, "herd", "Active agents: 1"},
		{"herd, empty", `{"tool":"herd","return":{"agents":[]}}`, "herd", "Active agents: 0"},
		{"agents", `{"tool":"agents","call":{"scope":"user"},"return":{"agents":[{"name":"planner"},{"name":"scout"},{"name":"scout"},"worker"]}}`, "agents user", "Available agents: planner, scout, worker"},
		{"agents, none", `{"tool":"agents","return":{}}`, "agents", "Available agents: none"},
		{"shutdown", `{"tool":"teammate_shutdown","call":{"name":"ann","now":true},"partial":true}`, "teammate_shutdown ann · now", "stopping…"},
		{"shutdown of all", `{"tool":"shutdown","call":{"all":true},"return":{}}`, "shutdown all", "✓ stopped"},
		{"shutdown that is not over", `{"tool":"shutdown","call":{"name":"ann"},"return":{"status":"stopping"}}`, "shutdown ann", "stopping…"},
		{"interrupt", `{"tool":"interrupt","call":{"name":"ann"},"return":{}}`, "interrupt ann", "✓ interrupted"},
		{"resume by an opaque id", `{"tool":"resume","call":{"id":"b37458fc5864cd4fd7bf30f1d06c8435"},"return":{"name":"ann"}}`, "resume ann", "✓ resumed"},
		{"handoff", `{"tool":"handoff","call":{"name":"ann"},"partial":true}`, "handoff ann", "handing off…"},
		{"task_create", `{"tool":"task_create","call":{"subject":"fix","description":"x","dependsOn":["t_1","t_2"]},"return":{"task":{"id":"t_3"}}}`, "task_create fix · after t_1, t_2", "✓ created · t_3"},
		{"task add", `{"tool":"task add","call":{"subject":"fix"},"return":{"id":"t_3"}}`, "task add fix", "✓ created · t_3"},
		{"task_list", `{"tool":"task_list","call":{},"return":{"tasks":[{"state":"ready"},{"state":"claimed"},{"state":"ready"}],"total":7}}`, "task_list", "Tasks: 7 · 2 ready · 1 claimed"},
		{"task_claim of any", `{"tool":"task_claim","call":{},"return":{"task":{"id":"t_3","subject":"fix it"}}}`, "task_claim", "✓ claimed · t_3 fix it"},
		{"task_claim of one", `{"tool":"task_claim","call":{"taskId":"t_3"},"return":{"task":{"id":"t_3","subject":"fix it"}}}`, "task_claim t_3", "✓ claimed"},
		{"task_submit", `{"tool":"task_submit","call":{"taskId":"t_3","status":"completed","result":"x"},"return":{"task":{"id":"t_3","state":"completed"},"verdict":"passed"}}`, "task_submit t_3 · completed", "✓ completed"},
		{"task_submit that waits for its verdict", `{"tool":"task_submit","call":{"taskId":"t_3"},"return":{"task":{"id":"t_3","state":"submitted"},"queued":true}}`, "task_submit t_3", "verifying…"},
		{"task_submit as failed", `{"tool":"task_submit","call":{"taskId":"t_3","status":"failed"},"return":{"task":{"state":"waiting","status":"failed"},"verdict":"none"}}`, "task_submit t_3 · failed", "✗ failed · submitted as failed"},
		{"task_submit, the gate failed", `{"tool":"submit","call":{"id":"t_3"},"return":{"verdict":"timed_out"}}`, "submit t_3", "✗ failed · the gate says timed out"},
		{"an unknown tool", `{"tool":"frob_it","call":{"what":"x","count":3,"all":true,"no":false,"deep":{"a":1},"list":["a","b"],"paneId":"w1:p2"},"return":{}}`, "frob_it x · count 3 · all · a, b", "✓ success"},
		{"an unknown tool with much", `{"tool":"f","call":{"a":"1","b":"2","c":"3","d":"4","e":"5","f":"6","g":"7"},"partial":true}`, "f 1 · 2 · 3 · 4 · 5 · …", "working…"},
		{"a tool of two lines", `{"tool":"a\nb","call":{}}`, "a b", ""},

		{"a failure by its error", `{"tool":"spawn","return":{"error":"no\nsuch"},"returnCode":0}`, "spawn", "✗ failed · no"},
		{"by its code", `{"tool":"spawn","return":{},"returnCode":1}`, "spawn", "✗ failed · unknown error"},
		{"by a code in the return", `{"tool":"close","return":{"returnCode":130}}`, "close", "✗ failed · cancelled"},
		{"by a code too large to be one", `{"tool":"close","return":{"returnCode":1e400}}`, "close", "✗ failed · unknown error"},
		{"by ok", `{"tool":"x","return":{"ok":false,"reason":"why not"}}`, "x", "✗ failed · why not"},
		{"by isError", `{"tool":"x","return":{"a":1},"isError":true}`, "x", "✗ failed · unknown error"},
		{"by a status", `{"tool":"x","return":{"status":"failed"}}`, "x", "✗ failed · unknown error"},
		{"by a verdict", `{"tool":"verify","return":{"verdict":"killed"}}`, "verify", "✗ failed · the gate says killed"},
		{"an error object", `{"tool":"x","return":{"error":{"code":"busy","message":"try again"}}}`, "x", "✗ failed · try again"},
		{"an error that is true", `{"tool":"x","return":{"error":true}}`, "x", "✗ failed · unknown error"},
		{"no error", `{"tool":"x","return":{"error":""}}`, "x", "✓ success"},
		{"no error, null", `{"tool":"x","return":{"error":null}}`, "x", "✓ success"},
		{"partial and failed", `{"tool":"spawn","partial":true,"return":{"error":"gone"}}`, "spawn", "✗ failed · gone"},
		{"the words of Shepherd are left out", `{"tool":"close","return":{"error":"Herd close failed (return code 1): unknown handle"}}`, "close", "✗ failed · unknown handle"},
		{"a pane in an error", `{"tool":"close","return":{"error":"pane w9:p9 not found"}}`, "close", "✗ failed · pane not found"},
		{"a quoted pane in an error", `{"tool":"close","return":{"error":"pane \"w9:p9\": gone"}}`, "close", "✗ failed · pane: gone"},
		{"a spawn that did not last", `{"tool":"spawn","return":{"status":"stopped"}}`, "spawn", "✗ failed · unknown error"},
		{"a teammate that is long dead", `{"tool":"status","call":{"name":"ann"},"return":{"state":"failed"}}`, "status ann", "failed"},
		{"control characters", `{"tool":"spawn","call":{"agent":"a\u001b[2Jb\u202ec"},"return":{"error":"\u001b]0;x\u0007"}}`, "spawn a\uFFFD[2Jb\uFFFDc", "✗ failed · \uFFFD]0;x\uFFFD"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			call, result := rows(t, tt.input)
			if call != tt.call || result != tt.result {
				t.Errorf("%s\n got %q\n     %q\nwant %q\n     %q", tt.input, call, result, tt.call, tt.result)
			}
		})
	}
}

// A row is cut to the terminal, in whole characters, and nowhere else.
func TestRowsAreCut(t *testing.T) {
	op := Operation{Tool: "spawn", Call: Pairs("agent", "worker", "label", "漢字のタスクを直す", "placement", "👩‍💻 tab"), Return: Pairs("error", "no agent 漢字")}
	for width, want := range map[int]string{
		0:  "spawn worker · 漢字のタスクを直す · 👩‍💻 tab\n✗ failed · no agent 漢字\n",
		60: "spawn worker · 漢字のタスクを直す · 👩‍💻 tab\n✗ failed · no agent 漢字\n",
		24: "spawn worker · 漢字のタ…\n✗ failed · no agent 漢字\n",
		23: "spawn worker · 漢字の…\n✗ failed · no agent 漢…\n",
		13: "spawn worker…\n✗ failed · n…\n",
		12: "spawn worke…\n✗ failed · …\n",
		7:  "spawn …\n✗ fail…\n",
		5:  "spaw…\n✗ fa…\n",
		1:  "…\n…\n",
	} {
		w := New(Options{Width: width})
		w.Operation(op)
		if got := w.String(); got != want {
			t.Errorf("width %d:\n%s\nwant\n%s", width, got, want)
		}
	}
}

func TestExpandedValues(t *testing.T) {
	for _, tt := range []struct{ name, input, want string }{
		{"scalars", `{"tool":"x","call":{"aText":"one","URLPath":"/","a_b-c":1.50,"big":123456789012345678901234567890,"t":true,"f":false,"n":null,"e":""}}`,
			"x one · / · a b c 1.50 · big 123456789012345678901234567890 · t\n\ncall\na text: one\nurlpath: /\na b c: 1.50\nbig: 123456789012345678901234567890\nt: yes\nf: no\nn: null\ne:\n"},
		{"lists", `{"tool":"f","call":{"none":[],"l":["a",2,true,null],"o":[{"a":1,"b":{"c":2}},{},{"l":[1]}],"ll":[[1,[2]],[]]}}`,
			"f a, 2, yes\n\ncall\nnone: []\nl:\n  - a\n  - 2\n  - yes\n  - null\no:\n  - a: 1\n    b:\n      c: 2\n  -\n  - l:\n      - 1\nll:\n  -\n    - 1\n    -\n      - 2\n  - []\n"},
		{"nested", `{"tool":"f","call":{"o":{"a":{"b":"c"},"e":{}}}}`, "f\n\ncall\no:\n  a:\n    b: c\n  e: {}\n"},
		{"blocks", `{"tool":"f","call":{"message":"one","x":"a\n\nb\n","o":{"text":"t","y":"c\nd"}},"return":{}}`,
			"f one · a b\n\ncall\nmessage:\none\n\nx:\na\n\nb\n\no:\n  text:\nt\n\n  y:\nc\nd\n\nreturn\nstatus: success\n"},
		{"ids are no texts", `{"tool":"f","return":{"task":"t_12","message":"20261130T162940.351207Z-ann-7f3a9c","text":"t_1 x","question":"w1"}}`,
			"f\n\ncall\n\nreturn\nstatus: success\ntask: t_12\nmessage: 20261130T162940.351207Z-ann-7f3a9c\ntext:\nt_1 x\n\nquestion: w1\n"},
		{"a block in a list", `{"tool":"f","call":{"l":["a\nb","c"]}}`, "f a b, c\n\ncall\nl:\n  -\na\nb\n\n  - c\n"},
		{"what is hidden", `{"tool":"f","call":{"paneId":"w1:p2","workspace_id":"w1","x":1},"return":{"pane":{"id":"w1:p2"},"o":{"tab_id":"w1:t1","a":1},"p":{"pane_id":"w1:p2"},"l":[{"paneId":"w1:p1"},"w1:p3","a"],"why":"pane w1:p3 is gone","bootId":"x"}}`,
			"f x 1\n\ncall\nx: 1\n\nreturn\nstatus: success\no:\n  a: 1\np: {}\nl:\n  -\n  - a\nwhy: pane is gone\n"},
		{"arguments are not repeated", `{"tool":"f","call":{"a":"x","target":"bob","n":1},"return":{"a":"x","to":"bob","n":2,"returnCode":0,"ok":true}}`,
			"f x · bob · n 1\n\ncall\na: x\ntarget: bob\nn: 1\n\nreturn\nstatus: success\nn: 2\n"},
		{"members given twice", `{"tool":"f","call":{"a":1,"b":2,"a":3}}`, "f a 3 · b 2\n\ncall\na: 3\nb: 2\n"},
		{"names that try to be more", `{"tool":"f","call":{"a\nreturn\nstatus: x":1,"":2,"\u001b[1mcall":3}}`,
			"f a return status: x 1 · 2 · \uFFFD[1mcall 3\n\ncall\na return status: x: 1\n(no name): 2\n\uFFFD[1mcall: 3\n"},
		{"a failure", `{"tool":"x","call":{"a":1},"return":{"error":"one\ntwo","hint":"try"},"returnCode":4}`,
			"x a 1\n\ncall\na: 1\n\nreturn\nstatus: failed\nerror:\none\ntwo\n\nhint: try\nreturn code: 4\n"},
		{"an error object", `{"tool":"x","return":{"error":{"message":"no","code":"busy"}}}`,
			"x\n\ncall\n\nreturn\nstatus: failed\nerror: no\nerror details:\n  message:\nno\n\n  code: busy\n"},
		{"an envelope of a failure", `{"schema":1,"ok":false,"error":{"code":"not_found","message":"no t_9","hint":"look","details":{"id":"t_9","data":{"task":{"id":"t_9"}}}}}`,
			"operation\n\ncall\n\nreturn\nstatus: failed\nerror: no t_9\ncode: not_found\nhint: look\nid: t_9\nreturn code: 3\n"},
		{"a result that is a text", `{"tool":"x","return":"done\nwell"}`, "x\n\ncall\n\nreturn\nstatus: success\noutput:\ndone\nwell\n\n"},
		{"times", `{"tool":"x","return":{"createdAt":1,"count":1796056180351,"sizeAt":12345678901234567890}}`,
			"x\n\ncall\n\nreturn\nstatus: success\ncreated at: 1\ncount: 1796056180351\nsize at: 12345678901234567890\n"},
		{"spawn under way", `{"tool":"spawn","call":{"agent":"a"},"partial":true}`, "spawn a\nspawning…\n\ncall\nagent: a\n\nreturn\nstatus: spawning…\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := expanded(t, tt.input, Options{}); got != tt.want {
				t.Errorf("%s\n got %q\nwant %q", tt.input, got, tt.want)
			}
		})
	}
}

// Broken lines lose nothing, stay within the width, and what is not a label
// does not stand where labels do.
func TestExpandedWrapped(t *testing.T) {
	input := `{"tool":"message","call":{"to":"bob","key":"a long value status: ok return x","o":{"k":"漢字漢字漢字漢字漢字"},"message":"\tif x {\n        return  漢字漢字漢字\n"}}`
	want := `message bob · if…

call
to: bob
key: a long value
  status: ok
  return x
o:
  k: 漢字漢字漢字
    漢字漢字
message:
        if x {
        return  
漢字漢字漢字

`
	if got := expanded(t, input, Options{Width: 17, Wrap: true, SafeText: func(s string) string { return s }}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNotifications(t *testing.T) {
	for _, tt := range []struct{ input, want string }{
		{`{"notification":{"title":"Reply from\nann","ids":{"messageId":"m","taskId":"","paneId":"w1:p1","threadId":null},"message":"one\n\ncall\nx: y"}}`,
			"Reply from ann\n\nmessage id: m\n\nmessage:\none\n\ncall\nx: y\n\n"},
		{`{"notification":{"title":"Settled"}}`, "Settled\n"},
		{`{"notification":{"title":"Settled","message":"x"}}`, "Settled\n\nmessage:\nx\n\n"},
		{`{"notification":{"title":"Watcher","ids":{"watcherId":"w","taskIds":["t_1","t_2"]},"completions":[{"taskId":"t_1","status":"failed"}]}}`,
			"Watcher\n\nwatcher id: w\ntask ids:\n  - t_1\n  - t_2\n\ncompletions:\n  - task id: t_1\n    status: failed\n"},
		{`{"notification":{"title":"Reply","ids":{"messageId":"m"},"message":"` + strings.Repeat(`a\n `, 100) + `","collapsed":true}}`,
			"Reply\n" + strings.Repeat("a ", 79) + "a…\n"},
		{`{"notification":{"title":"Stale wait","description":"d","question":"q?","waiting":"05:00"}}`, "Stale wait\n\ndescription:\nd\n\nquestion:\nq?\n\nwaiting: 05:00\n"},
	} {
		d, err := Decode([]byte(tt.input), nil)
		if err != nil || d.Notification == nil {
			t.Fatalf("%s: %v", tt.input, err)
		}
		w := New(Options{})
		w.Notification(*d.Notification)
		if got := w.String(); got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.input, got, tt.want)
		}
	}
}

func TestSubjects(t *testing.T) {
	for _, tt := range []struct {
		op   Operation
		want string
	}{
		{Operation{Return: Pairs("name", "ann", "id", "x")}, "ann"},
		{Operation{Return: Pairs("task", "t_3", "message", "m")}, "t_3"},
		{Operation{Return: Pairs("task", Pairs("id", "t_3")), Call: Pairs("name", "bob")}, "t_3"},
		{Operation{Return: Pairs("ended", []string{"ann", "bob"})}, "ann bob"},
		{Operation{Return: Pairs("settled", []Value{ValueOf(Pairs("id", "t_1")), {}}, "pending", []string{"t_2"})}, "t_1"},
		{Operation{Return: Pairs("settled", []string{}), Call: Pairs("name", "bob")}, ""},
		{Operation{Call: Pairs("name", "bob")}, "bob"},
		{Operation{}, ""},
	} {
		if got := strings.Join(tt.op.Subjects(), " "); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.op, got, tt.want)
		}
	}
}

// Go values become what they are in JSON, in their order.
func TestValueOf(t *testing.T) {
	type record struct {
		Zeta  string         `json:"zeta"`
		Alpha int64          `json:"alpha"`
		None  *int           `json:"none,omitempty"`
		More  map[string]any `json:"more"`
	}
	type word string
	w := New(Options{})
	for _, f := range append(FieldsOf(record{Zeta: "z", Alpha: 1 << 60, More: map[string]any{"b": 1, "a": []any{true, nil}}}), Pairs(
		"word", word("w"), "duration", 90*time.Second, "error", errors.New("no"), "list", []string{"x"}, "nothing", nil, "int", 7, "float", 1.5,
		"fields", Pairs("k", uint8(3)), "strange", func() {}, "last")...) {
		if f.Name == "strange" {
			if s, ok := f.Value.scalar(); !ok || s == "" {
				t.Errorf("%+v", f.Value)
			}
			continue
		}
		w.field(0, label(f.Name), f)
	}
	want := `zeta: z
alpha: 1152921504606846976
more:
  a:
    - yes
    - null
  b: 1
word: w
duration: 1m30s
error: no
list:
  - x
nothing: null
int: 7
float: 1.5
fields:
  k: 3
last: null
`
	if got := w.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Given("a", "", "b", 0, "c", false, "d", nil, "e", []string{}, "f", "x", "g", Fields{}); len(got) != 1 || got[0].Name != "f" {
		t.Errorf("%+v", got)
	}
}
