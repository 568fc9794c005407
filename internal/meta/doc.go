// Package meta holds tests of the project as a whole and no code of its own:
// which package may import which, what may lie at the top level, what no file
// may say, and that the documents tell the truth about the program. Command
// lines and outputs in the documents are run as they stand.
//
// The flag -update writes anew what the documents take from the program: the
// reference of the commands and the tables of codes.
//
//	go test ./internal/meta -update
package meta
