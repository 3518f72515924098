package probe

import (
	"debug/elf"
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"
)

// A uprobe replaces an instruction by a breakpoint. If the kernel can emulate the
// instruction, a hit costs one trap; if not, the instruction is executed out of line
// under single-step, a second trap that is ten times as expensive in a virtual machine.
// So the chooser looks past the first instruction for one the kernel emulates
// (arch/x86/kernel/uprobes.c: push, nop, jmp, jcc), as long as everything skipped runs
// once on every call and leaves the stack pointer, the argument registers and memory as
// they were: then arguments and return address are still where the calling convention
// puts them.
//
// Nops of several bytes are emulated from kernel 6.18 on, where they are the cheapest
// instruction; older kernels single-step them.

// maxSkip is how many bytes of a prologue are searched.
const maxSkip = 32

// chooseOffset returns the offset from the function's first byte at which to probe, and
// whether the instruction there must be single-stepped. code is the function, or the
// beginning of it.
func chooseOffset(machine elf.Machine, code []byte) (skip int, slow bool) {
	if machine != elf.EM_X86_64 {
		return 0, false // arm64 has no cheaper choice: every instruction except branches is stepped
	}
	for at := 0; at < len(code) && at < maxSkip; {
		rest := code[at:]
		if isEndbr(rest) {
			at += 4
			continue
		}
		in, err := x86asm.Decode(rest, 64)
		if err != nil || in.Op == 0 { // no operation: cut off after a prefix
			break
		}
		if emulated(rest[:in.Len]) {
			if at > 0 && jumpedInto(code, at) {
				break
			}
			return at, false
		}
		if !harmless(in) {
			break
		}
		at += in.Len
	}
	return 0, true
}

// jumpedInto reports whether the function jumps to code[1:at+1]: then that code is in a
// loop, and a probe there would fire more than once a call.
func jumpedInto(code []byte, at int) bool {
	for pos := 0; pos < len(code); {
		in, err := x86asm.Decode(code[pos:], 64)
		if err != nil {
			pos++ // an instruction the decoder does not know, or data
			continue
		}
		pos += in.Len
		if rel, ok := in.Args[0].(x86asm.Rel); ok {
			if to := pos + int(rel); 0 < to && to <= at {
				return true
			}
		}
	}
	return false
}

func isEndbr(b []byte) bool {
	return len(b) >= 4 && binary.LittleEndian.Uint32(b) == 0xfa1e0ff3
}

// emulated reports whether the kernel runs an instruction without stepping. Only forms it accepts in
// every version count: no prefixes,
// some of which it refuses to probe at all, and of push the short forms.
func emulated(in []byte) bool {
	var b [3]byte
	copy(b[:], in)
	switch c := b[0]; {
	case 0x50 <= c && c <= 0x57: // push %rax to %rdi
		return true
	case c == 0x41: // push %r8 to %r15
		return 0x50 <= b[1] && b[1] <= 0x57
	case c == 0x90: // nop
		return true
	case c == 0xe8, c == 0xe9, c == 0xeb: // call, jmp
		return true
	case 0x70 <= c && c <= 0x7f: // jcc
		return true
	case c == 0x0f: // nop, jcc
		return b[1] == 0x1f || 0x80 <= b[1] && b[1] <= 0x8f
	case c == 0x66: // nop with a longer encoding
		return b[1] == 0x0f && b[2] == 0x1f
	}
	return false
}

// scratch are the registers a function may have changed before the probe, in
// every width: all but those that hold arguments or the stack.
var scratch = func() map[x86asm.Reg]bool {
	m := map[x86asm.Reg]bool{}
	for _, r := range []x86asm.Reg{
		x86asm.RAX, x86asm.EAX, x86asm.AX, x86asm.AL, x86asm.AH,
		x86asm.RBX, x86asm.EBX, x86asm.BX, x86asm.BL, x86asm.BH,
		x86asm.RBP, x86asm.EBP, x86asm.BP, x86asm.BPB,
		x86asm.R10, x86asm.R10L, x86asm.R10W, x86asm.R10B,
		x86asm.R11, x86asm.R11L, x86asm.R11W, x86asm.R11B,
		x86asm.R12, x86asm.R12L, x86asm.R12W, x86asm.R12B,
		x86asm.R13, x86asm.R13L, x86asm.R13W, x86asm.R13B,
		x86asm.R14, x86asm.R14L, x86asm.R14W, x86asm.R14B,
		x86asm.R15, x86asm.R15L, x86asm.R15W, x86asm.R15B,
	} {
		m[r] = true
	}
	return m
}()

// harmless reports whether an instruction may run before the probe: it does
// nothing, it compares, or it moves into a register that carries no argument.
func harmless(in x86asm.Inst) bool {
	switch in.Op {
	case x86asm.NOP, x86asm.CMP, x86asm.TEST:
		return true
	case x86asm.MOV, x86asm.LEA, x86asm.XOR, x86asm.MOVZX, x86asm.MOVSXD:
		r, ok := in.Args[0].(x86asm.Reg)
		return ok && scratch[r]
	}
	return false
}
