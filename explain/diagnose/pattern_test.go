package diagnose

import (
	"math/rand/v2"
	"testing"

	"github.com/ingero-io/ingero/account/ledger"
)

// TestPatternOfALossThatIsHeavierForAWhile has small losses all the time. Alone they are constant.
// Next to much larger losses in a tenth of the time they do not count.
func TestPatternOfALossThatIsHeavierForAWhile(t *testing.T) {
	const window, ms = 10_000_000_000, 1_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	lose := func(f *finding, from, to, ns, every uint64) {
		for at := from; at < to; at += every/2 + rng.Uint64N(every) {
			a := &account{Episode: &ledger.Episode{Start: at, Duration: ns}}
			f.add(&claim{acc: a, lost: ns})
		}
	}
	ev := &evidence{to: window}
	for _, tc := range []struct {
		name string
		want string
		lose func(*finding)
	}{
		{"always the same", constant, func(f *finding) { lose(f, 0, window, ms, 10*ms) }},
		{"heavier in a tenth", mostly, func(f *finding) {
			lose(f, 0, window, ms/10, 10*ms)
			lose(f, window/2, window/2+window/10, 20*ms, 30*ms)
		}},
		{"heavier by half", constant, func(f *finding) {
			lose(f, 0, window, ms, 10*ms)
			lose(f, window/2, window, ms/2, 10*ms)
		}},
	} {
		f := &finding{sub: &subject{}}
		tc.lose(f)
		if p := f.pattern(ev); p.Kind != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, p.Kind, tc.want)
		}
	}
}

// TestALossBeginsWhereItCounts: small losses before do not change when a loss begins. A single
// stall is reported from its begin on.
func TestALossBeginsWhereItCounts(t *testing.T) {
	const window, ms = 12_000_000_000, 1_000_000
	lose := func(f *finding, from, to, ns, every uint64) {
		for at := from; at < to; at += every {
			f.add(&claim{acc: &account{Episode: &ledger.Episode{Start: at, Duration: ns}}, lost: ns})
		}
	}
	for _, tc := range []struct {
		name string
		lose func(*finding)
		want uint64
	}{
		{"noise, and from 3 s on a neighbour", func(f *finding) {
			lose(f, ms/2, window/4, ms/4, 20*ms)
			lose(f, window/4, window, 3*ms, 20*ms)
		}, window / 4},
		{"one stall", func(f *finding) { lose(f, 7_123*ms, 7_124*ms, 900*ms, 10*ms) }, 7_123 * ms},
		{"from the begin on", func(f *finding) { lose(f, 5*ms, window, ms, 10*ms) }, 5 * ms},
	} {
		f := &finding{sub: &subject{}}
		tc.lose(f)
		if got := f.pattern(&evidence{to: window}).FromNS; got != tc.want {
			t.Errorf("%s: from %d ns on, want %d", tc.name, got, tc.want)
		}
	}
}

// TestALossIsDatedByWhatIsLost: ten seconds of 50 lose most, though some is lost in each second.
func TestALossIsDatedByWhatIsLost(t *testing.T) {
	const window, ms, second = 50_000_000_000, 1_000_000, 1_000_000_000
	rng := rand.New(rand.NewPCG(3, 4))
	lose := func(f *finding, from, to, ns, every uint64) {
		for at := from; at < to; at += every/2 + rng.Uint64N(every) {
			f.add(&claim{acc: &account{Episode: &ledger.Episode{Start: at, Duration: ns}}, lost: ns})
		}
	}
	for _, tc := range []struct {
		name     string
		lose     func(*finding)
		kind     string
		from, to uint64 // s; 0: not known
	}{
		{"some all the time", func(f *finding) {
			lose(f, 0, window, 2*ms, 40*ms)
			lose(f, 21*second, 32*second, 12*ms, 40*ms)
		}, mostly, 21, 32},
		{"to the end", func(f *finding) {
			lose(f, 0, window, 2*ms, 40*ms)
			lose(f, 39*second, window, 12*ms, 40*ms)
		}, mostly, 39, 50},
		{"a little more in a part", func(f *finding) {
			lose(f, 0, window, 4*ms, 40*ms)
			lose(f, 21*second, 32*second, 4*ms, 40*ms)
		}, constant, 0, 0},
		{"growing", func(f *finding) {
			for i := range uint64(50) {
				lose(f, i*second, (i+1)*second, ms+i*ms/4, 40*ms)
			}
		}, growing, 0, 0},
	} {
		f := &finding{sub: &subject{}}
		tc.lose(f)
		p := f.pattern(&evidence{to: window})
		near := func(ns, s uint64) bool { return ns+second >= s*second && ns <= (s+1)*second }
		if p.Kind != tc.kind || tc.to > 0 && (!near(p.FromNS, tc.from) || !near(p.ToNS, tc.to) || p.BurstPct < 50) {
			t.Errorf("%s: %s from %d to %d, %g %%", tc.name, p.Kind, p.FromNS, p.ToNS, p.BurstPct)
		}
	}
}
