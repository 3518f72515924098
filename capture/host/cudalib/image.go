package cudalib

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/internal/elffile"
)

// Image is an open program or library file. Its parts are read when needed. Damaged parts count as
// missing.
type Image struct {
	file *os.File
	elf  *elf.File
}

// ErrNotELF says that a file is not a 64-bit program or library.
var ErrNotELF = errors.New("not a 64-bit ELF file")

// OpenImage opens the file at path. It never blocks, as a FIFO would.
func OpenImage(path string) (*Image, error) {
	f, err := privilege.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrNotELF)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	e, err := elf.NewFile(f)
	if err != nil || e.Class != elf.ELFCLASS64 || elffile.Check(e) != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, ErrNotELF)
	}
	return &Image{f, e}, nil
}

// Close closes the file.
func (i *Image) Close() { i.file.Close() }

// Machine is the architecture.
func (i *Image) Machine() elf.Machine { return i.elf.Machine }

// Soname is the name the library gives itself, if any.
func (i *Image) Soname() string {
	const entry, maxEntries, maxName = 16, 4096, 256
	d := i.elf.SectionByType(elf.SHT_DYNAMIC)
	if d == nil || d.Size > entry*maxEntries || int(d.Link) >= len(i.elf.Sections) {
		return ""
	}
	names := i.elf.Sections[d.Link]
	b, err := d.Data()
	if err != nil || names.Type != elf.SHT_STRTAB || names.ReaderAt == nil {
		return ""
	}
	for ; len(b) >= entry; b = b[entry:] {
		if elf.DynTag(i.elf.ByteOrder.Uint64(b)) != elf.DT_SONAME {
			continue
		}
		name := make([]byte, maxName)                                                     // not all: libtorch has 30 MB
		n, _ := names.ReadAt(name, int64(min(i.elf.ByteOrder.Uint64(b[8:]), names.Size))) // less is there at the end
		if end := bytes.IndexByte(name[:n], 0); end >= 0 {
			return string(name[:end])
		}
		return ""
	}
	return ""
}

// BuildID is the linker's build id, in hexadecimal; empty without one.
func (i *Image) BuildID() string {
	const header, ntGNUBuildID = 16, 3 // sizes, type and the name "GNU\0"
	s := i.elf.Section(".note.gnu.build-id")
	if s == nil || s.Size > 1<<10 {
		return ""
	}
	b, err := s.Data()
	if err != nil || len(b) < header || i.elf.ByteOrder.Uint32(b[8:]) != ntGNUBuildID {
		return ""
	}
	n := i.elf.ByteOrder.Uint32(b[4:])
	return hex.EncodeToString(b[header:min(len(b), header+int(n))])
}

// HasDeviceCode reports whether the file contains code for a GPU, as nvcc adds it. Stripping keeps
// it.
func (i *Image) HasDeviceCode() bool {
	return slices.ContainsFunc(i.elf.Sections, func(s *elf.Section) bool {
		return s.Name == ".nv_fatbin" || s.Name == ".nvFatBinSegment" || s.Name == "__nv_relfatbin"
	})
}

// NeedsRuntime reports whether the file is linked to a shared libcudart.
func (i *Image) NeedsRuntime() bool {
	libs, err := i.elf.ImportedLibraries()
	return err == nil && slices.ContainsFunc(libs, func(l string) bool { return KindOf(l) == Runtime })
}

// Any of these is in a copy of the runtime, as a symbol: the linker includes all functions of
// libcudart_static.a or none, unless unused ones are dropped.
var runtimeSymbols = []string{"cudaLaunchKernel\x00", "cudaMalloc\x00", "cudaStreamSynchronize\x00"}

// Both of these are in a copy of the runtime, as text: an error's name, and the driver that it
// loads. (Found in libcudart_static.a 11.8 and in libcublas.)
var runtimeTexts = []string{"cudaErrorMissingConfiguration\x00", "libcuda.so.1\x00"}

// maxSearch bounds how much of a file is searched, in bytes.
const maxSearch = 512 << 20

// HasRuntimeSymbols reports whether the file's own symbols name functions of the
// runtime. They may be imported ones.
func (i *Image) HasRuntimeSymbols() bool {
	s := i.elf.SectionByType(elf.SHT_SYMTAB)
	if s == nil || s.Link == 0 || int(s.Link) >= len(i.elf.Sections) {
		return false
	}
	names := i.elf.Sections[s.Link]
	return names.Type == elf.SHT_STRTAB && slices.Contains(search(names.Open(), runtimeSymbols), true)
}

// HasRuntimeText reports whether the file contains text that every copy of the runtime has, also
// without symbols.
func (i *Image) HasRuntimeText() bool {
	found := make([]bool, len(runtimeTexts))
	add := func(r io.Reader) {
		for n, ok := range search(r, runtimeTexts) {
			found[n] = found[n] || ok
		}
	}
	if len(i.elf.Sections) == 0 {
		add(io.NewSectionReader(i.file, 0, maxSearch))
	}
	for _, s := range i.elf.Sections {
		if strings.HasPrefix(s.Name, ".rodata") && s.Type == elf.SHT_PROGBITS {
			add(s.Open())
		}
	}
	return !slices.Contains(found, false)
}

// search reports which of the texts occur in a reader's data, up to maxSearch or an error.
func search(r io.Reader, texts []string) []bool {
	const chunk = 1 << 20
	found := make([]bool, len(texts))
	keep := 0 // the end of the last chunk, in case a text begins there
	for _, t := range texts {
		keep = max(keep, len(t)-1)
	}
	buf := make([]byte, keep+chunk)
	have := 0
	for total := 0; total < maxSearch && slices.Contains(found, false); {
		n, err := io.ReadFull(r, buf[have:])
		total += n
		have += n
		for i, t := range texts {
			found[i] = found[i] || bytes.Contains(buf[:have], []byte(t))
		}
		if err != nil {
			break
		}
		have = copy(buf, buf[have-keep:have])
	}
	return found
}
