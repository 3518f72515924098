package change_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/change"
	"github.com/ingero-io/ingero/explain/report"
)

const second = uint64(time.Second)

// opNamed returns an operation by its name.
func opNamed(t *testing.T, name string) event.Op {
	t.Helper()
	info, ok := event.ByName(name)
	if !ok {
		t.Fatal("no operation " + name)
	}
	return info.Op
}

// run returns the seconds of a thread whose steps take so many ms each, one value per second. Time beyond 10 ms is
// work of the program.
func run(t *testing.T, ms ...float64) (*change.Thread, []change.Second) {
	launch, sync := opNamed(t, "cudaLaunchKernel"), opNamed(t, "cudaStreamSynchronize")
	var list []change.Second
	for i, d := range ms {
		steps := uint64(1000 / d)
		s := change.Second{At: uint64(i) * second, Ops: []change.Sum{
			{Op: launch, Calls: 20 * steps, NS: 20 * steps * 5000}, {Op: sync, Calls: steps, NS: steps * 8e6},
		}}
		s.Ops[1].Ledger.NS[event.Sleep] = steps * 7e6
		s.Between.NS[event.RunQueue] = steps * 10_000
		list = append(list, s)
	}
	return &change.Thread{Thread: event.Thread{PID: 1, TID: 2}, Process: "trainer", Op: sync}, list
}

func repeated(v float64, n int) (list []float64) {
	for range n {
		list = append(list, v)
	}
	return list
}

func join(parts ...[]float64) (all []float64) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestKindsOfChange(t *testing.T) {
	ramp := repeated(10, 20)
	for i := range 40 {
		ramp = append(ramp, 10+float64(i)/4)
	}
	type want struct {
		kind      string
		at, until float64 // s
	}
	for name, tc := range map[string]struct {
		ms   []float64
		want []want
	}{
		"none":  {repeated(10, 60), nil},
		"level": {join(repeated(10, 30), repeated(14, 30)), []want{{report.ChangeLevel, 30, 0}}},
		"two levels": {
			join(repeated(10, 20), repeated(14, 20), repeated(20, 20)),
			[]want{{report.ChangeLevel, 20, 0}, {report.ChangeLevel, 40, 0}},
		},
		"once": {join(repeated(10, 20), repeated(20, 8), repeated(10, 20)), []want{{report.ChangeOnce, 20, 28}}},
		"once, and as slow later": {
			join(repeated(10, 20), repeated(20, 8), repeated(10, 20), repeated(20, 12)),
			[]want{{report.ChangeOnce, 20, 28}, {report.ChangeLevel, 48, 0}},
		},
		"once, and less slow later": {
			join(repeated(10, 20), repeated(20, 8), repeated(10, 20), repeated(14, 12)),
			[]want{{report.ChangeOnce, 20, 28}, {report.ChangeLevel, 48, 0}},
		},
		"phases":        {join(repeated(10, 20), repeated(20, 8), repeated(10, 20), repeated(20, 8), repeated(10, 9)), nil},
		"drift":         {ramp, []want{{report.ChangeDrift, 20, 0}}},
		"warm-up":       {join(repeated(30, 5), repeated(10, 40)), nil},
		"faster":        {join(repeated(20, 20), repeated(10, 40)), nil},
		"a slow second": {join(repeated(10, 20), repeated(80, 1), repeated(10, 20)), nil},
	} {
		of, list := run(t, tc.ms...)
		got := change.Find(of, list, second)
		ok := len(got) == len(tc.want)
		for i := range min(len(got), len(tc.want)) {
			near := func(ns uint64, s float64) bool { return float64(ns)/1e9 > s-2.5 && float64(ns)/1e9 < s+2.5 }
			w := tc.want[i]
			ok = ok && got[i].Kind == w.kind && near(got[i].AtNS, w.at) && near(got[i].UntilNS, w.until)
		}
		if !ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Noise is not a change, in 300 runs of one to five minutes.
func TestNoiseIsNoChange(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	told := 0
	for range 300 {
		v, x := make([]float64, 60+r.IntN(240)), 0.0
		for i := range v {
			x = 0.3*x + r.NormFloat64()
			v[i] = 10 * (1 + 0.04*x)
		}
		of, list := run(t, v...)
		told += len(change.Find(of, list, second))
	}
	if told > 3 {
		t.Errorf("%d changes", told)
	}
}

// TestAnotherPhaseIsNoSlowTime: its waits are at other places, or a call of each step is no longer made.
func TestAnotherPhaseIsNoSlowTime(t *testing.T) {
	const usual, more, other = 10, 11, 12 // places
	times := join(repeated(10, 20), repeated(20, 8), repeated(10, 20))
	for name, tc := range map[string]struct {
		slow func(s *change.Second, steps uint64) // changes a slow second
		want int
	}{
		"the same place":      {func(s *change.Second, steps uint64) { s.Ops[1].At(usual, steps) }, 1},
		"places are not told": {func(*change.Second, uint64) {}, 1},
		"another place":       {func(s *change.Second, steps uint64) { s.Ops[1].At(other, steps) }, 0},
		"one place more": {func(s *change.Second, steps uint64) {
			s.Ops[1].At(usual, steps)
			s.Ops[1].At(more, steps)
		}, 1},
		"no copy": {func(s *change.Second, steps uint64) {
			s.Ops[1].At(usual, steps)
			s.Ops = s.Ops[:2]
		}, 0},
	} {
		of, list := run(t, times...)
		for i := range list {
			s := &list[i]
			steps := s.Ops[1].Calls
			s.Ops = append(s.Ops, change.Sum{Op: opNamed(t, "cudaMemcpyAsync"), Calls: steps, NS: steps * 5000})
			if i >= 20 && i < 28 {
				tc.slow(s, steps)
			} else {
				s.Ops[1].At(usual, steps)
			}
		}
		if got := change.Find(of, list, second); len(got) != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
		// Up to the end: it is reported, with what it may be.
		got := change.Find(of, list[:28], second)
		if len(got) != 1 || got[0].Elsewhere != (name == "another place") {
			t.Errorf("%s, to the end: %+v", name, got)
		}
	}
}

// A program that stands still for a part of some seconds has no level: it is reported if there was none before, and if
// chance does not explain that.
func TestStepsThatAreLongerNowAndThenAreFound(t *testing.T) {
	now := func(n int, ms ...float64) (list []float64) {
		for i := range n {
			list = append(list, ms[i%len(ms)])
		}
		return list
	}
	for _, c := range []struct {
		name string
		ms   []float64
		at   int // second; 0: nothing is found
	}{
		{"every third second or so", join(repeated(10, 9), now(15, 30, 10, 10, 22, 10)), 9},
		{"from the beginning on", now(24, 30, 10, 10, 22, 10), 0},
		{"too seldom to tell", join(repeated(10, 12), now(9, 30, 10, 10, 10, 10)), 0},
		{"too late to tell", join(repeated(10, 3), now(20, 30, 10, 10, 22, 10)), 0},
		{"only a little longer", join(repeated(10, 9), now(15, 10.8, 10, 10, 10.8, 10)), 0},
	} {
		thread, seconds := run(t, c.ms...)
		list := change.Find(thread, seconds, second)
		switch {
		case c.at == 0 && len(list) != 0:
			t.Errorf("%s: %+v", c.name, list)
		case c.at != 0 && (len(list) != 1 || !list[0].Unsteady || list[0].AtNS != uint64(c.at)*second):
			t.Errorf("%s: %+v, want one from second %d on", c.name, list, c.at)
		}
	}
	thread, seconds := run(t, join(repeated(10, 9), now(15, 30, 10, 10, 22, 10))...)
	for i := range seconds[9:] {
		s := &seconds[9+i]
		if n := s.Ops[1].Calls; n < 90 { // a validation: it launches less for each wait
			s.Ops[0].Calls = n * 2
		}
	}
	if list := change.Find(thread, seconds, second); len(list) != 0 {
		t.Errorf("another phase: %+v", list)
	}
}

// The seconds at both ends of a pause have fewer steps, those within have none.
func TestAPauseIsNoSlowTime(t *testing.T) {
	thread, seconds := run(t, join(repeated(10, 20), repeated(18, 4), repeated(10, 20))...)
	if list := change.Find(thread, seconds, second); len(list) != 1 || list[0].Kind != report.ChangeOnce {
		t.Fatalf("without a pause it is no slow time: %+v", list)
	}
	for i := 22; i < len(seconds); i++ {
		seconds[i].At += 4 * second
	}
	if list := change.Find(thread, seconds, second); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}
