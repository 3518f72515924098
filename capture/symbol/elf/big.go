package elf

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/ingero-io/ingero/capture/elffile"
	"github.com/ingero-io/ingero/capture/limit"
)

// bigTable lists the functions of a file with many of them. Only an index sorted by address
// is kept, 8 bytes per function; sizes and names are read when they are needed.
type bigTable struct {
	order            binary.ByteOrder
	file             io.ReaderAt // nil: closed
	symbols, strings elf.SectionHeader
	base             uint64 // the lowest address
	index            []place
}

// place locates a function: its address, relative to the lowest one, in the upper half, and its
// index in the symbol section in the lower. As a number it sorts in half the time of a structure.
type place uint64

func (p place) addr() uint32   { return uint32(p >> 32) }
func (p place) symbol() uint32 { return uint32(p) }

const (
	maxAliases = 16   // names of one address that are looked at
	readAtOnce = 2048 // symbols
)

// bigOf returns the functions of a file that has many, nil if they are few. A section of symbols and names
// of limit.SmallTable or more stays in the file: the names of libtorch_cuda are 70 MB, of which a stack needs
// a few hundred bytes.
func bigOf(f *elffile.File, file io.ReaderAt) (*bigTable, error) {
	b, err := newBig(f, file, f.SectionByType(elf.SHT_SYMTAB))
	if b != nil {
		return b, nil
	}
	if s := f.SectionByType(elf.SHT_SYMTAB); err == nil && s != nil && s.FileSize > symSize {
		return nil, nil
	}
	d, errDynamic := newBig(f, file, f.SectionByType(elf.SHT_DYNSYM)) // stripped
	return d, cmp.Or(err, errDynamic)
}

// newBig returns the functions of a section that is to stay in the file. It returns nil if
// the section is small, and an error if it exceeds a limit.
func newBig(f *elffile.File, file io.ReaderAt, s *elffile.Section) (*bigTable, error) {
	strs := f.Strings(s)
	if strs == nil || s.Size+strs.Size < limit.SmallTable {
		return nil, nil
	}
	if err := elffile.CheckSymbols(s, strs); err != nil {
		return nil, err
	}
	b := &bigTable{order: f.ByteOrder, file: file, symbols: s.SectionHeader, strings: strs.SectionHeader}
	n, lowest := 0, uint64(math.MaxUint64)
	b.each(func(_ uint32, addr uint64) { n, lowest = n+1, min(lowest, addr) })
	b.base, b.index = lowest, make([]place, 0, n)
	b.each(func(i uint32, addr uint64) {
		if addr-lowest <= math.MaxUint32 && len(b.index) < n {
			b.index = append(b.index, place((addr-lowest)<<32|uint64(i)))
		}
	})
	slices.Sort(b.index)
	return b, nil
}

// each calls f with the number and the address of each function.
func (b *bigTable) each(f func(symbol uint32, addr uint64)) {
	buf, size := make([]byte, readAtOnce*symSize), b.symbols.FileSize
	for at := uint64(0); at+symSize <= size; at += uint64(len(buf)) {
		n, err := b.read(&b.symbols, at, buf[:min(uint64(len(buf)), size-at)])
		for i := 0; i+symSize <= n; i += symSize {
			number := (at + uint64(i)) / symSize
			if addr, ok := functionAt(b.order, buf[i:]); ok && number <= math.MaxUint32 {
				f(uint32(number), addr)
			}
		}
		if err != nil {
			return // damaged, or the file has become shorter
		}
	}
}

// read fills buf from an offset in a section. It may read past the section's end.
func (b *bigTable) read(s *elf.SectionHeader, at uint64, buf []byte) (n int, err error) {
	if b.file == nil || at >= s.FileSize {
		return 0, io.EOF
	}
	return b.file.ReadAt(buf, int64(s.Offset+at))
}

// functionAt returns the address of a symbol. ok says that it is a function of this file.
func functionAt(order binary.ByteOrder, s []byte) (addr uint64, ok bool) {
	kind := elf.ST_TYPE(s[4])
	addr = order.Uint64(s[8:])
	own := order.Uint16(s[6:]) != uint16(elf.SHN_UNDEF) && order.Uint32(s) != 0
	return addr, own && addr != 0 && (kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC)
}

// size is the memory the table takes, in bytes.
func (b *bigTable) size() int { return 8 * len(b.index) }

// find returns the name, as linked, and the address of the function that contains addr,
// as table.find does; of several names the one that compareNames puts first.
func (b *bigTable) find(addr uint64) (name string, start uint64) {
	if addr < b.base || addr-b.base > math.MaxUint32 {
		return "", 0
	}
	off := uint32(addr - b.base)
	end := sort.Search(len(b.index), func(i int) bool { return b.index[i].addr() > off })
	for n := 0; end > 0 && n < maxNesting; n++ {
		at := b.index[end-1].addr()
		from := sort.Search(end, func(i int) bool { return b.index[i].addr() >= at }) // there may be any number
		if name := b.best(b.index[from:end], uint64(off-at), n == 0); name != "" {
			return name, b.base + uint64(at)
		}
		end = from
	}
	return "", 0
}

// best returns the name to show for one address. It is empty unless the function is longer
// than behind, in bytes. A function without a size counts only if nearest is true.
func (b *bigTable) best(names []place, behind uint64, nearest bool) string {
	var c collector
	for _, p := range names[:min(len(names), maxAliases)] {
		var s [symSize]byte
		if _, err := b.read(&b.symbols, uint64(p.symbol())*symSize, s[:]); err != nil {
			return ""
		}
		c.strs = append(c.strs, b.text(b.order.Uint32(s[:])))
		r := rawSym{
			size: uint32(min(b.order.Uint64(s[16:]), math.MaxUint32)),
			str:  uint8(len(c.strs) - 1), local: elf.ST_BIND(s[4]) == elf.STB_LOCAL, len: limit.Name - 1,
		}
		if r.len = uint32(len(c.text(r))); r.len > 0 {
			c.syms = append(c.syms, r)
		}
	}
	if len(c.syms) == 0 {
		return ""
	}
	r := slices.MinFunc(c.syms, c.compareNames)
	if behind < uint64(r.size) || r.size == 0 && nearest && behind < maxUnsized {
		return string(c.text(r))
	}
	return ""
}

// text reads a string up to its end.
func (b *bigTable) text(at uint32) []byte {
	for n := 512; ; n *= 4 {
		buf := make([]byte, n)
		got, err := b.read(&b.strings, uint64(at), buf)
		if end := bytes.IndexByte(buf[:got], 0); end >= 0 {
			return buf[:end]
		}
		if err != nil || n >= limit.Name {
			return nil // unterminated, or too long for a name
		}
	}
}
