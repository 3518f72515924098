package compare_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/account/ledger"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/compare"
)

// If a thread makes many calls, only some are stored, and with several waits per step its repetition may not be
// visible. A wait is then not a measure: there are three where there was one.
func TestAnOperationThatIsCalledMoreOftenIsNoUnit(t *testing.T) {
	other := normal
	other.syncs = 3
	without := func(s *compare.Side) *compare.Side {
		s.Profiles[0].Count, s.Profiles[0].Steps = 0, ledger.Steps{}
		return s
	}
	for name, sides := range map[string][2]*compare.Side{
		"steps in A":       {side(t, 1, 20, normal, nil), without(side(t, 2, 20, other, nil))},
		"no steps":         {without(side(t, 1, 20, normal, nil)), without(side(t, 2, 20, other, nil))},
		"chance":           {side(t, 1, 20, normal, nil), without(side(t, 2, 19, other, nil))},
		"called at begin":  {rare(t, side(t, 1, 20, normal, nil), 200), rare(t, without(side(t, 2, 20, other, nil)), 91)},
		"called now, then": {rare(t, side(t, 1, 20, normal, nil), 20), rare(t, without(side(t, 2, 20, other, nil)), 9)},
	} {
		x := compare.Compare(sides[0], sides[1]).Threads[0]
		p := x.Parts[0]
		if x.Unit != "cudaMemcpyAsync" || p.Op != "cudaStreamSynchronize" || p.A != 1 || p.B != 3 ||
			math.Abs(float64(x.DifferenceNS)-2*600_000) > 1e4 {
			t.Errorf("%s: from one %s to the next, %d ns more; first part %+v", name, x.Unit, x.DifferenceNS, p)
		}
	}
	one := without(side(t, 2, 20, normal, nil))
	if x := compare.Compare(side(t, 1, 20, normal, nil), one).Threads[0]; x.Unit != "cudaStreamSynchronize" || x.Changed {
		t.Errorf("the operation that ends the steps of one is the unit of equal ones: %+v", x)
	}
}

// rare adds some calls of an operation, all in the first second.
func rare(t *testing.T, s *compare.Side, calls uint64) *compare.Side {
	t.Helper()
	p := &s.Profiles[0]
	o := *p.Ops[0]
	o.Op, o.Calls, o.SumNS, o.Ledger = op(t, "cudaMalloc"), calls, calls, event.Ledger{}
	p.Ops = append(p.Ops, &o)
	n := p.Series[0]
	n.Op, n.Calls = o.Op, calls
	p.Series = append(p.Series, n)
	return s
}

func TestWhatIsComparedSaysItsUnit(t *testing.T) {
	a, b := side(t, 1, 20, normal, nil), side(t, 2, 20, normal, nil)
	for _, s := range []*compare.Side{a, b} {
		p := &s.Profiles[0]
		p.Count, p.Steps, p.Ops, p.Series = 0, ledger.Steps{}, p.Ops[2:], nil // only copies
	}
	if r := compare.Compare(a, b); r.Threads[0].Unit != "second" || strings.Contains(r.Verdict, "cuda") {
		t.Errorf("unit %s: %s", r.Threads[0].Unit, r.Verdict)
	}
}
