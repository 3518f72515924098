package elf

// Function returns the symbol, as linked, of the function that begins at an
// address of a process, empty if none is known to. Unlike Resolve, it does not
// treat the address as a return address.
func (r *Resolver) Function(pid int, addr uint64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.spaces.Process(pid).Find(addr)
	if m == nil || m.Inode == 0 {
		return ""
	}
	t := r.table(pid, m)
	if t == nil {
		return ""
	}
	at, ok := t.virtual(addr - m.Start + m.Offset)
	if !ok {
		return ""
	}
	if linked, start := t.function(at); start == at {
		return linked
	}
	return ""
}
