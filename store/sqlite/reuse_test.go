package sqlite

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// reuseSession is a run of the tracer on a recording.
func reuseSession(t *testing.T, path string, from uint64, batches ...*store.Batch) {
	t.Helper()
	now := from
	w, err := OpenWriter(path, Options{
		Session: store.Session{Node: "n", Boot: "b", Started: from}, Now: func() time.Time { return time.Unix(0, int64(now)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	now += 10e9
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// distinctReader reads a recording with an id for each user of a pid or tid.
func distinctReader(t *testing.T, path string) store.Reader {
	t.Helper()
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	d, err := r.Distinct(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func waitOf(th event.Thread, comm string, at uint64, holder uint32) event.OffCPU {
	return event.OffCPU{
		Start: at, Duration: 5e6, Thread: th, Comm: comm, Class: event.Futex, Futex: 0x1000, Holder: holder,
		Syscall: -1, WakerSyscall: -1,
	}
}

func waitsIn(t *testing.T, r store.Reader) (list []event.OffCPU) {
	t.Helper()
	err := r.OffCPU(context.Background(), store.Window{}, func(o *event.OffCPU) bool {
		list = append(list, *o)
		list[len(list)-1].Culprits = slices.Clone(o.Culprits)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

const reuseBase = 1_700_000_000_000_000_000

// The example of the row in the issue: the lock word names a thread whose id a process of an earlier session had.
func TestHolderIsNotOfAnEarlierSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	churn, engine := event.Thread{PID: 1364, TID: 1364}, event.Thread{PID: 2000, TID: 2000}
	reuseSession(t, path, reuseBase, &store.Batch{
		Processes: []store.Process{{PID: 1364, Name: "churn", Born: 7}},
		Records:   event.Records{OffCPU: []event.OffCPU{waitOf(churn, "churn", reuseBase+1e9, 0)}},
	})
	reuseSession(t, path, reuseBase+1500e9, &store.Batch{
		Processes: []store.Process{{PID: 2000, Name: "engine", Born: 99}},
		Records: event.Records{OffCPU: []event.OffCPU{
			waitOf(engine, "engine", reuseBase+1501e9, 1364),
			waitOf(event.Thread{PID: 2000, TID: 2001}, "loader", reuseBase+1502e9, 0),
			waitOf(event.Thread{PID: 2000, TID: 1364}, "saver", reuseBase+1503e9, 0),
		}},
	})
	d := distinctReader(t, path)
	waits := waitsIn(t, d)
	old, now := waits[0].Thread, waits[3].Thread
	if event.KernelID(old.PID) != 1364 || old.TID == now.TID || now != (event.Thread{PID: 2000, TID: 1364}) {
		t.Errorf("the old process is %v, the new thread %v", old, now)
	}
	if waits[1].Holder != now.TID {
		t.Errorf("the holder is %d; want the thread of its own session, %d", waits[1].Holder, now.TID)
	}
}

// The kernel reports no end of an untraced process. The agent says when it notices that another process has the id.
func TestAReusedIDOfAnUntracedProcessIsOfTwo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	waiter, culprit := event.Thread{PID: 10, TID: 10}, event.Thread{PID: 20, TID: 20}
	batch := func(at uint64, name string) *store.Batch {
		wait := waitOf(waiter, "waits", at, 0)
		wait.Culprits = []event.Culprit{{Thread: culprit, Comm: name, NS: 5}}
		return &store.Batch{
			Processes: []store.Process{{PID: 20, Name: name}},
			Records:   event.Records{OffCPU: []event.OffCPU{wait}},
		}
	}
	later := batch(reuseBase+3e9, "after")
	later.Reused = []store.Reuse{{PID: 20, At: reuseBase + 2e9}}
	reuseSession(t, path, reuseBase, batch(reuseBase+1e9, "before"), later, batch(reuseBase+4e9, "after"))
	d := distinctReader(t, path)
	var who []event.Culprit
	for _, o := range waitsIn(t, d) {
		who = append(who, o.Culprits...)
	}
	if len(who) != 3 || who[0].PID == who[1].PID || who[1].PID != who[2].PID || who[1].PID != 20 {
		t.Errorf("culprits are %+v", who)
	}
	list, err := d.Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.PID == who[0].PID && p.Name == "after" {
			t.Errorf("the first one has the name of the second: %+v", p)
		}
	}
}
