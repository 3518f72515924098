package recording_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

// waiting is a process with two threads that wait for the GPU at two places, and elsewhere.
type waiting struct {
	withProcesses
	sync, launch event.Op
	all          uint64 // calls of sync by the operations' own statistics
}

func (w waiting) WaitSites(context.Context, store.Window, uint64) (list []store.SiteSecond, err error) {
	for _, s := range []struct {
		tid         uint32
		site, calls uint64
		ns          uint64
	}{{12, 0x10, 90, 1000}, {13, 0x10, 10, 2000}, {12, 0x20, 5, 1_000_000}, {12, 0, 7, 10}} {
		h := &stats.Histogram{}
		h.AddN(s.ns, uint32(s.calls))
		list = append(list, store.SiteSecond{
			Thread: event.Thread{PID: 12, TID: s.tid}, Op: w.sync, Site: s.site, Calls: s.calls, SumNS: s.calls * s.ns,
			MaxNS: s.ns, Hist: h,
		})
	}
	return list, nil
}

func (w waiting) Tables(_ context.Context, _ store.Window, lists ...any) error {
	who := event.Thread{PID: 12, TID: 12}
	*lists[0].(*[]store.OpStat) = []store.OpStat{
		{Thread: who, Op: w.sync, Calls: w.all, SumNS: 10_000_000, Hist: &stats.Histogram{}},
		{Thread: who, Op: w.launch, Calls: 4000, SumNS: 4, Hist: &stats.Histogram{}},
	}
	return nil
}

func (w waiting) Calls(_ context.Context, _ store.Window, visit func(*event.Call) bool) error {
	call := func(op event.Op, site, stack uint64, weight uint32) {
		c := event.Call{Thread: event.Thread{PID: 12, TID: 12}, Op: op, Stack: stack, Weight: weight}
		c.Args[event.SiteArg] = site
		visit(&c)
	}
	call(w.sync, 0x10, 1, 2)
	call(w.sync, 0x10, 2, 9)
	call(w.sync, 0x10, 4, 1) // a stack that was dropped
	call(w.sync, 0x20, 0, 1)
	call(w.sync, 0, 3, 1)
	call(w.launch, 0x20, 3, 1) // no place: another argument
	return nil
}

func (waiting) Stack(_ context.Context, id uint64) (st event.Stack, err error) {
	caller := map[uint64]string{1: "validate", 2: "train"}[id]
	if caller == "" {
		return st, errors.New("it was lost")
	}
	return event.Stack{Frames: []event.Frame{
		{Kind: event.FrameNative, Addr: 0x10, Module: "libtorch.so", Offset: 0x810},
		{Kind: event.FrameNative, Addr: 0x99, Symbol: "call", Module: "python3"},
		{Kind: event.FramePython, Symbol: caller, File: "train.py", Line: 4},
	}}, nil
}

func TestWaitsAreListedByCallSite(t *testing.T) {
	sync, _ := event.ByName("cudaStreamSynchronize")
	launch, _ := event.ByName("cudaLaunchKernel")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	v, err := recording.Ask(t.Context(), waiting{minute(now), sync.Op, launch.Op, 112 + 30}, recording.Question{}, now)
	if err != nil {
		t.Fatal(err)
	}
	s, err := v.FindCallSites(t.Context(), v.WantsOp)
	if err != nil {
		t.Fatal(err)
	}
	if s.Unplaced != 30 {
		t.Errorf("the call site of %d calls is unknown, want 30", s.Unplaced)
	}
	for i, want := range []struct {
		addr, calls, total, p50, most uint64
		place                         string
		callers                       []string
	}{
		{0x20, 5, 5_000_000, 1_000_000, 1_000_000, "", nil},
		{0x10, 100, 110_000, 1000, 2000, "libtorch.so+0x810", []string{"train.py:4 in train", "train.py:4 in validate"}},
		{0, 7, 70, 10, 10, "", nil},
	} {
		o := &s.List[i]
		near := o.P50NS >= want.p50*99/100 && o.P50NS <= want.p50*101/100
		if o.PID != 12 || o.Op.Op != "cudaStreamSynchronize" || o.Addr != want.addr || o.Calls != want.calls ||
			o.TotalNS != want.total || o.MaxNS != want.most || o.OfNS != 10_000_000 || !near {
			t.Errorf("%d: %+v, want %+v", i, o, want)
		}
		p, err := v.Place(t.Context(), o)
		if err != nil || p.Name != want.place || !slices.Equal(p.Callers, want.callers) {
			t.Errorf("%#x is %q, called from %q (%v); want %q, %q", o.Addr, p.Name, p.Callers, err, want.place, want.callers)
		}
	}
	none, err := v.FindCallSites(t.Context(), func(uint32, event.Op) bool { return false })
	if err != nil || len(none.List) > 0 || none.Unplaced > 0 {
		t.Errorf("of what is not wanted: %+v, %v", none, err)
	}
}
