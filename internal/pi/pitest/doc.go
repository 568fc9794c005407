// Package pitest lets tests run pi without a real model: a scripted model
// server on loopback that speaks the OpenAI-compatible streaming API, a test
// double of pi (fakepi) that talks to it as pi does, and the real pi where it
// is installed.
//
// The server does what the last message of a request says; see Directives in
// model.go. So a test tells the model what to do by what it tells pi.
package pitest
