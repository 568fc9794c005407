package fsx

import "strings"

func machineID() string {
	b, err := readSmall("/etc/machine-id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
