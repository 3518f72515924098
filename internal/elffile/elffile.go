// Package elffile refuses ELF files that would cost too much to read. Programs that
// are traced choose what they map, and a sparse or compressed section may claim any
// size.
package elffile

import (
	"debug/elf"
	"errors"
	"fmt"
)

// MaxSection is the largest accepted size, in bytes, of a section of symbols, strings
// or dynamic entries. The largest known ones, of debug builds of libtorch, have a
// quarter of it.
const MaxSection = 512 << 20

// ErrTooLarge says that a section claims more than MaxSection.
var ErrTooLarge = errors.New("section is too large to be read")

// Check checks the sections that debug/elf reads as a whole.
func Check(f *elf.File) error {
	for _, s := range f.Sections {
		switch s.Type {
		case elf.SHT_SYMTAB, elf.SHT_DYNSYM, elf.SHT_STRTAB, elf.SHT_DYNAMIC, elf.SHT_GNU_VERSYM, elf.SHT_GNU_VERNEED,
			elf.SHT_GNU_VERDEF:
			if s.Size > MaxSection || s.FileSize > MaxSection {
				return fmt.Errorf("%s: %d bytes: %w", s.Name, s.Size, ErrTooLarge)
			}
		}
	}
	return nil
}
