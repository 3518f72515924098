package probe

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

	"github.com/ingero-io/ingero/capture/elffile"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/event"
)

// Library is a probe on a shared library: which files it is found in and which
// of their functions are timed.
type Library struct {
	Name string         // of the probe: "cuda"
	File *regexp.Regexp // matches the base name of the library's file
	Ops  []*event.Info

	// Embedded: the functions are looked for in a file of another name that the
	// library was linked into. They are local symbols there.
	Embedded bool
}

// In returns the library as it is found inside other programs and libraries.
func (l *Library) In() *Library {
	e := *l
	e.Embedded = true
	return &e
}

// Join combines libraries that are found in the same files, so that a file is read once
// and needs one link for all probes.
func Join(libs ...*Library) []*Library {
	var joined []*Library
	for _, l := range libs {
		i := slices.IndexFunc(joined, func(o *Library) bool { return o.File.String() == l.File.String() })
		if i < 0 {
			joined = append(joined, l)
			continue
		}
		o := joined[i]
		joined[i] = &Library{
			Name: o.Name + "+" + l.Name, File: o.File, Ops: slices.Concat(o.Ops, l.Ops),
			Embedded: o.Embedded,
		}
	}
	return joined
}

// Flags of a cookie: COOKIE_SETS_DEVICE and the others of capture/bpf/include/call.h, and of thread.h.
const (
	setsDevice = 1
	shortToo   = 2
	inner      = 4
	site       = 8
	mark       = 16
)

// cookie packs what the eBPF program needs to know about a function: op | shape << 16 |
// flags << 24.
func cookie(i *event.Info) uint64 {
	c := uint64(i.Op) | uint64(i.Shape)<<16
	if i.SetsDevice {
		c |= setsDevice << 24
	}
	if i.Role == event.RoleAlloc { // short allocations need a stack, too
		c |= shortToo << 24
	}
	if i.Op.Inner() {
		c |= inner << 24
	}
	if i.Op.TellsSite() {
		c |= site << 24
	}
	if i.Mark != 0 {
		c |= mark << 24
	}
	return c
}

// Found is which of a probe's functions a library file has.
type Found struct {
	Targets []Target
	Same    []string // functions counted by one of Targets: another name of it, or a jump to it
	Missing []string // functions the file does not have
}

// Slow lists the functions that have to be single-stepped.
func (f *Found) Slow() []string {
	var s []string
	for _, t := range f.Targets {
		if t.Slow {
			s = append(s, t.Symbol)
		}
	}
	return s
}

// For returns the functions that a back end probes, and those that it leaves out:
// seldom called ones, if each probe has a cost.
func (f *Found) For(b Backend) (targets []Target, leftOut []string) {
	if b != BackendPerf {
		return f.Targets, nil
	}
	for _, t := range f.Targets {
		if t.Seldom {
			leftOut = append(leftOut, t.Symbol)
		} else {
			targets = append(targets, t)
		}
	}
	return targets, leftOut
}

// Find looks up the library's functions in the ELF file at path.
func (l *Library) Find(path string) (*Found, error) {
	file, err := limit.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read library: %w", err)
	}
	defer file.Close()
	return l.find(file)
}

// find is Find in an open file.
func (l *Library) find(file *os.File) (*Found, error) {
	f, err := elffile.Read(file)
	if err != nil {
		return nil, fmt.Errorf("read library: %w", err)
	}
	byName, err := l.functions(f)
	if err != nil {
		return nil, fmt.Errorf("read symbols of %s: %w", file.Name(), err)
	}
	return l.choose(f, byName), nil
}

// candidate is a function that may be probed.
type candidate struct {
	op   *event.Info
	sym  elf.Symbol
	at   uint64 // file offset of its first byte
	same bool   // counted by the probe of another name
}

// choose makes targets from a file's functions: one for each piece of code, whatever
// the number of its names and of functions that only jump to it.
func (l *Library) choose(f *elffile.File, byName map[string][]elf.Symbol) *Found {
	var found Found
	var list []candidate
	starts, names := map[uint64]bool{}, map[string]bool{}
	for _, op := range l.Ops {
		for _, name := range op.SymbolNames() {
			if len(byName[name]) == 0 {
				found.Missing = append(found.Missing, name)
			}
			for _, s := range byName[name] {
				if at, ok := fileOffset(f, s.Value); ok {
					list = append(list, candidate{op, s, at, starts[at]})
					starts[at], names[name] = true, true
				}
			}
		}
	}
	t := thunks{f: f, names: names}
	for i := range list {
		c := &list[i]
		if !c.same {
			addr, name := t.target(c.sym)
			to, ok := fileOffset(f, addr)
			c.same = name != c.sym.Name && names[name] || ok && to != c.at && starts[to]
		}
		if c.same {
			found.Same = append(found.Same, c.sym.Name)
			continue
		}
		skip, slow := chooseOffset(f.Machine, codeAt(f, c.sym))
		found.Targets = append(found.Targets, Target{c.sym.Name, c.at + uint64(skip), cookie(c.op), slow, c.op.Seldom})
	}
	return &found
}

// functions returns the file's own functions by name: those it exports and, if
// the library was linked into it, local ones, of which several may have one name.
func (l *Library) functions(f *elffile.File) (map[string][]elf.Symbol, error) {
	wanted := map[string]bool{}
	for _, op := range l.Ops {
		for _, name := range op.SymbolNames() {
			wanted[name] = true
		}
	}
	q := elffile.Query{Kind: elf.SHT_DYNSYM, May: elffile.IsFunction}
	q.Wanted, q.Longest = elffile.Names(wanted)
	syms, err := f.Find(q)
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, err
	}
	if l.Embedded {
		q.Kind = elf.SHT_SYMTAB
		local, err := f.Find(q)
		if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
			return nil, err
		}
		syms = append(syms, local...)
	}
	byName := map[string][]elf.Symbol{}
	for _, s := range syms {
		byName[s.Name] = append(byName[s.Name], s.Symbol)
	}
	return byName, nil
}

// fileOffset converts a virtual address of executable code to its place in the
// file. No code is at the file's beginning, where its header is.
func fileOffset(f *elffile.File, addr uint64) (uint64, bool) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Vaddr <= addr && addr-p.Vaddr < p.Filesz {
			at := addr - p.Vaddr + p.Off
			return at, at > 0
		}
	}
	return 0, false
}

// codeAt returns the code of a function, or only its beginning if the size is unknown.
func codeAt(f *elffile.File, s elf.Symbol) []byte {
	n := min(s.Size, limit.CodeExamined)
	if n == 0 {
		n = maxSkip + 16
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Vaddr > s.Value || s.Value-p.Vaddr >= p.Filesz {
			continue
		}
		b := make([]byte, min(n, p.Filesz-(s.Value-p.Vaddr)))
		if _, err := p.ReadAt(b, int64(s.Value-p.Vaddr)); err != nil {
			return nil // unreadable code is probed at its first byte
		}
		return b
	}
	return nil
}
