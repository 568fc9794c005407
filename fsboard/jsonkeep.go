package fsboard

import (
	"bytes"
	"encoding/json"
)

// rawFields are the fields of a record that this version does not know. They
// survive every rewrite of the record.
type rawFields map[string]json.RawMessage

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
	data, err := encodeJSON(v)
	if err != nil {
		return nil, err
	}
	return onLines(data)
}

// onLines puts each key of an object on a line of its own.
func onLines(object []byte) ([]byte, error) {
	var buf bytes.Buffer
	if err := json.Indent(&buf, object, "", " "); err != nil {
		return nil, err
	}
	buf.WriteByte('\n')
	return buf.Bytes(), nil
}
