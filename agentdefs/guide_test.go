package agentdefs

import (
	"strings"
	"testing"
)

// The guidance names every role with all that a leader chooses by, and is the
// same text for the same agents.
func TestLeaderGuide(t *testing.T) {
	tr := newTree(t)
	empty := LeaderGuide(tr.discover())
	if !strings.Contains(empty, "None is defined yet") {
		t.Error(empty)
	}
	tr.write(Project, "b.md", "---\nname: b\ndescription: two\n  lines\ntools: [read, bash]\nmodel: p/m\nverify: make test\nworktree: true\n---\nSECRET BODY\n")
	tr.write(ProjectLocal, "a.local.md", "---\ndescription: mine\n---\nbody\n")
	tr.write(User, "broken.md", "---\n")
	text := LeaderGuide(tr.discover())
	for _, want := range []string{
		"- a (project-local, local): mine\n  tools: none · model: inherit · verify: none · worktree: no\n- b (project, git-managed): two lines\n" +
			"  tools: read, bash · model: p/m · verify: make test · worktree: yes\n",
		"1 file cannot be used: `teams agents check`",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "SECRET BODY") {
		t.Error("the guidance has the prompts")
	}
	tr.write(Project, "b.md", "---\nname: b\ndescription: two lines\ntools: read,bash\nmodel: p/m\nverify: make test\nworktree: yes\n---\nanother body\n")
	if again := LeaderGuide(tr.discover()); again != text {
		t.Errorf("another text for the same agents:\n%s", again)
	}
}

// What the guidance has to say.
func TestGuides(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		words []string
	}{
		"leader": {LeaderGuide(new(Set)), []string{"teams agents new", "teams guide roles", "inputs", "output", "bounds", "independent", "do not poll",
			"review", "wait", "steer", "interrupt", "shut down", "handoff", "resume", "paths", "by a gate"}},
		"worker": {WorkerGuide(), []string{"teams claim", "teams submit", "teams release", "--status completed", "--status failed", "input of a peer", "task_claim", "send_message"}},
		"roles": {RoleReference(), []string{"cannot be spawned", "Identity", "Method", "Boundaries", "Evidence", "Terminal report", "mutability", "judgment",
			"executor", "reviewer", "specialist", "observer", "Four invariants", ".local.md"}},
	} {
		for _, w := range c.words {
			if !strings.Contains(c.text, w) {
				t.Errorf("%s says nothing of %q", name, w)
			}
		}
		if !strings.HasPrefix(c.text, "# ") || !strings.HasSuffix(c.text, "\n") || strings.Contains(c.text, "\t") {
			t.Errorf("%s is not well formed", name)
		}
		for i, line := range strings.Split(c.text, "\n") {
			if len([]rune(line)) > 125 && line[0] != '|' {
				t.Errorf("%s:%d is %d long", name, i+1, len(line))
			}
		}
	}
}
