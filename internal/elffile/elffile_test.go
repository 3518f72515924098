package elffile_test

import (
	"debug/elf"
	"errors"
	"os"
	"testing"

	"github.com/ingero-io/ingero/internal/elffile"
)

func TestCheck(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := elffile.Check(f); err != nil {
		t.Errorf("this program: %v", err)
	}
	for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM, elf.SHT_STRTAB, elf.SHT_DYNAMIC} {
		huge := &elf.File{Sections: []*elf.Section{{SectionHeader: elf.SectionHeader{
			Name: "x", Type: kind,
			Size: elffile.MaxSection + 1,
		}}}}
		if err := elffile.Check(huge); !errors.Is(err, elffile.ErrTooLarge) {
			t.Errorf("a huge %s: %v", kind, err)
		}
	}
	code := &elf.File{Sections: []*elf.Section{{SectionHeader: elf.SectionHeader{
		Type: elf.SHT_PROGBITS,
		Size: elffile.MaxSection + 1,
	}}}}
	if err := elffile.Check(code); err != nil {
		t.Errorf("much code: %v", err)
	}
}
