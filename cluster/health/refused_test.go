package health_test

import (
	"math"
	"testing"
	"time"

	"github.com/ingero-io/ingero/cluster/health"
)

// pushing is a node whose rank has two peers on other nodes, which push as they should.
type pushing struct {
	t     *testing.T
	fleet *health.Fleet
	now   time.Duration
}

func newPushing(t *testing.T) *pushing {
	p := &pushing{t: t, fleet: health.NewFleet(), now: 1000 * time.Hour}
	for range 5 {
		p.interval(p.now, 0, 0)
	}
	return p
}

func (p *pushing) push(node int, sent time.Duration, run, number uint64) (refused int) {
	p.t.Helper()
	a := p.fleet.Push(p.now, &health.Push{
		Cohort: 7, Node: uint64(node + 1), Sent: sent, Run: run, Number: number, Size: 3, Width: 1, Merge: 1,
		Ranks: []health.RankPush{{Rank: int32(node), Newest: 5, Interval: 0.5}},
	})
	if a == nil {
		p.t.Fatalf("the push of node %d is refused: %v", node, p.fleet.Refused())
	}
	return len(p.fleet.Refusals(nil))
}

// interval passes until the next push. It returns whether what the node pushed was refused, and whether it is missing.
func (p *pushing) interval(sent time.Duration, run, number uint64) (refused, missing bool) {
	p.t.Helper()
	p.now += health.PushEvery
	refused = p.push(0, sent, run, number) > 0
	p.push(1, p.now, 0, 0)
	p.push(2, p.now, 0, 0)
	for _, v := range p.fleet.Sweep(p.now, nil) {
		missing = missing || v.Kind == health.KindMissing && !v.Resolved
	}
	return refused, missing
}

// The clock of a node is set back. A push of today is counted, and one of an earlier agent is taken again before its
// rank is missing.
func TestAClockThatIsSetBack(t *testing.T) {
	p := newPushing(t)
	for i := range 40 {
		if refused, missing := p.interval(p.now-time.Hour, 0, 0); refused && i > 0 || missing {
			t.Fatalf("an earlier agent, push %d: refused %t, missing %t", i, refused, missing)
		}
	}
	p = newPushing(t)
	for i := range 40 {
		if refused, missing := p.interval(p.now-time.Hour, 9, uint64(i+1)); refused || missing {
			t.Fatalf("push %d: refused %t, missing %t", i, refused, missing)
		}
	}
}

// One push in a node's name, with the latest time or the highest number, keeps none of its own pushes out for long.
func TestOneForgedPushSilencesNobody(t *testing.T) {
	for name, forge := range map[string]func(p *pushing){
		"in 2262":              func(p *pushing) { p.push(0, math.MaxInt64, 0, 0) },
		"of another run":       func(p *pushing) { p.push(0, p.now, 99, math.MaxUint64) },
		"of the run, a number": func(p *pushing) { p.push(0, p.now, 9, math.MaxUint64) },
	} {
		for _, run := range []uint64{0, 9} {
			p := newPushing(t)
			for i := range 10 {
				p.interval(p.now, run, uint64(i+1))
			}
			forge(p)
			after := 0
			for i := range 40 {
				refused, missing := p.interval(p.now, run, uint64(i+20))
				if missing {
					t.Fatalf("%s: missing although it pushes", name)
				}
				if refused {
					after++
				}
			}
			if after > 1 {
				t.Errorf("%s, run %d: %d of 40 pushes are refused", name, run, after)
			}
		}
	}
}

// Within a run, what comes late is not taken, and is no news to its agent; a run that begins anew is taken.
func TestOrderWithinARun(t *testing.T) {
	p := newPushing(t)
	p.push(0, p.now, 9, 5)
	before := p.fleet.Refused()[health.RefusedReplay]
	for _, late := range []uint64{5, 4, 1} {
		if n := p.push(0, p.now+time.Hour, 9, late); n != 0 {
			t.Errorf("number %d is told", late)
		}
	}
	if n := p.fleet.Refused()[health.RefusedReplay] - before; n != 3 {
		t.Errorf("%d of 3 are refused", n)
	}
	p.push(0, 1, 10, 1)
	if n := p.fleet.Refused()[health.RefusedReplay] - before; n != 3 {
		t.Error("another run is refused")
	}
	if p.push(0, p.now, 10, 5000); p.push(0, p.now, 10, 2) != 1 {
		t.Error("what is thousands of pushes behind is not told")
	}
}
