/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Where the recorded arguments of a call are found, by event.Shape. Structures
 * are those of driver_types.h (cudaLaunchConfig_t) and cuda.h (CUlaunchConfig)
 * of CUDA 12; registers those of the System V and AAPCS64 calling conventions.
 * event/catalog.go has the parameters of each shape; which argument is what is in the
 * catalogue of operations (docs/events.md).
 *
 * The probe may be some instructions into the function, but never behind one that
 * changes the stack pointer or an argument register (capture/probe/offset.go).
 *
 * A read of user memory that fails leaves zeros: the call is recorded without these
 * arguments. It fails where the page is not in memory: these programs cannot sleep
 * until it is.
 */
#ifndef INGERO_ARGS_H
#define INGERO_ARGS_H
#include "thread.h"
#include "ops.h"

/* dim3 by value is passed in two registers: x and y, then z. Only the product is recorded. */
static __always_inline u64 volume(u64 xy, u64 z)
{
	return (u64)(u32)xy * (u32)(xy >> 32) * (u32)z;
}

#if defined(__TARGET_ARCH_x86)
/* Stack arguments begin after the return address. */
#define STACK_ARGS(c) (PT_REGS_SP(c) + 8)
#define P6(c) ((c)->r9)
#define P7(c) stack_arg(c, 0)
#define P8(c) stack_arg(c, 1)
#elif defined(__TARGET_ARCH_arm64)
#define STACK_ARGS(c) PT_REGS_SP(c)
#define P6(c) AREG(c, 5)
#define P7(c) AREG(c, 6)
#define P8(c) AREG(c, 7)
#endif

/* The n-th stack argument, from 0, before the callee has touched the stack. */
static __always_inline u64 stack_arg(struct pt_regs *c, int n)
{
	u64 v = 0;
	bpf_probe_read_user(&v, 8, (void *)(STACK_ARGS(c) + 8 * n));
	return v;
}

/* They need the macros above. */
#include "nccl.h"
#include "nvtx.h"

/*
 * cudaLaunchConfig_t: gridDim, blockDim, dynamicSmemBytes, stream. The fields that follow
 * (attributes) are not read.
 */
static __always_inline void launch_config(struct frame *f, u64 config, u64 func)
{
	struct {
		u32 g[3], b[3];
		u64 shared, stream;
	} k = {};
	bpf_probe_read_user(&k, sizeof k, (void *)config);
	f->arg[0] = func;
	f->arg[1] = k.stream;
	f->arg[2] = (u64)k.g[0] * k.g[1] * k.g[2];
	f->arg[3] = (u64)k.b[0] * k.b[1] * k.b[2];
}

/* CUlaunchConfig: unlike the runtime's, the shared memory is 32 bits wide. */
static __always_inline void driver_config(struct frame *f, u64 config, u64 func)
{
	struct {
		u32 g[3], b[3], shared, pad;
		u64 stream;
	} k = {};
	bpf_probe_read_user(&k, sizeof k, (void *)config);
	f->arg[0] = func;
	f->arg[1] = k.stream;
	f->arg[2] = (u64)k.g[0] * k.g[1] * k.g[2];
	f->arg[3] = (u64)k.b[0] * k.b[1] * k.b[2];
}

/*
 * cuLaunchKernel(func, grid x y z, block x y z, shared, stream, ...). A read of
 * user memory is the most expensive step, so all stack arguments are read at once.
 */
static __always_inline void driver_launch(struct frame *f, struct pt_regs *c)
{
#if defined(__TARGET_ARCH_x86)
	struct {
		u64 block_z, shared, stream;
	} s = {};
	bpf_probe_read_user(&s, sizeof s, (void *)STACK_ARGS(c));
	u64 z = s.block_z, stream = s.stream;
#else
	u64 z = P7(c), stream = stack_arg(c, 0);
#endif
	f->arg[0] = PT_REGS_PARM1(c);
	f->arg[1] = stream;
	f->arg[2] = (u64)(u32)PT_REGS_PARM2(c) * (u32)PT_REGS_PARM3(c) * (u32)PT_REGS_PARM4(c);
	f->arg[3] = (u64)(u32)PT_REGS_PARM5(c) * (u32)P6(c) * (u32)z;
}

static __always_inline void set_args(struct frame *f, u64 a, u64 b, u64 c, u64 d)
{
	f->arg[0] = a;
	f->arg[1] = b;
	f->arg[2] = c;
	f->arg[3] = d;
}

/* The offsets are those of cudaMemcpy3DParms: srcPtr.ptr, dstPtr.ptr, and extent followed by kind. */
static __always_inline void copy_3d(struct frame *f, u64 p)
{
	struct {
		u64 w, h, d;
		u32 kind, pad;
	} e = {};
	u64 src = 0, dst = 0;

	bpf_probe_read_user(&src, sizeof src, (void *)(p + 32));
	bpf_probe_read_user(&dst, sizeof dst, (void *)(p + 96));
	bpf_probe_read_user(&e, sizeof e, (void *)(p + 128));
	set_args(f, e.w * e.h * e.d, e.kind, dst, src);
}

/* WidthInBytes and Height of CUDA_MEMCPY2D; those and Depth of CUDA_MEMCPY3D and its peer form. */
#define CU_2D_SIZE 112
#define CU_3D_SIZE 176
static __always_inline void driver_copy(struct frame *f, u64 size, bool deep)
{
	u64 e[3] = { 0, 0, 1 };

	bpf_probe_read_user(e, deep ? 24 : 16, (void *)size);
	set_args(f, e[0] * e[1] * e[2], 0, 0, 0);
}

/* cudaExtent by value: x86-64 passes it in memory, arm64 a pointer to a copy. */
static __always_inline void alloc_3d(struct frame *f, struct pt_regs *c)
{
	u64 e[3] = {};

#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_user(e, sizeof e, (void *)STACK_ARGS(c));
#else
	bpf_probe_read_user(e, sizeof e, (void *)PT_REGS_PARM2(c));
#endif
	set_args(f, e[0] * e[1] * e[2], 0, 0, 0);
	f->out = PT_REGS_PARM1(c);
}

/*
 * Functions that are seldom called. Not inlined: other calls do not need this
 * code, and code size slows every call.
 */
static __attribute__((noinline)) int rare_args(struct frame *f, struct pt_regs *c, u32 shape)
{
	u64 p1 = PT_REGS_PARM1(c), p2 = PT_REGS_PARM2(c), p3 = PT_REGS_PARM3(c), p4 = PT_REGS_PARM4(c);

	if (!f)
		return 0;
	switch (shape) {
	case SHAPE_FILL_16:
		set_args(f, p3 * 2, p1, (u16)p2, 0);
		break;
	case SHAPE_FILL_32:
		set_args(f, p3 * 4, p1, (u32)p2, 0);
		break;
	case SHAPE_FILL_2D:
		set_args(f, p4 * PT_REGS_PARM5(c), p1, (u32)p3, 0);
		break;
	case SHAPE_COPY_3D:
		copy_3d(f, p1);
		break;
	case SHAPE_COPY_SYMBOL:
		set_args(f, p3, (u32)PT_REGS_PARM5(c), p1, p2);
		break;
	case SHAPE_CU_COPY_PEER:
		set_args(f, PT_REGS_PARM5(c), p1, p3, 0);
		break;
	case SHAPE_CU_COPY_2D:
		driver_copy(f, p1 + CU_2D_SIZE, false);
		break;
	case SHAPE_CU_COPY_3D:
		driver_copy(f, p1 + CU_3D_SIZE, true);
		break;
	case SHAPE_CU_ARRAY:
		set_args(f, p4, p1, 0, 0);
		break;
	case SHAPE_ALLOC_3D:
		alloc_3d(f, c);
		break;
	}
	return 0;
}

/*
 * Fills the arguments of a new frame. f->out is where the callee will store its result: it is
 * read at the return, if the call succeeded. 0: no result is wanted. The order of shapes is
 * that of the enum, so that a few comparisons find the rare ones; launches and copies,
 * which are most calls, come to the switch at once.
 */
static __always_inline void call_args(struct frame *f, struct pt_regs *c, u32 shape)
{
	u64 p1 = PT_REGS_PARM1(c), p2 = PT_REGS_PARM2(c), p3 = PT_REGS_PARM3(c), p4 = PT_REGS_PARM4(c);
	f->out = 0;
	if (shape >= SHAPE_INIT_RANK) {
		if (shape >= SHAPE_MARK)
			mark_args(f, c, shape);
		else
			nccl_args(f, c, shape);
		return;
	}
	if (shape >= SHAPE_FILL_16 && shape <= SHAPE_ALLOC_3D) {
		rare_args(f, c, shape);
		return;
	}
	switch (shape) {
	case SHAPE_LAUNCH:
		set_args(f, p1, P8(c), volume(p2, p3), volume(p4, PT_REGS_PARM5(c)));
		break;
	case SHAPE_LAUNCH_CONFIG:
		launch_config(f, p1, p2);
		break;
	case SHAPE_CU_LAUNCH:
		driver_launch(f, c);
		break;
	case SHAPE_CU_CONFIG:
		driver_config(f, p1, p2);
		break;
	case SHAPE_ALLOC:
		set_args(f, p2, 0, 0, 0);
		f->out = p1;
		break;
	case SHAPE_COPY:
		set_args(f, p3, (u32)p4, p1, p2);
		break;
	case SHAPE_CU_COPY:
		set_args(f, p3, p1, p2, 0);
		break;
	case SHAPE_COPY_2D:
		set_args(f, PT_REGS_PARM5(c) * P6(c), (u32)P7(c), p1, p3);
		break;
	case SHAPE_COPY_PEER:
		set_args(f, PT_REGS_PARM5(c), p2 << 32 | (u32)p4, p1, p3);
		break;
	case SHAPE_FILL:
		set_args(f, p3, p1, (u32)p2, 0);
		break;
	case SHAPE_CREATE:
		set_args(f, 0, p2, p3, 0);
		f->out = p1;
		break;
	case SHAPE_END_CAPTURE:
	case SHAPE_STATUS:
		set_args(f, p1, 0, 0, 0);
		f->out = p2;
		break;
	case SHAPE_CAPTURE_TO:
		set_args(f, p1, (u32)P6(c), p2, 0);
		break;
	case SHAPE_PITCH:
		set_args(f, p3 * p4, 0, 0, 0);
		f->out = p1;
		break;
	case SHAPE_REGISTER:
		set_args(f, p2, p1, 0, 0);
		break;
	default:
		set_args(f, p1, p2, p3, p4);
	}
}

/*
 * Reads the result a function stored through a parameter. It is there only at the return, and the
 * caller has not run yet.
 */
static __always_inline void call_result(struct frame *f, u32 shape, u32 tgid, u64 now)
{
	u64 v = 0;
	if (shape >= SHAPE_INIT_RANK) {
		nccl_result(f, shape, tgid, now);
		return;
	}
	if (shape == SHAPE_STATUS)
		bpf_probe_read_user(&v, 4, (void *)f->out); /* an enum; v was 0 */
	else
		bpf_probe_read_user(&v, 8, (void *)f->out);
	if (shape == SHAPE_CREATE)
		f->arg[0] = v;
	else
		f->arg[1] = v;
}

#endif
