// Package unwind finds the callers of a piece of code from its registers and a
// copy of the stack. It reads the tables that compilers write for exceptions
// (.eh_frame), so it needs no frame pointers. Where there are no tables, as in
// code made at run time, it follows frame pointers.
//
// It names no functions (package elf does), reads no memory of the process, and
// supports neither .debug_frame nor Windows. DESIGN.md says why it works this
// way.
package unwind

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/limit"
	"github.com/ingero-io/ingero/capture/privilege"
	"github.com/ingero-io/ingero/capture/symbol/addrspace"
)

// MaxFrames is the maximum number of frames of a stack.
const MaxFrames = 128

// Unwinder unwinds stacks of processes. It is for one goroutine. A file's tables take a descriptor and little
// memory; a row takes some hundred bytes.
type Unwinder struct {
	// Refused, if set, is called once for a file whose tables are not read because they exceed a limit. Set it
	// before the first use.
	Refused func(path string, exceeded error)

	arch   *Arch
	proc   proc.FS
	spaces *addrspace.Cache[*file]
	files  map[fileID]*file
	fresh  []int        // processes with new mappings whose files are not open yet
	clock  uint64       // counts uses of files
	rows   int          // kept, of all files
	listed int          // entries of search tables that were made, of all files
	news   []News       // not taken yet
	vdso   *file        // nil: not looked for yet
	absent map[int]bool // processes that Recheck did not find once
}

// fileID identifies a file on the machine, as /proc/PID/maps shows it.
type fileID struct {
	dev   string
	inode uint64
}

// file is a mapped file.
type file struct {
	tables *tables  // nil: it has none, or they are not read yet
	unread *os.File // whose tables are not read yet
	close  io.Closer
	used   uint64
}

// New returns an unwinder that finds processes in fs.
func New(fs proc.FS) *Unwinder {
	u := &Unwinder{
		arch: AMD64, proc: fs, spaces: addrspace.New[*file](fs), files: map[fileID]*file{}, absent: map[int]bool{},
	}
	if runtime.GOARCH == "arm64" {
		u.arch = ARM64
	}
	u.spaces.OnRead = func(pid int, code []proc.Mapping) {
		u.news = append(u.news, News{PID: pid, Code: code})
		u.fresh = append(u.fresh, pid)
	}
	return u
}

// Arch returns the architecture of this machine.
func (u *Unwinder) Arch() *Arch { return u.arch }

// Unwind returns the program counter of r and the return addresses of its
// callers, innermost first. whole says that the outermost was reached; else the
// copy of the stack ends before it, or a frame could not be unwound.
func (u *Unwinder) Unwind(pid int, r Regs, stack *Memory) (addrs []uint64, whole bool) {
	p := u.spaces.Process(pid)
	defer u.hold() // files of mappings that are read below
	u.hold()
	addrs = make([]uint64, 0, 32)
	guessed, mayBeLeaf := false, true
	for {
		m := p.Find(r.PC - 1)
		if m == nil && guessed {
			return addrs, false // no frame pointer was there
		}
		addrs = append(addrs, r.PC)
		if m == nil || len(addrs) == MaxFrames {
			return addrs, false
		}
		sp, _ := r.get(uint64(u.arch.sp))
		var end outcome
		signal := false
		if w := u.row(pid, m, r.PC-1); w != nil {
			end, signal, guessed = w.step(u.arch, &r, stack), w.signal, false
		} else {
			end, guessed = stepFrame(u.arch, &r, stack), true
		}
		if end != stepped {
			return addrs, end == outermost
		}
		// A caller's frame is at a higher address, unless a signal handler has a
		// stack of its own. On arm64 a leaf function may have no frame.
		up, _ := r.get(uint64(u.arch.sp))
		if !signal && (up < sp || up == sp && !mayBeLeaf) {
			return addrs, false
		}
		mayBeLeaf = signal
	}
}

// Learn reads the mappings of a process that is not known, so that its stacks can be unwound
// even if it ends soon.
func (u *Unwinder) Learn(pid int) {
	u.spaces.Process(pid)
	u.hold()
}

// Refresh reads the mappings of a process again. Call it when the process has mapped something.
func (u *Unwinder) Refresh(pid int) {
	u.spaces.Refresh(pid)
	u.hold()
}

// hold opens the files of newly read mappings, up to limit.UnwindFiles: when their tables are needed,
// the process may have ended and its files may be gone.
func (u *Unwinder) hold() {
	for _, pid := range u.fresh {
		u.spaces.Of(pid, func(m *addrspace.Mapping[*file]) {
			if m.State == nil && m.Inode != 0 && len(u.files) < limit.UnwindFiles {
				u.fileOf(pid, m)
			}
		})
	}
	u.fresh = u.fresh[:0]
}

// Fork notes that a process was forked. The child has its parent's mappings.
func (u *Unwinder) Fork(parent, child int) { u.spaces.Fork(parent, child) }

// Forget drops the known mappings of a process, and closes files that no known
// process maps: open files would keep a file system busy.
func (u *Unwinder) Forget(pid int) {
	delete(u.absent, pid)
	if u.spaces.Forget(pid) {
		u.closeUnmapped()
	}
}

// Unmapped reads the mappings of a process again that has unmapped files, and closes those that no known process
// maps any more.
func (u *Unwinder) Unmapped(pid int) {
	u.Refresh(pid)
	u.closeUnmapped()
}

// Recheck lets go of processes that have ended or executed another program without a word: nobody reports that of those
// that are not traced, and woke a thread that is. Call it once a second; each time it looks at some of them.
func (u *Unwinder) Recheck() {
	const most = 8
	for i := range min(most, u.spaces.Len()) {
		pid := u.spaces.Next()
		ended := u.proc.Gone(pid) || u.proc.Ended(pid)
		switch {
		case ended && u.absent[pid]:
			u.Forget(pid)
		case ended: // its last stacks may not have been read yet
			u.absent[pid] = true
		case i == 0: // takes some hundred microseconds, so only of one
			u.Unmapped(pid)
			fallthrough
		default:
			delete(u.absent, pid)
		}
	}
}

func (u *Unwinder) closeUnmapped() {
	mapped := map[*file]bool{}
	u.spaces.Each(func(m *addrspace.Mapping[*file]) { mapped[m.State] = true })
	for id, f := range u.files {
		if !mapped[f] {
			u.drop(id, f)
		}
	}
}

// Close closes all files.
func (u *Unwinder) Close() {
	for _, n := range u.News(nil) {
		if n.File != nil {
			n.File.Close()
		}
	}
	for id, f := range u.files {
		u.drop(id, f)
	}
}

func (u *Unwinder) drop(id fileID, f *file) {
	if f.tables != nil {
		u.rows -= len(f.tables.rows)
		u.listed -= len(f.tables.list)
	}
	if f.close != nil {
		f.close.Close()
	}
	f.tables, f.unread, f.close = nil, nil, nil // mappings may still point here
	delete(u.files, id)
}

// row is the rules for an address of a mapping, nil if there are none.
func (u *Unwinder) row(pid int, m *addrspace.Mapping[*file], pc uint64) *row {
	t := u.tablesOf(pid, m)
	if t == nil {
		return nil
	}
	addr := pc - m.Start + m.Offset
	addr, ok := t.virtual(addr)
	if !ok {
		return nil
	}
	if u.rows >= limit.UnwindRows {
		for _, f := range u.files {
			if f.tables != nil {
				clear(f.tables.rows)
			}
		}
		u.rows = 0
	}
	n := len(t.rows)
	w := t.row(addr)
	u.rows += len(t.rows) - n
	return w
}

// tablesOf returns the tables of a mapping's file, nil if it has none.
func (u *Unwinder) tablesOf(pid int, m *addrspace.Mapping[*file]) *tables {
	u.clock++
	switch {
	case m.State != nil:
	case m.Path == "[vdso]":
		m.State = u.ownVDSO()
	case m.Inode == 0:
		return nil
	default:
		u.fileOf(pid, m)
	}
	f := m.State
	f.used = u.clock
	if f.unread != nil {
		u.readTables(pid, m.Mapping, f)
	}
	return f.tables
}

// fileOf opens the file of a mapping, unless another mapping of it is known.
func (u *Unwinder) fileOf(pid int, m *addrspace.Mapping[*file]) {
	id := fileID{m.Dev, m.Inode}
	f := u.files[id]
	if f == nil {
		var found bool
		if f, found = u.open(pid, m); found { // else another process may have it
			u.makeRoom()
			u.files[id] = f
		}
	}
	f.used = u.clock
	m.State = f
}

// open opens a mapping's file. found is false if the file cannot be reached any more.
func (u *Unwinder) open(pid int, m *addrspace.Mapping[*file]) (f *file, found bool) {
	name, err := m.Open(u.proc, pid)
	if err != nil {
		return &file{}, false
	}
	r, err := limit.Open(name) // a traced process has chosen it
	switch {
	case errors.Is(err, limit.ErrNotRegular):
		return &file{}, true
	case err != nil:
		return &file{}, false
	}
	return &file{unread: r, close: r}, true
}

// readTables reads the tables of an open file; there may be none.
func (u *Unwinder) readTables(pid int, m proc.Mapping, f *file) {
	r := f.unread
	f.unread = nil
	u.opened(pid, m, r)
	t, err := open(r)
	if err == nil && t.arch == u.arch {
		for n := len(u.files); n > 0 && u.listed > 0 && u.listed+len(t.list) > limit.UnwindList; n-- {
			u.dropOldest(func(o *file) bool { return o.tables != nil && len(o.tables.list) > 0 })
		}
		f.tables = t
		u.listed += len(t.list)
		return
	}
	if limit.Is(err) && u.Refused != nil {
		u.Refused(m.Path, err)
	}
	r.Close()
	f.close = nil
}

// makeRoom closes the least recently used file, if there are too many.
func (u *Unwinder) makeRoom() {
	if len(u.files) >= limit.UnwindFiles {
		u.dropOldest(func(*file) bool { return true })
	}
}

// dropOldest closes the least recently used one of some files.
func (u *Unwinder) dropOldest(of func(*file) bool) {
	var oldest fileID
	var gone *file
	for id, f := range u.files {
		if of(f) && (gone == nil || f.used < gone.used) {
			oldest, gone = id, f
		}
	}
	if gone == nil {
		return
	}
	u.drop(oldest, gone)
	u.spaces.Each(func(m *addrspace.Mapping[*file]) {
		if m.State == gone {
			m.State = nil // to be opened again
		}
	})
}

// ownVDSO returns the vDSO, the code that the kernel maps into every process, read from this one.
func (u *Unwinder) ownVDSO() *file {
	if u.vdso != nil {
		return u.vdso
	}
	u.vdso = &file{}
	if b, err := readVDSO(); err == nil {
		if t, err := open(bytes.NewReader(b)); err == nil {
			u.vdso.tables = t
		}
	}
	return u.vdso
}

var errNoVDSO = errors.New("no vDSO")

func readVDSO() ([]byte, error) {
	self := os.Getpid()
	maps, err := proc.New("").Code(self)
	if err != nil {
		return nil, err
	}
	for _, m := range maps {
		if m.Path != "[vdso]" {
			continue
		}
		b := make([]byte, m.End-m.Start)
		_, err = privilege.ReadMemory(self, m.Start, b)
		return b, err
	}
	return nil, errNoVDSO
}
