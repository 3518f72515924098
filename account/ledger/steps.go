package ledger

import (
	"cmp"
	"slices"

	"github.com/ingero-io/ingero/event"
)

// Steps are the steps in one thread's calls: training steps, decode steps. A step ends when a call
// of Op ends, or only when a long one does.
type Steps struct {
	Op      event.Op
	Least   uint64     // ns; if not 0, only calls of Op at least this long end a step
	Calls   []StepCall // of one step, with Op once; where steps change, of the later steps
	Sampled []Step     // the steps that were examined, by time
}

// StepCall is how often an operation is called in a step (the median).
type StepCall struct {
	Op event.Op
	N  int
}

// Step is one step.
type Step struct {
	End, Duration uint64 // Unix ns, ns
}

// Steps are found in the pattern of calls alone.
const (
	minSteps = 8    // least number of steps
	regular  = 0.8  // share of the steps that must look alike
	rarest   = 50   // an operation called in fewer than one of so many steps does not belong to steps
	unlike   = 0.1  // largest relative difference of the number of calls in a step from the median
	maxWarm  = 0.25 // share of the sampled steps that may be warm-up

	changeParts = 4 // parts in which steps are searched separately, if they change over time
)

// FindSteps finds the shortest step that holds every operation which is called in at least one of
// 50 steps. If what a step calls changes once, the steps before and after the change are found.
// Each span is an unbroken sequence of the thread's outermost calls by start; nothing is known of
// the time between spans. A row of a thinned recording stands for Weight calls at about its time; a
// step ends with an operation that was not thinned. It is false if there are no steps.
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
		for _, op := range waiting(counts) { // of many waits in a step, the long one is for its work
			if least := longer(op, spans); least > 0 {
				if s, ok := c.stepsBy(op, least, parts); ok {
					return s, true
				}
			}
		}
	}
	return Steps{}, false
}

// waiting are the operations that wait for the GPU, the most frequent first.
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

// When calls of an operation are of two lengths, short and long.
const (
	minLonger = 150_000 // ns: shorter calls may be thinned (store.SlowExcess)
	farLonger = 5       // least ratio of the shortest long call to the longest short one
)

// longer is the least duration of an operation's long calls, ns; 0 if its calls are not of two very
// different lengths.
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

// rank orders operations that are called equally often: the one that more likely ends a step comes
// first.
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
	counts, thinned map[event.Op]int // by operation: calls, and the most calls that one row stands for
	coarse          int              // precision of numbers of calls: the largest weight of a row
}

// stepsBy cuts the spans at the calls of an operation that take at least least ns, and tells
// whether the pieces are alike: in all of the time, or, of several parts with equally many steps,
// in all but one, in which the change may be.
func (c *cutter) stepsBy(op event.Op, least uint64, parts int) (Steps, bool) {
	s := Steps{Op: op, Least: least}
	ends := func(c *event.CallTime) bool { return c.Op == op && c.Duration >= least }
	calls := map[event.Op]*[]int{} // of each step
	times := c.times(ends)
	for o, n := range c.counts {
		if n*rarest*parts >= times {
			calls[o] = new([]int)
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
				sizes = append(sizes, countCalls(calls, span[last+1:i+1]))
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
		if list, ok := c.repeat(sizes[from:to], calls, from, op.Role() == event.RoleSync); ok {
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

// covered reports whether the steps cover at least half of the time. Calls that were long only at
// first, because the GPU's work was, do not end steps later on.
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

// times is how many calls end a step.
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

// repeat tells whether the steps of these sizes, beginning with the from-th step, are alike and
// call the same operations, and which operations these are.
func (c *cutter) repeat(sizes []int, calls map[event.Op]*[]int, from int, wait bool) ([]StepCall, bool) {
	if len(sizes) < minSteps || !alike(sizes, c.coarse) {
		return nil, false
	}
	var list []StepCall
	for o, n := range calls {
		of := (*n)[from : from+len(sizes)]
		present, sum := 0, 0
		for _, v := range of {
			present += min(v, 1)
			sum += v
		}
		each := StepCall{o, median(of)}
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

// tally appends how often each operation is called in a step; it returns the number of all calls.
func tally(calls map[event.Op]*[]int, step []event.CallTime) (sum int) {
	for _, n := range calls {
		*n = append(*n, 0)
	}
	for i := range step {
		w := weight(&step[i])
		sum += w
		if n := calls[step[i].Op]; n != nil {
			(*n)[len(*n)-1] += w
		}
	}
	return sum
}

// alike reports whether most of the numbers, which have the precision coarse, are close to their
// median.
func alike(n []int, coarse int) bool {
	m, near := median(n), 0
	for _, v := range n {
		if d := max(v-m, m-v); float64(d) <= unlike*float64(m)+float64(2*(coarse-1)) {
			near++
		}
	}
	return float64(near) >= regular*float64(len(n))
}

func median[T cmp.Ordered](v []T) T {
	if len(v) == 0 {
		var zero T
		return zero
	}
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// Quantile is a quantile of the sampled steps' durations, ns; 0 without any.
func (s *Steps) Quantile(q float64) uint64 {
	if len(s.Sampled) == 0 {
		return 0
	}
	d := make([]uint64, len(s.Sampled))
	for i := range d {
		d[i] = s.Sampled[i].Duration
	}
	slices.Sort(d)
	return d[int(q*float64(len(d)-1))]
}

// Warmup is the number of steps at the start before the first three in a row that took at most
// twice the median. It is 0 if these come after more than a quarter of the steps.
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

// Trend is the change of the steps' median duration from the first quarter of the time to the last,
// as a share of the first. It is 0 unless every quarter is slower, or every quarter is faster, than
// the one before.
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
		m[i] = float64(median(q))
		if i > 0 {
			up, down = up && m[i] > m[i-1], down && m[i] < m[i-1]
		}
	}
	if !up && !down || m[0] == 0 {
		return 0
	}
	return m[3]/m[0] - 1
}
