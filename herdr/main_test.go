package herdr

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f != nil && f.Value.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("8") // they wait for deadlines most of the time
	}
	os.Exit(m.Run())
}
