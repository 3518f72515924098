package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
)

// set is a label of process 7, from a time after t0 on.
func set(at uint64, key, value string) event.Label {
	return event.Label{Arrived: t0 + at + 3, Since: t0 + at, PID: 7, StartTime: 70, Key: key, Value: value}
}

func TestLabelsHoldUntilTheyAreSetAgain(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{Now: func() time.Time { return time.Unix(0, int64(t0)+1000) }})
	span := set(15, "step", "2")
	span.Until = t0 + 25
	other := set(20, "step", "9") // of the process that had the id before
	other.StartTime = 60
	ended := set(5, "gone", "x") // of one that had ended when it came
	ended.StartTime, ended.Until = 0, t0+6
	must(t, w.Write(&store.Batch{Tables: store.Tables{
		Processes: []store.Process{{PID: 7, Name: "train"}},
		Labels: []event.Label{
			set(10, "step", "1"), set(10, "epoch", "1"), set(20, "step", "2"), set(30, "step", ""), set(40, "step", "3"),
			set(40, "step", "4"), span, other, ended,
			{Arrived: t0 + 95, Since: t0 + 90, PID: 7, StartTime: 70},
			{Arrived: t0 + 99, Since: t0 + 99, PID: 7, StartTime: 70},
			{Arrived: t0 + 23, Since: t0 + 22, PID: 7, StartTime: 60},
		},
		Records: event.Records{Marks: []event.Mark{
			{Op: opOf(t, "nvtxRangePushA"), Start: t0 + 50, Duration: 1, Thread: event.Thread{PID: 7, TID: 8}, Text: "ProfilerStep#12, op_id = 3"},
			{Op: opOf(t, "nvtxRangePushA"), Start: t0 + 55, Duration: 1, Thread: event.Thread{PID: 7, TID: 8}, Text: "forward"},
			{Op: opOf(t, "nvtxRangePop"), Start: t0 + 60, Duration: 1, Thread: event.Thread{PID: 7, TID: 8}},
			{Op: opOf(t, "nvtxRangePop"), Start: t0 + 70, Duration: 1, Thread: event.Thread{PID: 7, TID: 8}},
		}},
	}}))
	must(t, w.Close())
	var got []string
	for _, r := range query(t, path, fmt.Sprintf("select timestamp - %d, ended - %[1]d, duration_ns, key, value, kind, source, "+
		"tid, comm, pid from labels order by 1, 4, 2", t0)) {
		got = append(got, fmt.Sprint(r...))
	}
	row := func(from, to int, key, value, kind, source string, tid, comm any) string {
		return fmt.Sprint(from, to, to-from, key, value, kind, source, tid, comm, 7)
	}
	want := []string{
		row(5, 6, "gone", "x", "span", "socket", nil, "train"),
		row(10, 90, "epoch", "1", "set", "socket", nil, "train"),
		row(10, 20, "step", "1", "set", "socket", nil, "train"),
		row(15, 25, "step", "2", "span", "socket", nil, "train"),
		row(20, 22, "step", "9", "set", "socket", nil, "train"),
		row(20, 30, "step", "2", "set", "socket", nil, "train"),
		row(40, 90, "step", "4", "set", "socket", nil, "train"),
		row(50, 70, "step", "12", "push", "nvtx", nil, ""),
		row(55, 60, "nvtx", "forward", "push", "nvtx", 8, ""),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	list, err := store.List[store.Label](t.Context(), reader(t, path), store.Window{From: t0 + 18, To: t0 + 35})
	must(t, err)
	at := func(from, to uint64, key, value string, span bool) store.Label {
		return store.Label{From: t0 + from, To: t0 + to, PID: 7, Key: key, Value: value, Span: span}
	}
	if d := cmp.Diff([]store.Label{
		at(18, 20, "step", "1", false), at(18, 34, "epoch", "1", false), at(18, 25, "step", "2", true),
		at(20, 22, "step", "9", false), at(20, 30, "step", "2", false),
	}, list); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
	list, err = store.List[store.Label](t.Context(), reader(t, path), store.Window{From: t0 + 50, To: t0 + 65})
	must(t, err)
	forward := at(55, 60, "nvtx", "forward", true)
	forward.TID = 8
	if d := cmp.Diff([]store.Label{at(50, 64, "step", "12", true), forward}, slices.DeleteFunc(list, func(l store.Label) bool {
		return !l.Span
	})); d != "" {
		t.Errorf("ranges (-want +got):\n%s", d)
	}
}

// labelled are the calls of process 7 with its labels, which change as often as every 2 ms, each before the
// batch in which calls are made with it. It returns the key=value of each call, by its index.
func labelled(t *testing.T, calls []event.Call, seed uint64) (path string, of []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 4))
	w, path := create(t, sqlite.Options{RawRate: 200, Seed: seed, Session: store.Session{
		Node: fmt.Sprint("node ", seed), Started: t0 + seed,
	}})
	var labels []event.Label
	for at, n := calls[0].Start+1000, 0; at < calls[len(calls)-1].Start; n++ {
		labels = append(labels, event.Label{Arrived: at, Since: at, PID: 7, StartTime: 1, Key: "step", Value: fmt.Sprint(n)})
		at += 1 + rng.Uint64N(4_000_000<<(2*(n/200%4)))
	}
	for i := range calls {
		value := "-"
		if n, _ := slices.BinarySearchFunc(labels, calls[i].Start+1, func(l event.Label, at uint64) int {
			return int(int64(l.Since - at))
		}); n > 0 && calls[i].PID == 7 {
			value = labels[n-1].Value
		}
		of = append(of, value)
	}
	next := 0
	for n := 0; n < len(calls); n += 500 {
		b := &store.Batch{Tables: store.Tables{Records: event.Records{Calls: calls[n:min(n+500, len(calls))]}}}
		last := slices.MaxFunc(b.Calls, func(a, c event.Call) int { return int(int64(a.Start - c.Start)) }).Start
		for ; next < len(labels) && labels[next].Since <= last; next++ {
			b.Labels = append(b.Labels, labels[next])
		}
		must(t, w.Write(b))
		if n%7000 == 0 {
			must(t, w.Flush(t.Context()))
		}
	}
	must(t, w.Close())
	return path, of
}

// TestSumsByLabelAreExactOfThinnedCalls: however few calls were stored, and however short labels hold.
func TestSumsByLabelAreExactOfThinnedCalls(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		calls := fastCalls(t, seed, 30_000)
		path, of := labelled(t, calls, seed+1)
		i := 0
		want := sumsOf(calls, func(c *event.Call) string {
			i++
			if of[i-1] == "-" {
				return ""
			}
			return of[i-1] + " " + c.Op.String() + fmt.Sprint(c.Depth)
		})
		stored := query(t, path, "select sum(stored), count(*) from calls")[0]
		if stored[1] != int64(len(calls)) || stored[0].(int64) > int64(len(calls))*3/4 {
			t.Errorf("%v of %v calls are stored", stored[0], stored[1])
		}
		compareSums(t, path, "select value || ' ' || op || depth, FIGURES from labelled_calls where key = 'step' group by 1", want)
	}
}

func TestMergedRecordingsKeepLabels(t *testing.T) {
	t.Parallel()
	calls := fastCalls(t, 7, 5_000)
	a, _ := labelled(t, calls, 1)
	b, _ := labelled(t, calls, 2)
	const sums = "select value, count(*), sum(duration_ns) from labelled_calls where node = 'node %d' group by value order by value"
	out, _ := merge(t, a, b)
	for n, path := range []string{a, b} {
		want, got := query(t, path, fmt.Sprintf(sums, n+1)), query(t, out, fmt.Sprintf(sums, n+1))
		if d := cmp.Diff(want, got); d != "" || len(want) < 10 {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
	machines, err := reader(t, out).Machines(t.Context())
	must(t, err)
	for i, m := range machines {
		defer m.Close()
		list, err := store.List[store.Label](t.Context(), m, store.Window{})
		must(t, err)
		if want := query(t, []string{a, b}[i], "select count(*) from labels")[0][0]; int64(len(list)) != want {
			t.Errorf("machine %d has %d labels, want %v", i, len(list), want)
		}
	}
	sqlite.Downgrade(t, b, 24)
	if n := query(t, b, "select (select count(*) from labels) + (select count(*) from labelled_calls)")[0][0]; n != int64(0) {
		t.Errorf("a recording of before has %v labels", n)
	}
}

// TestALongLabelOutlivesPruning: of a label that still holds, the row stays when rows of its time are deleted.
func TestALongLabelOutlivesPruning(t *testing.T) {
	t.Parallel()
	w, path := create(t, sqlite.Options{MaxBytes: 3 << 20, RawRate: 1 << 30})
	must(t, w.Write(&store.Batch{Tables: store.Tables{Labels: []event.Label{set(0, "epoch", "1"), set(0, "step", "1"), set(1000, "step", "2")}}}))
	calls := fastCalls(t, 3, 120_000)
	for n := 0; n < len(calls); n += 5000 {
		must(t, w.Write(&store.Batch{Tables: store.Tables{Records: event.Records{Calls: calls[n : n+5000]}}}))
		must(t, w.Flush(t.Context()))
	}
	must(t, w.Close())
	if n := query(t, path, "select count(*) from call")[0][0].(int64); n > 100_000 {
		t.Fatalf("%d calls are left; nothing was deleted", n)
	}
	if got := fmt.Sprint(query(t, path, "select key, value from labels order by key, value")); got != "[[epoch 1] [step 2]]" {
		t.Errorf("labels left: %s", got)
	}
	if n := query(t, path, "select count(*) from labelled_calls where key = 'epoch'")[0][0].(int64); n == 0 {
		t.Error("no call has the label any more")
	}
}
