// Package rawjsontest compares tables of fields with the tags that say the same
// to encoding/json.
package rawjsontest

import (
	"reflect"
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/rawjson"
)

// SameAsTags fails the test unless the table has the exported fields of T, in
// their order, under the names of their json tags.
func SameAsTags[T any](t testing.TB, fields []rawjson.Field[T]) {
	t.Helper()
	value := new(T)
	v := reflect.ValueOf(value).Elem()
	n := 0
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("json")
		if !v.Type().Field(i).IsExported() || tag == "-" {
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		switch {
		case n == len(fields):
			t.Fatalf("%T: %s is not in the table", *value, name)
		case fields[n].Name != name:
			t.Fatalf("%T: field %d is %s in the table, and its tag says %s", *value, n, fields[n].Name, name)
		case fields[n].Opt != (option == "omitempty"):
			t.Errorf("%T: %s is optional in the table: %t, and its tag says %q", *value, name, fields[n].Opt, option)
		case reflect.ValueOf(fields[n].Of(value)).Pointer() != v.Field(i).Addr().Pointer():
			t.Errorf("%T: %s stands elsewhere in the table", *value, name)
		}
		n++
	}
	if n < len(fields) {
		t.Errorf("%T: the table has %s, which no tag names", *value, fields[n].Name)
	}
}
