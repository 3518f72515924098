package diagnose_test

import (
	"testing"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// checkEvidence looks up every event that a finding names, and counts them by kind. A loss between
// calls must be shown by the wait or the gap, which were stored, not by the call after it, which
// may not have been.
func checkEvidence(t *testing.T, path string, in *diagnose.Input, r *report.Report, kinds map[store.EventKind]int) {
	t.Helper()
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
	for i := range in.Gaps {
		add(in.Gaps[i].Start, store.GapEvent)
	}
	for i := range in.Collectives {
		add(in.Collectives[i].At, store.CollectiveEvent)
	}
	for _, c := range r.Chains {
		seen := map[string]bool{}
		for _, id := range c.Evidence.EventIDs {
			kind, ok := rows[id]
			if !ok || seen[id] {
				t.Errorf("%s: %s of %s names event %s, in the recording %v, named before %v", path, c.Cause.Kind, c.Effect.Op, id,
					ok, seen[id])
			}
			seen[id] = true
			kinds[kind]++
		}
	}
}
