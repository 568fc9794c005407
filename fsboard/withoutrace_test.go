//go:build !race

package fsboard

const stride = 1
