// Package sched holds the programs on the scheduler's tracepoints: the
// kernel's half of the ledger.
package sched

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package sched Sched sched.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include
