package soak

import (
	"slices"
	"testing"
)

const stepCalls = 22

// counts are n seconds from 1000 on, of 20 steps each.
func counts(n int64) (all []second, r recorded) {
	r = recorded{calls: map[int64]int64{}, losses: map[int64]int64{}}
	for s := int64(1000); s < 1000+n; s++ {
		all = append(all, second{unix: s, steps: 20, calls: 20 * stepCalls})
		r.calls[s] = 20 * stepCalls
	}
	return all, r
}

func TestCompareSeconds(t *testing.T) {
	all := int64(20 * stepCalls)
	gone := func(r recorded) { delete(r.calls, 1010) }
	for name, c := range map[string]struct {
		change  func(r recorded)
		spans   []span
		seconds []int64
		missing int64
		surplus int64
		judged  int
	}{
		"all is there":          {func(recorded) {}, nil, nil, 0, 0, 18},
		"a second is not there": {gone, nil, []int64{1010}, all - 2*stepCalls, 0, 18},
		"it was excused":        {gone, []span{{1010.2, 1010.3, "x"}}, nil, 0, 0, 17},
		"its loss is stated":    {func(r recorded) { gone(r); r.losses[1011] = all }, nil, nil, 0, 0, 18},
		"less is stated than lost": {
			func(r recorded) { gone(r); r.losses[1010] = 9 }, nil, []int64{1010}, all - 9 - 2*stepCalls, 0, 18,
		},
		"part of one is missing": {func(r recorded) { r.calls[1010] -= 100 }, nil, nil, 100 - 2*stepCalls, 0, 18},
		"calls on the edge":      {func(r recorded) { r.calls[1001] -= stepCalls }, nil, nil, 0, 0, 18},
		"one is there twice":     {func(r recorded) { r.calls[1010] += all }, nil, nil, 0, all - 2*stepCalls, 18},
		"moved to the next":      {func(r recorded) { r.calls[1010] -= 40; r.calls[1011] += 40 }, nil, nil, 0, 0, 18},
		"the first and last":     {func(r recorded) { delete(r.calls, 1000); delete(r.calls, 1019) }, nil, nil, 0, 0, 18},
	} {
		t.Run(name, func(t *testing.T) {
			truth, r := counts(20)
			c.change(r)
			l := compareSeconds(truth, r, c.spans)
			missing := max(0, c.missing)
			if !slices.Equal(l.seconds, c.seconds) || l.missing != missing || l.surplus != c.surplus || l.judged != c.judged {
				t.Errorf("%+v", l)
			}
		})
	}
}

// A clock that is set back has a second twice, and one that is set forth leaves some out.
func TestSecondsOfASteppedClock(t *testing.T) {
	truth := []second{
		{unix: 5, calls: 1, steps: 1}, {unix: 8, calls: 2, steps: 1}, {unix: 5, calls: 4, steps: 2, excessNS: 3},
	}
	got := merged(truth)
	want := []second{{unix: 5, calls: 5, steps: 3, excessNS: 3}, {unix: 8, calls: 2, steps: 1}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
