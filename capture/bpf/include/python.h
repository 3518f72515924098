/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Python frames of the thread that makes a call, walked where its native
 * stack is taken. The thread is stopped in its own call, so its frames do not
 * change meanwhile, whether or not it holds the interpreter's lock.
 *
 * A stack seen before costs the walk and a look-up, and is sent as a hash. The
 * hash covers the address and the contents of each code object, so that an object
 * at a reused address counts as another one: if objects are freed and made again in
 * the same order, all addresses may be the same. Code objects are copied here, not
 * read by user space later: they may be gone by then, and so may the process.
 *
 * Loops that may be long are bpf_loop, whose body the verifier checks once: as plain loops
 * the walk exceeded its limit of a million instructions. A body has no access to the
 * caller's variables but through its context, struct py_walk.
 *
 * User space finds the interpreter and fills py_procs (agent/python.go, capture/symbol/python),
 * and puts the records together (capture/probe/decode_python.go). capture/symbol/python/walk.go
 * is the same walk in Go, for calls that do not return.
 */
#ifndef INGERO_PYTHON_H
#define INGERO_PYTHON_H
#include "thread.h"

#ifndef STACK_LOSS
#define STACK_LOSS LOSS_STACK /* what a stack that is not taken counts as */
#endif

#define PY_BLOCK 128   /* bytes of a frame or code object read at once */
#define PY_HEAD 56     /* bytes of a str or bytes object that distinguish it from others */
#define PY_THREADS 1024 /* thread states examined at most */
#define PY_STR_LENGTH 16 /* PyASCIIObject.length, .state; PyVarObject.ob_size; PyBytesObject.ob_sval */
#define PY_STR_STATE 32
#define PY_BYTES_SIZE 16
#define PY_BYTES_DATA 32
#define PY_OWNED_BY_C 3 /* _frameowner: this and above are frames without code */
#define PY_TLS_BYTES 4096 /* more than a struct pthread */

const volatile bool use_python = 0; /* false where the kernel has no bpf_loop: before 5.17 */

/*
 * The processes that run Python, and where in them things are. A process without a row has no
 * Python frames. With more processes than fit, those that had no stack lately are evicted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32); /* tgid */
	__type(value, struct py_proc);
} py_procs SEC(".maps");

/*
 * Hashes of the stacks and code objects that were sent. What is evicted is sent again. If user
 * space lacks something, as after a full ring, it gives the process another seed
 * (capture/probe/python.go): then all hashes are new, and nothing has to be deleted here.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u8);
} py_sent SEC(".maps");

/*
 * For each thread that has Python frames, so that preemption does no
 * harm. Values that change during a walk are here and not on the stack, where the
 * verifier would follow each of their values. The two records are here because a program's
 * stack has 512 bytes; a thread has some 8 KB of it from its first Python stack on.
 */
struct py_thread {
	u64 state; /* its PyThreadState, 0 not known */
	u64 interp, look; /* while looking for it */
	u64 self;         /* thread pointer */
	u64 frame, hash; /* the next frame to be read; of the frames so far */
	u32 n;           /* frames so far */
	u32 unsent; /* code objects that could not be sent */
	u64 block[PY_BLOCK / 8];
	u64 head[PY_HEAD / 8];
	u64 file, file_hash; /* the last file name, which the next frame often has too */
	u64 at[NPYFRAME]; /* addresses of the code objects */
	struct pystack_rec stack;
	struct pycode_rec code;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct py_thread);
} py_threads SEC(".maps");

const volatile u64 stack_room = 0; /* copy no stack while more of the ring than this is used; 0: no limit */

/* Whether less than that is used. */
static __always_inline bool room_below(u64 limit)
{
	return !limit || bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) <= limit;
}

/* A walk in progress. */
struct py_walk {
	struct py_proc *p;
	struct py_thread *t;
};

#define PY_READ(dst, addr) bpf_probe_read_user(&(dst), sizeof(dst), (void *)(addr))

/* The value of pthread_self(), or a little above. */
static __always_inline u64 thread_pointer(struct task_struct *task)
{
	return task->THREAD_POINTER;
}

/* One step of a hash. It need not withstand an attacker: it only keeps stacks apart. */
static __always_inline u64 py_mix(u64 h, u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

/*
 * Reads a frame or a code object with one read instead of one for each field: reads of user memory
 * are what a walk costs. The three functions below it take a field from the block. Offsets
 * are from user space, so the masks keep them within the block, and words aligned.
 */
static __always_inline long py_block(struct py_thread *t, u64 addr, u32 bytes)
{
	if (bytes > PY_BLOCK)
		return -1;
	return bpf_probe_read_user(t->block, bytes, (void *)addr);
}

static __always_inline u64 py_word(struct py_thread *t, u32 at) { return *(u64 *)((char *)t->block + (at & (PY_BLOCK - 8))); }

static __always_inline u32 py_half(struct py_thread *t, u32 at) { return *(u32 *)((char *)t->block + (at & (PY_BLOCK - 4))); }

static __always_inline u8 py_byte(struct py_thread *t, u32 at) { return *((u8 *)t->block + (at & (PY_BLOCK - 1))); }

/* The innermost frame of a thread state, 0 if it runs no Python. */
static __always_inline u64 py_top(const struct py_proc *p, u64 state)
{
	u64 frame = 0;

	if (PY_READ(frame, state + p->ts_frame) || !frame || !(p->flags & PY_CFRAME))
		return frame;
	u64 cframe = frame;
	frame = 0;
	PY_READ(frame, cframe + p->cframe_frame);
	return frame;
}

/*
 * Is it the thread state of the thread that has the thread pointer `self`? thread_id is
 * pthread_self(): the thread pointer, or up to a struct pthread below it.
 */
static __always_inline bool py_owns(const struct py_proc *p, u64 state, u64 self)
{
	u64 id = 0;

	return !PY_READ(id, state + p->ts_thread_id) && self - id < PY_TLS_BYTES;
}

/* PyASCIIObject.state: interned 2 bits, kind 3, compact 1, ascii 1. The kind is the width of a character. */
static __always_inline u32 py_bytes(u64 length, u32 state) { return (u32)length * (state >> 2 & 7); }

/* Where the characters of a str are. */
static __always_inline u64 py_chars(const struct py_proc *p, u64 str, u32 state)
{
	return str + (state >> 6 & 1 ? p->str_ascii : p->str_compact);
}

/*
 * A hash of a str or bytes object: length, cached hash if it has one, and the
 * first characters. A short object may lie at the end of readable memory: then only the part that
 * every object has is read.
 */
static __always_inline u64 py_head(struct py_thread *t, u64 h, u64 object)
{
	h = py_mix(h, object);
	if (bpf_probe_read_user(t->head, PY_HEAD, (void *)(object + PY_BYTES_SIZE))) /* behind it there is nothing */
		if (bpf_probe_read_user(t->head, PY_BYTES_DATA - PY_BYTES_SIZE, (void *)(object + PY_BYTES_SIZE)))
			return h;
	for (int i = 0; i < PY_HEAD / 8; i++)
		h = py_mix(h, t->head[i]);
	return h;
}

/* A hash of a file name: its length and its last characters, where paths differ. */
static __always_inline u64 py_file(const struct py_proc *p, struct py_thread *t, u64 str)
{
	u64 head[3], tail[4] = {}, h = str; /* length, hash, state */

	if (str == t->file)
		return t->file_hash;
	if (!PY_READ(head, str + PY_STR_LENGTH)) {
		u32 bytes = py_bytes(head[0], head[2]);
		h = py_mix(h, bytes);
		if (!PY_READ(tail, py_chars(p, str, head[2]) + bytes - sizeof tail)) /* of a short one also what is before it */
			for (int i = 0; i < 4; i++)
				h = py_mix(h, tail[i]);
	}
	t->file = str;
	t->file_hash = h;
	return h;
}

/*
 * Goes through the thread states of all interpreters. Threads are compared by
 * pthread_self, not by the kernel's thread id, which differs in a container.
 * A thread may have several states, one for each interpreter: the one that runs
 * code is needed. Each call looks at one state, or goes on to the next interpreter. Other threads
 * may add and free states meanwhile: a read from freed memory ends the search or finds
 * nothing, since a state has to have this thread's own pointer.
 */
static long py_find(u32 i, void *ctx)
{
	struct py_walk *w = ctx;
	struct py_proc *p = w->p;
	struct py_thread *t = w->t;

	if (!p || !t)
		return 1;
	u64 at = t->look, interp = t->interp;
	if (!at) {
		if (!interp)
			return 1;
		t->interp = 0;
		PY_READ(t->look, interp + p->interp_threads);
		PY_READ(t->interp, interp + p->interp_next);
		return 0;
	}
	if (py_owns(p, at, t->self)) {
		t->frame = py_top(p, at);
		if (t->frame) {
			t->state = at;
			return 1;
		}
	}
	t->look = 0;
	PY_READ(t->look, at + p->ts_next);
	return 0;
}

/*
 * Adds a frame to the stack and goes to its caller. From 3.12 on a frame without code (owned by C)
 * lies where C called the interpreter: it marks the frame that it called as an entry, so that
 * native frames can be put in between. From 3.11 on a frame has a pointer to its instruction,
 * before an index.
 */
static long py_step(u32 i, void *ctx)
{
	struct py_walk *w = ctx;
	struct py_proc *p = w->p;
	struct py_thread *t = w->t;

	if (!p || !t)
		return 1;
	u64 frame = t->frame;
	u32 n = t->n, flags = 0, fl = p->flags;
	if (!frame)
		return 1;
	if (py_block(t, frame, p->frame_bytes)) {
		t->stack.flags |= PYSTACK_BROKEN;
		return 1;
	}
	t->frame = py_word(t, p->frame_prev);
	if (fl & PY_SHIM && py_byte(t, p->frame_owner) >= PY_OWNED_BY_C) {
		if (n) {
			t->stack.f[(n - 1) & (NPYFRAME - 1)].flags |= PYFRAME_ENTRY;
			t->hash = py_mix(t->hash, 1);
		}
		return 0;
	}
	if (n >= NPYFRAME) {
		t->stack.flags |= PYSTACK_CUT;
		return 1;
	}
	u64 code = py_word(t, p->frame_code) & ~7ULL; /* from 3.14 the low bits are tags */
	s32 instr;
	if (fl & PY_FRAME_OBJECT) {
		instr = (s32)py_half(t, p->frame_instr);
		if (fl & PY_WORD_INDEX)
			instr *= 2;
		flags = PYFRAME_ENTRY;
	} else {
		instr = (s32)(py_word(t, p->frame_instr) - code - p->code_instrs);
		if (fl & PY_IS_ENTRY && py_byte(t, p->frame_entry))
			flags = PYFRAME_ENTRY;
	}
	if (py_block(t, code + p->code_at, p->code_bytes)) {
		t->stack.flags |= PYSTACK_BROKEN;
		return 1;
	}
	u64 id = py_mix(p->seed, code);
	id = py_mix(id, py_half(t, p->code_firstline));
	id = py_mix(id, py_file(p, t, py_word(t, p->code_file)));
	id = py_head(t, id, py_word(t, p->code_name));
	id = py_head(t, id, py_word(t, p->code_table));
	t->n = n + 1;
	barrier_var(n); /* or the compiler drops the mask, which older verifiers need */
	n &= NPYFRAME - 1;
	t->at[n] = code;
	t->stack.f[n] = (struct py_frame){ id, instr, flags };
	t->hash = py_mix(t->hash, id);
	t->hash = py_mix(t->hash, (u64)(u32)instr << 32 | flags);
	return 0;
}

/*
 * Copies the last bytes of a str: the end of a path or a qualified name says more. The second
 * comparison is for the verifier, which has to see the bound at the read itself;
 * barrier_var hides from the compiler that it is always false.
 */
static __always_inline long py_text(const struct py_proc *p, u64 str, struct py_str *s, u8 *dst, u32 max)
{
	u64 length = 0;

	if (PY_READ(length, str + PY_STR_LENGTH) || PY_READ(s->state, str + PY_STR_STATE) || length > 1 << 20)
		return -1;
	u32 bytes = py_bytes(length, s->state);
	u64 from = py_chars(p, str, s->state);
	s->length = length;
	if (bytes > max) {
		from += bytes - max;
		bytes = max;
	}
	barrier_var(bytes);
	if (bytes > max)
		return -1;
	return bpf_probe_read_user(dst, bytes, (void *)from);
}

/* Sends a line table, with the rest of the record, in as many records as it needs. */
static __always_inline long py_send_table(struct pycode_rec *r, u64 table)
{
	u64 size = 0;

	if (PY_READ(size, table + PY_BYTES_SIZE))
		return -1;
	r->table_bytes = size > NPYTABLE * PY_TABLE_BYTES ? NPYTABLE * PY_TABLE_BYTES : size;
	r->table_at = 0;
	for (int i = 0; i < NPYTABLE; i++) {
		u32 left = r->table_bytes - r->table_at;
		if (left > PY_TABLE_BYTES)
			left = PY_TABLE_BYTES;
		barrier_var(left);
		if (left > PY_TABLE_BYTES || bpf_probe_read_user(r->table, left, (void *)(table + PY_BYTES_DATA + r->table_at)) ||
		    bpf_ringbuf_output(&events, r, sizeof *r - PY_TABLE_BYTES + left, BPF_RB_NO_WAKEUP))
			return -1;
		r->table_at += left;
		if (r->table_at >= r->table_bytes)
			return 0;
	}
	return 0;
}

/*
 * Sends the code object of frame i, unless it was sent before. Two threads may send the same one at
 * the same time: user space keeps the last. If the ring is three quarters full, the object
 * is left for the next stack that has it; a stack with such an object is not noted as
 * sent either.
 */
static long py_send_code(u32 i, void *ctx)
{
	struct py_walk *w = ctx;
	struct py_proc *p = w->p;
	struct py_thread *t = w->t;

	if (!p || !t)
		return 1;
	u32 k = i & (NPYFRAME - 1);
	struct pycode_rec *r = &t->code;
	u64 id = t->stack.f[k].code;
	if (bpf_map_lookup_elem(&py_sent, &id))
		return 0;
	t->unsent++;
	if (!room_below(stack_room + stack_room / 2)) /* once each: they come before stacks, after calls */
		return 0;
	if (py_block(t, t->at[k] + p->code_at, p->code_bytes))
		return 0;
	r->code = id;
	r->firstline = py_half(t, p->code_firstline);
	u64 name = py_word(t, p->code_name), file = py_word(t, p->code_file), table = py_word(t, p->code_table);
	if (py_text(p, name, &r->name_str, r->name, PY_NAME_BYTES) || py_text(p, file, &r->file_str, r->file, PY_FILE_BYTES) ||
	    py_send_table(r, table))
		return 0;
	u8 sent = 1;
	bpf_map_update_elem(&py_sent, &id, &sent, BPF_ANY);
	t->unsent--;
	return 0;
}

/*
 * Finds the innermost frame of the current thread; 0 if it runs no Python. The state found last is
 * tried first. It is checked again, because it may have been freed, and its memory used for another
 * thread's.
 */
static __always_inline u64 py_innermost(struct py_walk *w, struct task_struct *task)
{
	struct py_proc *p = w->p;
	struct py_thread *t = w->t;

	t->self = thread_pointer(task);
	t->frame = 0;
	if (t->state && py_owns(p, t->state, t->self))
		t->frame = py_top(p, t->state);
	if (t->frame)
		return t->frame;
	t->look = t->interp = t->state = 0;
	PY_READ(t->interp, p->interp_head);
	bpf_loop(PY_THREADS, py_find, w, 0);
	return t->frame;
}

/*
 * Walks and reports the Python frames of the running thread, for the call that began at `start`.
 * Code objects go first, then the stack, then (by the caller) the native stack and the call: the
 * reader has everything when the call comes. A frame costs up to two steps of the loop, because of
 * frames without code. Not inlined: code size would slow calls that get no stack.
 */
static __attribute__((noinline)) int python_stack(u64 start, u64 id, u32 op)
{
	u32 tgid = id >> 32;
	struct py_walk w = { .p = bpf_map_lookup_elem(&py_procs, &tgid) };

	if (!w.p)
		return 0;
	struct task_struct *task = bpf_get_current_task_btf();
	/* Under the run-queue lock nothing may be allocated: a wait is sampled of who had a stack before. */
	u64 create = op >> 16 == STACK_OF_WAIT ? 0 : BPF_LOCAL_STORAGE_GET_F_CREATE;
	struct py_thread *t = bpf_task_storage_get(&py_threads, task, 0, create);
	if (!t) {
		lose(STACK_LOSS);
		return 0;
	}
	w.t = t;
	if (!py_innermost(&w, task))
		return 0;
	t->hash = w.p->seed;
	t->file = 0;
	t->n = t->unsent = 0;
	t->stack.flags = 0;
	bpf_loop(2 * NPYFRAME, py_step, &w, 0);
	u32 n = t->n;
	if (!n || n > NPYFRAME)
		return 0;
	struct pystack_rec *r = &t->stack;
	r->h = (struct hdr){ start, id, op, KIND_PYSTACK, 0 };
	r->tgid = tgid;
	r->n = 0;
	u64 key = r->hash = py_mix(t->hash, r->flags);
	u32 bytes = sizeof *r - sizeof r->f;
	bool sent = bpf_map_lookup_elem(&py_sent, &key);
	if (!sent) {
		t->code.h = (struct hdr){ start, id, 0, KIND_PYCODE, w.p->table };
		t->code.tgid = tgid;
		bpf_loop(n, py_send_code, &w, 0);
		r->n = n;
		bytes += n * sizeof r->f[0];
	}
	if (bpf_ringbuf_output(&events, r, bytes, BPF_RB_NO_WAKEUP)) {
		lose(STACK_LOSS);
	} else if (!sent && !t->unsent) {
		u8 one = 1;
		bpf_map_update_elem(&py_sent, &key, &one, BPF_ANY);
	}
	return 0;
}

#endif
