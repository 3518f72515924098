package sqlite_test

import (
	"testing"

	"github.com/ingero-io/ingero/capture/host/owner"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// Recordings made before reclaim, sockets, kernels and owners were recorded have no tables for
// them, and are read all the same.
func TestRecordingsWithoutReclaimsAreRead(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	must(t, w.Write(fullBatch(t)))
	must(t, w.Close())
	sqlite.Downgrade(t, path, 3)
	r := reader(t, path)
	reclaims, err := store.List[event.Reclaim](t.Context(), r, store.Window{})
	must(t, err)
	if limits, err := store.List[store.MemoryLimit](t.Context(), r, store.Window{}); len(limits) != 0 || err != nil {
		t.Errorf("memory limits: %v, %v", limits, err)
	}
	if kernels, err := store.List[store.Kernel](t.Context(), r, store.Window{}); len(kernels) != 0 || err != nil {
		t.Errorf("kernels: %v, %v", kernels, err)
	}
	procs, err := store.List[store.Process](t.Context(), r, store.Window{})
	if len(procs) == 0 || procs[0].Owner != (owner.Owner{}) || err != nil {
		t.Errorf("processes: %v, %v", procs, err)
	}
	waits, sockets := 0, 0
	must(t, r.OffCPU(t.Context(), store.Window{}, func(o *event.OffCPU) bool {
		waits++
		if o.Socket.Kind != 0 {
			sockets++
		}
		return true
	}))
	if len(reclaims) != 0 || sockets != 0 || waits != len(fullBatch(t).OffCPU) {
		t.Errorf("%d reclaims and %d sockets of a file without them; %d intervals", len(reclaims), sockets, waits)
	}
	// The next writer brings the file up to date.
	w = open(t, path, sqlite.Options{})
	must(t, w.Write(fullBatch(t)))
	must(t, w.Close())
	reclaims, err = store.List[event.Reclaim](t.Context(), reader(t, path), store.Window{})
	if len(reclaims) != 1 || err != nil {
		t.Errorf("after another run: %v, %v", reclaims, err)
	}
}

// A control group is known by its path also if nothing but a process is in it.
func TestTheControlGroupOfAProcessIsKept(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	must(t, w.Write(&store.Batch{Tables: store.Tables{Processes: []store.Process{{
		PID: 7, Name: "engine", Cgroup: "/a", Rank: -1, LocalRank: -1,
		WorldSize: -1,
	}}}}))
	must(t, w.Flush(t.Context()))
	must(t, w.Close())
	procs, err := store.List[store.Process](t.Context(), reader(t, path), store.Window{})
	if err != nil || len(procs) != 1 || procs[0].Cgroup != "/a" {
		t.Errorf("processes %+v, %v", procs, err)
	}
}
