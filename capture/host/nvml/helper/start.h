// How the helper begins: as crt1.o would let it, but with a __libc_start_main that has
// no version. Its init and fini are null: there are no constructors.
#ifndef START_H
#define START_H

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end);

int main(int argc, char **argv, char **env);

// stack is argc, argv and the environment, as the kernel left them (System V ABI).
__attribute__((used, noreturn)) static void begin(long *stack, void (*rtld_fini)(void))
{
	__libc_start_main(main, (int)stack[0], (char **)(stack + 1), 0, 0, rtld_fini, stack);
	__builtin_trap();
}

#if defined(__x86_64__)
__asm__(".globl _start\n.type _start, @function\n_start:\n"
        "	xor %ebp, %ebp\n	mov %rsp, %rdi\n	mov %rdx, %rsi\n	and $-16, %rsp\n	call begin\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n.type _start, %function\n_start:\n"
        "	mov x29, #0\n	mov x30, #0\n	mov x1, x0\n	mov x0, sp\n	b begin\n");
#endif

#endif
