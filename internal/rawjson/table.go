package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// Field is one member of a record: its name, and where its value stands. A
// table of fields in the order in which they are written says of a record what
// its tags say to encoding/json.
//
// Of returns a pointer to the value: *string, *int, *int64, *uint64, *bool,
// *[]string, *map[string][]string or *json.RawMessage, or to whatever else
// encoding/json knows.
type Field[T any] struct {
	Name string
	Of   func(*T) any
	// Opt: an empty value is left out.
	Opt bool
}

// Decode stores the members of the object in data that a table knows, and
// returns the others; nil when there are none. A member that is not there, or
// null, leaves the field as it is.
func Decode[T any](fields []Field[T], dst *T, data []byte) (extra map[string]json.RawMessage, err error) {
	next := 0 // members mostly stand in the order of the table
	err = object(data, func(key, value []byte) error {
		for range fields {
			if next == len(fields) {
				next = 0
			}
			f := &fields[next]
			next++
			if f.Name == string(key) {
				if err := decode(f.Of(dst), value); err != nil {
					return fmt.Errorf("%s: %w", f.Name, err)
				}
				return nil
			}
		}
		if extra == nil {
			extra = make(map[string]json.RawMessage)
		}
		extra[string(key)] = bytes.Clone(value)
		return nil
	})
	return extra, err
}

// decode stores one value.
func decode(dst any, value []byte) error {
	switch p := dst.(type) {
	case *string:
		return decodeString(p, value)
	case *int:
		return decodeInt(p, value)
	case *int64:
		return decodeInt(p, value)
	case *uint64:
		return decodeUint(p, value)
	case *bool:
		return decodeBool(p, value)
	case *[]string:
		return decodeStrings(p, value)
	case *map[string][]string:
		return decodeMap(p, value)
	case *json.RawMessage:
		*p = bytes.Clone(value)
		return nil
	}
	// A pointer to a record of its own, as a rule.
	v := reflect.ValueOf(dst).Elem()
	if v.Kind() == reflect.Pointer && !isNull(value) {
		record := reflect.New(v.Type().Elem())
		if u, ok := record.Interface().(json.Unmarshaler); ok {
			if err := u.UnmarshalJSON(value); err != nil {
				return err
			}
			v.Set(record)
			return nil
		}
	}
	return json.Unmarshal(value, dst)
}

// Append appends the object of a record to b: the members of its table, then
// the extra ones in the order of their names.
func Append[T any](b []byte, fields []Field[T], src *T, extra map[string]json.RawMessage) ([]byte, error) {
	b = append(b, '{')
	begin := len(b)
	for i := range fields {
		f := &fields[i]
		value := f.Of(src)
		if f.Opt && isEmpty(value) {
			continue
		}
		b = appendName(b, begin, f.Name)
		var err error
		if b, err = appendValue(b, value); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if len(extra) > 0 {
		names := make([]string, 0, len(extra))
		for name := range extra {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			b = appendName(b, begin, name)
			var compact bytes.Buffer // of one line, whatever it was written on
			if err := json.Compact(&compact, extra[name]); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			b = append(b, compact.Bytes()...)
		}
	}
	return append(b, '}'), nil
}

// appendName writes the name of the next member of the object whose members
// begin at begin.
func appendName(b []byte, begin int, name string) []byte {
	if len(b) > begin {
		b = append(b, ',')
	}
	return append(AppendString(b, name), ':')
}

// isEmpty is what encoding/json calls empty.
func isEmpty(value any) bool {
	switch p := value.(type) {
	case *string:
		return *p == ""
	case *int:
		return *p == 0
	case *int64:
		return *p == 0
	case *uint64:
		return *p == 0
	case *bool:
		return !*p
	case *[]string:
		return len(*p) == 0
	case *map[string][]string:
		return len(*p) == 0
	case *json.RawMessage:
		return len(*p) == 0
	}
	v := reflect.ValueOf(value).Elem()
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

func appendValue(b []byte, value any) ([]byte, error) {
	switch p := value.(type) {
	case *string:
		return AppendString(b, *p), nil
	case *int:
		return strconv.AppendInt(b, int64(*p), 10), nil
	case *int64:
		return strconv.AppendInt(b, *p, 10), nil
	case *uint64:
		return strconv.AppendUint(b, *p, 10), nil
	case *bool:
		return strconv.AppendBool(b, *p), nil
	case *[]string:
		return appendStrings(b, *p), nil
	case *map[string][]string:
		return appendMap(b, *p), nil
	case *json.RawMessage:
		var compact bytes.Buffer
		err := json.Compact(&compact, *p)
		return append(b, compact.Bytes()...), err
	}
	v := reflect.ValueOf(value).Elem()
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		if m, ok := v.Interface().(json.Marshaler); ok {
			data, err := m.MarshalJSON()
			return append(b, data...), err
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v.Interface()); err != nil {
		return nil, err
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})...), nil
}

func appendStrings(b []byte, list []string) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return append(b, ']')
}

func appendMap(b []byte, m map[string][]string) []byte {
	if m == nil {
		return append(b, "null"...)
	}
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	b = append(b, '{')
	begin := len(b)
	for _, key := range keys {
		b = appendStrings(appendName(b, begin, key), m[key])
	}
	return append(b, '}')
}
