package elf

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"

	"github.com/ingero-io/ingero/capture/elffile"
	"github.com/ingero-io/ingero/capture/limit"
)

// debugdata is the "mini debug info" of a stripped file: an ELF file in its
// section .gnu_debugdata, compressed with xz, that holds the symbols of functions
// which are not exported (Fedora and its relatives; GDB manual, "MiniDebugInfo").
// It is nil if there is none.
func debugdata(f *elffile.File) (*elffile.File, error) {
	s := f.Section(".gnu_debugdata")
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	packed, err := s.Data("packed symbols", limit.Debugdata)
	if err != nil {
		return nil, err
	}
	b, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	return elffile.Read(elffile.Memory(b))
}

const noteBuildID = 3 // NT_GNU_BUILD_ID

// buildID returns the id that the linker wrote into a file, in hex. It searches
// the program headers, which stripping leaves.
func buildID(f *elffile.File) string {
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > limit.Notes {
			continue
		}
		b := make([]byte, p.Filesz)
		if n, _ := p.ReadAt(b, 0); n < len(b) {
			continue
		}
		if id := findBuildID(b, f.ByteOrder); id != "" {
			return id
		}
	}
	return ""
}

// findBuildID searches notes. A note has the lengths of its name and description,
// its type, then both, padded to 4 bytes (elf.h, Elf64_Nhdr).
func findBuildID(b []byte, order binary.ByteOrder) string {
	for len(b) >= 12 {
		name, desc, kind := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:])), order.Uint32(b[8:])
		b = b[12:]
		at, end := (name+3)&^3, (name+3)&^3+desc
		if end > uint64(len(b)) {
			return ""
		}
		if kind == noteBuildID && string(b[:name]) == "GNU\x00" && desc > 0 && desc <= limit.BuildID {
			return hex.EncodeToString(b[at:end])
		}
		b = b[min((end+3)&^3, uint64(len(b))):]
	}
	return ""
}
