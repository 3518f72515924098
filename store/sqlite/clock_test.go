package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// rank records a rank of two, whose machine's clock is ahead. It queues each operation
// so long after the operation began, and all end a millisecond after that.
func rank(t *testing.T, n int32, operations int, ahead int64, queued uint64, boot string) string {
	t.Helper()
	node := fmt.Sprintf("node-%d", n)
	w, path := create(t, sqlite.Options{Session: store.Session{Node: node, Host: node, Boot: boot, Started: t0}})
	th := event.Thread{PID: 100, TID: 100}
	b := &store.Batch{Tables: store.Tables{Processes: []store.Process{{
		PID: th.PID, Name: "rank", Rank: int(n), LocalRank: 0, WorldSize: 2,
		Traced: true,
	}}}}
	for i := range uint64(operations) {
		clock := func(at uint64) uint64 { return uint64(int64(t0+i*10_000_000+at) + ahead) }
		end := 1_000_000 + i%3*1000 // not all notice it as soon
		b.Collectives = append(b.Collectives, event.Collective{
			At: clock(queued), Start: clock(queued), Duration: 9, Thread: th, Op: opOf(t, "ncclAllReduce"), Comm: 0xc0,
			CommID: 77,
			Rank:   n, Ranks: 2, Seq: uint32(i + 1), Peer: -1, SyncOp: opOf(t, "cudaStreamSynchronize"), SyncTID: 100,
			SyncStart: clock(queued + 10), SyncEnd: clock(end),
		})
	}
	must(t, w.Write(b))
	must(t, w.Close())
	return path
}

// Clocks of two machines differ by an hour, and which rank was last is still found.
func TestArrivalsAreComparedByOneClock(t *testing.T) {
	t.Parallel()
	const hour = 3600 * 1_000_000_000
	for _, c := range []struct {
		name       string
		operations int
		clock      int64 // of the first machine, ahead of the second's
		boots      [2]string
		late       string
		ahead      any
	}{
		{"known", 9, hour, [2]string{"a", "b"}, "1 1 node-1 700000 2", int64(-hour)},
		{"too few operations", 4, hour, [2]string{"a", "b"}, "<nil> <nil> <nil> <nil> 2", nil},
		{"too few operations of machines that are not known", 4, hour, [2]string{}, "<nil> <nil> <nil> <nil> 2", nil},
		{"one kernel with two names", 4, 0, [2]string{"a", "a"}, "1 1 node-1 700000 2", int64(0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "cluster.db")
			_, err := sqlite.Merge(t.Context(), out, []sqlite.MergeInput{
				{Path: rank(t, 0, c.operations, c.clock, 100_000, c.boots[0])},
				{Path: rank(t, 1, c.operations, 0, 800_000, c.boots[1])},
			}, sqlite.MergeOptions{})
			must(t, err)
			offsets := query(t, out, "select node, ahead_ns, operations from clock_offsets order by node")
			if got, want := fmt.Sprint(offsets),
				fmt.Sprint([][]any{{"node-0", int64(0), int64(0)}, {"node-1", c.ahead, int64(c.operations)}}); got != want {
				t.Errorf("offsets %s, want %s", got, want)
			}
			rows := query(t, out, "select last_rank, last_pid / 100, last_node, late_ns, machines from collective_arrivals")
			if len(rows) != c.operations {
				t.Fatalf("%d arrivals", len(rows))
			}
			for _, r := range rows {
				if got := fmt.Sprintln(r...); got != c.late+"\n" {
					t.Errorf("%s, want %s", got, c.late)
				}
			}
		})
	}
}
