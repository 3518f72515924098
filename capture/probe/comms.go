package probe

// commKey is struct comm_key of capture/bpf/include/nccl.h.
type commKey struct {
	Comm uint64
	PID  uint32
	Lane uint32
}

// ForgetComms drops the counters of a process's NCCL communicators.
func (t *Tracer) ForgetComms(pid uint32) {
	m := t.calls.Maps["comms"]
	if m == nil {
		return
	}
	var k commKey
	var v [2]uint64
	var gone []commKey
	for i := m.Iterate(); i.Next(&k, &v); {
		if k.PID == pid {
			gone = append(gone, k)
		}
	}
	for i := range gone {
		_ = m.Delete(&gone[i]) // already gone is as good
	}
}
