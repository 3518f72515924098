package diagnose

import (
	"math/rand/v2"
	"testing"

	"github.com/ingero-io/ingero/account/ledger"
)

// TestSmallLossesDoNotHideThePatternOfLargeOnes has small losses all the time. Alone they are constant.
// Next to much larger losses in a tenth of the time they do not count.
func TestSmallLossesDoNotHideThePatternOfLargeOnes(t *testing.T) {
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
		{"heavier in a tenth", irregular, func(f *finding) {
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

// TestSmallLossesBeforeDoNotMoveTheBegin: small losses before do not change when a loss begins. A single
// stall is reported from its begin on.
func TestSmallLossesBeforeDoNotMoveTheBegin(t *testing.T) {
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
