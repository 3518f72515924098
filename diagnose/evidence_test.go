package diagnose_test

import (
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/diagnose"
	"github.com/ingero-io/ingero/store"
)

// TestEvidenceIsInTheRecording looks up every event that a finding names: what was lost
// between calls must be shown by the wait or the gap, which were recorded, and not by the
// call after it, which may not have been.
func TestEvidenceIsInTheRecording(t *testing.T) {
	kinds := map[store.EventKind]int{}
	for _, path := range cases(t) {
		in := diagnose.InputOf(read(t, path))
		in.CPUs = 2
		rows := map[string]store.EventKind{}
		add := func(at uint64, kind store.EventKind) { rows[store.EventID(in.Node, at, kind)] = kind }
		for i := range in.Calls {
			add(in.Calls[i].Start, store.CallEvent)
		}
		for i := range in.InFlight {
			add(in.InFlight[i].Start, store.CallEvent)
		}
		for i := range in.OffCPU {
			add(in.OffCPU[i].Start, store.OffCPUEvent)
		}
		for i := range in.Collectives {
			add(in.Collectives[i].At, store.CollectiveEvent)
		}
		for i := range in.Gaps {
			add(in.Gaps[i].Start, store.GapEvent)
		}
		for _, c := range diagnose.Diagnose(in).Chains {
			seen := map[string]bool{}
			for _, id := range c.Evidence.EventIDs {
				kind, ok := rows[id]
				if !ok || seen[id] {
					t.Errorf("%s: %s of %s names event %s, in the recording %v, named before %v", filepath.Base(path), c.Cause.Kind, c.Effect.Op, id, ok, seen[id])
				}
				seen[id] = true
				kinds[kind]++
			}
		}
	}
	if kinds[store.CallEvent] == 0 || kinds[store.OffCPUEvent] == 0 || kinds[store.CollectiveEvent] == 0 || kinds[store.GapEvent] == 0 {
		t.Errorf("the cases name %v events of each kind: that shows too little", kinds)
	}
}
