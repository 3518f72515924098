//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Calls through uprobe_multi links (kernel 6.6) or perf events (5.15): one
// program at entry, one at return, with the function's cookie.
//
// The cookie replaces a program for each function: capture/probe/library.go makes it, the
// attachment carries it. What is done is in call.h, the same for all back ends; backend.go tries
// them in turn, and keeps the two programs of the one that works. What call_enter returns is of no
// use here: the return probe is armed in any case, and call_return finds no frame.
#include "call.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("uprobe.multi/call")
int multi_enter(struct pt_regs *c)
{
	hold_cpu();
	call_enter(c, bpf_get_attach_cookie(c));
	release_cpu();
	return 0;
}

SEC("uretprobe.multi/call")
int multi_return(struct pt_regs *c)
{
	hold_cpu();
	call_return(c, bpf_get_attach_cookie(c));
	release_cpu();
	return 0;
}

SEC("uprobe/call")
int perf_enter(struct pt_regs *c)
{
	hold_cpu();
	call_enter(c, bpf_get_attach_cookie(c));
	release_cpu();
	return 0;
}

SEC("uretprobe/call")
int perf_return(struct pt_regs *c)
{
	hold_cpu();
	call_return(c, bpf_get_attach_cookie(c));
	release_cpu();
	return 0;
}

// The floor: what the kernel charges for an entry and a return that do nothing.
SEC("uprobe.multi/empty")
int multi_empty(struct pt_regs *c)
{
	return 0;
}

SEC("uretprobe.multi/empty")
int multi_empty_return(struct pt_regs *c)
{
	return 0;
}

SEC("uprobe/empty")
int perf_empty(struct pt_regs *c)
{
	return 0;
}
