package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// reuseSession is a run of the tracer on a recording.
func reuseSession(t *testing.T, path string, from uint64, b *store.Batch) {
	t.Helper()
	now := from
	w, err := OpenWriter(path, Options{
		Session: store.Session{Node: "n", Boot: "b", Started: from}, Now: func() time.Time { return time.Unix(0, int64(now)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	now += 10e9
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
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
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	d, err := r.Distinct(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	waits := waitsIn(t, d)
	old, now := waits[0].Thread, waits[3].Thread
	if event.KernelID(old.PID) != 1364 || old.TID == now.TID || now != (event.Thread{PID: 2000, TID: 1364}) {
		t.Errorf("the old process is %v, the new thread %v", old, now)
	}
	if waits[1].Holder != now.TID {
		t.Errorf("the holder is %d; want the thread of its own session, %d", waits[1].Holder, now.TID)
	}
}
