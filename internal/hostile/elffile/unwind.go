package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// cie is a common description that does nothing, of 20 bytes; fde one of a function, of 24, with the instructions.
func cie(instructions ...byte) []byte {
	body := append([]byte("\x01zR\x00\x01\x78\x10\x01\x1b"), instructions...)
	return entry(0, body)
}

func fde(back uint32, instructions ...byte) []byte {
	return entry(back, append(words(0x1000, 0x10000), append([]byte{0}, instructions...)...))
}

func entry(id uint32, body []byte) []byte {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	return slices.Concat(words(uint32(4+len(body)), id), body)
}

// frames is an image with .eh_frame, without a table to search it by.
func frames(b []byte) *image {
	return base(part{name: ".eh_frame", kind: elf.SHT_PROGBITS, addr: 0x100000, data: b})
}

// expressions are instructions that give every register an expression of n bytes.
func expressions(n int) (b []byte) {
	for reg := range byte(16) {
		b = append(b, 0x10, reg) // DW_CFA_expression
		b = append(binary.AppendUvarint(b, uint64(n)), bytes.Repeat([]byte{0x96}, n)...)
	}
	return b
}

var tables = []Attack{
	{"endless CIEs", "32 MB of common descriptions, without a function", ok(func() *image {
		return frames(bytes.Repeat(cie(), 32<<20/len(cie())))
	})},
	{"endless FDEs", "functions that have a common description each", ok(func() *image {
		c := cie()
		f := append(c, fde(uint32(len(c)+4))...)
		return frames(bytes.Repeat(f, 16<<20/len(f)))
	})},
	{"FDEs that are their own CIE", "descriptions that refer to themselves and to what is before the section", ok(func() *image {
		return frames(slices.Concat(fde(4), fde(0xfffffff0), fde(1<<31), fde(28)))
	})},
	{"large CIEs", "common descriptions of 60 KB", ok(func() *image {
		c := cie(make([]byte, 60_000)...)
		return frames(bytes.Repeat(append(c, fde(uint32(len(c)+4))...), 400))
	})},
	{"large expressions", "rules of 3 KB for each register", ok(func() *image {
		c := cie()
		return frames(append(c, fde(uint32(len(c)+4), expressions(3000)...)...))
	})},
	{"sparse .eh_frame", "unwind tables of 1 TB without a table to search them by", ok(func() *image {
		m := frames(cie())
		m.parts[0].size = terabyte
		return m
	})},
	{"sparse .eh_frame_hdr", "a search table with 4 G entries", ok(func() *image {
		hdr := append([]byte{1, 0x1b, 3, 0x3b}, words(0, 0xffffffff)...)
		m := base(part{name: ".text", kind: elf.SHT_PROGBITS, at: CodeAt, data: hdr}, part{name: "x", size: terabyte})
		m.programs = append(m.programs, elf.Prog64{
			Type: uint32(elf.PT_GNU_EH_FRAME), Off: CodeAt, Vaddr: CodeAt, Filesz: 1 << 39,
		})
		return m
	})},
	{
		"tables over each other", "symbols, names, notes and unwind tables that are the same bytes, and refer to themselves",
		ok(func() *image {
			m := dynamic(part{at: CodeAt, size: 0x8000}, part{at: CodeAt, size: 0x8000},
				part{name: ".symtab", kind: elf.SHT_SYMTAB, at: CodeAt, size: 0x8000, link: section(2)},
				part{name: ".dynamic", kind: elf.SHT_DYNAMIC, at: CodeAt, size: 0x8000, link: section(1)},
				part{name: ".eh_frame", kind: elf.SHT_PROGBITS, at: CodeAt, addr: CodeAt, size: 0x8000},
				part{name: ".rela.plt", kind: elf.SHT_RELA, at: CodeAt, size: 0x8000, link: section(5)},
				part{name: ".text", kind: elf.SHT_PROGBITS, at: CodeAt, data: symbols(1000, func(i int) uint32 { return uint32(i) })})
			m.programs = append(m.programs, elf.Prog64{Type: uint32(elf.PT_NOTE), Off: CodeAt, Filesz: 0x8000})
			return m
		}),
	},
}

var pythons = []Attack{
	{"Python's offsets at the end of memory", "an interpreter whose structures have fields at the last addresses", ok(func() *image {
		return interpreter(1<<64-8, 1<<64-1)
	})},
	{"Python's offsets far away", "an interpreter whose structures have fields of 4 GB", ok(func() *image {
		return interpreter(1<<32, 1<<32+8)
	})},
}

// interpreter is a Python 3.13 that says that all fields of its structures, but those that never move, are at one
// of two places.
func interpreter(a, b uint64) *image {
	offsets := append([]byte("xdebugpy"), longs(0x030d00f0, 0)...)
	for i := range 80 {
		offsets = append(offsets, longs([]uint64{a, b}[i%2])...)
	}
	for i, v := range map[int]uint64{62: 16, 63: 32, 65: 32, 66: 16} { // as every version has them
		binary.LittleEndian.PutUint64(offsets[24+8*i:], v)
	}
	return dynamic(one, part{data: []byte("\x00_PyRuntime\x00")},
		part{name: ".text", kind: elf.SHT_PROGBITS, at: CodeAt, data: offsets})
}
