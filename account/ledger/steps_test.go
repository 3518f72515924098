package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
)

// sequence makes calls from letters: one call for each letter, 10 us long, one every 20 us.
func sequence(pattern string, times int) []event.CallTime {
	names := map[rune]string{
		'l': "cudaLaunchKernel", 'c': "cudaMemcpyAsync", 'd': "cudaMemcpy",
		's': "cudaStreamSynchronize", 'q': "cudaEventQuery", 'g': "cudaGraphLaunch",
	}
	var calls []event.CallTime
	at := uint64(1_000_000)
	for range times {
		for _, r := range pattern {
			i, _ := event.ByName(names[r])
			calls = append(calls, event.CallTime{Start: at, Duration: 10_000, Op: i.Op})
			at += 20_000
		}
	}
	return calls
}

func op(t *testing.T, name string) event.Op {
	t.Helper()
	i, ok := event.ByName(name)
	if !ok {
		t.Fatalf("no operation %s", name)
	}
	return i.Op
}

func TestFindSteps(t *testing.T) {
	training := "c" + "llllllllllllllllllll" + "s"
	for name, tc := range map[string]struct {
		calls []event.CallTime
		ends  string // operation; empty: no steps
		step  uint64 // ns, the median
	}{
		"training": {sequence(training, 100), "cudaStreamSynchronize", 22 * 20_000},
		"many small copies in a step": {
			sequence("c"+"ldldldldldldldldldldldldldldldldldldldld"+"s", 100),
			"cudaStreamSynchronize", 42 * 20_000,
		},
		"a log copy every 60 steps": {append(sequence(training, 60),
			append(sequence("d", 1), sequence(training, 60)...)...), "cudaStreamSynchronize", 22 * 20_000},
		"four micro steps and another": {sequence("cllscllscllscllsllq", 40), "cudaEventQuery", 19 * 20_000},
		"one operation alone":          {sequence("l", 200), "cudaLaunchKernel", 20_000},
		"made again now and then": {append(sequence("cgs", 60),
			append(sequence("llllgs", 1), sequence("cgs", 60)...)...), "cudaStreamSynchronize", 3 * 20_000},
		"a wait more in each step": {
			append(sequence(training, 100), sequence("c"+"ldldldldldldldldldld"+"s", 300)...),
			"cudaStreamSynchronize", 22 * 20_000,
		},
		"more launches from half on": {
			append(sequence("clls", 100), sequence("clllllls", 120)...), "cudaStreamSynchronize",
			8 * 20_000,
		},
		"too few": {sequence(training, 5), "", 0},
		"no order": {
			sequence("lcslllsccllllllllslcl"+"lllcccccscl"+"sllllllllllllllllllllllllllllll", 1),
			"", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, ok := ledger.FindSteps([][]event.CallTime{tc.calls})
			if ok != (tc.ends != "") {
				t.Fatalf("found %v: %s", ok, s.Op)
			}
			if ok && (s.Op != op(t, tc.ends) || s.Quantile(0.5) != tc.step) {
				t.Errorf("a step ends with %s after %d ns, want %s after %d", s.Op, s.Quantile(0.5), tc.ends, tc.step)
			}
		})
	}
}

// TestStepsThatEndWithALongWaitFillTheTime: waits that are long in the first quarter only do not end steps.
func TestStepsThatEndWithALongWaitFillTheTime(t *testing.T) {
	for _, later := range []int{0, 300} {
		var calls []event.CallTime
		at := uint64(0)
		for i := range 100 + later {
			for _, name := range []string{"cudaLaunchKernel", "cudaStreamSynchronize", "cudaStreamSynchronize"} {
				c := event.CallTime{Start: at, Duration: 2_000, Op: op(t, name), Weight: 2}
				if i < 100 && len(calls)%3 == 2 {
					c.Duration, c.Weight = 1_000_000, 1
				}
				calls = append(calls, c)
				at += 1_010_000
			}
		}
		if s, ok := ledger.FindSteps([][]event.CallTime{calls}); ok != (later == 0) {
			t.Errorf("with %d steps without a long wait: %v, %d steps of at least %d ns", later, ok, len(s.Sampled), s.Least)
		}
	}
}

func TestStepsOfAThinnedRecording(t *testing.T) {
	var calls []event.CallTime
	seen := map[event.Op]int{}
	for _, c := range sequence("cllllllllllllllllllllls", 100) {
		if c.Op != op(t, "cudaStreamSynchronize") {
			if seen[c.Op]++; seen[c.Op]%2 == 0 {
				continue
			}
			c.Weight = 2
		}
		calls = append(calls, c)
	}
	s, ok := ledger.FindSteps([][]event.CallTime{calls})
	if !ok || s.Op != op(t, "cudaStreamSynchronize") {
		t.Fatalf("found %v: a step ends with %s", ok, s.Op)
	}
	want := []ledger.StepCall{
		{Op: op(t, "cudaLaunchKernel"), N: 21},
		{Op: op(t, "cudaStreamSynchronize"), N: 1},
		{Op: op(t, "cudaMemcpyAsync"), N: 1},
	}
	for i := range want {
		if d := s.Calls[i].N - want[i].N; s.Calls[i].Op.Role() == event.RoleLaunch && (d < -1 || d > 1) {
			t.Errorf("%d launches a step, want about %d", s.Calls[i].N, want[i].N)
		}
	}
	if len(s.Calls) != len(want) {
		t.Error(cmp.Diff(want, s.Calls))
	}
}

func TestStepsDoNotSpanUnrecordedTime(t *testing.T) {
	a, b := sequence("cls", 20), sequence("cls", 20)
	for i := range b {
		b[i].Start += 1_000_000_000
	}
	s, ok := ledger.FindSteps([][]event.CallTime{a, b})
	if !ok || s.Quantile(1) != 3*20_000 || len(s.Sampled) != 38 {
		t.Errorf("found %v: %d steps, the longest %d ns", ok, len(s.Sampled), s.Quantile(1))
	}
}

func TestWarmupAndTrend(t *testing.T) {
	s := ledger.Steps{}
	at := uint64(0)
	add := func(d uint64) {
		at += d
		s.Sampled = append(s.Sampled, ledger.Step{End: at, Duration: d})
	}
	for range 4 {
		add(900)
	}
	for range 60 {
		add(100)
	}
	if n := s.Warmup(); n != 4 {
		t.Errorf("%d steps of warm-up, want 4", n)
	}
	if v := s.Trend(0, at); v != 0 {
		t.Errorf("steady steps grow by %v", v)
	}
	s, at = ledger.Steps{}, 0
	for i := range uint64(100) {
		add(1000 + 10*i)
	}
	if v := s.Trend(0, at); v < 0.5 || v > 1 {
		t.Errorf("steps that grow from 1000 to 2000 grow by %v between quarters", v)
	}
	if n := s.Warmup(); n != 0 {
		t.Errorf("%d steps of warm-up in steps that grow", n)
	}
}
