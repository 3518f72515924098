package python

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/internal/elffile"
)

// image describes the interpreter in an executable or library.
type image struct {
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

// readImage reads a file that a traced process has chosen. It must not block, as
// opening a FIFO would.
func readImage(name string) (*image, error) {
	file, err := privilege.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if i, err := file.Stat(); err != nil || !i.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is not a regular file"))
	}
	f, err := elf.NewFile(file)
	if err == nil {
		err = elffile.Check(f)
	}
	if err != nil {
		return nil, err
	}
	img := &image{}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			img.loads = append(img.loads, p.ProgHeader)
		}
	}
	libs, _ := f.ImportedLibraries() // none in a static program
	img.needsPython = slices.ContainsFunc(libs, func(l string) bool { return strings.HasPrefix(l, "libpython") })
	for _, table := range []func() ([]elf.Symbol, error){f.DynamicSymbols, f.Symbols} {
		symbols, err := table()
		if err != nil {
			continue // it has no such table
		}
		img.symbols(f, symbols)
		if img.runtime != 0 {
			break
		}
	}
	return img, nil
}

func (img *image) symbols(f *elf.File, symbols []elf.Symbol) {
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF {
			continue
		}
		switch s.Name {
		case "_PyRuntime":
			img.runtime = s.Value
			img.offsets = contents(f, s.Value, offsetsSize)
		case "Py_Version":
			if b := contents(f, s.Value, 4); len(b) == 4 {
				img.version = Version(binary.LittleEndian.Uint32(b))
			}
		case "_Py_RefTotal", "_Py_NegativeRefcount":
			img.debug = true
		}
	}
}

// contents reads up to n bytes at a virtual address from the file.
func contents(f *elf.File, at uint64, n int) []byte {
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || at < p.Vaddr || at >= p.Vaddr+p.Filesz {
			continue
		}
		b := make([]byte, min(uint64(n), p.Vaddr+p.Filesz-at))
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
