package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/seed6990a682/teams/fsboard"
	"github.com/seed6990a682/teams/internal/errs"
)

// maxBatch bounds a batch and an import.
const maxBatch = 256 << 20

// parseBatch reads a batch: JSON lines, or a Markdown checklist.
func parseBatch(data []byte) ([]fsboard.NewTask, error) {
	if !utf8.Valid(data) {
		return nil, errs.New(errs.Usage, "the batch is not UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) > 0 && trimmed[0] == '{' {
		return parseBatchJSON(data)
	}
	return parseChecklist(string(data))
}

func parseBatchJSON(data []byte) ([]fsboard.NewTask, error) {
	var tasks []fsboard.NewTask
	n := 0
	for row := range bytes.SplitSeq(data, []byte{'\n'}) {
		n++
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		var t fsboard.NewTask
		dec := json.NewDecoder(bytes.NewReader(row))
		dec.DisallowUnknownFields()
		err := dec.Decode(&t)
		if err == nil {
			if _, more := dec.Token(); !errors.Is(more, io.EOF) {
				err = errors.New("something follows the object")
			}
		}
		if err != nil {
			return nil, errs.New(errs.Usage, "line %d is no task: %s", n, strings.TrimPrefix(err.Error(), "json: ")).
				WithHint(`{"subject":"Fix the login page","key":"login","dependsOn":["t_1"]}`)
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// parseChecklist reads `- [ ] subject` items; what is indented below one is its
// description. Checked items, headings and other text are left out.
func parseChecklist(text string) ([]fsboard.NewTask, error) {
	var tasks []fsboard.NewTask
	var body []string
	open := false // the last item is a task
	indent := 0
	finish := func() {
		if open {
			tasks[len(tasks)-1].Description = strings.TrimSpace(strings.Join(body, "\n"))
		}
		body, open = nil, false
	}
	for n, row := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		trimmed := strings.TrimLeft(row, " \t")
		mark, subject, isItem := checklistItem(trimmed)
		switch {
		case isItem:
			finish()
			switch mark {
			case ' ':
				if subject == "" {
					return nil, errs.New(errs.Usage, "line %d is an item without a subject", n+1)
				}
				tasks = append(tasks, fsboard.NewTask{Subject: subject})
				open, indent = true, len(row)-len(trimmed)
			case 'x', 'X', '-':
			default:
				return nil, errs.New(errs.Usage, "line %d has the mark [%c], only [ ] and [x] are known", n+1, mark)
			}
		case open && (trimmed == "" || len(row)-len(trimmed) > indent):
			body = append(body, trimmed)
		default:
			finish()
		}
	}
	finish()
	return tasks, nil
}

// checklistItem reads `- [x] subject`.
func checklistItem(row string) (mark rune, subject string, ok bool) {
	if len(row) < 5 || !strings.ContainsRune("-*+", rune(row[0])) || row[1] != ' ' {
		return 0, "", false
	}
	rest := strings.TrimLeft(row[1:], " ")
	if len(rest) < 3 || rest[0] != '[' {
		return 0, "", false
	}
	mark, size := utf8.DecodeRuneInString(rest[1:])
	after, closed := strings.CutPrefix(rest[1+size:], "]")
	return mark, strings.TrimSpace(after), closed
}

// fileOrStdin reads a FILE|- argument.
func (e *Env) fileOrStdin(name string) ([]byte, error) {
	var r io.Reader = e.stdin
	if name != "-" {
		f, err := openInput(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, maxBatch+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxBatch {
		return nil, errs.New(errs.Usage, "%s is larger than %d MiB", name, maxBatch>>20)
	}
	return data, nil
}

// openInput opens a file that an argument names.
func openInput(name string) (*os.File, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errs.New(errs.NotFound, "there is no file %s", name)
	}
	return f, err
}
