// Package elffile writes files that are to harm who reads them: ELF files that a user may name
// libcudart.so.12 and map, so that a tracer of the whole machine reads them. Each is small on the disk,
// whatever it claims.
package elffile

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"slices"

	"github.com/ulikunitz/xz"
)

// Attack is a file that is to harm its reader.
type Attack struct {
	Name string
	What string // for people: what the file claims, or makes its reader do
	make func() (*image, error)
}

// Write writes the file.
func (a *Attack) Write(path string) error {
	m, err := a.make()
	if err != nil {
		return err
	}
	return m.write(path)
}

// Attacks lists them all.
func Attacks() []Attack {
	return slices.Concat(sizes, counts, packed, tables, pythons)
}

const (
	terabyte = 1 << 40
	tooMany  = 8 << 20
)

// ok is an attack that is made without errors.
func ok(f func() *image) func() (*image, error) {
	return func() (*image, error) { return f(), nil }
}

// dynamic is an image with exported functions.
func dynamic(syms, names part, more ...part) *image {
	syms.name, syms.kind, syms.link = ".dynsym", elf.SHT_DYNSYM, section(1)
	names.name, names.kind = ".dynstr", elf.SHT_STRTAB
	return base(append([]part{syms, names}, more...)...)
}

// static is an image with a symbol table.
func static(syms, names part, more ...part) *image {
	m := dynamic(syms, names, more...)
	m.parts[0].name, m.parts[0].kind, m.parts[1].name = ".symtab", elf.SHT_SYMTAB, ".strtab"
	return m
}

var one = part{data: symbols(1, func(int) uint32 { return 1 })}

var launch = part{data: []byte("\x00cudaLaunchKernel\x00")}

var sizes = []Attack{
	{"sparse .dynstr", "names of exported symbols of 1 TB, in a file of 16 KB", ok(func() *image {
		return dynamic(one, part{data: launch.data, size: terabyte})
	})},
	{"sparse .strtab", "names of symbols of 1 TB", ok(func() *image {
		return static(one, part{data: launch.data, size: terabyte})
	})},
	{"sparse .dynsym", "exported symbols of 1 TB", ok(func() *image {
		return dynamic(part{data: one.data, size: terabyte}, launch)
	})},
	{"sparse .shstrtab", "names of sections of 1 TB", ok(func() *image {
		m := dynamic(one, launch)
		m.nameSize = terabyte
		return m
	})},
	{"sparse .dynamic", "a dynamic section of 1 TB", ok(func() *image {
		return dynamic(one, launch, part{name: ".dynamic", kind: elf.SHT_DYNAMIC, link: section(1), size: terabyte})
	})},
	{"sparse relocations", "relocations of 1 TB, and a function that jumps through one", ok(func() *image {
		m := dynamic(one, launch, part{name: ".rela.plt", kind: elf.SHT_RELA, link: section(0), size: terabyte})
		m.parts = append(m.parts, part{name: ".text", kind: elf.SHT_PROGBITS, at: CodeAt, data: jump})
		return m
	})},
	{"sparse .rodata", "constants of 1 TB, to be searched for the runtime's texts", ok(func() *image {
		return static(one, launch, part{name: ".rodata", kind: elf.SHT_PROGBITS, size: terabyte},
			part{name: ".nv_fatbin", kind: elf.SHT_PROGBITS, size: terabyte})
	})},
	{"sparse notes", "notes of 1 TB", ok(func() *image {
		m := dynamic(one, launch, part{name: ".note.gnu.build-id", kind: elf.SHT_NOTE, size: terabyte})
		m.programs = append(m.programs, elf.Prog64{Type: uint32(elf.PT_NOTE), Off: CodeAt, Filesz: terabyte})
		return m
	})},
	{"absurd notes", "a note whose name and build id have 4 GB", ok(func() *image {
		note := append(words(0xffffffff, 0xffffffff, 3), "GNU\x00"...)
		m := dynamic(one, launch, part{name: ".note.gnu.build-id", kind: elf.SHT_NOTE, data: note},
			part{name: ".text", kind: elf.SHT_PROGBITS, at: CodeAt, data: note})
		m.programs = append(m.programs, elf.Prog64{Type: uint32(elf.PT_NOTE), Off: CodeAt, Filesz: uint64(len(note))})
		return m
	})},
	{"far segments", "segments that end behind the last address", ok(func() *image {
		m := dynamic(part{data: symbols(4, func(int) uint32 { return 1 })}, launch)
		m.programs = append([]elf.Prog64{{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_X), Off: 0, Vaddr: 1, Filesz: 1<<63 - 1,
		}, {
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_X), Off: 1, Vaddr: 1<<64 - 8, Filesz: 1<<63 - 2,
		}}, m.programs...)
		return m
	})},
}

// jump is code that jumps through the slot behind it.
var jump = []byte{0xff, 0x25, 0, 0, 0, 0, 0xc3}

var counts = []Attack{
	{"8 million exported symbols", "8 Mi symbols, of which each costs 100 bytes", ok(func() *image {
		return dynamic(part{data: one.data, size: tooMany * 24}, launch)
	})},
	{"8 million symbols", "the same in .symtab", ok(func() *image {
		return static(part{data: one.data, size: tooMany * 24}, launch)
	})},
	{"a million functions of one name", "a function to be probed, at a million addresses", ok(func() *image {
		return dynamic(part{data: symbols(1<<20, func(int) uint32 { return 1 })}, launch)
	})},
	{"a million functions", "a million functions whose names are far from each other", ok(func() *image {
		n := part{data: symbols(1<<20, func(i int) uint32 { return uint32(i) * 509 % (512 << 20) }), size: 0}
		return static(n, part{data: launch.data, size: 512 << 20})
	})},
	{"65,535 sections", "section headers of 4 MB", ok(func() *image {
		m := dynamic(one, launch)
		m.sections = 65_535
		return m
	})},
	{"long section names", "4,000 sections, each with a name of 1 MB", ok(func() *image {
		m := dynamic(one, launch)
		m.sections, m.names = 4000, bytes.Repeat([]byte("x"), 1<<20)
		return m
	})},
	{"65,535 program headers", "segments of no use", ok(func() *image {
		m := dynamic(one, launch)
		m.programs = slices.Repeat(m.programs, 65_535)[:1000]
		return m
	})},
	{"40,000 long names", "40,000 functions that share a name of 60,000 bytes: 2.4 GB together", ok(func() *image {
		name := append([]byte{0}, bytes.Repeat([]byte("n"), 60_000)...)
		return static(part{data: symbols(40_000, func(i int) uint32 { return uint32(1 + i%50) })}, part{data: append(name, 0)})
	})},
	{"endless names", "functions whose names have no end", ok(func() *image {
		return static(part{data: symbols(40_000, func(i int) uint32 { return uint32(i) })},
			part{data: bytes.Repeat([]byte("_"), 1<<20)})
	})},
	{"a deep name", "a mangled name that contains itself 15,000 times", ok(func() *image {
		return static(one, part{data: slices.Concat([]byte("\x00_Z1f"), bytes.Repeat([]byte("P"), 15_000), []byte("i\x00"))})
	})},
	{"4,096 libraries", "a file that is linked to libraries with long names", ok(func() *image {
		var d []byte
		for range 4096 {
			d = append(d, longs(uint64(elf.DT_NEEDED), 1)...)
		}
		names := part{data: append(append([]byte{0}, bytes.Repeat([]byte("l"), 4000)...), 0)}
		return dynamic(one, names, part{name: ".dynamic", kind: elf.SHT_DYNAMIC, link: section(1), data: d})
	})},
}

// zeros are zeros, packed with zlib as a section is: n of them, of which claim are said.
func zeros(n int, claim uint64) ([]byte, error) {
	b := bytes.NewBuffer(append(words(uint32(elf.COMPRESS_ZLIB), 0), longs(claim, 1)...))
	w := zlib.NewWriter(b)
	if _, err := w.Write(make([]byte, n)); err != nil {
		return nil, err
	}
	return b.Bytes(), w.Close()
}

// compressed is an image in which one of two parts is packed.
func compressed(which int, of func(syms, names part, more ...part) *image) func() (*image, error) {
	return func() (*image, error) {
		m := of(one, launch)
		b, err := zeros(64<<20, terabyte)
		m.parts[which].data, m.parts[which].flags = b, elf.SHF_COMPRESSED
		return m, err
	}
}

// pack packs with xz.
func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := xz.NewWriter(&b)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// debugdata is an image with packed symbols.
func debugdata(b []byte) *image {
	return base(part{name: ".gnu_debugdata", kind: elf.SHT_PROGBITS, data: b})
}

var packed = []Attack{
	{"compressed .dynstr", "names that unpack to 64 MB, and claim 1 TB", compressed(1, dynamic)},
	{"compressed .strtab", "the same in .strtab", compressed(1, static)},
	{"compressed .symtab", "symbols that unpack to 64 MB, and claim 1 TB", compressed(0, static)},
	{"packed debug data", "symbols that unpack to 48 MB, in some kilobytes", func() (*image, error) {
		b, err := pack(make([]byte, 48<<20))
		return debugdata(b), err
	}},
	{"many packed functions", "900,000 functions in packed symbols", func() (*image, error) {
		file, err := static(part{data: symbols(900_000, func(i int) uint32 { return uint32(1 + i%8) })},
			part{data: []byte("\x00eight_names\x00")}).bytes()
		if err != nil {
			return nil, err
		}
		b, err := pack(file)
		return debugdata(b), err
	}},
	{"packed symbols that say they are none", "symbols whose index is not that of what is unpacked", func() (*image, error) {
		b, err := pack(make([]byte, 8<<20))
		if n := len(b) - 24; n > 0 { // before the footer, and the index's checksum
			copy(b[n:], make([]byte, 8))
		}
		return debugdata(b), err
	}},
	{"debug data with a dictionary of 4 GB", "a few bytes for which 4 GB are asked", ok(func() *image {
		block := []byte{2, 0, 0x21, 1, 40, 0, 0, 0} // header of 12 bytes, LZMA2 with the largest dictionary
		file := slices.Concat([]byte("\xfd7zXZ\x00\x00\x01"), make([]byte, 4), block, make([]byte, 4))
		return debugdata(append(file, 1, 0, 3, 'a', 'b', 'c', 'd', 0)) // four bytes as they are, and the end
	})},
	{"sparse debug data", "packed symbols of 1 TB", ok(func() *image {
		m := debugdata([]byte("\xfd7zXZ\x00\x00\x01"))
		m.parts[0].size = terabyte
		return m
	})},
}
