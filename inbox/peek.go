package inbox

import (
	"os"

	"github.com/seed6990a682/teams/internal/fsx"
)

// headAndSize reads enough of a file for any usual header, and its size.
func headAndSize(path string) ([]byte, int64, error) {
	const usual = 4 << 10
	data, err := fsx.ReadHead(path, usual)
	if err != nil {
		return nil, 0, err
	}
	if len(data) < usual {
		return data, int64(len(data)), nil
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, 0, err
	}
	if _, body := splitHeader(data); body > 0 {
		return data, info.Size(), nil
	}
	data, err = fsx.ReadHead(path, maxHeader)
	return data, info.Size(), err
}
