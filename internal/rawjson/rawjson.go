// Package rawjson reads and writes JSON records by tables of their fields.
//
// Package encoding/json learns each type by reflection before it decodes or
// encodes the first value of it. A command that handles one record of each of
// a few types spends more time on that than on everything else it does with
// them; a table is there when the program starts. Text and values are those of
// encoding/json without its escapes for HTML, and the names of members are
// compared exactly.
package rawjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// object calls f for each member of the JSON object in data, in their order;
// null has none.
// value is the text of the member's value, without white space around it; both
// it and key alias data, or a copy of the name where that is written with
// escapes. The error is that of f, or says that data is not one object.
func object(data []byte, f func(key, value []byte) error) error {
	if !json.Valid(data) {
		return syntaxError(data)
	}
	// From here on every string and bracket is known to be closed.
	i := space(data, 0)
	if data[i] == 'n' {
		return nil
	}
	if data[i] != '{' {
		return errors.New("it is no JSON object")
	}
	for i = space(data, i+1); data[i] != '}'; i = space(data, i) {
		if data[i] == ',' {
			i = space(data, i+1)
		}
		end := skip(data, i)
		key, err := name(data[i:end])
		if err != nil {
			return err
		}
		i = space(data, space(data, end)+1) // past the colon
		end = skip(data, i)
		if err := f(key, data[i:end]); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// syntaxError is what encoding/json says of data.
func syntaxError(data []byte) error {
	var v json.RawMessage
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	return errors.New("it is no JSON")
}

// name is a member's name without its quotes.
func name(quoted []byte) ([]byte, error) {
	if plain(quoted) {
		return quoted[1 : len(quoted)-1], nil
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return []byte(s), err
}

// space returns the index of the first byte at or behind i that is no white
// space.
func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skip returns the index behind the value that begins at i.
func skip(data []byte, i int) int {
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
		for depth := 0; ; i++ {
			switch data[i] {
			case '"':
				i = skipString(data, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(data) {
		switch data[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}

func skipString(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// plain reports whether a quoted string stands for the bytes between its
// quotes.
func plain(quoted []byte) bool {
	ascii := true
	for _, c := range quoted {
		if c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.Valid(quoted)
}

func isNull(value []byte) bool { return len(value) == 4 && value[0] == 'n' }

// decodeString stores a string. null changes nothing.
func decodeString(dst *string, value []byte) error {
	switch {
	case isNull(value):
		return nil
	case len(value) < 2 || value[0] != '"':
		return fmt.Errorf("%s is no string", short(value))
	case plain(value):
		*dst = string(value[1 : len(value)-1])
		return nil
	}
	return json.Unmarshal(value, dst)
}

// decodeInt stores a whole number. null changes nothing.
func decodeInt[T ~int | ~int64](dst *T, value []byte) error {
	if isNull(value) {
		return nil
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || int64(T(n)) != n {
		return fmt.Errorf("%s is no whole number, or too large", short(value))
	}
	*dst = T(n)
	return nil
}

// decodeUint stores a whole number that is not negative. null changes nothing.
func decodeUint(dst *uint64, value []byte) error {
	if isNull(value) {
		return nil
	}
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return fmt.Errorf("%s is no whole number, or too large", short(value))
	}
	*dst = n
	return nil
}

// decodeBool stores true or false. null changes nothing.
func decodeBool(dst *bool, value []byte) error {
	switch string(value) {
	case "true":
		*dst = true
	case "false":
		*dst = false
	case "null":
	default:
		return fmt.Errorf("%s is neither true nor false", short(value))
	}
	return nil
}

// decodeStrings stores a list of strings; null stores nil.
func decodeStrings(dst *[]string, value []byte) error {
	if isNull(value) {
		*dst = nil
		return nil
	}
	if value[0] != '[' {
		return fmt.Errorf("%s is no list", short(value))
	}
	list := []string{}
	for i := space(value, 1); value[i] != ']'; i = space(value, i) {
		if value[i] == ',' {
			i = space(value, i+1)
		}
		end := skip(value, i)
		var s string
		if err := decodeString(&s, value[i:end]); err != nil {
			return err
		}
		list = append(list, s)
		i = end
	}
	*dst = list
	return nil
}

// decodeMap adds lists of strings to a map; null stores nil.
func decodeMap(dst *map[string][]string, value []byte) error {
	if isNull(value) {
		*dst = nil
		return nil
	}
	if *dst == nil {
		*dst = make(map[string][]string)
	}
	return object(value, func(key, value []byte) error {
		var list []string
		if err := decodeStrings(&list, value); err != nil {
			return err
		}
		(*dst)[string(key)] = list
		return nil
	})
}

// short is a value cut for a message.
func short(value []byte) string {
	if len(value) > 40 {
		return string(value[:40]) + "…"
	}
	return string(value)
}
