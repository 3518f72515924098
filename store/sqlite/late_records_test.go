package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// A thread's end is read before its last records, and before what others say of it. They are of the same thread; those
// of the next one with its ids are not.
func TestRecordsAfterTheEndAreOfTheThreadThatEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	engine, worker := event.Thread{PID: 2000, TID: 2000}, event.Thread{PID: 2000, TID: 2001}
	exit := event.Life{At: reuseBase + 2e9, Kind: event.LifeExit, Thread: worker, Comm: "worker"}
	fork := event.Life{At: reuseBase + 5e9, Kind: event.LifeFork, Thread: worker, Comm: "other"}
	w, err := OpenWriter(path, Options{Session: store.Session{Node: "n", Boot: "b", Started: reuseBase}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []event.Records{
		{OffCPU: []event.OffCPU{waitOf(worker, "worker", reuseBase+1e9, 0)}, Lives: []event.Life{exit}},
		{OffCPU: []event.OffCPU{
			waitOf(worker, "worker", reuseBase+1.5e9, 0), waitOf(engine, "engine", reuseBase+1.6e9, 2001),
		}},
		{Lives: []event.Life{fork}, OffCPU: []event.OffCPU{
			waitOf(worker, "other", reuseBase+6e9, 0), waitOf(engine, "engine", reuseBase+7e9, 2001),
		}},
	} {
		if err := w.Write(&store.Batch{Tables: store.Tables{Records: r}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := distinctReader(t, path)
	waits := waitsIn(t, d)
	old, now := waits[0].TID, waits[3].TID
	if old == now || waits[1].TID != old || waits[2].Holder != old || waits[4].Holder != now {
		t.Errorf("the threads are %d, %d and %d, the holders %d and %d", old, waits[1].TID, now, waits[2].Holder,
			waits[4].Holder)
	}
}
