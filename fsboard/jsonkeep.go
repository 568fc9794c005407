package fsboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"sort"
	"strings"
)

// rawFields are the fields of a record that this version does not know. They
// survive every rewrite of the record.
type rawFields map[string]json.RawMessage

// decodeKeeping decodes data into v, a pointer to a struct without methods,
// and returns what v has no field for. The common case, nothing unknown, costs
// one decoding.
func decodeKeeping(data []byte, v any) (rawFields, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil {
		if int(dec.InputOffset()) != len(bytes.TrimRight(data, " \t\r\n")) {
			return nil, errors.New("data after the end of the record")
		}
		return nil, nil
	}
	if !strings.Contains(err.Error(), "unknown field") {
		return nil, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, err
	}
	var all rawFields
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	t := reflect.TypeOf(v).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		delete(all, name)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// encodeKeeping encodes v and adds the kept fields behind its own.
func encodeKeeping(v any, extra rawFields) ([]byte, error) {
	data, err := encodeJSON(v)
	if err != nil || len(extra) == 0 {
		return data, err
	}
	return appendFields(data, extra)
}

// appendFields adds fields, in the order of their names, to an encoded object.
func appendFields(object []byte, extra rawFields) ([]byte, error) {
	names := make([]string, 0, len(extra))
	for name := range extra {
		names = append(names, name)
	}
	sort.Strings(names)
	out := bytes.TrimSuffix(object, []byte("}"))
	for _, name := range names {
		key, err := encodeJSON(name)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		var value bytes.Buffer
		if err := json.Compact(&value, extra[name]); err != nil {
			return nil, err
		}
		out = append(append(append(out, key...), ':'), value.Bytes()...)
	}
	return append(out, '}'), nil
}

// encodeJSON is json.Marshal without the escaping meant for HTML, so that a
// command in a task reads in the file as it was given.
func encodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// encodeLines encodes a record of one file, one key a line.
func encodeLines(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
