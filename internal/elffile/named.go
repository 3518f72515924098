package elffile

import (
	"bytes"
	"debug/elf"
	"io"
	"slices"
)

const (
	sym64Size = 24       // bytes of an Elf64_Sym
	atOnce    = 64 << 10 // bytes that are read at once
)

// Functions returns the file's own functions with one of the given names, of its symbol
// section (SHT_SYMTAB), in the section's order; a local name may be there several times.
// The section is read piece by piece: in a library as large as libtorch_cuda it has 100
// MB with its names, of which a probe needs some hundred. The error is elf.ErrNoSymbols
// if the file is stripped.
func Functions(f *elf.File, names map[string]bool) ([]elf.Symbol, error) {
	s := f.SectionByType(elf.SHT_SYMTAB)
	if s == nil || s.Link == 0 || int(s.Link) >= len(f.Sections) {
		return nil, elf.ErrNoSymbols
	}
	texts := f.Sections[s.Link]
	if f.Class != elf.ELFCLASS64 || (s.Flags|texts.Flags)&elf.SHF_COMPRESSED != 0 {
		return small(f, names) // can only be read as a whole
	}
	var at []uint32
	if err := eachFunction(f, s, func(y *elf.Symbol, name uint32) { at = append(at, name) }); err != nil {
		return nil, err
	}
	slices.Sort(at)
	wanted := namesAt(texts, slices.Compact(at), names)
	var found []elf.Symbol
	err := eachFunction(f, s, func(y *elf.Symbol, name uint32) {
		if text, ok := wanted[name]; ok {
			y.Name = text
			found = append(found, *y)
		}
	})
	return found, err
}

// small is Functions for a file whose symbols are read at once.
func small(f *elf.File, names map[string]bool) ([]elf.Symbol, error) {
	all, err := f.Symbols()
	return slices.DeleteFunc(all, func(y elf.Symbol) bool { return !isFunction(&y) || !names[y.Name] }), err
}

// isFunction reports whether a symbol is a function in the file. The symbol of an
// indirect function is the code that chooses the function, not the function.
func isFunction(y *elf.Symbol) bool {
	return elf.ST_TYPE(y.Info) == elf.STT_FUNC && y.Section != elf.SHN_UNDEF && y.Value != 0
}

// eachFunction calls visit with each function of a symbol section, without its name, and
// with the place of its name.
func eachFunction(f *elf.File, s *elf.Section, visit func(y *elf.Symbol, name uint32)) error {
	buf, o := make([]byte, atOnce/sym64Size*sym64Size), f.ByteOrder
	for r := s.Open(); ; {
		n, err := io.ReadFull(r, buf)
		for b := buf[:n]; len(b) >= sym64Size; b = b[sym64Size:] {
			y := elf.Symbol{
				Info: b[4], Other: b[5], Section: elf.SectionIndex(o.Uint16(b[6:])),
				Value: o.Uint64(b[8:]), Size: o.Uint64(b[16:]),
			}
			if isFunction(&y) {
				visit(&y, o.Uint32(b))
			}
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return nil
		default:
			return err
		}
	}
}

// namesAt returns which of the places, in rising order, of a string section hold one of
// the names. One name may be the end of another one.
func namesAt(texts *elf.Section, places []uint32, names map[string]bool) map[uint32]string {
	longest := 0
	for name := range names {
		longest = max(longest, len(name))
	}
	found := map[uint32]string{}
	buf := make([]byte, max(atOnce, longest+1))
	var have []byte // of the section, from base on
	base := int64(0)
	for _, place := range places {
		at := int64(place) - base
		if at+int64(longest) >= int64(len(have)) { // may reach beyond what was read
			n, _ := texts.ReadAt(buf, int64(place)) // less at the section's end
			have, base, at = buf[:n], int64(place), 0
		}
		text := have[at:min(len(have), int(at)+longest+1)]
		if end := bytes.IndexByte(text, 0); end >= 0 && names[string(text[:end])] {
			found[place] = string(text[:end])
		}
	}
	return found
}
