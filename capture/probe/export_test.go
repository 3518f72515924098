package probe

import "github.com/ingero-io/ingero/capture/probe/tcp"

// Unseen runs f while the tracer sees nothing of the scheduler.
func (t *Tracer) Unseen(f func()) error {
	if err := t.hooks.Close(); err != nil {
		return err
	}
	t.hooks = nil
	f()
	return t.hook(ledgerHooks...)
}

// UnseenSegments makes the tracer see no segment that is sent again.
func (t *Tracer) UnseenSegments() error { return t.probe(tcp.Probe).Detach() }

// WaitingForCPU is how many threads are counted as waiting for a CPU.
func (t *Tracer) WaitingForCPU() (n uint64, err error) {
	err = t.sched.Maps["queue"].Lookup(uint32(0), &n)
	return n, err
}
