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

	"github.com/ingero-io/ingero/capture/elffile"
	"github.com/ingero-io/ingero/capture/limit"
)

// Image is an open program or library file. Its parts are read when needed. Damaged parts count as
// missing.
type Image struct {
	file *os.File
	elf  *elffile.File
}

// ErrNotELF says that a file is not a 64-bit program or library.
var ErrNotELF = errors.New("not a 64-bit ELF file")

// OpenImage opens the file at path. It never blocks, as a FIFO would. The error is ErrNotELF also of a file
// that exceeds a limit, and then a *limit.Exceeded as well.
func OpenImage(path string) (*Image, error) {
	f, err := limit.Open(path)
	if errors.Is(err, limit.ErrNotRegular) {
		return nil, fmt.Errorf("%w: %w", ErrNotELF, err)
	} else if err != nil {
		return nil, err
	}
	e, err := elffile.Read(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w: %w", path, ErrNotELF, err)
	}
	return &Image{f, e}, nil
}

// Close closes the file.
func (i *Image) Close() { i.file.Close() }

// Machine is the architecture.
func (i *Image) Machine() elf.Machine { return i.elf.Machine }

// Soname is the name the library gives itself, if any.
func (i *Image) Soname() string {
	names, err := i.elf.Dynamic(elf.DT_SONAME)
	if err != nil || len(names) == 0 || len(names[0]) >= maxSoname {
		return ""
	}
	return names[0]
}

// maxSoname bounds the name a library gives itself, in bytes; names of files have no more.
const maxSoname = 256

// BuildID is the linker's build id, in hexadecimal; empty without one.
func (i *Image) BuildID() string {
	const header, ntGNUBuildID = 16, 3 // sizes, type and the name "GNU\0"
	s := i.elf.Section(".note.gnu.build-id")
	if s == nil {
		return ""
	}
	b, err := s.Data("notes", limit.Notes)
	if err != nil || len(b) < header || i.elf.ByteOrder.Uint32(b[8:]) != ntGNUBuildID {
		return ""
	}
	n := min(i.elf.ByteOrder.Uint32(b[4:]), limit.BuildID)
	return hex.EncodeToString(b[header:min(len(b), header+int(n))])
}

// HasDeviceCode reports whether the file contains code for a GPU, as nvcc adds it. Stripping keeps
// it.
func (i *Image) HasDeviceCode() bool {
	return slices.ContainsFunc(i.elf.Sections, func(s *elffile.Section) bool {
		return s.Name == ".nv_fatbin" || s.Name == ".nvFatBinSegment" || s.Name == "__nv_relfatbin"
	})
}

// NeedsRuntime reports whether the file is linked to a shared libcudart.
func (i *Image) NeedsRuntime() bool {
	libs, _ := i.elf.Dynamic(elf.DT_NEEDED) // some of them, of a file with too many
	return slices.ContainsFunc(libs, func(l string) bool { return KindOf(l) == Runtime })
}

// Any of these is in a copy of the runtime, as a symbol: the linker includes all functions of
// libcudart_static.a or none, unless unused ones are dropped.
var runtimeSymbols = []string{"cudaLaunchKernel\x00", "cudaMalloc\x00", "cudaStreamSynchronize\x00"}

// Both of these are in a copy of the runtime, as text: an error's name, and the driver that it
// loads. (Found in libcudart_static.a 11.8 and in libcublas.)
var runtimeTexts = []string{"cudaErrorMissingConfiguration\x00", "libcuda.so.1\x00"}

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
	left := int64(limit.TextSearch) // of all sections, which may be the same bytes
	add := func(r io.Reader) {
		l := &io.LimitedReader{R: r, N: left}
		for n, ok := range search(l, runtimeTexts) {
			found[n] = found[n] || ok
		}
		left = l.N
	}
	if len(i.elf.Sections) == 0 {
		add(i.file)
	}
	for _, s := range i.elf.Sections {
		if slices.Contains(found, false) && strings.HasPrefix(s.Name, ".rodata") && s.Type == elf.SHT_PROGBITS {
			add(s.Open())
		}
	}
	return !slices.Contains(found, false)
}

// search reports which of the texts occur in a reader's data, up to its end, limit.TextSearch or an error.
func search(r io.Reader, texts []string) []bool {
	const chunk = 1 << 20
	found := make([]bool, len(texts))
	keep := 0 // the end of the last chunk, in case a text begins there
	for _, t := range texts {
		keep = max(keep, len(t)-1)
	}
	buf := make([]byte, keep+chunk)
	have := 0
	for total := 0; total < limit.TextSearch && slices.Contains(found, false); {
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
