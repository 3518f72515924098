package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/capture/host/nvml"
	"github.com/ingero-io/ingero/internal/cudastub"
	"github.com/ingero-io/ingero/store"
)

func TestChangesOfAClock(t *testing.T) {
	t.Parallel()
	const hot = store.ThrottleHWThermal
	reading := func(at uint64, mhz int, reasons uint64, unknown ...store.GPUColumn) store.GPUSnapshot {
		s := store.GPUSnapshot{At: at, GPU: 1, ClockMHz: mhz, MaxMHz: 2000, Reasons: reasons}
		for _, c := range unknown {
			s.Unknown |= 1 << c
		}
		return s
	}
	change := func(from, to int, fromReasons, toReasons uint64) *store.GPUClockChange {
		return &store.GPUClockChange{At: 2, GPU: 1, FromMHz: from, ToMHz: to, FromReasons: fromReasons, ToReasons: toReasons}
	}
	reasonsUnknown := change(2000, 1000, 0, 0)
	reasonsUnknown.ReasonsUnknown = true
	for name, c := range map[string]struct {
		before, after store.GPUSnapshot
		want          *store.GPUClockChange // nil: none
	}{
		"nothing":              {reading(1, 1900, hot), reading(2, 1900, hot), nil},
		"too little":           {reading(1, 1900, 0), reading(2, 1801, 0), nil},
		"down by the least":    {reading(1, 1900, 0), reading(2, 1800, 0), change(1900, 1800, 0, 0)},
		"up":                   {reading(1, 1200, hot), reading(2, 1900, 0), change(1200, 1900, hot, 0)},
		"reasons only":         {reading(1, 1900, 0), reading(2, 1890, hot), change(1900, 1890, 0, hot)},
		"no clock before":      {reading(1, 0, 0, store.GPUClock), reading(2, 1900, 0), nil},
		"no clock, a reason":   {reading(1, 1900, 0), reading(2, 0, hot, store.GPUClock), change(0, 0, 0, hot)},
		"no reasons":           {reading(1, 2000, hot), reading(2, 1000, 0, store.GPUReasons), reasonsUnknown},
		"no reasons, no clock": {reading(1, 2000, 0), reading(2, 2000, 0, store.GPUReasons), nil},
		"no highest clock":     {reading(1, 1900, 0), reading(2, 900, 0, store.GPUMaxClock), nil},
	} {
		got, ok := clockChange(&c.before, &c.after)
		if ok != (c.want != nil) {
			t.Errorf("%s: %t", name, ok)
		} else if ok && got != *c.want {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(*c.want, got))
		}
	}
}

// A reading is held against the last one of the same GPU; the first one is no change.
func TestEachGPUIsComparedWithItsOwnClock(t *testing.T) {
	t.Parallel()
	g := &gpus{last: map[int]store.GPUSnapshot{}}
	var b store.Batch
	for i, mhz := range []int{1900, 500, 1900, 500, 1200, 500} { // of two GPUs, in turn
		g.clockChanges(&store.GPUSnapshot{At: uint64(i), GPU: i % 2, ClockMHz: mhz, MaxMHz: 2000}, &b)
	}
	want := []store.GPUClockChange{{At: 4, GPU: 0, FromMHz: 1900, ToMHz: 1200}}
	if d := cmp.Diff(want, b.GPUClocks); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What the driver says of a clock ends in the batch as a change when it says something else.
func TestAChangeOfAClockIsRecorded(t *testing.T) {
	t.Parallel()
	lib, err := cudastub.ExtractNVML(t.TempDir(), "gpus=1", "clock_sm=1900", "reasons=0")
	if err != nil {
		t.Fatal(err)
	}
	g := newGPUs(nvml.Options{Dirs: []string{lib.Dir}, Only: true, Period: 20 * time.Millisecond, Pause: time.Hour}, "")
	t.Cleanup(g.close)
	var b store.Batch
	for end := time.Now().Add(20 * time.Second); len(b.GPUClocks) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no change; %+v", g.reader.State())
		}
		before := len(b.GPUs)
		g.take(&b, func(uint32) {})
		if before == 0 && len(b.GPUs) > 0 { // the first reading is there
			if err := lib.Set("gpus=1", "clock_sm=1200", "reasons=0x40"); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := b.GPUClocks[0]
	if c.FromMHz != 1900 || c.ToMHz != 1200 || c.FromReasons != 0 || c.ToReasons != store.ThrottleHWThermal {
		t.Errorf("%+v", c)
	}
}
