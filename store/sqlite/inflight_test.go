package sqlite_test

import (
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// A call is one row however often it was looked at, also if its thread ended before
// its end was written and got another row of the thread table.
func TestACallInFlightIsOneRow(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	i, _ := event.ByName("cudaFree")
	f := event.InFlight{
		Thread: event.Thread{PID: 1, TID: 2}, Comm: "a", Op: i.Op, Start: t0, At: t0 + 1e9,
		Doing: event.Running, GPU: event.NoGPU, Syscall: -1,
	}
	must(t, w.Write(&store.Batch{Tables: store.Tables{InFlight: []event.InFlight{f}}}))
	f.At, f.Comm = t0+2e9, "b"
	must(t, w.Write(&store.Batch{Tables: store.Tables{InFlight: []event.InFlight{f}}}))
	must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Lives: []event.Life{
		{At: t0 + 3e9, Kind: event.LifeUnfinished, Thread: f.Thread, Comm: "b", Op: i.Op, Duration: 3e9},
		{At: t0 + 3e9, Kind: event.LifeExit, Thread: f.Thread, Comm: "b"},
		{At: t0 + 4e9, Kind: event.LifeUnfinished, Thread: event.Thread{PID: 1, TID: 3}, Comm: "c", Op: i.Op, Duration: 5e6},
	}}}}))
	f.Outcome, f.End = event.Died, t0+3e9
	must(t, w.Write(&store.Batch{Tables: store.Tables{InFlight: []event.InFlight{f}}}))
	must(t, w.Close())
	for query, want := range map[string]string{
		"select count(*) || outcome || comm || duration_ns from long_calls": "1diedb3000000000",
		// The other one died in a call too young to be looked at.
		"select group_concat(tid || op || outcome || duration_ns) from (select * from calls_in_flight order by tid)": "2cudaFreedied3000000000,3cudaFreedied5000000",
	} {
		rows, err := sqlite.Query(t.Context(), path, query, store.Limits{})
		must(t, err)
		if !rows.Next() {
			t.Errorf("%s: no row, %v", query, rows.Err())
		} else if got := rows.Values()[0]; got != want {
			t.Errorf("%s = %v, want %s", query, got, want)
		}
		must(t, rows.Close())
	}
}
