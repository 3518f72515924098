//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Calls through one uprobe session link: the same program runs at entry and
// return, and a rejected entry leaves the return unarmed (kernel 6.13). From 7.0
// the kfunc takes the context, so this file is compiled twice; backend.go tries both
// objects, and keeps the one that loads and attaches.
#include "call.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#ifdef SESSION_CTX
extern bool bpf_session_is_return(void *ctx) __ksym;
#define is_return(c) bpf_session_is_return(c)
#else
extern bool bpf_session_is_return(void) __ksym;
#define is_return(c) bpf_session_is_return()
#endif

// Returning 1 at the entry leaves the return address alone: a call that is not followed costs no
// second trap. hold_cpu and release_cpu have to be in pairs on every path, or the verifier rejects
// the program.
SEC("uprobe.session/call")
int session_call(struct pt_regs *c)
{
	int unarmed = 0;

	hold_cpu();
	if (is_return(c))
		call_return(c, bpf_get_attach_cookie(c));
	else
		unarmed = !call_enter(c, bpf_get_attach_cookie(c));
	release_cpu();
	return unarmed;
}

// The floor: what the kernel charges for an entry and a return that do nothing.
SEC("uprobe.session/empty")
int session_empty(struct pt_regs *c)
{
	return 0;
}
