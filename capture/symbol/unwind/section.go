package unwind

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/ingero-io/ingero/capture/elffile"
	"github.com/ingero-io/ingero/capture/limit"
)

// tables are the unwind tables of one file: its .eh_frame section, which is read
// one function at a time, and a cache of what was read of it.
type tables struct {
	arch     *Arch
	segments []segment
	frames   section
	search   section // the sorted table of .eh_frame_hdr; size 0: none
	base     uint64  // base of its entries
	list     []entry // instead of it, sorted
	cies     map[uint64]*cie
	rows     map[uint64]*row // by address; nil: no rules for it
}

// segment is a range of the file that holds code.
type segment struct{ off, size, addr uint64 }

// section is a piece of a file, and where it lies in memory before relocation.
type section struct {
	r    io.ReaderAt
	addr uint64
	size uint64
}

// entry says where the description of the function at start is.
type entry struct{ start, fde uint64 }

// cie is what several functions' descriptions have in common (a Common
// Information Entry).
type cie struct {
	code      uint64 // factor of advances
	data      int64  // factor of offsets
	ra        uint64
	enc       uint8 // of code addresses
	augmented bool
	signal    bool
	program   []byte
	programAt uint64
}

// fde describes a function (a Frame Description Entry).
type fde struct {
	start, size uint64
	program     []byte
	programAt   uint64
}

const withoutSearch = ".eh_frame without a search table"

var errNoTables = errors.New("no unwind tables")

// open finds the unwind tables of an ELF file. Files without any give
// errNoTables.
func open(r io.ReaderAt) (*tables, error) {
	f, err := elffile.Read(r)
	if err != nil {
		return nil, err
	}
	t := &tables{cies: map[uint64]*cie{}, rows: map[uint64]*row{}}
	switch {
	case f.ByteOrder != binary.LittleEndian:
		return nil, errNoTables
	case f.Machine == elf.EM_X86_64:
		t.arch = AMD64
	case f.Machine == elf.EM_AARCH64:
		t.arch = ARM64
	default:
		return nil, errNoTables
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			t.segments = append(t.segments, segment{p.Off, p.Filesz, p.Vaddr})
		}
	}
	if t.header(f) {
		return t, nil
	}
	if s := f.Section(".eh_frame"); s != nil && s.Type != elf.SHT_NOBITS && s.Flags&elf.SHF_COMPRESSED == 0 {
		if err := limit.Check(withoutSearch, s.FileSize, limit.UnwindScan, "bytes"); err != nil {
			return nil, err
		}
		t.frames = section{s, s.Addr, s.FileSize}
		if t.list, err = t.scan(); err != nil {
			return nil, err
		}
	}
	if len(t.list) == 0 {
		return nil, errNoTables
	}
	return t, nil
}

// header reads .eh_frame_hdr: the LSB's "Exception Frame Header". It is found by
// its program header, so that files without section headers have it, too.
func (t *tables) header(f *elffile.File) bool {
	var hdr *elffile.Prog
	for _, p := range f.Progs {
		if p.Type == elf.PT_GNU_EH_FRAME {
			hdr = p
		}
	}
	if hdr == nil {
		return false
	}
	b := make([]byte, min(hdr.Filesz, 32))
	if _, err := hdr.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	c := cursor{b: b}
	version, ptr, count, table := c.u8(), c.u8(), c.u8(), c.u8()
	if version != 1 || table != encData|0xb { // pairs of 32-bit numbers, as every linker writes
		return false
	}
	at, ok := c.pointer(ptr, hdr.Vaddr+uint64(c.at), hdr.Vaddr)
	n, okn := c.pointer(count, hdr.Vaddr+uint64(c.at), hdr.Vaddr)
	if !ok || !okn || n == 0 || n > (hdr.Filesz-uint64(c.at))/8 {
		return false
	}
	t.search = section{io.NewSectionReader(hdr, int64(c.at), int64(8*n)), 0, 8 * n}
	t.base = hdr.Vaddr
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && at >= p.Vaddr && at-p.Vaddr < p.Filesz {
			off := at - p.Vaddr
			t.frames = section{io.NewSectionReader(p, int64(off), int64(p.Filesz-off)), at, p.Filesz - off}
			return true
		}
	}
	return false
}

// virtual converts a file offset in the code to a virtual address of the file.
func (t *tables) virtual(off uint64) (uint64, bool) {
	for _, s := range t.segments {
		if off >= s.off && off-s.off < s.size {
			return off - s.off + s.addr, true
		}
	}
	return 0, false
}

// row is the rules for the instruction at an address of the file, nil if there
// are none.
func (t *tables) row(pc uint64) *row {
	w, ok := t.rows[pc]
	if !ok {
		w = t.find(pc)
		t.rows[pc] = w
	}
	return w
}

func (t *tables) find(pc uint64) *row {
	at, ok := t.lookup(pc)
	if !ok {
		return nil
	}
	c, f, ok := t.fde(at)
	if !ok || pc < f.start || pc-f.start >= f.size {
		return nil
	}
	w, ok := rowAt(c, f, pc)
	if !ok {
		return nil
	}
	return w
}

// lookup finds the description of the last function that starts at or before pc.
func (t *tables) lookup(pc uint64) (uint64, bool) {
	if t.search.size == 0 {
		i, found := slices.BinarySearchFunc(t.list, pc, func(e entry, pc uint64) int { return cmp.Compare(e.start, pc) })
		if !found {
			i--
		}
		if i < 0 {
			return 0, false
		}
		return t.list[i].fde, true
	}
	lo, hi := uint64(0), t.search.size/8 // the wanted one is the last at or below pc
	var fde uint64
	for lo < hi {
		mid := (lo + hi) / 2
		var b [8]byte
		if _, err := t.search.r.ReadAt(b[:], int64(8*mid)); err != nil {
			return 0, false
		}
		start := t.base + uint64(int64(int32(binary.LittleEndian.Uint32(b[:]))))
		if start > pc {
			hi = mid
			continue
		}
		lo = mid + 1
		fde = t.base + uint64(int64(int32(binary.LittleEndian.Uint32(b[4:]))))
	}
	return fde, lo > 0
}

// entry reads the description at an address: its bytes after the length.
func (t *tables) entry(addr uint64) (c cursor, next uint64, ok bool) {
	off := addr - t.frames.addr
	var head [12]byte
	if off >= t.frames.size {
		return c, 0, false
	}
	n, err := t.frames.r.ReadAt(head[:], int64(off))
	if n < 4 || err != nil && !errors.Is(err, io.EOF) {
		return c, 0, false
	}
	length, skip := uint64(binary.LittleEndian.Uint32(head[:])), uint64(4)
	if length == 0xffffffff {
		length, skip = binary.LittleEndian.Uint64(head[4:]), 12
	}
	if length < 4 || length > limit.UnwindEntry || length > t.frames.size-off-skip {
		return c, 0, false // also the end of the section: a length of 0
	}
	b := make([]byte, length)
	if _, err := t.frames.r.ReadAt(b, int64(off+skip)); err != nil && !errors.Is(err, io.EOF) {
		return c, 0, false
	}
	return cursor{b: b}, addr + skip, true
}

// fde reads a function's description and its CIE.
func (t *tables) fde(addr uint64) (*cie, *fde, bool) {
	c, body, ok := t.entry(addr)
	if !ok {
		return nil, nil, false
	}
	back := uint64(c.u32())
	if back == 0 {
		return nil, nil, false // a CIE
	}
	common, ok := t.cie(body - back)
	if !ok {
		return nil, nil, false
	}
	f := &fde{}
	f.start, ok = c.pointer(common.enc, body+uint64(c.at), 0)
	f.size, _ = c.pointer(common.enc&encFormat, 0, 0)
	if common.augmented {
		c.bytes(c.uleb())
	}
	f.program, f.programAt = c.b[c.at:], body+uint64(c.at)
	return common, f, ok && !c.bad
}

func (t *tables) cie(addr uint64) (*cie, bool) {
	if c := t.cies[addr]; c != nil {
		return c, true
	}
	c, body, ok := t.entry(addr)
	if !ok || c.u32() != 0 {
		return nil, false
	}
	r := &cie{}
	version, augmentation := c.u8(), c.cString()
	if version == 4 {
		c.u16() // sizes of an address and of a segment selector
	}
	r.code, r.data = c.uleb(), c.sleb()
	if version == 1 {
		r.ra = uint64(c.u8())
	} else {
		r.ra = c.uleb()
	}
	if !r.augment(&c, augmentation, body) || r.ra >= numRegs {
		return nil, false
	}
	if c.left() > limit.UnwindCIE {
		return nil, false
	}
	r.program, r.programAt = bytes.Clone(c.b[c.at:]), body+uint64(c.at)
	if len(t.cies) >= limit.UnwindCIEs {
		clear(t.cies)
	}
	t.cies[addr] = r
	return r, !c.bad
}

// augment reads the data that the letters of the augmentation announce.
func (r *cie) augment(c *cursor, letters string, body uint64) bool {
	if letters == "" {
		return true
	}
	if letters[0] != 'z' {
		return false // from before 2000: the length of what follows is not known
	}
	r.augmented = true
	n := c.uleb()
	end := c.at + int(min(n, uint64(c.left())))
	for _, l := range letters[1:] {
		switch l {
		case 'R':
			r.enc = c.u8()
		case 'L':
			c.u8()
		case 'P':
			enc := c.u8()
			c.pointer(enc&^encIndirect, body+uint64(c.at), 0)
		case 'S':
			r.signal = true
		case 'B': // arm64: return addresses are signed with the second key
		default:
			return false
		}
	}
	c.at = end
	return !c.bad
}

// scan lists the functions of a section that comes without a search table.
func (t *tables) scan() ([]entry, error) {
	var list []entry
	end := t.frames.addr + t.frames.size
	for n, at := 0, t.frames.addr; at < end; n++ {
		c, body, ok := t.entry(at)
		if !ok {
			break
		}
		if n == limit.UnwindList {
			return nil, &limit.Exceeded{What: withoutSearch, Most: limit.UnwindList, Unit: "entries"}
		}
		if c.u32() != 0 {
			if _, f, ok := t.fde(at); ok && f.size > 0 {
				list = append(list, entry{f.start, at})
			}
		}
		at = body + uint64(len(c.b))
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.start, b.start) })
	return list, nil
}
