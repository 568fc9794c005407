package herdr

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/seed6990a682/teams/internal/errs"
	"github.com/seed6990a682/teams/internal/fsx"
)

// maxRecord is the largest record that is read, in bytes.
const maxRecord = 1 << 20

// encodeRecord writes a record one key a line, and after its fields the members
// that we do not know.
func encodeRecord(v any, extra map[string]json.RawMessage) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	b := bytes.TrimSuffix(bytes.TrimSpace(buf.Bytes()), []byte("}"))
	names := make([]string, 0, len(extra))
	for name := range extra {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(append(b, ','), key...), ':'), extra[name]...)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, append(b, '}'), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// readRecord reads a record into v, a pointer to a struct, and returns the
// members that it does not have. The error of one that cannot be understood is
// of code corrupt.
func readRecord(path string, v any) (extra map[string]json.RawMessage, err error) {
	data, err := fsx.ReadFile(path, maxRecord)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, &errs.Error{Code: errs.Corrupt, Path: path, Msg: "is not a record: " + err.Error(), Err: err}
	}
	if err := json.Unmarshal(data, &extra); err != nil {
		return nil, &errs.Error{Code: errs.Corrupt, Path: path, Msg: "is not a record: " + err.Error(), Err: err}
	}
	typ := reflect.TypeOf(v).Elem()
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		delete(extra, name)
	}
	return extra, nil
}

// nowMs is the present time as it stands in the files, in epoch ms.
func nowMs() int64 { return fsx.Now().UnixMilli() }
