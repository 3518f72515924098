/* How one table row becomes one exported function.
 *
 * A library is a table file of rows and a C file of a few lines that includes
 * the table three times (prototypes come with the table's header). A further
 * library, such as libnccl.so.2, is one more pair of such files:
 *
 *   FN(name, params, args, driver, dargs, out[, during])
 *
 *   params  as in NVIDIA's header     args   the same names, to call itself
 *   driver  what "nested" calls       dargs  with which arguments
 *   out     statement that fills out-parameters of a successful call
 *   during  statement of a call with a behaviour (struct stub_call call) that nests nothing
 *
 * FN_PTSZ and FN_PTDS write the row a second time, for the entry point that
 * programs built with the per-thread default stream call.
 *
 * The first instruction decides what a uprobe costs, so builds differ in it:
 *   (default)     push %rbp                      what NVIDIA's libcudart begins with
 *   endbr64       a compiler flag; nothing here
 *   ENTRY_SUBRSP  sub $8,%rsp                     single-stepped by the kernel
 *   ENTRY_NOP5    one 5-byte nop                  newer kernels patch it to a call
 *   ENTRY_NOPS    five 1-byte nops
 *   ENTRY_NVCUDA  cmpl; je; jmp                   what NVIDIA's libcuda begins with
 *   ENTRY_STP     stp x29, x30                   default on arm64, where the compiler
 *   ENTRY_BTI     bti c; stp x29, x30            begins large frames with sub sp
 * Those with a macro are a few instructions that leave all state alone and jump to the body. */
#ifndef CUDASTUB_ROW_H
#define CUDASTUB_ROW_H

#include "types.h"
#include "behave.h"

#define FN_PTSZ(name, params, args, driver, dargs, ...) \
	FN(name, params, args, driver, dargs, __VA_ARGS__) \
	FN(name##_ptsz, params, args, driver##_ptsz, dargs, __VA_ARGS__)
#define FN_PTDS(name, params, args, driver, dargs, ...) \
	FN(name, params, args, driver, dargs, __VA_ARGS__) \
	FN(name##_ptds, params, args, driver##_ptds, dargs, __VA_ARGS__)

#if defined(ENTRY_SUBRSP)
#define ENTRY_ASM                             \
	"sub $8,%rsp\n"                       \
	".cfi_adjust_cfa_offset 8\n"          \
	"add $8,%rsp\n"                       \
	".cfi_adjust_cfa_offset -8\n"
#elif defined(ENTRY_NOP5)
#define ENTRY_ASM ".byte 0x0f,0x1f,0x44,0x00,0x00\n"
#elif defined(ENTRY_NOPS)
#define ENTRY_ASM ".byte 0x90,0x90,0x90,0x90,0x90\n"
#elif defined(ENTRY_NVCUDA)
/* The word always holds the magic number, so the je is always taken. */
__attribute__((used, visibility("hidden"))) uint32_t stub_hook_state = 0x321cba00;
__attribute__((used, visibility("hidden"))) void (*stub_hook)(void) = 0;
#define ENTRY_ASM                                         \
	"cmpl $0x321cba00,stub_hook_state(%rip)\n"        \
	"je 1f\n"                                         \
	"jmp *stub_hook(%rip)\n"                          \
	".byte 0x66,0x0f,0x1f,0x44,0x00,0x00\n"           \
	"1:\n"
#elif defined(ENTRY_STP) || defined(ENTRY_BTI)
#ifdef ENTRY_BTI
#define LANDING "hint #34\n" /* bti c */
#else
#define LANDING
#endif
#define ENTRY_ASM                             \
	LANDING                               \
	"stp x29, x30, [sp, #-16]!\n"         \
	".cfi_adjust_cfa_offset 16\n"         \
	"ldp x29, x30, [sp], #16\n"           \
	".cfi_adjust_cfa_offset -16\n"
#endif

#ifdef __aarch64__
#define JUMP "b "
#else
#define JUMP "jmp "
#endif

#ifdef ENTRY_ASM
#define BODY(name) body_##name
#define ENTRY(name)                                                        \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ",%function\n" \
		#name ":\n.cfi_startproc\n" ENTRY_ASM                      \
		JUMP "body_" #name "\n.cfi_endproc\n.size " #name ",.-" #name "\n");
#else
#define BODY(name) name
#define ENTRY(name)
#endif

static inline int no_driver(void) { return 0; }
#define no_driver_ptsz no_driver
#define no_driver_ptds no_driver

/* Index and row of each function. */
#define ROW_INDEX(name, ...) ROW_##name,
#define ROW_INIT(name_, params, args, driver_, ...) {.name = #name_, .driver = #driver_},

/* The function. Everything but the test of one word is off the cheap path. */
#define ROW_FUNCTION(name, params, args, driver, dargs, out, ...)          \
	/* A second name for the symbol: the compiler would bind a plain recursive call here. */ \
	API int again_##name params __asm__(#name);                        \
	__attribute__((used)) int BODY(name) params                        \
	{                                                                  \
		struct stub_row *row = &rows[ROW_##name];                  \
		uint32_t todo = 0;                                         \
		int err = 0;                                               \
		if (__builtin_expect(atomic_load_explicit(&row->set, memory_order_relaxed), 0)) { \
			struct stub_call call;                             \
			todo = cudastub_enter(row, &call);                 \
			if (todo & TODO_RECURSE)                           \
				err = again_##name args;                   \
			else if (todo & TODO_NEST)                         \
				err = driver dargs;                        \
			else {                                             \
				__VA_ARGS__;                               \
			}                                                  \
			err = cudastub_finish(row, &call, todo, err);      \
		}                                                          \
		if (!err && !todo) {                                       \
			out;                                               \
		}                                                          \
		return err;                                                \
	}                                                                  \
	ENTRY(name)

#define PROTOTYPE(name, params, ...) API int name params;

#endif
