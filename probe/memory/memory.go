// Package memory holds the programs on the tracepoints of memory reclaim and
// compaction: when did a thread that wanted memory have to make room first? They
// run nowhere else, so that a machine with free memory pays nothing. A kernel
// that lacks some of the tracepoints is watched through the others.
package memory

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package memory Memory memory.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include

// Hook is a program and the tracepoint that it is for.
type Hook struct{ Program, Tracepoint string }

// Hooks lists the programs in pairs: begin and end of a kind of reclaim are of
// use only together.
var Hooks = [][2]Hook{
	{{"direct_begin", "mm_vmscan_direct_reclaim_begin"}, {"direct_end", "mm_vmscan_direct_reclaim_end"}},
	{{"memcg_begin", "mm_vmscan_memcg_reclaim_begin"}, {"memcg_end", "mm_vmscan_memcg_reclaim_end"}},
	{{"compact_begin", "mm_compaction_begin"}, {"compact_end", "mm_compaction_end"}},
}

// Victim is the program on the end of processes for lack of memory. In kernels from
// 6.8 on its tracepoint passes the task, before only its number.
var Victim = Hook{"victim", "mark_victim"}
