// Package echo has no code. Its module is Echo, which keeps what all nodes of a cluster send, and answers questions
// about it. It is a module of its own because its store needs cgo, and the tracer must not.
package echo
