//go:build race

package fsboard

// stride is how many steps an exhaustive test goes at once: with the race
// detector each takes several times as long, and what it looks for shows at any
// of them.
const stride = 5
