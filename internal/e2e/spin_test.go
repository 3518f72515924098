package e2e_test

import (
	"slices"
	"testing"

	timeline "github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/internal/e2e"
)

// A thread that waits for a lock with priority inheritance spins in the kernel while the owner runs
// on another CPU. The ledger has that wait once, without a context switch.
func TestWaitsOnTheCPUAreInTheLedger(t *testing.T) {
	r := e2e.Run(t, "--seconds", "5", "--fault", "pi-lock", "--fault-ms", "8", "--period-ms", "50")
	tid := uint32(r.Truth.TID)
	var l event.Ledger
	for i := range r.Input.GapStats {
		if g := &r.Input.GapStats[i]; g.TID == tid {
			l.Add(&g.Ledger)
		}
	}
	for i := range r.Input.Ops {
		if o := &r.Input.Ops[i]; o.TID == tid {
			l.Add(&o.Ledger)
		}
	}
	injected := r.Truth.InjectedNS
	switch futex := int64(l.NS[event.Futex]); {
	case r.Truth.FaultCount < 50:
		t.Errorf("the lock was held %d times", r.Truth.FaultCount)
	case !r.Measures():
		t.Logf("amounts say nothing: %s", r.Machine())
	case futex < injected*3/4 || futex > injected*5/4:
		t.Errorf("%d ns of waits for a futex, %d ns were injected", futex, injected)
	}
	if int64(l.Voluntary) > r.Truth.VoluntarySwitches {
		t.Errorf("%d voluntary switches, the kernel counted %d", l.Voluntary, r.Truth.VoluntarySwitches)
	}

	var rows []event.OffCPU
	var held int
	for _, o := range r.Input.OffCPU {
		if o.TID != tid {
			continue
		}
		rows = append(rows, o)
		if o.Class == event.Futex && o.Holder == uint32(r.Truth.HolderTID) && o.Futex != 0 {
			held++
		}
	}
	if held < int(r.Truth.FaultCount)/2 {
		t.Errorf("%d waits name the holder, of %d", held, r.Truth.FaultCount)
	}
	slices.SortFunc(rows, func(a, b event.OffCPU) int { return int(int64(a.Start) - int64(b.Start)) })
	for i := 1; i < len(rows); i++ {
		if before := rows[i-1].Start + rows[i-1].Duration; before > rows[i].Start {
			t.Errorf("an interval %+v begins %d ns before the end of %+v", rows[i], before-rows[i].Start, rows[i-1])
		}
	}
	var totals []*event.ThreadTime
	for i := range r.Input.ThreadTimes {
		if x := &r.Input.ThreadTimes[i]; x.TID == tid {
			totals = append(totals, x)
		}
	}
	if len(totals) < 2 {
		t.Fatalf("%d totals", len(totals))
	}
	slices.SortFunc(totals, func(a, b *event.ThreadTime) int { return int(int64(a.At) - int64(b.At)) })
	split, ok := timeline.Diff(totals[0], totals[len(totals)-1])
	sum := split.OnCPU
	for _, v := range split.NS {
		sum += v
	}
	if !ok || sum < split.Wall*99/100 || sum > split.Wall*101/100 {
		t.Errorf("%+v sums to %d ns (%v)", split, sum, ok)
	}
}
