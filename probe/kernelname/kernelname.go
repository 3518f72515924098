// Package kernelname holds the programs that learn what GPU kernels are called:
// when a program registers those compiled into it, and when it looks one up in a
// module that it loaded. They run at a program's start and when it loads code,
// never at a launch.
package kernelname

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package kernelname Name kernelname.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include
