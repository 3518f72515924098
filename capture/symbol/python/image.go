package python

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/capture/elffile"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/privilege"
)

// image describes the interpreter in an executable or library.
type image struct {
	err         error // why nothing is known of it
	stamp       stamp
	runtime     uint64  // virtual address of _PyRuntime, 0 if it is not in this file
	version     Version // from Py_Version, which exists from 3.11 on; else 0
	debug       bool    // built with Py_REF_DEBUG: objects have another layout
	offsets     []byte  // the start of _PyRuntime as it is in the file
	needsPython bool    // linked to a libpython, which is loaded a moment later
	loads       []elf.ProgHeader
}

// stamp changes when a file gets other contents.
type stamp struct{ size, modifiedNS int64 }

func stampOf(name string) (stamp, error) {
	i, err := privilege.Stat(name)
	if err != nil {
		return stamp{}, err
	}
	return stamp{i.Size(), i.ModTime().UnixNano()}, nil
}

// readImage reads a file that a traced process has chosen.
func readImage(name string) (*image, error) {
	file, err := limit.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f, err := elffile.Read(file)
	if err != nil {
		return nil, err
	}
	img := &image{}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			img.loads = append(img.loads, p.ProgHeader)
		}
	}
	libs, _ := f.Dynamic(elf.DT_NEEDED) // none in a static program
	img.needsPython = slices.ContainsFunc(libs, func(l string) bool { return strings.HasPrefix(l, "libpython") })
	wanted, longest := elffile.Names(told)
	for _, kind := range []elf.SectionType{elf.SHT_DYNSYM, elf.SHT_SYMTAB} {
		symbols, err := f.Find(elffile.Query{Kind: kind, May: defined, Wanted: wanted, Longest: longest})
		if limit.Is(err) {
			return nil, err
		}
		img.symbols(f, symbols)
		if img.runtime != 0 {
			break
		}
	}
	return img, nil
}

const (
	runtimeSymbol = "_PyRuntime"
	versionSymbol = "Py_Version"
)

// told are the symbols that tell of an interpreter.
var told = map[string]bool{runtimeSymbol: true, versionSymbol: true, "_Py_RefTotal": true, "_Py_NegativeRefcount": true}

func defined(y *elf.Symbol) bool { return y.Section != elf.SHN_UNDEF }

func (img *image) symbols(f *elffile.File, symbols []elffile.Symbol) {
	for _, s := range symbols {
		switch s.Name {
		case runtimeSymbol:
			img.runtime = s.Value
			img.offsets = contents(f, s.Value, offsetsSize)
		case versionSymbol:
			if b := contents(f, s.Value, 4); len(b) == 4 {
				img.version = Version(binary.LittleEndian.Uint32(b))
			}
		default:
			img.debug = true
		}
	}
}

// contents reads up to n bytes at a virtual address from the file.
func contents(f *elffile.File, at uint64, n int) []byte {
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || at < p.Vaddr || at-p.Vaddr >= p.Filesz {
			continue
		}
		b := make([]byte, min(uint64(n), p.Filesz-(at-p.Vaddr)))
		if _, err := p.ReadAt(b, int64(at-p.Vaddr)); err != nil {
			return nil
		}
		return b
	}
	return nil
}

// bias is what to add to the file's addresses to get those of the process.
func (img *image) bias(m proc.Mapping) (uint64, bool) {
	for _, p := range img.loads {
		if p.Flags&elf.PF_X != 0 && m.Offset < p.Off+p.Filesz && m.Offset+(m.End-m.Start) > p.Off {
			return m.Start - m.Offset + p.Off - p.Vaddr, true
		}
	}
	return 0, false
}
