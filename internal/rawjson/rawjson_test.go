package rawjson

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
)

// inner is a record of its own, with its own methods.
type inner struct {
	A string `json:"a"`

	extra map[string]json.RawMessage
}

var innerFields = []Field[inner]{{Name: "a", Of: func(r *inner) any { return &r.A }}}

func (r inner) MarshalJSON() ([]byte, error) { return Append(nil, innerFields, &r, r.extra) }

func (r *inner) UnmarshalJSON(data []byte) (err error) {
	r.extra, err = Decode(innerFields, r, data)
	return err
}

// record has a field of each kind twice: always written, and left out when
// empty.
type record struct {
	Name  string              `json:"name"`
	N     int                 `json:"n"`
	Big   int64               `json:"big"`
	U     uint64              `json:"u"`
	On    bool                `json:"on"`
	List  []string            `json:"list"`
	Inner *inner              `json:"inner"`
	Epoch *int64              `json:"epoch"`
	Map   map[string][]string `json:"map"`

	OptName  string              `json:"optName,omitempty"`
	OptN     int                 `json:"optN,omitempty"`
	OptBig   int64               `json:"optBig,omitempty"`
	OptU     uint64              `json:"optU,omitempty"`
	OptOn    bool                `json:"optOn,omitempty"`
	OptList  []string            `json:"optList,omitempty"`
	OptInner *inner              `json:"optInner,omitempty"`
	OptEpoch *int64              `json:"optEpoch,omitempty"`
	OptMap   map[string][]string `json:"optMap,omitempty"`
	OptRaw   json.RawMessage     `json:"optRaw,omitempty"`
}

var fields = []Field[record]{
	{Name: "name", Of: func(r *record) any { return &r.Name }},
	{Name: "n", Of: func(r *record) any { return &r.N }},
	{Name: "big", Of: func(r *record) any { return &r.Big }},
	{Name: "u", Of: func(r *record) any { return &r.U }},
	{Name: "on", Of: func(r *record) any { return &r.On }},
	{Name: "list", Of: func(r *record) any { return &r.List }},
	{Name: "inner", Of: func(r *record) any { return &r.Inner }},
	{Name: "epoch", Of: func(r *record) any { return &r.Epoch }},
	{Name: "map", Of: func(r *record) any { return &r.Map }},
	{Name: "optName", Opt: true, Of: func(r *record) any { return &r.OptName }},
	{Name: "optN", Opt: true, Of: func(r *record) any { return &r.OptN }},
	{Name: "optBig", Opt: true, Of: func(r *record) any { return &r.OptBig }},
	{Name: "optU", Opt: true, Of: func(r *record) any { return &r.OptU }},
	{Name: "optOn", Opt: true, Of: func(r *record) any { return &r.OptOn }},
	{Name: "optList", Opt: true, Of: func(r *record) any { return &r.OptList }},
	{Name: "optInner", Opt: true, Of: func(r *record) any { return &r.OptInner }},
	{Name: "optEpoch", Opt: true, Of: func(r *record) any { return &r.OptEpoch }},
	{Name: "optMap", Opt: true, Of: func(r *record) any { return &r.OptMap }},
	{Name: "optRaw", Opt: true, Of: func(r *record) any { return &r.OptRaw }},
}

// std is what encoding/json writes.
func std(t testing.TB, v any) string {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(buf.String(), "\n")
}

// What encoding/json reads, a table reads, with the same values; what it
// refuses, so does a table. What a table writes is what encoding/json writes.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { } `, `{"name":"a","n":-5,"big":6,"u":7,"on":true,"list":["a","b\n",""],"inner":{"a":"x","b":[1, 2]},"epoch":3,"map":{"b":["x"],"a":null}}`,
		`{"name":null,"n":null,"u":null,"on":null,"list":null,"inner":null,"epoch":null,"map":null,"optRaw":null}`,
		"{\n \"name\" : \"a\\u00e9\\\"\" ,\t\"x\" : { \"y\" : [ 1 , \"]}\" ] } , \"n\" : 3\r\n}", `{"n":1.5}`, `{"n":"1"}`, `{"u":-1}`, `{"on":1}`,
		`{"optName":"\u2028<&>","optN":1,"optBig":2,"optU":3,"optOn":true,"optList":[null,"é"],"optInner":{},"optEpoch":0,"optMap":{},"optRaw":[ 1 ]}`,
		`{"list":[1]}`, `{"list":"a"}`, `{"name":["a"]}`, `{"name":"\xff"}`, `{"big":99999999999999999999}`, `{"name":"a","name":"b"}`, `{"":""}`,
		`[]`, `"a"`, `null`, ``, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}x`, `{"list":[ "a" , "b" ]}`, `{"\u006eame":"escaped name"}`, `{"n":1e3}`,
		`{"inner":[]}`, `{"inner":{"a":1}}`, `{"map":1}`, `{"zeta":1,"alpha":{"x": "y"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want record
		extra, err := Decode(fields, &got, data)
		var members map[string]json.RawMessage
		stdErr := json.Unmarshal(data, &members)
		for key := range members {
			for i := range fields {
				if key != fields[i].Name && strings.EqualFold(key, fields[i].Name) {
					return // which encoding/json would take for it
				}
			}
		}
		if stdErr == nil {
			stdErr = json.Unmarshal(data, &want)
		}
		if (err == nil) != (stdErr == nil) {
			t.Fatalf("%q: %v, encoding/json says %v", data, err, stdErr)
		}
		if err != nil {
			return
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, want %+v", data, got, want)
		}
		for i := range fields {
			delete(members, fields[i].Name)
		}
		if !maps.EqualFunc(extra, members, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("%q: kept %s, want %s", data, extra, members)
		}
		out, err := Append(nil, fields, &got, nil)
		if err != nil || string(out) != std(t, want) {
			t.Fatalf("%q is written\n%s %v, want\n%s", data, out, err, std(t, want))
		}
		again, err := Append([]byte("x"), fields, &got, extra)
		if err != nil || again[0] != 'x' || !json.Valid(again[1:]) {
			t.Fatalf("%q with what is kept is written %s, %v", data, again, err)
		}
		var twice record
		kept, err := Decode(fields, &twice, again[1:])
		if err != nil {
			t.Fatalf("%s: %v", again[1:], err)
		}
		if out, err := Append(nil, fields, &twice, kept); err != nil || !bytes.Equal(out, again[1:]) {
			t.Fatalf("%s is written back as %s, %v", again[1:], out, err)
		}
	})
}

func TestAppendExtra(t *testing.T) {
	extra := map[string]json.RawMessage{"zeta": json.RawMessage("[1,\n 2]"), "a\"b": json.RawMessage(`"x"`)}
	got, err := Append(nil, innerFields, &inner{A: "v"}, extra)
	if want := `{"a":"v","a\"b":"x","zeta":[1,2]}`; err != nil || string(got) != want {
		t.Errorf("%s %v, want %s", got, err, want)
	}
	if got, err := Append[inner](nil, nil, &inner{}, nil); err != nil || string(got) != "{}" {
		t.Errorf("an empty record is %s, %v", got, err)
	}
	if _, err := Append(nil, innerFields, &inner{}, map[string]json.RawMessage{"x": json.RawMessage("{")}); err == nil {
		t.Error("a kept value that is no JSON is written")
	}
}

// What is kept must not change with the buffer it was read from.
func TestDecodeCopies(t *testing.T) {
	data := []byte(`{"name":"abc","other":"def","optRaw":[7]}`)
	var r record
	extra, err := Decode(fields, &r, data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data)
	if r.Name != "abc" || string(extra["other"]) != `"def"` || string(r.OptRaw) != "[7]" {
		t.Errorf("%q %s %s", r.Name, extra["other"], r.OptRaw)
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c/d", "\x00\x01\b\f\n\r\t\x1f\x7f", "é世\U0001f600", "\xff\xc3", "\u2028\u2029\u2027", "<&>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(AppendString(nil, s)), std(t, s); got != want {
			t.Errorf("%q is written %s, want %s", s, got, want)
		}
	})
}
