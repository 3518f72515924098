package elf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ingero-io/ingero/capture/elffile"
	"github.com/ingero-io/ingero/capture/limit"
)

// writeBig writes an ELF file with n functions of 64 bytes from base on, and the names
// that name gives them. It has no other sections than those of a symbol table.
func writeBig(t *testing.T, n int, base uint64, name func(i int) string) string {
	t.Helper()
	const header = 64
	order := binary.LittleEndian
	strs := []byte{0}
	syms := make([]byte, symSize, (n+1)*symSize)
	for i := range n {
		var s [symSize]byte
		order.PutUint32(s[:], uint32(len(strs)))
		s[4], s[6] = global, 1
		order.PutUint64(s[8:], base+64*uint64(i))
		order.PutUint64(s[16:], 64)
		syms = append(syms, s[:]...)
		strs = append(append(strs, name(i)...), 0)
	}
	names := []byte("\x00.symtab\x00.strtab\x00.shstrtab\x00")
	var b bytes.Buffer
	h := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1,
		Ehsize:    header,
		Shentsize: header, Shnum: 4, Shstrndx: 3, Shoff: uint64(header + len(syms) + len(strs) + len(names)),
	}
	section := func(name uint32, kind elf.SectionType, link uint32, at, size, entry int) elf.Section64 {
		return elf.Section64{
			Name: name, Type: uint32(kind), Link: link, Off: uint64(at), Size: uint64(size),
			Entsize: uint64(entry),
		}
	}
	for _, v := range []any{
		&h, syms, strs, names,
		&elf.Section64{},
		section(1, elf.SHT_SYMTAB, 2, header, len(syms), symSize),
		section(9, elf.SHT_STRTAB, 0, header+len(syms), len(strs), 0),
		section(17, elf.SHT_STRTAB, 0, header+len(syms)+len(strs), len(names), 0),
	} {
		if err := binary.Write(&b, order, v); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "big.so")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// heap returns the bytes in use, and all that were ever allocated.
func heap() (inUse, asked uint64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.TotalAlloc
}

// The table of a library like libtorch_cuda, 130,000 functions with names of 300 bytes,
// took 45 MB, and 80 MB more while it was read.
func TestManyFunctionsTakeEightBytesEach(t *testing.T) {
	const n, base = 130_000, 0x40000
	kernel := func(i int) string {
		return fmt.Sprintf("_ZN5torch6kernelILi%dEE%0270dE", i, i)
	}
	file, err := os.Open(writeBig(t, n, base, kernel))
	if err != nil {
		t.Fatal(err)
	}
	before, asked := heap()
	tab := load(file)
	after, askedThen := heap()
	if per := float64(after-before) / n; after < before || per > 9 {
		t.Errorf("%.1f bytes in use for a function, want 8", per)
	}
	if per := float64(askedThen-asked) / n; per > 10 {
		t.Errorf("%.1f bytes asked for a function while reading, want 8", per)
	}
	if got := tab.size(); got < 8*n || got > 9*n {
		t.Errorf("says that it takes %d bytes", got)
	}
	tab.keep(file)
	for i := 0; i < n; i += 997 {
		for _, in := range []uint64{0, 63} {
			if got, start := tab.function(base + 64*uint64(i) + in); got != kernel(i) || start != base+64*uint64(i) {
				t.Fatalf("function %d: got %.40s at %#x", i, got, start)
			}
		}
	}
	for _, addr := range []uint64{0, base - 1, base + 64*n, 1 << 40, 1<<64 - 1} {
		if got, _ := tab.function(addr); got != "" {
			t.Errorf("%#x: got %s, want nothing", addr, got)
		}
	}
	tab.close()
	if got, _ := tab.function(base); got != "" || tab.ready() {
		t.Errorf("names %q without its file", got)
	}
	runtime.KeepAlive(tab)
}

// A big table gives the same answers as one in memory.
func TestBigTablesChooseTheSameNames(t *testing.T) {
	syms := []testSym{
		{"last", global, 1, 0x9000, 0x10},
		{"outer", global, 1, 0x1000, 0x100},
		{"inner", local, 1, 0x1040, 0x10},
		{"sizeless", global, 1, 0x2000, 0},
		{"after", global, 1, 0x3000, 0x20},
		{"alone", global, 1, 0x20000, 0},
		{"imported", global, 0, 0x4000, 0x20},
		{"variable", object, 1, 0x5000, 0x20},
		{"__libc_write", global, 1, 0x7000, 8},
		{"write", global, 1, 0x7000, 8},
		{"aa", local, 1, 0x7000, 8},
		{"w", global, 1, 0x7000, 0},
		{"memcpy@@GLIBC_2.14", global, 1, 0x8000, 8},
		{"far", global, 1, 0x7fff00000000, 8}, // not within 4 GB
	}
	data, names := section(syms...)
	f := &elffile.File{ByteOrder: binary.LittleEndian, Sections: []*elffile.Section{
		{},
		{SectionHeader: elf.SectionHeader{
			Type: elf.SHT_SYMTAB, Link: 2, Size: uint64(len(data)),
			FileSize: uint64(len(data)),
		}},
		{SectionHeader: elf.SectionHeader{
			Type: elf.SHT_STRTAB, Offset: uint64(len(data)), Size: uint64(len(data) + limit.SmallTable),
			FileSize: uint64(len(names)),
		}},
	}}
	b, err := newBig(f, bytes.NewReader(append(data, names...)), f.Sections[1])
	if b == nil {
		t.Fatal("is no big table", err)
	}
	small := build(syms[:len(syms)-1])
	for addr := uint64(0xf00); addr < 0x24100; addr++ {
		want, start := small.function(addr)
		if got, at := b.find(addr); got != want || at != start {
			t.Errorf("%#x: got %q at %#x, want %q at %#x", addr, got, at, want, start)
		}
	}
}

func FuzzBig(f *testing.F) {
	data, names := section(testSym{"a", global, 1, 10, 5}, testSym{"b@V", local, 1, 12, 0})
	f.Add(data, names, uint64(11))
	f.Fuzz(func(_ *testing.T, data, names []byte, addr uint64) {
		e := &elffile.File{ByteOrder: binary.LittleEndian, Sections: []*elffile.Section{
			{},
			{SectionHeader: elf.SectionHeader{
				Type: elf.SHT_SYMTAB, Link: 2, Size: uint64(len(data)),
				FileSize: uint64(len(data)),
			}},
			{SectionHeader: elf.SectionHeader{
				Type: elf.SHT_STRTAB, Offset: uint64(len(data)), Size: limit.SmallTable, FileSize: uint64(len(names)),
			}},
		}}
		if b, _ := newBig(e, bytes.NewReader(append(bytes.Clone(data), names...)), e.Sections[1]); b != nil {
			b.find(addr)
		}
	})
}
