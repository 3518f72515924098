package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/ingero-io/ingero/capture/limit"
)

// SymbolSize is the bytes of an Elf64_Sym.
const SymbolSize = 24

const (
	atOnce = 64 << 10  // bytes that are read at once
	batch  = 512 << 10 // symbols whose names are looked at together; 8 bytes of memory each
)

// Symbol is a symbol of a file.
type Symbol struct {
	elf.Symbol
	Index uint32 // in its section
}

// symbol reads an Elf64_Sym, without its name.
func symbol(o binary.ByteOrder, b []byte) elf.Symbol {
	return elf.Symbol{
		Info: b[4], Other: b[5], Section: elf.SectionIndex(o.Uint16(b[6:])),
		Value: o.Uint64(b[8:]), Size: o.Uint64(b[16:]),
	}
}

// IsFunction reports whether a symbol is a function in the file. The symbol of an
// indirect function is the code that chooses the function, not the function.
func IsFunction(y *elf.Symbol) bool {
	return elf.ST_TYPE(y.Info) == elf.STT_FUNC && y.Section != elf.SHN_UNDEF && y.Value != 0
}

// Query is what symbols are looked for.
type Query struct {
	Kind    elf.SectionType          // SHT_SYMTAB or SHT_DYNSYM
	May     func(y *elf.Symbol) bool // whether a symbol can be one, by all but its name
	Wanted  func(name []byte) bool   // whether a name is wanted
	Longest int                      // bytes of the longest wanted name
}

// Names returns a Wanted for a set of names, and the bytes of its longest.
func Names(names map[string]bool) (wanted func([]byte) bool, longest int) {
	for name := range names {
		longest = max(longest, len(name))
	}
	return func(b []byte) bool { return names[string(b)] }, longest
}

// Find returns the symbols of a section that are looked for, in the section's order; there may be several of
// one name. Sections are read piece by piece: in a library as large as libtorch_cuda they have 100 MB, of
// which a probe needs some hundred names. The error is elf.ErrNoSymbols if there is no such section, or a
// *limit.Exceeded.
func (f *File) Find(q Query) ([]Symbol, error) {
	s := f.SectionByType(q.Kind)
	texts := f.Strings(s)
	if texts == nil {
		return nil, elf.ErrNoSymbols
	}
	if err := CheckSymbols(s, texts); err != nil {
		return nil, err
	}
	x := finder{f: f, q: q, symbols: s, texts: texts, buf: make([]byte, max(atOnce, q.Longest+1))}
	buf := make([]byte, atOnce/SymbolSize*SymbolSize)
	for at := uint64(0); at+SymbolSize <= s.FileSize; at += uint64(len(buf)) {
		n, err := x.read(s, buf, at)
		for i := 0; i+SymbolSize <= n; i += SymbolSize {
			if err := x.addSymbol(uint32((at+uint64(i))/SymbolSize), buf[i:]); err != nil {
				return nil, err
			}
		}
		if errors.Is(err, io.EOF) {
			break // the end, or the file has become shorter
		}
		if err != nil {
			return nil, err
		}
	}
	err := x.look()
	slices.SortFunc(x.found, func(a, b Symbol) int { return int(a.Index) - int(b.Index) })
	return x.found, err
}

// CheckSymbols returns a *limit.Exceeded if a section of symbols or that of their names is too large, or is
// compressed: no linker compresses these.
func CheckSymbols(s, texts *Section) error {
	if (s.Flags|texts.Flags)&elf.SHF_COMPRESSED != 0 {
		return &limit.Exceeded{What: "compressed symbols"}
	}
	if err := limit.Check("symbols", s.FileSize/SymbolSize, limit.Symbols, "entries"); err != nil {
		return err
	}
	return limit.Check("names of symbols", texts.FileSize, limit.Strings, "bytes")
}

// finder looks for symbols.
type finder struct {
	f              *File
	q              Query
	symbols, texts *Section
	work           uint64     // bytes read
	list           []uint64   // symbols of this batch: the place of the name, in the upper half, and the index
	buf            []byte     // of texts
	now            elf.Symbol // asked for: one for all, as it is not on the stack
	found          []Symbol
}

// read reads a part of a section. Of a section at the end of the file there may be less.
func (x *finder) read(s *Section, b []byte, at uint64) (int, error) {
	n, err := s.ReadAt(b, int64(at))
	if x.work += uint64(n); x.work > limit.FileWork {
		return n, &limit.Exceeded{What: "symbols and names read to find some", Most: limit.FileWork, Unit: "bytes"}
	}
	return n, err
}

// addSymbol notes a symbol whose name is to be looked at.
func (x *finder) addSymbol(index uint32, b []byte) error {
	x.now = symbol(x.f.ByteOrder, b)
	if x.q.May != nil && !x.q.May(&x.now) {
		return nil
	}
	if x.list == nil {
		x.list = make([]uint64, 0, min(batch, x.symbols.FileSize/SymbolSize))
	}
	x.list = append(x.list, uint64(x.f.ByteOrder.Uint32(b))<<32|uint64(index))
	if len(x.list) < batch {
		return nil
	}
	return x.look()
}

// look finds the wanted ones of the batch, in the order of the places of their names. One name may be the end
// of another one.
func (x *finder) look() error {
	slices.Sort(x.list)
	var have []byte // of the names, from base on
	base := uint64(0)
	for _, l := range x.list {
		at := l >> 32
		if at >= x.texts.FileSize {
			break
		}
		if at-base+uint64(x.q.Longest) >= uint64(len(have)) { // may reach beyond what was read
			n, err := x.read(x.texts, x.buf, at)
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			have, base = x.buf[:n], at
		}
		text := have[min(uint64(len(have)), at-base):]
		text = text[:min(len(text), x.q.Longest+1)]
		if end := bytes.IndexByte(text, 0); end >= 0 && x.q.Wanted(text[:end]) {
			if err := x.keep(uint32(l), string(text[:end])); err != nil {
				return err
			}
		}
	}
	x.list = x.list[:0]
	return nil
}

// keep adds a symbol that was found. It is read again, and only its name is kept of the batch.
func (x *finder) keep(index uint32, name string) error {
	if len(x.found) == limit.Matches {
		return &limit.Exceeded{What: "symbols that are looked for", Most: limit.Matches, Unit: "entries"}
	}
	var b [SymbolSize]byte
	if _, err := x.read(x.symbols, b[:], uint64(index)*SymbolSize); err != nil {
		return err
	}
	y := Symbol{symbol(x.f.ByteOrder, b[:]), index}
	y.Name = name
	x.found = append(x.found, y)
	return nil
}
