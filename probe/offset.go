package probe

import (
	"debug/elf"
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"
)

// A uprobe replaces an instruction by a breakpoint. If the kernel can emulate
// the instruction, a hit costs one trap; if not, the instruction is executed out
// of line under single-step, a second trap that is ten times as dear in a
// virtual machine. So the chooser looks past the first instruction for one the
// kernel emulates (arch/x86/kernel/uprobes.c: push, nop, jmp, jcc), as long as
// everything skipped runs on every call and leaves the stack pointer, the
// argument registers and memory as they were: then arguments and return address
// are still where the calling convention puts them.

// maxSkip is how many bytes of a prologue are searched.
const maxSkip = 32

// chooseOffset returns how far behind the function's first byte to probe, and
// whether the instruction there must be single-stepped.
func chooseOffset(machine elf.Machine, code []byte) (skip int, slow bool) {
	if machine != elf.EM_X86_64 {
		return 0, false // arm64 has no cheaper choice: every instruction but branches is stepped
	}
	for at := 0; at < len(code) && at < maxSkip; {
		rest := code[at:]
		if isEndbr(rest) {
			at += 4
			continue
		}
		in, err := x86asm.Decode(rest, 64)
		if err != nil {
			break
		}
		if emulated(rest, in) {
			return at, false
		}
		if !harmless(in) {
			break
		}
		at += in.Len
	}
	return 0, true
}

func isEndbr(b []byte) bool {
	return len(b) >= 4 && binary.LittleEndian.Uint32(b) == 0xfa1e0ff3
}

// emulated reports whether the kernel runs the instruction without stepping.
// LOCK prefixes, and operand-size prefixes on branches, are refused by it.
func emulated(b []byte, in x86asm.Inst) bool {
	switch in.Op {
	case x86asm.NOP:
		return true
	case x86asm.PUSH:
		_, reg := in.Args[0].(x86asm.Reg)
		return reg
	case x86asm.JMP:
		_, rel := in.Args[0].(x86asm.Rel)
		return rel && b[0] != 0x66
	case x86asm.CALL:
		_, rel := in.Args[0].(x86asm.Rel)
		return rel && b[0] != 0x66
	}
	return isJcc(in.Op) && b[0] != 0x66
}

func isJcc(op x86asm.Op) bool {
	switch op {
	case x86asm.JA, x86asm.JAE, x86asm.JB, x86asm.JBE, x86asm.JE, x86asm.JG, x86asm.JGE, x86asm.JL,
		x86asm.JLE, x86asm.JNE, x86asm.JNO, x86asm.JNP, x86asm.JNS, x86asm.JO, x86asm.JP, x86asm.JS:
		return true
	}
	return false
}

// argumentRegs are the registers that hold arguments or the stack, in every
// width.
var argumentRegs = func() map[x86asm.Reg]bool {
	m := map[x86asm.Reg]bool{}
	for _, r := range []x86asm.Reg{
		x86asm.RDI, x86asm.EDI, x86asm.DI, x86asm.DIB,
		x86asm.RSI, x86asm.ESI, x86asm.SI, x86asm.SIB,
		x86asm.RDX, x86asm.EDX, x86asm.DX, x86asm.DL, x86asm.DH,
		x86asm.RCX, x86asm.ECX, x86asm.CX, x86asm.CL, x86asm.CH,
		x86asm.R8, x86asm.R8L, x86asm.R8W, x86asm.R8B,
		x86asm.R9, x86asm.R9L, x86asm.R9W, x86asm.R9B,
		x86asm.RSP, x86asm.ESP, x86asm.SP, x86asm.SPB,
	} {
		m[r] = true
	}
	return m
}()

// harmless reports whether an instruction may run before the probe: it compares
// or tests, or it moves into a register that carries no argument.
func harmless(in x86asm.Inst) bool {
	switch in.Op {
	case x86asm.CMP, x86asm.TEST:
		return true
	case x86asm.MOV, x86asm.LEA, x86asm.XOR, x86asm.MOVZX, x86asm.MOVSXD:
		r, ok := in.Args[0].(x86asm.Reg)
		return ok && !argumentRegs[r]
	}
	return false
}
