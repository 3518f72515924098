package elffile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
)

// part is a section of a file, its bytes or a claim.
type part struct {
	name  string
	kind  elf.SectionType
	flags elf.SectionFlag
	data  []byte
	size  uint64 // if not 0, what the header claims; the file is made as long, without using the disk
	link  uint32
	addr  uint64
	info  uint32
	at    uint64 // if not 0, where the section is, over others
}

// image is a file to be written: 64 bits, little-endian, for this kind of machine.
type image struct {
	parts    []part
	programs []elf.Prog64
	sections uint16 // if not 0, how many section headers the file claims
	names    []byte // if not nil, the section names
	nameSize uint64 // if not 0, the size that the section of names claims
	machine  elf.Machine
}

// CodeAt is the address and the offset in the file, in bytes, of a segment with CodeSize bytes of code that every
// file has: who maps it there makes a reader look up addresses in it.
const (
	CodeAt   = 0x10000
	CodeSize = 0x10000
)

const (
	page       = 4096
	headerSize = 64
)

// base is an image with a segment of code, so that addresses in it are looked up.
func base(parts ...part) *image {
	return &image{
		machine: elf.EM_X86_64, parts: parts,
		programs: []elf.Prog64{{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: CodeAt, Vaddr: CodeAt, Filesz: CodeSize,
			Memsz: CodeSize, Align: page,
		}},
	}
}

// section returns the number that the image's part n has as a section.
func section(n int) uint32 { return uint32(n + 1) }

// bytes is the file.
func (m *image) bytes() ([]byte, error) {
	f, err := os.CreateTemp("", "image")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	f.Close()
	if err := m.write(f.Name()); err != nil {
		return nil, err
	}
	return os.ReadFile(f.Name())
}

// write writes the image. Headers come first, then the code, then the parts, each at a page.
func (m *image) write(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	names := []byte{0}
	headers := []elf.Section64{{}}
	at := uint64(CodeAt + CodeSize)
	put := func(p part) error {
		h := elf.Section64{
			Name: uint32(len(names)), Type: uint32(p.kind), Flags: uint64(p.flags), Addr: p.addr, Off: at, Link: p.link,
			Info: p.info, Size: max(p.size, uint64(len(p.data))),
		}
		names = append(append(names, p.name...), 0)
		if p.at != 0 {
			h.Off = p.at
		} else {
			at += (uint64(len(p.data)) + page - 1) / page * page
		}
		headers = append(headers, h)
		_, err := f.WriteAt(p.data, int64(h.Off))
		return err
	}
	for _, p := range m.parts {
		if err := put(p); err != nil {
			return err
		}
	}
	end := uint64(0)
	for i := range headers {
		end = max(end, headers[i].Off+headers[i].Size)
	}
	own := part{name: ".shstrtab", kind: elf.SHT_STRTAB, size: m.nameSize}
	own.data = append(bytes.Clone(names), ".shstrtab\x00"...)
	if m.names != nil {
		own.data = m.names
	}
	if err := put(own); err != nil {
		return err
	}
	end = max(end, headers[len(headers)-1].Off+headers[len(headers)-1].Size, at)
	count := max(m.sections, uint16(len(headers)))
	table := at
	if err := m.writeHeaders(f, headers, table, count); err != nil {
		return err
	}
	return grow(f, max(end, table+uint64(count)*headerSize))
}

func (m *image) writeHeaders(f *os.File, headers []elf.Section64, at uint64, count uint16) error {
	var b bytes.Buffer
	h := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_DYN), Machine: uint16(m.machine), Version: 1,
		Entry: CodeAt, Ehsize: headerSize, Phoff: headerSize, Phentsize: 56, Phnum: uint16(len(m.programs)),
		Shoff: at, Shentsize: 64, Shnum: count, Shstrndx: uint16(len(headers) - 1),
	}
	for _, v := range []any{&h, m.programs} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			return err
		}
	}
	if _, err := f.WriteAt(b.Bytes(), 0); err != nil {
		return err
	}
	b.Reset()
	for i := range count {
		if err := binary.Write(&b, binary.LittleEndian, &headers[min(int(i), len(headers)-1)]); err != nil {
			return err
		}
	}
	_, err := f.WriteAt(b.Bytes(), int64(at))
	return err
}

// grow makes a file longer without using the disk, as far as its file system can.
func grow(f *os.File, size uint64) error {
	for ; ; size /= 2 {
		if i, err := f.Stat(); err != nil || uint64(i.Size()) >= size {
			return err
		}
		if f.Truncate(int64(size)) == nil {
			return nil
		}
	}
}

// symbols makes n functions and their names; name is the place of each one's name.
func symbols(n int, name func(i int) uint32) []byte {
	b := make([]byte, 0, (n+1)*24)
	b = append(b, make([]byte, 24)...)
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, name(i))
		b = append(b, byte(elf.STB_GLOBAL)<<4|byte(elf.STT_FUNC), 0, 1, 0)
		b = binary.LittleEndian.AppendUint64(b, CodeAt+uint64(i)%CodeSize)
		b = binary.LittleEndian.AppendUint64(b, 16)
	}
	return b
}

// words are 32-bit words.
func words(v ...uint32) (b []byte) {
	for _, w := range v {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// longs are 64-bit words.
func longs(v ...uint64) (b []byte) {
	for _, w := range v {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}
