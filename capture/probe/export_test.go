package probe

// Unseen runs f while the tracer sees nothing of the scheduler.
func (t *Tracer) Unseen(f func()) error {
	if err := t.hooks.Close(); err != nil {
		return err
	}
	t.hooks = nil
	f()
	return t.hook(ledgerHooks...)
}
