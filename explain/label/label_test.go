package label_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/label"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
	"github.com/ingero-io/ingero/store/sqlite"
	"github.com/ingero-io/ingero/store/sqlite/storetest"
)

const t0 = uint64(1_735_689_600_000_000_000)

// trained returns a recording of a process whose epochs have 100 steps of a given length each: a launch of 1 ms, then
// 4 ms in a call that waits for the GPU. Every step of epoch 2 waits equally long for its data, on a pipe.
func trained(t *testing.T, step time.Duration) store.Recording {
	t.Helper()
	launch, _ := event.ByName("cudaLaunchKernel")
	sync, _ := event.ByName("cudaStreamSynchronize")
	main, ns := event.Thread{PID: 7, TID: 7}, uint64(step)
	path := filepath.Join(t.TempDir(), "x.db")
	w, err := storetest.OpenWriter(path, sqlite.Options{
		Session: store.Session{Node: "n", Started: t0}, Now: func() time.Time { return time.Unix(0, int64(t0)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	at, n := t0, 0
	for epoch := 1; epoch <= 3; epoch++ {
		b := &store.Batch{Tables: store.Tables{
			Processes: []store.Process{{PID: 7, Name: "train", Traced: true, Rank: -1, LocalRank: -1, WorldSize: -1}},
			Labels:    []event.Label{{Arrived: at, Since: at, PID: 7, StartTime: 1, Key: "epoch", Value: fmt.Sprint(epoch)}},
		}}
		for range 100 {
			n++
			b.Labels = append(b.Labels, event.Label{
				Arrived: at, Since: at, PID: 7, StartTime: 1, Key: "step", Value: fmt.Sprint(n),
			})
			if n == 101 {
				b.Labels = append(b.Labels, half(at, "a"), half(at+ns/4, "b"), half(at+ns/2, ""))
			}
			if epoch == 2 {
				g := event.Gap{Start: at, Duration: ns, Thread: main, Next: launch.Op}
				g.Ledger.NS[event.Pipe], g.Ledger.Voluntary = ns, 1
				b.Gaps = append(b.Gaps, g)
				at += ns
			}
			s := event.Call{Start: at + ns/5, Duration: ns * 4 / 5, Thread: main, Op: sync.Op, GPU: event.NoGPU}
			s.Ledger.NS[event.Ioctl], s.Ledger.Voluntary = ns*3/5, 1
			b.Calls = append(b.Calls, event.Call{Start: at, Duration: ns / 5, Thread: main, Op: launch.Op, GPU: event.NoGPU}, s)
			at += ns
		}
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// half returns a label that changes within a wait.
func half(at uint64, value string) event.Label {
	return event.Label{Arrived: at, Since: at, PID: 7, StartTime: 1, Key: "half", Value: value}
}

func by(t *testing.T, r store.Recording, key string, q recording.Question) (*label.Result, error) {
	t.Helper()
	q.Since = "all"
	v, err := recording.Ask(t.Context(), r, q, time.Unix(0, int64(t0)))
	if err != nil {
		t.Fatal(err)
	}
	return label.By(t.Context(), v, label.Options{Key: key, DB: "x.db"})
}

// within reports whether two times differ by at most by.
func within(a, b, by uint64) bool { return max(a, b)-min(a, b) <= by }

func TestEpochsAreSummedUpBySecondsAndByCalls(t *testing.T) {
	t.Parallel()
	for source, step := range map[string]time.Duration{
		label.Seconds: 150 * time.Millisecond, label.Calls: 5 * time.Millisecond,
	} {
		r, err := by(t, trained(t, step), "epoch", recording.Question{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Source != source || len(r.Rows) != 3 {
			t.Fatalf("%s: %d rows of %s", source, len(r.Rows), r.Source)
		}
		epoch, round := uint64(100*step), uint64(0)
		if source == label.Seconds {
			round = uint64(step) * 2 // calls that begin in one second and end in the next one
		}
		for i, row := range r.Rows {
			time, pipe := epoch, uint64(0)
			if i == 1 {
				time, pipe = 2*epoch, epoch
			}
			if row.Value != fmt.Sprint(i+1) || row.TimeNS != time || row.Calls != 200 || row.TID != 7 || row.Process != "train" ||
				!within(row.CallNS, epoch, round) || !within(row.InNS["ioctl"], epoch*3/5, round) ||
				!within(row.BetweenNS["pipe"], pipe, round) {
				t.Errorf("%s: epoch %d: %+v, want time %d, in calls %d, pipe %d", source, i+1, row, time, epoch, pipe)
			}
		}
	}
}

func TestShortLabelsAreSummedUpByCalls(t *testing.T) {
	t.Parallel()
	r, err := by(t, trained(t, 5*time.Millisecond), "step", recording.Question{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 300 || r.Source != label.Calls || r.Checks != 0 {
		t.Fatalf("%d rows of %s, %d diagnosed", len(r.Rows), r.Source, r.Checks)
	}
	for i, row := range r.Rows {
		want := uint64(0)
		if i >= 100 && i < 200 {
			want = 5_000_000
		}
		if row.Calls != 2 || row.BetweenNS["pipe"] != want {
			t.Errorf("step %s: %+v, want 2 calls and %d ns", row.Value, row, want)
		}
	}
	var b bytes.Buffer
	if err := label.WriteText(&b, r, 100); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "pipe 50 %"); n != 40 || !strings.Contains(b.String(), "and 260 more values") {
		t.Errorf("%d steps that waited are shown:\n%s", n, b.String())
	}
}

func TestAWaitAcrossTwoLabelsIsOfBoth(t *testing.T) {
	t.Parallel()
	r, err := by(t, trained(t, 4*time.Millisecond), "half", recording.Question{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if row.TimeNS != 1_000_000 || row.BetweenNS["pipe"] != 1_000_000 || row.Calls != 0 {
			t.Errorf("%+v, want a wait of 1 ms", row)
		}
	}
	if len(r.Rows) != 2 {
		t.Errorf("%d rows", len(r.Rows))
	}
}

func TestOtherKeysAreNamed(t *testing.T) {
	t.Parallel()
	rec := trained(t, 5*time.Millisecond)
	_, err := by(t, rec, "phase", recording.Question{})
	if e, ok := errors.AsType[*label.NoKeyError](err); !ok || !strings.Contains(e.Error(), "there are: epoch, half, step") {
		t.Error(err)
	}
}

func TestCausesAreBelowTheirRow(t *testing.T) {
	t.Parallel()
	r := &label.Result{Key: "epoch", Checks: 1, Rows: []label.Row{{
		Value: "7", Process: "train", PID: 7, TimeNS: 50_000_000_000, Calls: 1200, CallNS: 26_000_000_000,
		BetweenNS: map[string]uint64{"pipe": 20_000_000_000, "futex": 1}, Checked: true,
		Causes: []label.Cause{
			{Kind: "input_starvation", Summary: "train waited for its data", LostPct: 41},
			{Summary: "between calls: the waker is not known", LostPct: 3},
		},
	}}}
	var b bytes.Buffer
	if err := label.WriteText(&b, r, 100); err != nil {
		t.Fatal(err)
	}
	want := `by epoch: 1 value
epoch  process    time  calls  in calls  waits between calls
7      train (7)  50 s  1,200      52 %  pipe 40 %
    41 % lost: train waited for its data (input_starvation)
    3 % lost, not explained: between calls: the waker is not known
`
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}
