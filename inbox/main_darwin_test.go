package inbox

import "fmt"

func platformHelper(mode string, _ []string) error { return fmt.Errorf("no helper %q", mode) }
