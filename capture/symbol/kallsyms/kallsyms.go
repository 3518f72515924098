// Package kallsyms names the kernel addresses of a stack from /proc/kallsyms.
//
// The file is read when the first address is resolved: the kernel takes 0.1 s to
// write it, and most recordings do not need it. Modules that are loaded later
// stay unknown.
package kallsyms

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/ingero-io/ingero/event"
)

// Kernel is the module name of functions that are built into the kernel.
const Kernel = "kernel"

// ErrHidden says that the kernel shows no addresses to this process.
var ErrHidden = errors.New("kernel addresses are hidden: run as root, or set kernel.kptr_restrict to 0")

// maxFunction bounds the size of a function, in bytes: the file has no sizes, and
// there are gaps between modules.
const maxFunction = 256 << 10

// The usual size of the table of a kernel with few modules, allocated at once:
// growing it step by step would take several times its memory.
const (
	usualFunctions = 128 << 10
	usualName      = 25 // bytes
)

// Table is the kernel's functions. It is safe for concurrent use.
type Table struct {
	path string

	once    sync.Once // guards what follows
	syms    []sym     // sorted by address
	names   string
	modules []module
	err     error
}

type sym struct {
	addr   uint64
	name   uint32 // in names
	len    uint16
	module uint16
}

type module struct {
	name  string
	start uint64 // address of its first function
}

// New returns the table read from path; empty means /proc/kallsyms.
func New(path string) *Table {
	if path == "" {
		path = "/proc/kallsyms"
	}
	return &Table{path: path}
}

// Resolve names return addresses of the kernel, innermost first. It returns one
// frame for each address. Without a symbol only the address is set, and the module
// is Kernel. If no symbols are known at all, Err says why.
func (t *Table) Resolve(addrs []uint64) []event.Frame {
	t.once.Do(t.load)
	frames := make([]event.Frame, len(addrs))
	for i, a := range addrs {
		frames[i] = event.Frame{Kind: event.FrameKernel, Addr: a, Module: Kernel}
		s := t.find(a - 1) // the call, not the instruction it returns to
		if s == nil {
			continue
		}
		m := t.modules[s.module]
		frames[i].Symbol = t.names[s.name : s.name+uint32(s.len)]
		frames[i].Module = m.name
		frames[i].Offset = a - m.start
	}
	return frames
}

// Err returns why no symbols are known: ErrHidden, or that the file could not be
// read. It is nil if there are symbols.
func (t *Table) Err() error {
	t.once.Do(t.load)
	return t.err
}

func (t *Table) find(addr uint64) *sym {
	i, found := slices.BinarySearchFunc(t.syms, addr, func(s sym, a uint64) int { return cmp.Compare(s.addr, a) })
	if !found {
		i--
	}
	if i < 0 || addr-t.syms[i].addr >= maxFunction {
		return nil
	}
	return &t.syms[i]
}

func (t *Table) load() {
	f, err := os.Open(t.path)
	if err != nil {
		t.err = fmt.Errorf("read kernel symbols: %w", err)
		return
	}
	defer f.Close()
	t.err = t.parse(f)
}

func (t *Table) parse(r io.Reader) error {
	p := parser{modules: map[string]uint16{}, list: []module{{name: Kernel}}, syms: make([]sym, 0, usualFunctions)}
	p.names.Grow(usualFunctions * usualName)
	s := bufio.NewScanner(r)
	// The kernel writes the symbols of one read without a break. Without kernel
	// preemption no other task gets the CPU meanwhile: 0.1 ms for a page.
	s.Buffer(make([]byte, 0, 4<<10), 64<<10)
	for s.Scan() {
		p.line(s.Bytes())
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("read kernel symbols: %w", err)
	}
	if len(p.syms) == 0 {
		if p.hidden {
			return ErrHidden
		}
		return fmt.Errorf("read kernel symbols: %s lists no functions", t.path)
	}
	slices.SortStableFunc(p.syms, func(a, b sym) int { return cmp.Compare(a.addr, b.addr) })
	p.syms = slices.CompactFunc(p.syms, func(a, b sym) bool { return a.addr == b.addr })
	for _, s := range p.syms {
		if m := &p.list[s.module]; m.start == 0 {
			m.start = s.addr
		}
	}
	t.syms, t.names, t.modules = slices.Clone(p.syms), strings.Clone(p.names.String()), p.list
	return nil
}

type parser struct {
	syms    []sym
	names   strings.Builder
	modules map[string]uint16 // index into list
	list    []module
	hidden  bool // functions were listed with address 0
}

// line reads "ffffffff81000000 T name" or "ffffffffc0000000 t name	[module]".
func (p *parser) line(b []byte) {
	addr, rest, ok := hex(b)
	if !ok || len(rest) < 4 || rest[0] != ' ' || rest[2] != ' ' {
		return
	}
	switch rest[1] {
	case 'T', 't', 'W', 'w':
	default:
		return
	}
	if addr == 0 {
		p.hidden = true
		return
	}
	name, mod, inModule := bytes.Cut(rest[3:], []byte{'\t'})
	if n := len(name); n == 0 || n > 1<<16-1 || uint64(p.names.Len()+n) > 1<<32-1 {
		return
	}
	m := uint16(0)
	if inModule {
		if m, ok = p.module(bytes.Trim(mod, "[]")); !ok {
			return
		}
	}
	if n := len(p.syms); n > 0 && p.syms[n-1].addr == addr {
		return // another name of the same function
	}
	p.syms = append(p.syms, sym{addr, uint32(p.names.Len()), uint16(len(name)), m})
	p.names.Write(name)
}

func (p *parser) module(name []byte) (uint16, bool) {
	if m, ok := p.modules[string(name)]; ok {
		return m, true
	}
	if len(p.list) > 1<<16-1 {
		return 0, false
	}
	m := uint16(len(p.list))
	p.list = append(p.list, module{name: string(name)})
	p.modules[string(name)] = m
	return m, true
}

// hex reads a hexadecimal number and returns what follows it.
func hex(b []byte) (n uint64, rest []byte, ok bool) {
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uint64(c-'a'+10)
		default:
			return n, b[i:], i > 0 && i <= 16
		}
	}
	return 0, nil, false
}
