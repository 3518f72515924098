// Package elffile reads ELF files that strangers chose. Programs that are traced choose what they map, and
// a sparse or compressed section may claim any size, which debug/elf would read. Here nothing is read that
// package limit does not allow, nothing is unpacked, and no section of symbols or names is read as a whole.
//
// It reads 64-bit files: their headers, symbols by name, and the dynamic section. Of debug/elf only its
// names of types and constants are used.
package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/capture/limit"
)

// File is the headers of an ELF file.
type File struct {
	Machine   elf.Machine
	ByteOrder binary.ByteOrder
	Entry     uint64
	Progs     []*Prog
	Sections  []*Section
}

// Prog is a segment. It reads what of it is in the file.
type Prog struct {
	elf.ProgHeader
	io.ReaderAt
}

// Section is a section. It reads what of it is in the file, as it is there: compressed if it is compressed.
type Section struct {
	elf.SectionHeader
	io.ReaderAt
	bytes []byte // of a file in memory
}

// Memory is a file in memory. Data of its sections is not copied.
type Memory []byte

// ReadAt implements io.ReaderAt.
func (m Memory) ReadAt(b []byte, at int64) (int, error) { return bytes.NewReader(m).ReadAt(b, at) }

// ErrNotELF says that a file is not a 64-bit program or library, or is damaged.
var ErrNotELF = errors.New("not a 64-bit ELF file")

func damaged(what string) error { return fmt.Errorf("%w: %s", ErrNotELF, what) }

const (
	headerSize  = 64 // Elf64_Ehdr
	programSize = 56 // Elf64_Phdr
	sectionSize = 64 // Elf64_Shdr
)

// Read reads a file's headers. The error is ErrNotELF, a *limit.Exceeded, or one of reading.
func Read(r io.ReaderAt) (*File, error) {
	var h [headerSize]byte
	if _, err := r.ReadAt(h[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	} else if err != nil || !bytes.HasPrefix(h[:], []byte(elf.ELFMAG)) || elf.Class(h[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return nil, ErrNotELF
	}
	f := &File{ByteOrder: binary.LittleEndian}
	switch elf.Data(h[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
	case elf.ELFDATA2MSB:
		f.ByteOrder = binary.BigEndian
	default:
		return nil, damaged("unknown byte order")
	}
	o := f.ByteOrder
	f.Machine, f.Entry = elf.Machine(o.Uint16(h[18:])), o.Uint64(h[24:])
	if err := f.programs(r, o.Uint64(h[32:]), o.Uint16(h[54:]), o.Uint16(h[56:])); err != nil {
		return nil, err
	}
	if err := f.sections(r, o.Uint64(h[40:]), o.Uint16(h[58:]), o.Uint16(h[60:]), o.Uint16(h[62:])); err != nil {
		return nil, err
	}
	return f, nil
}

// table reads n headers of a table.
func table(r io.ReaderAt, at uint64, size, want, n uint16, what string) ([]byte, error) {
	if at == 0 || n == 0 {
		return nil, nil
	}
	if size != want || at > math.MaxInt64-math.MaxUint32 {
		return nil, damaged(what)
	}
	b := make([]byte, int(n)*int(want))
	if _, err := r.ReadAt(b, int64(at)); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, damaged(what)
		}
		return nil, err
	}
	return b, nil
}

func (f *File) programs(r io.ReaderAt, at uint64, size, n uint16) error {
	const what = "program headers"
	if err := limit.Check(what, uint64(n), limit.Programs, "entries"); err != nil {
		return err
	}
	b, err := table(r, at, size, programSize, n, what)
	if err != nil {
		return err
	}
	for o := f.ByteOrder; len(b) > 0; b = b[programSize:] {
		p := &Prog{ProgHeader: elf.ProgHeader{
			Type: elf.ProgType(o.Uint32(b)), Flags: elf.ProgFlag(o.Uint32(b[4:])), Off: o.Uint64(b[8:]),
			Vaddr: o.Uint64(b[16:]), Paddr: o.Uint64(b[24:]), Filesz: o.Uint64(b[32:]), Memsz: o.Uint64(b[40:]),
			Align: o.Uint64(b[48:]),
		}}
		if p.ReaderAt = piece(r, p.Off, p.Filesz); p.ReaderAt == nil {
			return damaged(what)
		}
		f.Progs = append(f.Progs, p)
	}
	return nil
}

// piece reads a part of a file; nil if there can be no such part.
func piece(r io.ReaderAt, at, size uint64) io.ReaderAt {
	if at > math.MaxInt64 || size > math.MaxInt64-at {
		return nil
	}
	return io.NewSectionReader(r, int64(at), int64(size))
}

func (f *File) sections(r io.ReaderAt, at uint64, size, n, names uint16) error {
	const what = "section headers"
	if err := limit.Check(what, uint64(n), limit.Sections, "entries"); err != nil {
		return err
	}
	b, err := table(r, at, size, sectionSize, n, what)
	if err != nil {
		return err
	}
	var places []uint32 // of the sections' names
	for o := f.ByteOrder; len(b) > 0; b = b[sectionSize:] {
		s := &Section{SectionHeader: elf.SectionHeader{
			Type: elf.SectionType(o.Uint32(b[4:])), Flags: elf.SectionFlag(o.Uint64(b[8:])), Addr: o.Uint64(b[16:]),
			Offset: o.Uint64(b[24:]), Size: o.Uint64(b[32:]), Link: o.Uint32(b[40:]), Info: o.Uint32(b[44:]),
			Addralign: o.Uint64(b[48:]), Entsize: o.Uint64(b[56:]), FileSize: o.Uint64(b[32:]),
		}}
		if s.Type == elf.SHT_NOBITS {
			s.FileSize = 0
		}
		if s.ReaderAt = piece(r, s.Offset, s.FileSize); s.ReaderAt == nil {
			return damaged(what)
		}
		if m, ok := r.(Memory); ok && s.Offset+s.FileSize <= uint64(len(m)) {
			s.bytes = m[s.Offset : s.Offset+s.FileSize]
		}
		f.Sections, places = append(f.Sections, s), append(places, o.Uint32(b))
	}
	if int(names) >= len(f.Sections) {
		return nil
	}
	return f.nameSections(f.Sections[names], places)
}

// nameSections gives the sections their names. All of them share the bytes that were read.
func (f *File) nameSections(from *Section, places []uint32) error {
	b, err := from.Data("names of sections", limit.SectionNames)
	if err != nil {
		return err
	}
	all := string(b)
	for i, at := range places {
		if uint64(at) >= uint64(len(all)) {
			continue
		}
		name := all[at:min(len(all), int(at)+limit.SectionName)]
		if before, _, ok := strings.Cut(name, "\x00"); ok {
			f.Sections[i].Name = before
		}
	}
	return nil
}

// Data reads a section as a whole. what it is, and how many bytes of it may be read, is for the error. A
// section that ends behind the end of the file is damaged.
func (s *Section) Data(what string, most uint64) ([]byte, error) {
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, &limit.Exceeded{What: "compressed " + what}
	}
	if err := limit.Check(what, s.FileSize, most, "bytes"); err != nil {
		return nil, err
	}
	if s.bytes != nil {
		return s.bytes, nil
	}
	b := make([]byte, s.FileSize)
	if n, err := s.ReadAt(b, 0); n < len(b) {
		if errors.Is(err, io.EOF) {
			err = damaged(what)
		}
		return nil, err
	}
	return b, nil
}

// Open returns a reader of a section from its beginning.
func (s *Section) Open() io.Reader { return io.NewSectionReader(s, 0, int64(s.FileSize)) }

// Section returns the first section of a name, nil if there is none.
func (f *File) Section(name string) *Section {
	return f.first(func(s *Section) bool { return s.Name == name })
}

// SectionByType returns the first section of a type, nil if there is none.
func (f *File) SectionByType(t elf.SectionType) *Section {
	return f.first(func(s *Section) bool { return s.Type == t })
}

func (f *File) first(is func(*Section) bool) *Section {
	if i := slices.IndexFunc(f.Sections, is); i >= 0 {
		return f.Sections[i]
	}
	return nil
}

// Strings returns the section with the names of a section's symbols or entries, nil if there is none.
func (f *File) Strings(s *Section) *Section {
	if s == nil || s.Link == 0 || uint64(s.Link) >= uint64(len(f.Sections)) || f.Sections[s.Link].Type != elf.SHT_STRTAB {
		return nil
	}
	return f.Sections[s.Link]
}
