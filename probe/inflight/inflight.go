// Package inflight holds the program that tells which threads are in a call that
// has not returned. It is attached to nothing: it runs when user space reads the
// task iterator, about once a second, and costs the traced threads nothing.
package inflight

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package inflight InFlight inflight.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include
