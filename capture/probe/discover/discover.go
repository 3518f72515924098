// Package discover finds the CUDA libraries that a process uses: by the names of
// the files it has mapped, and, for copies of the runtime that were linked into
// other programs and libraries, by what those files contain.
package discover

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"

	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/probe"
)

// File is a file in a process's memory that has CUDA functions.
type File struct {
	Kind     cudalib.Kind
	Embedded bool           // a copy of the runtime inside another program or library
	Library  *probe.Library // what to time in it; nil if there is no probe for it, or no symbol
	Mapping  proc.Mapping
	Path     string // of this machine, to open it by
	Err      error  // why it cannot be opened; Path is empty then
}

// Finder looks for them. It is for one goroutine.
type Finder struct {
	// Thorough also finds copies of the runtime without symbols, at the price of
	// reading the files' texts. Nothing can be timed in them.
	Thorough bool
	// Eager searches every file of a process for a copy of the runtime. Otherwise
	// that waits for a sign of CUDA: device code in the file, or the driver in the
	// process, which such a copy loads only when it is first called.
	Eager bool

	fs    proc.FS
	libs  []*probe.Library
	files map[fileKey]*verdict

	// What a process's mapping refers to is not looked up again for a moment,
	// so that a file that many processes map is found once in a scan.
	recent map[mapKey]*verdict
	asOf   time.Time
}

// New returns a finder of the libraries in the processes of fs.
func New(fs proc.FS, libs []*probe.Library) *Finder {
	return &Finder{fs: fs, libs: libs, files: map[fileKey]*verdict{}, recent: map[mapKey]*verdict{}}
}

// Process lists the files of a process that have CUDA functions, each once. An
// error says that the process cannot be looked at.
func (f *Finder) Process(pid int) ([]File, error) {
	maps, err := f.fs.Maps(pid)
	if err != nil {
		return nil, err
	}
	f.expire()
	var found []File
	var rest []proc.Mapping
	for _, m := range unique(maps) {
		if kind := cudalib.KindOf(m.Path); kind != "" {
			x := File{Kind: kind, Library: f.byName(m.Path), Mapping: m}
			x.Path, x.Err = f.fs.Open(pid, m)
			found = append(found, x)
			continue
		}
		rest = append(rest, m)
	}
	uses := f.Eager
	for _, x := range found {
		uses = uses || x.Kind == cudalib.Driver
	}
	for _, m := range rest {
		if x, ok := f.embedded(pid, m, uses); ok {
			found = append(found, x)
		}
	}
	// What is attached to first loses the least.
	slices.SortStableFunc(found, func(a, b File) int { return cmp.Compare(a.Kind.Order(), b.Kind.Order()) })
	return found, nil
}

// Matters reports whether a file that a process mapped just now may have CUDA
// functions. uses says whether the process is known to use CUDA.
func (f *Finder) Matters(m probe.Mapped, uses bool) bool {
	if cudalib.KindOf(m.Path) != "" {
		return true
	}
	path, err := f.fs.Open(m.PID, proc.Mapping{Path: m.Path, Inode: m.Inode})
	if err != nil {
		return uses // deleted since, perhaps; its process's mappings tell
	}
	v := f.verdict(path)
	return v != nil && v.carries(path, uses || f.Eager, f.Thorough) != nothing
}

// Library returns what is timed in the file of that name, nil if nothing is.
func (f *Finder) Library(path string) *probe.Library { return f.byName(path) }

func (f *Finder) byName(path string) *probe.Library {
	base := filepath.Base(path)
	for _, l := range f.libs {
		if l.File.MatchString(base) {
			return l
		}
	}
	return nil
}

// runtime is what is timed in a copy of the runtime.
func (f *Finder) runtime() *probe.Library {
	for _, l := range f.libs {
		if l.File.String() == cudalib.Runtime.File().String() {
			return l.In()
		}
	}
	return nil
}

// embedded looks for a copy of the runtime in a mapped file.
func (f *Finder) embedded(pid int, m proc.Mapping, uses bool) (File, bool) {
	key := mapKey{m.Dev, m.Inode}
	v, known := f.recent[key]
	path := ""
	if !known || v != nil && v.undecided(uses) {
		var err error
		if path, err = f.fs.Open(pid, m); err == nil {
			v = f.verdict(path)
		}
		f.recent[key] = v
	}
	if v == nil {
		return File{}, false
	}
	what := v.carries(path, uses, f.Thorough)
	if what == nothing {
		return File{}, false
	}
	x := File{Kind: cudalib.Runtime, Embedded: true, Mapping: m}
	if what == functions {
		x.Library = f.runtime()
	}
	x.Path, x.Err = f.fs.Open(pid, m)
	return x, true
}

// expire forgets what was looked up a second ago.
func (f *Finder) expire() {
	if now := time.Now(); now.Sub(f.asOf) > time.Second {
		clear(f.recent)
		f.asOf = now
	}
}

// unique returns the files that are mapped executable, each once.
func unique(maps []proc.Mapping) []proc.Mapping {
	seen := map[mapKey]bool{}
	var r []proc.Mapping
	for _, m := range maps {
		key := mapKey{m.Dev, m.Inode}
		if m.Exec && !seen[key] {
			seen[key] = true
			r = append(r, m)
		}
	}
	return r
}
