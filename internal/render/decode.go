package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxDepth is how deep values may be nested. Nobody reads deeper ones.
const maxDepth = 200

// DecodeValue reads one JSON value. Members keep their order and numbers their
// digits; of members with the same name the last one counts, in the place of
// the first. The error says where the text stops being JSON.
func DecodeValue(data []byte) (Value, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return Value{}, errors.New("it is empty")
	}
	var probe json.RawMessage
	if err := json.Unmarshal(data, &probe); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line, column := position(data, syntax.Offset)
			return Value{}, fmt.Errorf("line %d, column %d: %s", line, column, syntax.Error())
		}
		return Value{}, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return decodeNext(dec, 0)
}

// position is where the byte before offset stands, from 1.
func position(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// decodeNext reads the next value of valid JSON.
func decodeNext(dec *json.Decoder, depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	token, err := dec.Token()
	if err != nil {
		return Value{}, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return ValueOf(token), nil
	}
	if delim == '[' {
		out := Value{kind: array, items: []Value{}}
		for dec.More() {
			item, err := decodeNext(dec, depth+1)
			if err != nil {
				return Value{}, err
			}
			out.items = append(out.items, item)
		}
		_, err := dec.Token()
		return out, err
	}
	out := Value{kind: object, fields: Fields{}}
	at := map[string]int{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return Value{}, err
		}
		name, _ := token.(string)
		v, err := decodeNext(dec, depth+1)
		if err != nil {
			return Value{}, err
		}
		if i, again := at[name]; again {
			out.fields[i].Value = v
			continue
		}
		at[name] = len(out.fields)
		out.fields = append(out.fields, Field{name, v})
	}
	_, err = dec.Token()
	return out, err
}

// DecodeCall reads the arguments of a call, a JSON object.
func DecodeCall(data []byte) (Fields, error) {
	v, err := DecodeValue(data)
	switch {
	case err != nil:
		return nil, err
	case v.kind != object:
		return nil, errors.New("it is no object")
	}
	return v.fields, nil
}

// Decoded is what was read by Decode: an operation or a notification.
type Decoded struct {
	Operation    Operation
	Notification *Notification
	// Envelope: the operation's result is that of a command with --json, which
	// does not tell the tool and the call.
	Envelope bool
}

// Decode reads the input of teams render: an operation
//
//	{"tool":"spawn","call":{…},"return":{…},"returnCode":0,"partial":false}
//
// a result of --json {"schema":1,"ok":…}, or {"notification":{"title","ids":{…},
// "message"}}. exit names the return code for an error code of a --json
// result; it may be nil.
func Decode(data []byte, exit func(code string) int) (Decoded, error) {
	v, err := DecodeValue(data)
	if err != nil {
		return Decoded{}, err
	}
	if v.kind != object {
		return Decoded{}, errors.New("it is no object")
	}
	top := v.fields
	if n, ok := top.find("notification"); ok {
		note, err := newNotification(n)
		return Decoded{Notification: note}, err
	}
	if ok, there := top.find("ok"); there && ok.kind == boolean && hasMember(top, "schema") {
		return Decoded{Operation: envelope(top, ok.yes, exit), Envelope: true}, nil
	}
	for _, name := range []string{"tool", "call", "return", "returnCode", "partial"} {
		if hasMember(top, name) {
			op, err := operation(top)
			return Decoded{Operation: op}, err
		}
	}
	return Decoded{}, errors.New(`it is no operation with "tool", no result of --json and no "notification"`)
}

func hasMember(f Fields, name string) bool {
	for _, it := range f {
		if it.Name == name {
			return true
		}
	}
	return false
}

// operation reads the members of an operation.
func operation(top Fields) (op Operation, err error) {
	for _, f := range top {
		v := f.Value
		if v.kind == null {
			continue
		}
		ok := true
		switch f.Name {
		case "tool":
			ok = v.kind == text
			op.Tool = v.text
		case "call":
			ok = v.kind == object
			op.Call = v.fields
		case "return":
			if op.Return = v.fields; v.kind != object {
				// A tool may return a mere text or list.
				op.Return = Fields{{"output", v}}
			}
		case "returnCode":
			op.ReturnCode, ok = v.code()
		case "partial":
			ok = v.kind == boolean
			op.Partial = v.yes
		case "error":
			op.Error = errorText(v)
		case "isError":
			op.IsError = v.kind == boolean && v.yes
		}
		if !ok {
			return op, fmt.Errorf("%q has a value of the wrong kind", f.Name)
		}
	}
	if op.Return == nil && hasMember(top, "returnCode") && !op.Partial {
		op.Return = Fields{}
	}
	return op, nil
}

// code is a number that an exit status can be.
func (v Value) code() (int, bool) {
	n, err := strconv.Atoi(v.text)
	return n, v.kind == number && err == nil
}

// envelope makes an operation of a result of --json.
func envelope(top Fields, ok bool, exit func(string) int) Operation {
	if ok {
		data, _ := top.find("data")
		if data.kind != object && data.kind != null {
			return Operation{Return: Fields{{"output", data}}, OK: true}
		}
		return Operation{Return: unwrap(data.fields), OK: true}
	}
	failure, _ := top.find("error")
	details, _ := failure.fields.find("details")
	data, _ := details.fields.find("data")
	op := Operation{Return: Fields{}, IsError: true, ReturnCode: 1, Error: errorText(failure)}
	if code := failure.fields.text("code"); code != "" {
		op.Return = append(op.Return, Field{"code", ValueOf(code)})
		if exit != nil {
			op.ReturnCode = exit(code)
		}
	}
	if hint := failure.fields.text("hint"); hint != "" {
		op.Return = append(op.Return, Field{"hint", ValueOf(hint)})
	}
	for _, f := range append(unwrap(data.fields), details.fields...) {
		if f.Name != "data" && f.Name != "error" && !hasMember(op.Return, f.Name) {
			op.Return = append(op.Return, f)
		}
	}
	return op
}

// unwrap takes the one record out of the data of a verb that is about one, such
// as {"teammate":{…}}.
func unwrap(data Fields) Fields {
	if data == nil {
		return Fields{}
	}
	if len(data) == 1 && data[0].Value.kind == object {
		switch data[0].Name {
		case "teammate", "message", "task", "agent", "run", "receipt", "terminal", "ask":
			return data[0].Value.fields
		}
	}
	return data
}

// errorText is the message of an error: a text, or an object that has one.
func errorText(v Value) string {
	if v.kind == object {
		if s := v.fields.text("message", "error", "code"); s != "" {
			return s
		}
		return unknownError
	}
	var parts []string
	for _, it := range append(v.items, v) {
		if s, ok := it.scalar(); ok && s != "" && it.kind != boolean && !it.isZero() {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "; ")
}
