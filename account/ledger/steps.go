package ledger

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
)

// Steps is the repetition in a thread's calls: a training step, a decode step. A step ends with a call of Op, or with
// a long one.
type Steps struct {
	Op      event.Op
	Least   uint64     // ns; if not 0, only calls of Op of at least this duration end a step
	Calls   []StepCall // of one step, by op, including Op once; if steps change, of the later ones
	Sampled []Step     // the steps that were examined, by time
}

// StepCall is how often an operation is called per step, the median.
type StepCall struct {
	Op event.Op
	N  int
}

// Step is one repetition.
type Step struct {
	End, Duration uint64 // Unix ns, ns
}

// The repetition is searched in the pattern of calls only.
const (
	minSteps = 8    // least number of repetitions
	regular  = 0.8  // share of the steps that must be alike
	rarest   = 50   // an operation called in fewer than one of so many steps is ignored
	unlike   = 0.1  // share by which the number of calls in a step may differ
	maxWarm  = 0.25 // share of the sampled steps that may be warm-up

	changeParts = 4 // parts of the time to search separately if steps change
)

// FindSteps finds the shortest repetition that has every operation called in at least one of 50 steps. If the calls
// of a step change once, it finds both the steps before and those after. Each span is an unbroken sequence of the
// thread's outermost calls by start; nothing is known of the time between spans. A row of a thinned recording stands
// for Weight calls near its time. Only operations with all calls stored can end a step. It returns false if the calls
// do not repeat.
func FindSteps(spans [][]event.CallTime) (Steps, bool) {
	counts, thinned := map[event.Op]int{}, map[event.Op]int{}
	for _, s := range spans {
		for i := range s {
			counts[s[i].Op] += weight(&s[i])
			thinned[s[i].Op] = max(thinned[s[i].Op], weight(&s[i]))
		}
	}
	var ops []event.Op
	coarse := 1
	for op := range counts {
		coarse = max(coarse, thinned[op])
		if thinned[op] == 1 {
			ops = append(ops, op)
		}
	}
	slices.SortFunc(ops, func(a, b event.Op) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	c := cutter{spans: spans, counts: counts, thinned: thinned, coarse: coarse}
	for _, parts := range []int{1, changeParts} {
		for _, op := range ops {
			if s, ok := c.stepsBy(op, 0, parts); ok {
				return s, true
			}
		}
	}
	for _, parts := range []int{1, changeParts} {
		for _, op := range waiting(counts) { // if a step has several waits, one of them is for its work
			if least := longer(op, spans); least > 0 {
				if s, ok := c.stepsBy(op, least, parts); ok {
					return s, true
				}
			}
		}
	}
	return Steps{}, false
}

// waiting returns the operations that wait for the GPU, the most frequent first.
func waiting(counts map[event.Op]int) []event.Op {
	var ops []event.Op
	for op := range counts {
		if op.Role() == event.RoleSync {
			ops = append(ops, op)
		}
	}
	slices.SortFunc(ops, func(a, b event.Op) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return ops
}

// The conditions for an operation's calls to have two lengths.
const (
	minLonger = 150_000 // ns: shorter calls may be thinned (store.SlowExcess)
	farLonger = 5       // times the next shorter call
)

// longer returns the minimum duration of an operation's long calls, ns; 0 if its calls do not have two lengths that
// are far apart.
func longer(op event.Op, spans [][]event.CallTime) uint64 {
	var d []uint64
	for _, span := range spans {
		for i := range span {
			if span[i].Op == op {
				d = append(d, span[i].Duration)
			}
		}
	}
	slices.Sort(d)
	var least uint64
	widest := float64(farLonger)
	for i := 1; i+minSteps <= len(d); i++ {
		if times := float64(d[i]) / float64(max(d[i-1], 1)); d[i] >= minLonger && times >= widest {
			least, widest = d[i], times
		}
	}
	return least
}

func weight(c *event.CallTime) int { return int(max(c.Weight, 1)) }

// rank prefers, among operations called equally often, the one that ends a step.
func rank(op event.Op) int {
	switch op.Role() {
	case event.RoleSync:
		return 0
	case event.RoleCopy:
		return 1
	}
	return 2
}

// cutter cuts a thread's calls into steps.
type cutter struct {
	spans           [][]event.CallTime
	counts, thinned map[event.Op]int // by operation: number of calls, and the greatest weight of a row
	coarse          int              // numbers of calls are known up to this
}

// stepsBy cuts the spans at calls of an operation that take at least so long, and reports whether the parts repeat:
// over all of the time, or in all but one of several parts with equally many steps, since that one may contain a
// change.
func (c *cutter) stepsBy(op event.Op, least uint64, parts int) (Steps, bool) {
	s := Steps{Op: op, Least: least}
	ends := func(c *event.CallTime) bool { return c.Op == op && c.Duration >= least }
	var calls stepCalls
	times := c.times(ends)
	for o, n := range c.counts {
		if n*rarest*parts >= times {
			calls.add(o)
		}
	}
	var sizes []int
	for _, span := range c.spans {
		last := -1
		for i := range span {
			if !ends(&span[i]) {
				continue
			}
			if last >= 0 {
				s.Sampled = append(s.Sampled, Step{span[i].End(), span[i].End() - min(span[last].End(), span[i].End())})
				sizes = append(sizes, calls.count(span[last+1:i+1]))
			}
			last = i
		}
	}
	repeated, width := 0, len(sizes)/parts
	for i := range parts {
		from, to := i*width, (i+1)*width
		if i == parts-1 {
			to = len(sizes)
		}
		if list, ok := c.repeat(sizes[from:to], &calls, from, op.Role() == event.RoleSync); ok {
			repeated++
			s.Calls = list
		}
	}
	if repeated < max(1, parts-1) || least > 0 && !c.covered(&s) {
		return Steps{}, false
	}
	slices.SortFunc(s.Sampled, func(a, b Step) int { return cmp.Compare(a.End, b.End) })
	return s, true
}

// covered reports whether the steps cover most of the time. If calls were long only at first, because the GPU had
// more work, they do not end later steps.
func (c *cutter) covered(s *Steps) bool {
	var in, all uint64
	for i := range s.Sampled {
		in += s.Sampled[i].Duration
	}
	for _, span := range c.spans {
		if n := len(span); n > 0 {
			all += span[n-1].End() - min(span[0].Start, span[n-1].End())
		}
	}
	return 2*in >= all
}

// times returns how many calls end a step.
func (c *cutter) times(ends func(*event.CallTime) bool) (n int) {
	for _, span := range c.spans {
		for i := range span {
			if ends(&span[i]) {
				n += weight(&span[i])
			}
		}
	}
	return n
}

// repeat reports whether the steps of these sizes, the first of which is the from-th, are alike and call the same
// operations, and returns these operations.
func (c *cutter) repeat(sizes []int, calls *stepCalls, from int, wait bool) ([]StepCall, bool) {
	if len(sizes) < minSteps || !alike(sizes, c.coarse) {
		return nil, false
	}
	var list []StepCall
	for i, o := range calls.ops {
		of := calls.n[i][from : from+len(sizes)]
		present, sum := 0, 0
		for _, v := range of {
			present += min(v, 1)
			sum += v
		}
		each := StepCall{o, stats.Upper(of)}
		if c.thinned[o] > 1 { // a row stands for calls of several steps
			present, each.N = sum, (sum+len(of)/2)/len(of)
		}
		if seldom := present*rarest < len(sizes); seldom && wait {
			continue
		}
		if float64(present) < regular*float64(len(sizes)) {
			return nil, false
		}
		list = append(list, each)
	}
	slices.SortFunc(list, func(a, b StepCall) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Op, b.Op)) })
	return list, true
}

// stepCalls counts how often each step calls each of some operations.
type stepCalls struct {
	ops  []event.Op
	n    [][]int               // per operation, by step
	slot [event.OpSlots]uint16 // an operation's index in ops, plus 1: looked up for every call
}

func (s *stepCalls) add(op event.Op) {
	s.ops, s.n = append(s.ops, op), append(s.n, nil)
	s.slot[op.Slot()] = uint16(len(s.ops))
}

// count adds a step, and returns how many calls of any operation it has.
func (s *stepCalls) count(step []event.CallTime) (sum int) {
	for i := range s.n {
		s.n[i] = append(s.n[i], 0)
	}
	for i := range step {
		w := weight(&step[i])
		sum += w
		if at := s.slot[step[i].Op.Slot()]; at > 0 {
			n := s.n[at-1]
			n[len(n)-1] += w
		}
	}
	return sum
}

// alike reports whether most of the numbers, known up to coarse, are close to their median.
func alike(n []int, coarse int) bool {
	m, near := stats.Upper(n), 0
	for _, v := range n {
		if d := max(v-m, m-v); float64(d) <= unlike*float64(m)+float64(2*(coarse-1)) {
			near++
		}
	}
	return float64(near) >= regular*float64(len(n))
}

// Quantile returns a quantile of the sampled steps' durations in ns, 0 without any.
func (s *Steps) Quantile(q float64) uint64 {
	d := make([]uint64, len(s.Sampled))
	for i := range d {
		d[i] = s.Sampled[i].Duration
	}
	slices.Sort(d)
	return stats.Floor(d, q)
}

// Warmup returns how many steps at the start took more than twice the median, before the first three in a row that
// did not. It is at most a quarter of the steps.
func (s *Steps) Warmup() int {
	limit, good := 2*s.Quantile(0.5), 0
	for i := range s.Sampled {
		if good++; s.Sampled[i].Duration > limit {
			good = 0
		}
		if good == 3 {
			return i - 2
		}
		if float64(i) > maxWarm*float64(len(s.Sampled)) {
			break
		}
	}
	return 0
}

// Trend returns the change of the steps' median duration from the first quarter of the time to the last, as a share
// of the first. It is 0 unless each quarter is slower, or each is faster, than the one before.
func (s *Steps) Trend(from, to uint64) float64 {
	var quarters [4][]uint64
	if to <= from {
		return 0
	}
	for _, p := range s.Sampled {
		if p.End >= from && p.End <= to {
			q := min(3, int(4*float64(p.End-from)/float64(to-from)))
			quarters[q] = append(quarters[q], p.Duration)
		}
	}
	var m [4]float64
	up, down := true, true
	for i, q := range quarters {
		if len(q) < minSteps {
			return 0
		}
		m[i] = float64(stats.Upper(q))
		if i > 0 {
			up, down = up && m[i] > m[i-1], down && m[i] < m[i-1]
		}
	}
	if !up && !down || m[0] == 0 {
		return 0
	}
	return m[3]/m[0] - 1
}
