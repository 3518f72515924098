package blockio

import "testing"

// Record sets how many requests of a CPU are recorded in a second, for the tracers that a test starts.
func Record(t *testing.T, n uint32) {
	t.Helper()
	before := perSecond
	perSecond = n
	t.Cleanup(func() { perSecond = before })
}
