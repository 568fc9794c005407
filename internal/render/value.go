package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// kind is what a Value is.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// Value is one structured value: null, a boolean, a number with all its digits,
// text, a list, or an object whose members have an order. The zero Value is
// null.
type Value struct {
	kind   kind
	yes    bool
	text   string // of a text; the digits of a number
	items  []Value
	fields Fields
}

// Field is a named value.
type Field struct {
	Name  string // as in JSON, such as "agentId"
	Value Value
}

// Fields are named values in the order in which they are shown.
type Fields []Field

// Pairs makes Fields of names and values by turns; the values are what ValueOf
// takes. A name without a value gets null.
func Pairs(pairs ...any) Fields {
	out := make(Fields, 0, (len(pairs)+1)/2)
	for i := 0; i < len(pairs); i += 2 {
		f := Field{Name: fmt.Sprint(pairs[i])}
		if i+1 < len(pairs) {
			f.Value = ValueOf(pairs[i+1])
		}
		out = append(out, f)
	}
	return out
}

// Given is Pairs without what was not given: empty text, false, 0, nil and
// empty lists.
func Given(pairs ...any) Fields {
	return slices.DeleteFunc(Pairs(pairs...), func(f Field) bool { return f.Value.isZero() })
}

// FieldsOf returns the members of what would be an object in JSON, such as a
// struct, in their order; nil for anything else.
func FieldsOf(v any) Fields { return ValueOf(v).fields }

// ValueOf makes a Value of anything. Durations are written out, errors are
// their message; a struct, or what else encoding/json can write, becomes what
// it is in JSON. What has no such form becomes its text.
func ValueOf(v any) Value {
	switch v := v.(type) {
	case nil:
		return Value{}
	case Value:
		return v
	case Fields:
		return Value{kind: object, fields: v}
	case string:
		return Value{kind: text, text: v}
	case bool:
		return Value{kind: boolean, yes: v}
	case int:
		return Value{kind: number, text: strconv.Itoa(v)}
	case json.Number:
		return Value{kind: number, text: v.String()}
	case json.RawMessage:
		return decoded(v)
	case time.Duration:
		return Value{kind: text, text: Duration(v)}
	case time.Time:
		return Value{kind: text, text: AbsTime(v)}
	case []Value:
		return Value{kind: array, items: v}
	case []string:
		return listOf(v)
	case []any:
		return listOf(v)
	case map[string]any:
		out := make(Fields, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, Field{name, ValueOf(v[name])})
		}
		return Value{kind: object, fields: out}
	case json.Marshaler:
	case error:
		return Value{kind: text, text: v.Error()}
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String:
		return Value{kind: text, text: r.String()}
	case reflect.Bool:
		return Value{kind: boolean, yes: r.Bool()}
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		if r.IsNil() {
			return Value{}
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return Value{kind: text, text: fmt.Sprint(v)}
	}
	return decoded(data)
}

func listOf[T any](list []T) Value {
	out := Value{kind: array, items: make([]Value, len(list))}
	for i, it := range list {
		out.items[i] = ValueOf(it)
	}
	return out
}

// decoded is JSON as a value, or as a text when it is no JSON.
func decoded(data []byte) Value {
	v, err := DecodeValue(data)
	if err != nil {
		return Value{kind: text, text: string(data)}
	}
	return v
}

// isZero reports whether v says nothing: null, false, 0, an empty text, list or
// object.
func (v Value) isZero() bool {
	switch v.kind {
	case boolean:
		return !v.yes
	case number:
		return v.text == "0"
	case text:
		return v.text == ""
	case array:
		return len(v.items) == 0
	case object:
		return len(v.fields) == 0
	}
	return true
}

// isEmpty is isZero for values of which 0 and false do say something.
func (v Value) isEmpty() bool {
	return v.isZero() && v.kind != boolean && v.kind != number
}

// scalar returns v as one text: booleans are yes and no. It answers false for
// null, lists and objects.
func (v Value) scalar() (string, bool) {
	switch v.kind {
	case boolean:
		if v.yes {
			return "yes", true
		}
		return "no", true
	case number, text:
		return v.text, true
	}
	return "", false
}

// equal compares two values; members of objects may be in another order.
func (v Value) equal(o Value) bool {
	if v.kind != o.kind || v.yes != o.yes || v.text != o.text || len(v.items) != len(o.items) || len(v.fields) != len(o.fields) {
		return false
	}
	for i := range v.items {
		if !v.items[i].equal(o.items[i]) {
			return false
		}
	}
	for _, f := range v.fields {
		if other, ok := o.fields.find(f.Name); !ok || !f.Value.equal(other) {
			return false
		}
	}
	return true
}

// find returns the first of the named members that is there and not null.
func (f Fields) find(names ...string) (Value, bool) {
	for _, name := range names {
		for _, it := range f {
			if it.Name == name && it.Value.kind != null {
				return it.Value, true
			}
		}
	}
	return Value{}, false
}

// text returns the first of the named members that is a scalar with a text.
func (f Fields) text(names ...string) string {
	for _, name := range names {
		if v, ok := f.find(name); ok {
			if s, ok := v.scalar(); ok && s != "" {
				return s
			}
		}
	}
	return ""
}

// yes reports whether the named member is true.
func (f Fields) yes(name string) bool {
	v, _ := f.find(name)
	return v.kind == boolean && v.yes
}

// list returns the named member as a list: nil when it is none.
func (f Fields) list(names ...string) ([]Value, bool) {
	for _, name := range names {
		if v, ok := f.find(name); ok && v.kind == array {
			return v.items, true
		}
	}
	return nil, false
}
