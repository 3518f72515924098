package sqlite_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

func collectiveBatch(t testing.TB) *store.Batch {
	b := fullBatch(t)
	sync := opOf(t, "cudaStreamSynchronize")
	all := event.Collective{
		Duration: 9, Op: opOf(t, "ncclAllReduce"), Comm: 0xc0, CommID: 77, Ranks: 2, Seq: 4, Bytes: 4096, DataType: 7,
		ReduceOp: 4,
		Peer:     -1, Stream: 5, SyncOp: sync,
	}
	early, late := all, all
	early.Thread, early.At, early.Start = event.Thread{PID: 100, TID: 100}, t0+100, t0+100
	early.SyncTID, early.SyncStart, early.SyncEnd = 100, t0+120, t0+5000
	late.Thread, late.At, late.Start, late.Rank = event.Thread{PID: 200, TID: 200}, t0+4100, t0+4000, 1
	late.SyncTID, late.SyncStart, late.SyncEnd, late.Group = 201, t0+4200, t0+5010, t0+3990
	b.Collectives = []event.Collective{
		early, late,
		{
			At: t0 + 6000, Start: t0 + 6000, Thread: event.Thread{PID: 100, TID: 100}, Op: event.OpSend, Ret: 4, Comm: 0xc1,
			Rank: -1, Peer: 0,
		},
	}
	return b
}

func TestCollectivesAreReadBack(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	b := collectiveBatch(t)
	must(t, w.Write(b))
	must(t, w.Close())
	got, err := store.List[event.Collective](t.Context(), reader(t, path), store.Window{})
	must(t, err)
	if d := cmp.Diff(b.Collectives, got); d != "" {
		t.Errorf("collectives (-want +got):\n%s", d)
	}
	got, err = store.List[event.Collective](t.Context(), reader(t, path), store.Window{From: t0 + 4100, To: t0 + 4101})
	if err != nil || len(got) != 1 || got[0].Rank != 1 {
		t.Errorf("in a window: %+v, %v", got, err)
	}
}

func TestCollectiveViews(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{})
	must(t, w.Write(collectiveBatch(t)))
	must(t, w.Close())
	for query, want := range map[string]string{
		"select op || datatype || reduce_op || bytes || '/' || seq || sync_op from collectives where rank = 0": "ncclAllReducefloat32avg4096/4cudaStreamSynchronize",
		"select barrier_wait_ns || '/' || (queued - enter) || '/' || (queued - group_start) || communicator from " +
			"collectives where rank": "910/100/110000000000000004d",
		"select op || peer || coalesce(rank, '?') || coalesce(barrier_wait_ns, '?') || ret_code from collectives where " +
			"ret_code": "ncclSend0??4",
		"select op || last_rank || '/' || last_pid || '/' || late_ns || '/' || longest_wait_ns || '/' || ranks_seen from " +
			"collective_arrivals": "ncclAllReduce1/200/4000/4900/2",
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
