package piext_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed6990a682/teams/internal/pi/pitest"
	"github.com/seed6990a682/teams/internal/piext"
)

// Both variants fit the types of the real pi.
func TestTypes(t *testing.T) {
	t.Parallel()
	pi := pitest.RealPi(t)
	// The name of pi is a link in node_modules/.bin; tsc is one beside it.
	modules := filepath.Dir(filepath.Dir(pi))
	tsc := filepath.Join(modules, ".bin", "tsc")
	for _, needed := range []string{tsc, filepath.Join(modules, "@types", "node")} {
		if _, err := os.Stat(needed); err != nil {
			t.Skipf("types are not checked: %v (typescript and @types/node are not installed beside pi)", err)
		}
	}
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "package.json"), `{"type":"module"}`)
	put(t, filepath.Join(dir, "tsconfig.json"), `{"compilerOptions":{"target":"es2022","module":"nodenext","moduleResolution":"nodenext","strict":true,
 "noEmit":true,"skipLibCheck":true,"preserveSymlinks":true,"types":["node"],"noUnusedLocals":true,"noUnusedParameters":true,"noImplicitReturns":true},
 "files":["plain/teams.ts","pier/teams.ts"]}`)
	for name, pier := range map[string]bool{"plain": false, "pier": true} {
		text, err := piext.Extension(piext.Options{Binary: `/opt/a "b"/teams`, Pier: pier})
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, name, "teams.ts"), string(text))
	}
	if out, err := exec.Command(tsc, "-p", dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
