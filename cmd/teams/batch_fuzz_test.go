package main

import (
	"strings"
	"testing"

	"github.com/seed6990a682/teams/internal/errs"
)

// FuzzBatch: a batch is tasks, or a usage error that says where.
func FuzzBatch(f *testing.F) {
	for _, text := range []string{
		`{"subject":"a","key":"k","dependsOn":["t_1"],"priority":0}` + "\n" + `{"subject":"b"}`, "# Plan\n- [ ] one\n  more\n\n- [x] done\n* [ ] two\n",
		`{"subject":"a"} x`, `{"subject":"a","odd":1}`, "- [?] a", "- [ ]", "\ufeff{}", "\xff", "- [\u20ac] a", "{\"subject\":\"a\"}\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tasks, err := parseBatch(data)
		if err != nil {
			if errs.CodeOf(err) != errs.Usage || tasks != nil {
				t.Fatalf("%q: %v, %v", data, tasks, err)
			}
			return
		}
		if len(tasks) > strings.Count(string(data), "\n")+1 {
			t.Fatalf("%q is %d tasks", data, len(tasks))
		}
	})
}
