package pattern_test

import (
	"math/rand/v2"
	"testing"

	"github.com/ingero-io/ingero/explain/diagnose/pattern"
)

// lost makes a loss of a window in which no time was lost yet.
func lost(window uint64) *pattern.Loss {
	return &pattern.Loss{
		To: window, Timeline: make(pattern.Timeline, pattern.Parts), Fine: pattern.NewFine(0, window),
	}
}

// lose adds ns of lost time from a time on.
func lose(l *pattern.Loss, at, ns uint64) {
	l.NS += ns
	l.Pieces = append(l.Pieces, pattern.Stretch{From: at, To: at + ns, Lost: ns})
	l.Timeline.Add(at, ns, l.From, l.To)
	l.Fine.Add(at, ns, l.From, l.To)
}

// TestSmallLossesDoNotHideThePatternOfLargeOnes has small losses all the time. Alone they are constant.
// Next to much larger losses in a tenth of the time they do not count.
func TestSmallLossesDoNotHideThePatternOfLargeOnes(t *testing.T) {
	const window, ms = 10_000_000_000, 1_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	lose := func(l *pattern.Loss, from, to, ns, every uint64) {
		for at := from; at < to; at += every/2 + rng.Uint64N(every) {
			lose(l, at, ns)
		}
	}
	for _, tc := range []struct {
		name string
		want string
		lose func(*pattern.Loss)
	}{
		{"always the same", pattern.Constant, func(l *pattern.Loss) { lose(l, 0, window, ms, 10*ms) }},
		{"heavier in a tenth", pattern.Burst, func(l *pattern.Loss) {
			lose(l, 0, window, ms/10, 10*ms)
			lose(l, window/2, window/2+window/10, 20*ms, 30*ms)
		}},
		{"heavier by half", pattern.Constant, func(l *pattern.Loss) {
			lose(l, 0, window, ms, 10*ms)
			lose(l, window/2, window, ms/2, 10*ms)
		}},
	} {
		l := lost(window)
		tc.lose(l)
		l.Timeline.Round()
		if p := l.Pattern(); p.Kind != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, p.Kind, tc.want)
		}
	}
}

// TestSmallLossesBeforeDoNotMoveTheBegin: small losses before do not change when a loss begins. A single
// stall is reported from its begin on.
func TestSmallLossesBeforeDoNotMoveTheBegin(t *testing.T) {
	const window, ms = 12_000_000_000, 1_000_000
	lose := func(l *pattern.Loss, from, to, ns, every uint64) {
		for at := from; at < to; at += every {
			lose(l, at, ns)
		}
	}
	for _, tc := range []struct {
		name string
		lose func(*pattern.Loss)
		want uint64
	}{
		{"noise, and from 3 s on a neighbour", func(l *pattern.Loss) {
			lose(l, ms/2, window/4, ms/4, 20*ms)
			lose(l, window/4, window, 3*ms, 20*ms)
		}, window / 4},
		{"one stall", func(l *pattern.Loss) { lose(l, 7_123*ms, 7_124*ms, 900*ms, 10*ms) }, 7_123 * ms},
		{"from the begin on", func(l *pattern.Loss) { lose(l, 5*ms, window, ms, 10*ms) }, 5 * ms},
	} {
		l := lost(window)
		tc.lose(l)
		l.Timeline.Round()
		if got := l.Pattern().FromNS; got != tc.want {
			t.Errorf("%s: from %d ns on, want %d", tc.name, got, tc.want)
		}
	}
}

// TestALossComesAgain: equal intervals are a period, a loss that becomes larger grows, and without
// lost time there is no pattern.
func TestALossComesAgain(t *testing.T) {
	const window, ms = 10_000_000_000, 1_000_000
	l := lost(window)
	if p := l.Pattern(); p != nil {
		t.Errorf("no time was lost: %+v", p)
	}
	for at := uint64(500 * ms); at < window; at += 1000 * ms {
		lose(l, at, 20*ms)
	}
	if p := l.Pattern(); p.Kind != pattern.Periodic || p.PeriodNS != 1000*ms || p.Times != 10 {
		t.Errorf("each second: %s of %d ns, %d times", p.Kind, p.PeriodNS, p.Times)
	}
	l = lost(window)
	for at := uint64(0); at < window; at += 100 * ms {
		lose(l, at, ms+at/200)
	}
	if p := l.Pattern(); p.Kind != pattern.Growing {
		t.Errorf("more each time: %s", p.Kind)
	}
}

// TestALossIsDatedByWhatIsLost: ten seconds of 50 lose most, though some is lost in each second.
func TestALossIsDatedByWhatIsLost(t *testing.T) {
	const window, ms, second = 50_000_000_000, 1_000_000, 1_000_000_000
	rng := rand.New(rand.NewPCG(3, 4))
	lose := func(l *pattern.Loss, from, to, ns, every uint64) {
		for at := from; at < to; at += every/2 + rng.Uint64N(every) {
			lose(l, at, ns)
		}
	}
	for _, tc := range []struct {
		name     string
		lose     func(*pattern.Loss)
		kind     string
		from, to uint64 // s; 0: not known
	}{
		{"some all the time", func(l *pattern.Loss) {
			lose(l, 0, window, 2*ms, 40*ms)
			lose(l, 21*second, 32*second, 12*ms, 40*ms)
		}, pattern.Burst, 21, 32},
		{"to the end", func(l *pattern.Loss) {
			lose(l, 0, window, 2*ms, 40*ms)
			lose(l, 39*second, window, 12*ms, 40*ms)
		}, pattern.Burst, 39, 50},
		{"a little more in a part", func(l *pattern.Loss) {
			lose(l, 0, window, 4*ms, 40*ms)
			lose(l, 21*second, 32*second, 4*ms, 40*ms)
		}, pattern.Constant, 0, 0},
		{"growing", func(l *pattern.Loss) {
			for i := range uint64(50) {
				lose(l, i*second, (i+1)*second, ms+i*ms/4, 40*ms)
			}
		}, pattern.Growing, 0, 0},
	} {
		l := lost(window)
		tc.lose(l)
		l.Timeline.Round()
		p := l.Pattern()
		near := func(ns, s uint64) bool { return ns+second >= s*second && ns <= (s+1)*second }
		if p.Kind != tc.kind || tc.to > 0 && (!near(p.FromNS, tc.from) || !near(p.ToNS, tc.to) || p.BurstPct < 50) {
			t.Errorf("%s: %s from %d to %d, %g %%", tc.name, p.Kind, p.FromNS, p.ToNS, p.BurstPct)
		}
	}
}
