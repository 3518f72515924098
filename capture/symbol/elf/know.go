package elf

import (
	"os"

	"github.com/ingero-io/ingero/capture/host/proc"
)

// Know sets what a process has mapped to execute, as somebody read it who came earlier
// than its addresses will: it may have ended when they come.
func (r *Resolver) Know(pid int, code []proc.Mapping) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spaces.Know(pid, code)
}

// Lend passes on the file of a mapping, opened by somebody who came earlier. The
// resolver closes it when it has read its symbols, or when it is to Return it.
func (r *Resolver) Lend(m proc.Mapping, f *os.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := fileID{m.Dev, m.Inode}
	if old := r.lent[id]; old != nil {
		old.Close()
	}
	r.lent[id] = f
}

// Return closes the files that were lent and not needed: open, they would keep a file
// system busy.
func (r *Resolver) Return() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, f := range r.lent {
		f.Close()
		delete(r.lent, id)
	}
}
