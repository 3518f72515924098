package diagnose

import (
	"math/rand/v2"
	"testing"

	"github.com/ingero-io/ingero/ledger"
)

// TestPatternOfALossThatIsHeavierForAWhile has small losses all the time: alone they are
// constant, beside much heavier ones in a tenth of the time they are not what counts.
func TestPatternOfALossThatIsHeavierForAWhile(t *testing.T) {
	const window, ms = 10_000_000_000, 1_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	lose := func(f *finding, from, to, ns, every uint64) {
		for at := from; at < to; at += every/2 + rng.Uint64N(every) {
			a := &account{Episode: &ledger.Episode{Start: at, Duration: ns}}
			f.add(&piece{acc: a, lost: ns})
		}
	}
	s := &scene{to: window}
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
		if p := f.pattern(s); p.Kind != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, p.Kind, tc.want)
		}
	}
}
