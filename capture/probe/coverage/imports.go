package coverage

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"
	"strings"
	"syscall"

	"github.com/ingero-io/ingero/capture/elffile"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/capture/probe/discover"
	"github.com/ingero-io/ingero/event"
)

// CUDA functions that a process can call are those its files import from CUDA's
// libraries, and those of a copy of the runtime that was linked in. What is asked for by
// name while it runs (dlsym, cudaGetDriverEntryPoint) cannot be seen. Of a file that is
// not attached to at all, its own reason is told, and no function.

// unseen is a function that a process can call and that is not traced.
type unseen struct{ name, why string }

// compare adds what of the process's functions is not traced.
func (e *exam) compare(p *Process, files []discover.File) {
	traced, exported := map[string]bool{}, map[string]bool{}
	var can []string
	for i := range files {
		if !p.Libraries[i].Timed {
			continue
		}
		for _, names := range [][]string{p.Libraries[i].Attached, p.Libraries[i].Same} {
			for _, n := range names {
				traced[n] = true
			}
		}
		s := e.symbols(files[i].Path)
		if files[i].Embedded {
			can = append(can, s.launching...)
			continue
		}
		for _, n := range s.exported {
			exported[n] = true
		}
	}
	maps, err := e.fs.Maps(p.PID)
	if err != nil || len(exported) == 0 {
		maps = nil // it has just ended
	}
	for _, m := range maps {
		if path, err := e.fs.Open(p.PID, m); err == nil && m.Exec {
			can = append(can,
				slices.DeleteFunc(slices.Clone(e.symbols(path).imported), func(f string) bool { return !exported[f] })...)
		}
	}
	launches, others := map[string]string{}, map[string]string{} // reasons by function
	for _, f := range can {
		switch why, matters := untraced(f, traced); {
		case event.Launches(f) && !traced[f]:
			launches[f] = why
		case matters:
			others[f] = why
		}
	}
	p.tellUnseen("untraced_launch", "GPU work handed over by ", launches)
	p.tellUnseen("untraced_function", "calls of ", others)
}

// untraced says why a function is not traced, and whether that matters.
func untraced(f string, traced map[string]bool) (why string, matters bool) {
	if traced[f] {
		return "", false
	}
	if _, ok := event.BySymbol(f); ok {
		return "none of its libraries that are attached to has it, or it is left out because it is seldom called", true
	}
	if u, ok := event.WhyUntraced(f); ok {
		return lowerFirst(strings.TrimSuffix(u.Why, ".")), u.Matters
	}
	return "it is newer than this version of Ingero", true
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// tellUnseen adds a reason for each why, with its functions.
func (p *Process) tellUnseen(code, what string, functions map[string]string) {
	byWhy := map[string][]string{}
	for f, why := range functions {
		byWhy[why] = append(byWhy[why], f)
	}
	var list []unseen
	for why, names := range byWhy {
		slices.Sort(names)
		list = append(list, unseen{strings.Join(names, ", "), why})
	}
	slices.SortFunc(list, func(a, b unseen) int { return cmp.Compare(a.name, b.name) })
	for _, u := range list {
		p.NotSeen = append(p.NotSeen, Reason{Code: code, What: what + u.name, Why: u.why})
	}
}

// symbols are names of CUDA functions in a file.
type symbols struct {
	imported, exported []string
	launching          []string // local functions that launch, as a copy of the runtime has them
}

// symbols reads a file once, however many processes map it. One that cannot be read has
// none.
func (e *exam) symbols(path string) *symbols {
	var key fileKey
	if i, err := privilege.Stat(path); err == nil {
		if s, ok := i.Sys().(*syscall.Stat_t); ok {
			key = fileKey{uint64(s.Dev), s.Ino}
		}
	}
	s := e.names[key]
	if s == nil {
		s = readSymbols(path)
		e.names[key] = s
	}
	return s
}

// maxSymbol bounds the names of CUDA functions, in bytes; usual are 30.
const maxSymbol = 255

func readSymbols(path string) *symbols {
	var s symbols
	file, err := limit.Open(path)
	if err != nil {
		return &s
	}
	defer file.Close()
	f, err := elffile.Read(file)
	if err != nil {
		return &s
	}
	q := elffile.Query{Kind: elf.SHT_DYNSYM, Longest: maxSymbol, Wanted: isCUDA, May: func(y *elf.Symbol) bool {
		return y.Section == elf.SHN_UNDEF || elf.ST_TYPE(y.Info) == elf.STT_FUNC
	}}
	dynamic, _ := f.Find(q) // a static program has none
	for i := range dynamic {
		if d := &dynamic[i]; d.Section == elf.SHN_UNDEF {
			s.imported = append(s.imported, d.Name)
		} else {
			s.exported = append(s.exported, d.Name)
		}
	}
	q.Kind = elf.SHT_SYMTAB
	q.May = func(y *elf.Symbol) bool { return y.Section != elf.SHN_UNDEF && elf.ST_TYPE(y.Info) == elf.STT_FUNC }
	q.Wanted = func(name []byte) bool { return isCUDA(name) && event.Launches(string(name)) }
	local, _ := f.Find(q) // most files are stripped
	for i := range local {
		s.launching = append(s.launching, local[i].Name)
	}
	return &s
}

// isCUDA reports whether a name is one of a CUDA function. Most names are not, which their beginning tells at once.
func isCUDA(name []byte) bool {
	return slices.ContainsFunc(beginnings, func(b string) bool { return bytes.HasPrefix(name, []byte(b)) }) &&
		event.IsCUDA(string(name))
}

var beginnings = []string{"cu", "__cuda", "nccl", "pnccl", "nvtx"}
