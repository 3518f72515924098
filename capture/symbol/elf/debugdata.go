package elf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"io"

	"github.com/ulikunitz/xz"
)

// maxDebugdata bounds the section and the decompressed symbol table, in bytes.
const maxDebugdata = 64 << 20

// debugdata is the "mini debug info" of a stripped file: an ELF file in its
// section .gnu_debugdata, compressed with xz, that holds the symbols of functions
// which are not exported (Fedora and its relatives; GDB manual, "MiniDebugInfo").
// It is nil if there is none.
func debugdata(f *elf.File) *elf.File {
	s := f.Section(".gnu_debugdata")
	if s == nil || s.Type == elf.SHT_NOBITS || s.Size > maxDebugdata {
		return nil
	}
	r, err := xz.NewReader(s.Open())
	if err != nil {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(r, maxDebugdata))
	if err != nil {
		return nil
	}
	d, err := elf.NewFile(bytes.NewReader(b))
	if err != nil || d.Class != elf.ELFCLASS64 {
		return nil
	}
	return d
}

const (
	noteBuildID = 3  // NT_GNU_BUILD_ID
	maxBuildID  = 64 // bytes
)

// buildID returns the id that the linker wrote into a file, in hex. It searches
// the program headers, which stripping leaves.
func buildID(f *elf.File) string {
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > 1<<16 {
			continue
		}
		b, err := io.ReadAll(p.Open())
		if err != nil {
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
		if kind == noteBuildID && string(b[:name]) == "GNU\x00" && desc > 0 && desc <= maxBuildID {
			return hex.EncodeToString(b[at:end])
		}
		b = b[min((end+3)&^3, uint64(len(b))):]
	}
	return ""
}
