package elf

import (
	"os"

	"github.com/ingero-io/ingero/capture/host/proc"
)

// Know sets the executable mappings of a process, which were read early: the process may
// have ended when its addresses are to be named.
func (r *Resolver) Know(pid int, code []proc.Mapping) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spaces.Know(pid, code)
}

// Lend passes on the file of a mapping, which was opened early. The resolver closes it
// when it no longer reads symbols from it, or in Return.
func (r *Resolver) Lend(m proc.Mapping, f *os.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := fileID{m.Dev, m.Inode}
	if old := r.lent[id]; old != nil {
		old.Close()
	}
	r.lent[id] = f
}

// Return closes the lent files that were not needed: open files would keep a file system
// busy.
func (r *Resolver) Return() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, f := range r.lent {
		f.Close()
		delete(r.lent, id)
	}
}
