package probe

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"io"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ingero-io/ingero/capture/elffile"
	"github.com/ingero-io/ingero/capture/limit"
)

// A function may only jump to another one with the same arguments: in libcudart 13,
// __cudaLaunchKernel is such a jump to cudaLaunchKernel. If both were probed, one call
// would be counted twice. So a function that jumps to a probed function gets no probe.

// maxThunk is how many bytes a function may have before its jump: endbr64, set-up and
// removal of a frame, and padding.
const maxThunk = 32

// jump finds the target of a function that only jumps: an address, or the address in a
// slot that the dynamic linker fills. code is the function, addr its address when
// loaded.
func jump(machine elf.Machine, code []byte, addr uint64) (target, slot uint64) {
	code = code[:min(len(code), maxThunk)]
	switch machine {
	case elf.EM_X86_64:
		return jumpX86(code, addr)
	case elf.EM_AARCH64:
		return jumpARM64(code, addr), 0
	}
	return 0, 0
}

func jumpX86(code []byte, addr uint64) (target, slot uint64) {
	pushed := 0
	for at := 0; at < len(code); {
		if isEndbr(code[at:]) {
			at += 4
			continue
		}
		in, err := x86asm.Decode(code[at:], 64)
		if err != nil || in.Op == 0 {
			return 0, 0
		}
		at += in.Len
		switch {
		case in.Op == x86asm.NOP:
		case in.Op == x86asm.PUSH && in.Args[0] == x86asm.RBP:
			pushed++
		case in.Op == x86asm.POP && in.Args[0] == x86asm.RBP:
			pushed--
		case in.Op == x86asm.MOV && in.Args[0] == x86asm.RBP && in.Args[1] == x86asm.RSP:
		case in.Op == x86asm.JMP && pushed == 0:
			return follow(&in, addr+uint64(at))
		default:
			return 0, 0
		}
	}
	return 0, 0
}

// follow returns the target of a jump whose instruction ends at next.
func follow(in *x86asm.Inst, next uint64) (target, slot uint64) {
	switch a := in.Args[0].(type) {
	case x86asm.Rel:
		return next + uint64(int64(a)), 0
	case x86asm.Mem:
		if a.Base == x86asm.RIP && a.Index == 0 {
			return 0, next + uint64(a.Disp)
		}
	}
	return 0, 0
}

func jumpARM64(code []byte, addr uint64) uint64 {
	for at := 0; at+4 <= len(code); at += 4 {
		switch in := binary.LittleEndian.Uint32(code[at:]); {
		case isHint(in):
		case in>>26 == 0b000101: // b
			return addr + uint64(at) + uint64(int64(int32(in<<6)>>6)*4)
		default:
			return 0
		}
	}
	return 0
}

// isHint reports nop, bti, paciasp and their like.
func isHint(in uint32) bool { return in&0xfffff01f == 0xd503201f }

// pltSlot returns the slot that a stub of the procedure linkage table jumps through, 0 if
// code is none.
func pltSlot(machine elf.Machine, code []byte, addr uint64) uint64 {
	if machine == elf.EM_X86_64 {
		if isEndbr(code) {
			code, addr = code[4:], addr+4
		}
		if len(code) > 0 && code[0] == 0xf2 { // bnd
			code, addr = code[1:], addr+1
		}
		_, slot := jumpX86(code, addr)
		return slot
	}
	for ; len(code) >= 8; code, addr = code[4:], addr+4 {
		page, load := binary.LittleEndian.Uint32(code), binary.LittleEndian.Uint32(code[4:])
		if page&0x9f00001f == 0x90000010 && load&0xffc003ff == 0xf9400211 { // adrp x16; ldr x17, [x16, …]
			high := int64(int32(page<<8)>>13)<<2 | int64(page>>29&3)
			return addr&^0xfff + uint64(high<<12) + uint64(load>>10&0xfff)*8
		}
		if !isHint(page) {
			break
		}
	}
	return 0
}

// thunks finds what functions of a file jump to.
type thunks struct {
	f     *elffile.File
	names map[string]bool   // functions that matter
	slots map[uint64]string // those by slot, once they are needed
}

// target returns the address that a function jumps to or, for a jump through the dynamic
// linker, the name of the function if it matters. Both are empty for a function that does more.
func (t *thunks) target(s elf.Symbol) (addr uint64, name string) {
	addr, slot := jump(t.f.Machine, codeAt(t.f, s), s.Value)
	if slot == 0 && addr != 0 {
		slot = pltSlot(t.f.Machine, codeAt(t.f, elf.Symbol{Value: addr}), addr)
	}
	if slot == 0 {
		return addr, ""
	}
	if t.slots == nil {
		t.slots = slotNames(t.f, t.names)
	}
	return addr, t.slots[slot]
}

// slotNames reads into which slots the dynamic linker puts one of the functions.
func slotNames(f *elffile.File, functions map[string]bool) map[uint64]string {
	slots := map[uint64]string{}
	q := elffile.Query{Kind: elf.SHT_DYNSYM}
	q.Wanted, q.Longest = elffile.Names(functions)
	syms, err := f.Find(q)
	if err != nil {
		return slots
	}
	byIndex := map[uint64]string{}
	for i := range syms {
		byIndex[uint64(syms[i].Index)] = syms[i].Name
	}
	left := int64(limit.Relocations)
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		l := io.LimitedReader{R: s.Open(), N: left}
		relocations(f, &l, func(slot, symbol uint64) {
			if name := byIndex[symbol]; name != "" && len(slots) < limit.Slots {
				slots[slot] = name
			}
		})
		left = l.N
	}
	return slots
}

// relocations calls visit with the slots that are filled, and the numbers of their symbols.
func relocations(f *elffile.File, r io.Reader, visit func(slot, symbol uint64)) {
	const size = 24 // bytes of an Elf64_Rela
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		var b [size]byte
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return
		}
		if info := f.ByteOrder.Uint64(b[8:]); isSlot(f.Machine, uint32(info)) {
			visit(f.ByteOrder.Uint64(b[:]), info>>32)
		}
	}
}

func isSlot(m elf.Machine, kind uint32) bool {
	if m == elf.EM_AARCH64 {
		return kind == uint32(elf.R_AARCH64_JUMP_SLOT) || kind == uint32(elf.R_AARCH64_GLOB_DAT)
	}
	return kind == uint32(elf.R_X86_64_JMP_SLOT) || kind == uint32(elf.R_X86_64_GLOB_DAT)
}
