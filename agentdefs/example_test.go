package agentdefs_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed6990a682/teams/agentdefs"
)

// The definition of the project is used instead of the user's of that name.
func Example() {
	base, err := os.MkdirTemp("", "agentdefs-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(base)
	dirs := agentdefs.Dirs{Root: filepath.Join(base, "root"), Project: filepath.Join(base, "app")}

	for scope, description := range map[agentdefs.Scope]string{
		agentdefs.User:    "Reviews any change; use when somebody else made it",
		agentdefs.Project: "Reviews changes of the parser; use when grammar.go changed",
	} {
		_, err := agentdefs.Create(dirs, scope, agentdefs.Draft{Name: "reviewer", Shape: agentdefs.Reviewer, Description: description})
		if err != nil {
			fmt.Println(err)
			return
		}
	}

	set, err := agentdefs.Discover(dirs)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := set.Resolve("reviewer")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Name, a.Scope, a.Tools)
	fmt.Println(a.Description)
	fmt.Println("shadowed files:", len(a.Shadowed), "findings:", len(set.Check()))
	_, err = set.Resolve("writer")
	fmt.Println(err)
	// Output:
	// reviewer project [read bash]
	// Reviews changes of the parser; use when grammar.go changed
	// shadowed files: 1 findings: 0
	// there is no agent "writer", there are reviewer
}

// What YAML refuses is taken as it stands, and told.
func ExampleParse() {
	text := "---\nname: reviewer\ndescription: Review: use when code changed\n---\nYou are the reviewer agent.\n"
	a, problems := agentdefs.Parse("reviewer.md", []byte(text))
	fmt.Println(a.Description)
	for _, p := range problems {
		fmt.Println(p.Severity, p)
	}
	// Output:
	// Review: use when code changed
	// warning reviewer.md:3: description is not YAML (mapping values are not allowed in this context), it is taken as it stands; quote it
}
