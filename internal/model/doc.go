// Package model has no code of its own. Its tests drive a whole team, board,
// mail and roster in one, through random verbs of several callers that die,
// meet failing calls, overlap and live through steps of the clock, and check
// after each step what the packages promise.
package model
