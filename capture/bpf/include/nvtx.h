/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What functions of NVTX are given: nvToolsExt.h of NVTX 2, nvtxEventAttributes_t of its
 * versions 2 and 3. A frame's arguments are the domain, the id of a range, the message
 * and its form << 32 | category. The text is read when the function returns: its
 * caller has it until then.
 *
 * Only functions of libnvToolsExt.so are seen. NVTX 3 is headers only: without a tool its calls
 * leave no function to probe. capture/probe/decode_mark.go reads the records.
 */
#ifndef INGERO_NVTX_H
#define INGERO_NVTX_H
#include "thread.h"
#include "ops.h"

#define NVTX_ASCII 1 /* nvtxMessageType_t */
#define NVTX_WIDE 2
#define NVTX_REGISTERED 3
#define WIDE_CHARS (MARK_TEXT / 4) /* wchar_t is of 4 bytes */

/* The four values of struct mark_rec, in the four arguments that a frame has room for. */
static __always_inline void mark_set(struct frame *f, u64 domain, u64 id, u64 message, u64 form, u32 category)
{
	f->arg[0] = domain;
	f->arg[1] = id;
	f->arg[2] = message;
	f->arg[3] = form << 32 | category;
}

/*
 * nvtxEventAttributes_t. A handle of a registered text (NVTX_REGISTERED) is not followed: what it
 * points to is the library's own. An unknown type of message gives no message.
 */
static __always_inline void mark_attributes(struct frame *f, u64 domain, u64 at)
{
	struct {
		u16 version, size;
		u32 category, color_type, color, payload_type, reserved;
		u64 payload;
		u32 message_type, pad;
		u64 message;
	} a = {};
	u64 form = MARK_NONE;

	bpf_probe_read_user(&a, sizeof a, (void *)at);
	if (a.message_type == NVTX_ASCII)
		form = MARK_ASCII;
	else if (a.message_type == NVTX_WIDE)
		form = MARK_WIDE;
	else if (a.message_type == NVTX_REGISTERED)
		form = MARK_HANDLE;
	mark_set(f, domain, 0, form ? a.message : 0, form, a.category);
}

/* Not inlined: other calls do not come here, and pay for every byte on their way. */
static __attribute__((noinline)) int mark_args(struct frame *f, struct pt_regs *c, u32 shape)
{
	u64 p1 = PT_REGS_PARM1(c), p2 = PT_REGS_PARM2(c);

	if (!f)
		return 0;
	switch (shape) {
	case SHAPE_MARK:
		mark_set(f, 0, 0, p1, MARK_ASCII, 0);
		break;
	case SHAPE_MARK_WIDE:
		mark_set(f, 0, 0, p1, MARK_WIDE, 0);
		break;
	case SHAPE_MARK_EX:
		mark_attributes(f, 0, p1);
		break;
	case SHAPE_MARK_IN:
		mark_attributes(f, p1, p2);
		break;
	case SHAPE_MARK_END:
		mark_set(f, 0, p1, 0, MARK_NONE, 0);
		break;
	case SHAPE_MARK_END_IN:
		mark_set(f, p1, p2, 0, MARK_NONE, 0);
		break;
	}
	return 0;
}

/*
 * One by one: a text may end where no memory follows. There is a helper for strings of bytes, none
 * for wide ones. Returns the bytes with the NUL, or MARK_TEXT if there was none in the room.
 */
static __always_inline s32 read_wide(char *text, u64 from)
{
	for (u32 i = 0; i < WIDE_CHARS; i++) {
		u32 w = 0;
		long err = bpf_probe_read_user(&w, sizeof w, (void *)(from + 4 * i));

		if (err)
			return err;
		__builtin_memcpy(text + 4 * i, &w, sizeof w);
		if (!w)
			return 4 * (i + 1);
	}
	return MARK_TEXT;
}

/*
 * Reports the mark. It is no call: it has no ledger, no stack and no depth. If its text cannot be
 * read, len is negative, and the mark is recorded all the same.
 * Not inlined: see mark_args.
 */
static __attribute__((noinline)) int mark_return(struct frame *f, u64 id, u64 now, u64 answer)
{
	if (!f)
		return 0;
	u8 form = f->arg[3] >> 32;
	struct mark_rec *r = bpf_ringbuf_reserve(&events, sizeof *r, 0);

	if (!r) {
		lose(LOSS_MARK);
		return 0;
	}
	r->h = (struct hdr){ f->start, id, f->cookie, KIND_MARK, form };
	r->dur = now - f->start;
	r->tgid = id >> 32;
	r->len = 0;
	r->domain = f->arg[0];
	r->id = f->arg[1];
	r->answer = answer;
	r->message = f->arg[2];
	r->category = f->arg[3];
	r->pad = 0;
	if (form == MARK_ASCII)
		r->len = bpf_probe_read_user_str(r->text, MARK_TEXT, (void *)f->arg[2]);
	else if (form == MARK_WIDE)
		r->len = read_wide(r->text, f->arg[2]);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
