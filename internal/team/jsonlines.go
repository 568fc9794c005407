package team

import (
	"bytes"
	"encoding/json"
	"slices"
)

// marshalLines writes the JSON object of v with one key a line, in the order of
// its fields, and after them the extra members in the order of their names.
func marshalLines(v any, extra map[string]json.RawMessage) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(&buf)
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	out := []byte("{")
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		if out, err = appendMember(out, key.(string), value); err != nil {
			return nil, err
		}
	}
	keys := make([]string, 0, len(extra))
	for key := range extra {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		// Whatever white space a foreign writer used, it is one line now.
		var line bytes.Buffer
		if err := json.Compact(&line, extra[key]); err != nil {
			return nil, err
		}
		var err error
		if out, err = appendMember(out, key, line.Bytes()); err != nil {
			return nil, err
		}
	}
	return append(out, "\n}\n"...), nil
}

func appendMember(out []byte, key string, value []byte) ([]byte, error) {
	if len(out) > 1 {
		out = append(out, ',')
	}
	name, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	out = append(out, "\n  "...)
	out = append(out, name...)
	out = append(out, ": "...)
	return append(out, value...), nil
}
