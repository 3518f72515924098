package elf

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/ingero-io/ingero/capture/elffile"
	"github.com/ingero-io/ingero/capture/limit"
)

// table lists the functions of one file, sorted by address. Their names are
// concatenated in one string.
type table struct {
	segments []segment
	buildID  string // in hex, empty if there is none
	syms     []sym
	names    string    // syms[i]'s is from syms[i].name to syms[i+1].name
	big      *bigTable // instead of syms and names
	file     *os.File  // what big reads; nil: closed, or not needed
	readable map[string]string
	version  fileVersion
	used     uint64
	refused  error // the first *limit.Exceeded: symbols of the file are not read, or not all
}

// segment is a range of the file that holds code.
type segment struct{ off, size, addr uint64 }

// sym is a function; addr is a virtual address of the file, before relocation.
type sym struct {
	addr uint64
	size uint32
	name uint32
}

const (
	maxReadable = 1024 // demangled names kept per file
	maxName     = 12   // demangled names end after 1<<12 bytes
	maxNesting  = 8    // functions that may begin inside another one
)

// load reads a file's symbols. A file that is not ELF, or is damaged, has none; of one that exceeds a limit
// there may be some.
func load(r io.ReaderAt) *table {
	t := &table{readable: map[string]string{}}
	f, err := elffile.Read(r)
	if err != nil {
		t.refuse(err)
		return t
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			t.segments = append(t.segments, segment{p.Off, p.Filesz, p.Vaddr})
		}
	}
	t.buildID = buildID(f)
	if t.big, err = bigOf(f, r); t.big != nil {
		return t
	}
	t.refuse(err)
	var c collector
	t.refuse(c.section(f, elf.SHT_SYMTAB))
	t.refuse(c.section(f, elf.SHT_DYNSYM))
	if len(c.strs) < 2 { // stripped
		d, err := debugdata(f)
		t.refuse(err)
		if d != nil {
			t.refuse(c.section(d, elf.SHT_SYMTAB))
		}
	}
	t.refuse(c.exceeded)
	t.syms, t.names = c.finish()
	return t
}

// refuse notes the first limit that the file exceeds.
func (t *table) refuse(err error) {
	if t.refused == nil && limit.Is(err) {
		t.refused = err
	}
}

// size is the memory a table takes, in bytes.
func (t *table) size() int {
	n := len(t.names) + 16*len(t.syms) + 512
	if t.big != nil {
		n += t.big.size()
	}
	return n
}

// keep gives a big table its file, to be closed with it. If it needs none, the file is closed now.
func (t *table) keep(file *os.File) {
	if t.big == nil || t.file != nil {
		file.Close()
		return
	}
	t.file, t.big.file = file, file
}

// close closes the file of a big table. Without a file it names nothing.
func (t *table) close() {
	if t.file != nil {
		t.file.Close()
		t.file, t.big.file = nil, nil
	}
}

// ready reports whether there is a table and, if it is big, its file is open.
func (t *table) ready() bool { return t != nil && (t.big == nil || t.file != nil) }

// virtual converts a file offset in the code to a virtual address of the file.
func (t *table) virtual(off uint64) (uint64, bool) {
	for _, s := range t.segments {
		if off >= s.off && off-s.off < s.size {
			return off - s.off + s.addr, true
		}
	}
	return 0, false
}

// symbol is the readable name of the function at addr, empty if there is none. A very long one is cut.
func (t *table) symbol(addr uint64) string {
	linked, _ := t.function(addr)
	if len(linked) > limit.ShownName {
		return linked[:1<<maxName]
	}
	name, ok := t.readable[linked]
	if !ok {
		name = readable(linked)
		if len(t.readable) >= maxReadable {
			clear(t.readable)
		}
		t.readable[linked] = name
	}
	return name
}

// stubPrefix is what nvcc puts before the mangled name of a kernel to name the function
// that launches it. It mangles the result again.
const stubPrefix = "__device_stub_"

// readable returns the demangled name: "__device_stub_add<float>(float*)" for
// "_ZL36__device_stub__Z3addIfEvPT_Pf".
func readable(linked string) string {
	name := demangle.Filter(linked, demangle.MaxLength(maxName))
	if kernel, ok := strings.CutPrefix(name, stubPrefix); ok {
		kernel, _, _ = strings.Cut(kernel, "(")
		if inner := demangle.Filter(kernel, demangle.MaxLength(maxName)); inner != kernel {
			return stubPrefix + strings.TrimPrefix(inner, "void ")
		}
	}
	return name
}

// function is the name, as linked, and the address of the function that contains addr;
// empty if there is none.
func (t *table) function(addr uint64) (linked string, start uint64) {
	if t.big != nil {
		return t.big.find(addr)
	}
	if i := t.find(addr); i >= 0 {
		return t.name(i), t.syms[i].addr
	}
	return "", 0
}

// maxUnsized is how far a function of unknown size extends at most, in bytes. They are written in assembly, and short.
// In a stripped library megabytes of functions without names may follow one.
const maxUnsized = 16 << 10

// find returns the index of the function that contains addr, -1 if none does: the
// last one that begins at or before it or, if that has ended, one around it. A
// function of unknown size extends to the next one, but not further than maxUnsized.
func (t *table) find(addr uint64) int {
	i, found := slices.BinarySearchFunc(t.syms, addr, func(s sym, a uint64) int { return cmp.Compare(s.addr, a) })
	if !found {
		i--
	}
	for n := 0; i >= 0 && n < maxNesting; i, n = i-1, n+1 {
		s := t.syms[i]
		if addr-s.addr < uint64(s.size) || s.size == 0 && n == 0 && addr-s.addr < maxUnsized {
			return i
		}
	}
	return -1
}

func (t *table) name(i int) string {
	end := uint32(len(t.names))
	if i+1 < len(t.syms) {
		end = t.syms[i+1].name
	}
	return t.names[t.syms[i].name:end]
}

// collector gathers symbols of several sections.
type collector struct {
	syms     []rawSym
	strs     [][]byte // string sections; rawSym.str is an index
	names    int      // bytes of the symbols' names
	exceeded error    // *limit.Exceeded: the symbols after these are left out
}

type rawSym struct {
	addr       uint64
	size, name uint32
	len        uint32 // of the name
	str        uint8
	local      bool
}

// Of an Elf64_Sym (elf.h): name u32, info u8, other u8, shndx u16, value u64,
// size u64.
const symSize = elffile.SymbolSize

// section adds the symbols of a small section, and those of a file in memory.
func (c *collector) section(f *elffile.File, kind elf.SectionType) error {
	s := f.SectionByType(kind)
	link := f.Strings(s)
	if link == nil {
		return nil
	}
	if err := elffile.CheckSymbols(s, link); err != nil {
		return err
	}
	data, err := s.Data("symbols", limit.Unpacked)
	if err != nil {
		return err // damaged: the other section may not be
	}
	names, err := link.Data("names of symbols", limit.Unpacked)
	if err != nil {
		return err
	}
	c.add(data, names, f.ByteOrder)
	return nil
}

func (c *collector) add(data, names []byte, order binary.ByteOrder) {
	str := uint8(len(c.strs))
	c.strs = append(c.strs, names)
	n := 0
	for at := 0; at+symSize <= len(data); at += symSize {
		if _, ok := functionAt(order, data[at:]); ok {
			n++
		}
	}
	c.syms = slices.Grow(c.syms, n)
	for ; len(data) >= symSize; data = data[symSize:] {
		addr, ok := functionAt(order, data)
		if !ok {
			continue
		}
		s := rawSym{
			addr: addr, name: order.Uint32(data), len: limit.Name,
			size: uint32(min(order.Uint64(data[16:]), 1<<32-1)),
			str:  str, local: elf.ST_BIND(data[4]) == elf.STB_LOCAL,
		}
		if s.len = uint32(len(c.text(s))); s.len == 0 {
			continue
		}
		if c.names += int(s.len); c.names > limit.TableNames {
			c.exceeded = &limit.Exceeded{What: "names of functions", Most: limit.TableNames, Unit: "bytes"}
			return
		}
		c.syms = append(c.syms, s)
	}
}

// text is a symbol's name without its version ("memcpy@@GLIBC_2.14"), empty if there is none, or it is longer
// than limit.Name.
func (c *collector) text(s rawSym) []byte {
	b := c.strs[s.str]
	if uint64(s.name) >= uint64(len(b)) {
		return nil
	}
	b = b[s.name:]
	b = b[:min(len(b), int(s.len))]
	n := bytes.IndexByte(b, 0)
	if n < 0 && s.len == limit.Name {
		return nil
	}
	if n >= 0 {
		b = b[:n]
	}
	if n := bytes.IndexByte(b, '@'); n > 0 {
		b = b[:n]
	}
	return b
}

// finish sorts the symbols, keeps the best name of each address and copies the
// names together, so that the sections can be freed.
func (c *collector) finish() ([]sym, string) {
	slices.SortFunc(c.syms, func(a, b rawSym) int {
		if n := cmp.Compare(a.addr, b.addr); n != 0 {
			return n
		}
		return c.compareNames(a, b)
	})
	c.syms = slices.CompactFunc(c.syms, func(a, b rawSym) bool { return a.addr == b.addr })
	total := 0
	for _, s := range c.syms {
		total += len(c.text(s))
	}
	var names strings.Builder
	names.Grow(total)
	syms := make([]sym, len(c.syms))
	for i, s := range c.syms {
		syms[i] = sym{s.addr, s.size, uint32(names.Len())}
		names.Write(c.text(s))
	}
	return syms, names.String()
}

// compareNames orders the names of one address by preference: with a size,
// exported, fewer leading underscores ("write", not "__libc_write"), shorter.
func (c *collector) compareNames(a, b rawSym) int {
	return cmp.Or(
		compareBool(a.size == 0, b.size == 0),
		compareBool(a.local, b.local),
		cmp.Compare(underscores(c.text(a)), underscores(c.text(b))),
		cmp.Compare(len(c.text(a)), len(c.text(b))),
		bytes.Compare(c.text(a), c.text(b)),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func underscores(b []byte) int { return len(b) - len(bytes.TrimLeft(b, "_")) }
