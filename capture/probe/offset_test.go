package probe

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

func TestChooseOffset(t *testing.T) {
	tests := []struct {
		name string
		code string // hex
		skip int
		slow bool
	}{
		{"push %rbp", "55 4889e5", 0, false},
		{"push %r15", "4157 4156", 0, false},
		{"endbr64; push", "f30f1efa 55", 4, false},
		{"endbr64; push %r12", "f30f1efa 4154", 4, false},
		{
			"nvidia: cmpl $imm,off(%rip); je; jmp *off(%rip)", "813d11223344 00ba1c32 740c ff2511223344 660f1f440000 55", 10,
			false,
		},
		{"endbr64; nvidia", "f30f1efa 813d11223344 00ba1c32 740c ff2511223344", 14, false},
		{"sub $8,%rsp", "4883ec08 55", 0, true},
		{"endbr64; sub $8,%rsp", "f30f1efa 4883ec08 55", 0, true},
		{"nop5", "0f1f440000 55", 0, false},
		{"nop5 as clang writes it", "0f1f440008 55", 0, false},
		{"endbr64; nop5", "f30f1efa 0f1f440000", 4, false},
		{"nop", "90 90 90", 0, false},
		{"prefixed nop; push: kernels before 6.2 refuse the nop", "6690 55", 2, false},
		{"xchg %eax,%r8d is no nop", "4190 55", 0, true},
		{"pause is no nop", "f390 55", 0, true},
		{"xor %eax,%eax; push", "31c0 55", 2, false},
		{"xor %edi,%edi; push", "31ff 55", 0, true},
		{"xor %r9d,%r9d; push", "4531c9 55", 0, true},
		{"xor %eax,(%rdi); push", "3107 55", 0, true},
		{"mov %rsp,%rax; push", "4889e0 55", 3, false},
		{"mov %rax,%rsp; push", "4889c4 55", 0, true},
		{"mov %rbx,-8(%rsp); push", "48895c24f8 55", 0, true},
		{"mov off(%rip),%rax; test; je", "488b0511223344 4885c0 7410", 10, false},
		{"lea -0x28(%rsp),%rsp; push", "488d6424d8 55", 0, true},
		{"lea 8(%rsp),%r10; push", "4c8d542408 55", 5, false},
		{"mov %fs:0x28,%rax; push", "64488b042528000000 55", 9, false},
		{"mov %eax,%ds; push", "8ed8 55", 0, true},
		{"movzbl (%rdi),%eax; push", "0fb607 55", 3, false},
		{"movzbl (%rdi),%edx; push", "0fb617 55", 0, true},
		{"lock xor: refused by the kernel anywhere", "f03107 55", 0, true},
		{"jmp rel32", "e911223300", 0, false},
		{"call rel32", "e811223300", 0, false},
		{"16-bit call", "66e81122", 0, true},
		{"jmp *off(%rip)", "ff2511223344 55", 0, true},
		{"call *off(%rip); push", "ff1511223344 55", 0, true},
		{"segment prefixes are refused by the kernel", "2e0f1f440000 55", 6, false},
		{"jmp with a prefix", "3ee911223300 55", 0, true},
		{"long nop", "660f1f440000 55", 0, false},
		{"push $imm", "6a01 55", 0, true},
		{"push off(%rip)", "ff3511223344 55", 0, true},
		{"pushw %ax", "6650 55", 0, true},
		{"push %rax in its long form", "fff0 55", 0, true},
		{"push %rax with a useless prefix", "4850 55", 0, true},
		{"pop %rax; push", "58 55", 0, true},
		{"ret", "c3 55", 0, true},
		{"leave", "c9 55", 0, true},
		{"syscall", "0f05 55", 0, true},
		{"cpuid", "0fa2 55", 0, true},
		{"xchg %rsp,%rax", "4894 55", 0, true},
		{"cmp; jne back into the loop", "31c0 80 3c07 00 488d4001 75f6 c3", 0, true},
		{"test; je out of a loop that begins at the test", "31c0 4885ff 7408 48ffcf ebf6 c3", 0, true},
		{"test; je, and a loop behind it", "4885ff 7404 48ffcf 75fb c3", 3, false},
		{"empty", "", 0, true},
		{"cut off", "813d", 0, true},
		{"too far", strings.Repeat("31c0", 16) + "55", 0, true},
		{"just near enough", strings.Repeat("31c0", 15) + "55", 30, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, err := hex.DecodeString(strings.ReplaceAll(tt.code, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			if skip, slow := chooseOffset(elf.EM_X86_64, code); skip != tt.skip || slow != tt.slow {
				t.Errorf("got %d, slow %v; want %d, slow %v", skip, slow, tt.skip, tt.slow)
			}
		})
	}
}

func TestOtherMachinesAreProbedAtTheFirstByte(t *testing.T) {
	btiThenPush := binary.LittleEndian.AppendUint32(nil, 0xd503245f)
	if skip, slow := chooseOffset(elf.EM_AARCH64, append(btiThenPush, 0x55)); skip != 0 || slow {
		t.Errorf("got %d, slow %v", skip, slow)
	}
}

// keeps says independently of the chooser whether an instruction leaves memory,
// the stack pointer and the argument registers alone.
func keeps(in x86asm.Inst) bool {
	switch in.Op {
	case x86asm.NOP, x86asm.CMP, x86asm.TEST:
		return true
	case x86asm.MOV, x86asm.LEA, x86asm.XOR, x86asm.MOVZX, x86asm.MOVSXD:
	default:
		return false
	}
	r, ok := in.Args[0].(x86asm.Reg)
	if !ok {
		return false
	}
	name := strings.TrimRight(r.String(), "LWB")
	for _, argument := range []string{"DI", "SI", "DX", "CX", "R8", "R9", "SP", "D", "C", "DH", "CH"} {
		if name == argument || name == "E"+argument || name == "R"+argument {
			return false
		}
	}
	switch r {
	case x86asm.CS, x86asm.DS, x86asm.ES, x86asm.FS, x86asm.GS, x86asm.SS:
		return false
	}
	return true
}

// FuzzChooseOffset checks that whatever comes before the chosen instruction is
// harmless, and that the kernel emulates that instruction.
func FuzzChooseOffset(f *testing.F) {
	for _, s := range []string{
		"55", "f30f1efa55", "813d1122334400ba1c32740cff25", "31c055", "0f1f440000",
		"488b05112233444885c07410",
	} {
		b, err := hex.DecodeString(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		skip, slow := chooseOffset(elf.EM_X86_64, code)
		if slow {
			if skip != 0 {
				t.Fatalf("slow at %d", skip)
			}
			return
		}
		for at := 0; at < skip; {
			if bytes.HasPrefix(code[at:], []byte{0xf3, 0x0f, 0x1e, 0xfa}) {
				at += 4
				continue
			}
			in, err := x86asm.Decode(code[at:], 64)
			if err != nil || !keeps(in) {
				t.Fatalf("skipped %v (% x) at %d of %d: %v", in, code[at:], at, skip, err)
			}
			if at += in.Len; at > skip {
				t.Fatalf("%d is inside %v", skip, in)
			}
		}
		in, err := x86asm.Decode(code[skip:], 64)
		if err != nil {
			t.Fatalf("chose % x: %v", code[skip:], err)
		}
		switch in.Op {
		case x86asm.NOP, x86asm.PUSH, x86asm.CALL, x86asm.JMP:
		default:
			if in.Op.String()[0] != 'J' {
				t.Fatalf("chose %v", in)
			}
		}
		for _, p := range in.Prefix {
			if p != 0 && !p.IsREX() && (p&0xff != 0x66 || in.Op != x86asm.NOP) {
				t.Fatalf("chose %v with prefix %v", in, p)
			}
		}
	})
}
