// Package arrival finds the rank that the others wait for, from the collective operations of all ranks. It is pure.
//
// A collective ends at about the same moment for all its ranks, so the rank that entered last spends the least time
// in it. A rank is late by as much as its time is shorter than the median of the others' times: clocks of different
// nodes are never compared. A rank is late on its own account if the time since its last collective, by its own
// clock, was longer than the others'. Otherwise another rank held it up in another communicator.
package arrival

import (
	"cmp"
	"math"
	"slices"

	"github.com/ingero-io/ingero/echo/outlier"
)

const (
	// Fewest is the least number of ranks that are compared, FewestCollectives that of collectives.
	Fewest            = 3
	FewestCollectives = 20
	// leastNS is the least lateness that counts; sigmas is how many usual standard deviations it must be.
	leastNS = 1e6
	sigmas  = 6
	// fewestLate is how often a rank must be late to be blamed, leastLost the share of the time that it must cost.
	fewestLate = 3
	leastLost  = 0.01
	// ownShare is the share of a rank's lateness that its own time must show.
	ownShare = 0.5
	// twoGroups is how many times the half-width the MAD is if there are two groups. Of normally distributed numbers both
	// are the same; of those whose logarithms are, with a standard deviation of 2, the MAD is 1.8 times as much.
	twoGroups = 2
	// regular is the share of distances between late collectives that must be equal for them to be regular.
	regular = 0.6
)

// Rank identifies a rank. Processes of a node may have the same number, in different communicators.
type Rank struct {
	Cluster, Node string
	Rank          int32
}

// Process is a rank's process. PID is 0 if it is not known; then all of a node with the same number are taken for one.
type Process struct {
	Rank
	PID int64
}

// Compare orders processes.
func (p Process) Compare(q Process) int {
	return cmp.Or(cmp.Compare(p.Cluster, q.Cluster), cmp.Compare(p.Node, q.Node), cmp.Compare(p.Rank.Rank, q.Rank.Rank),
		cmp.Compare(p.PID, q.PID))
}

// Span is a rank's part of a collective. Times are nanoseconds since the Unix epoch, by the clock of its node.
type Span struct {
	Process
	Comm string // the communicator
	Seq  int64  // the collective's number within it
	// Enter and Exit are when the rank entered and left the collective, Before is when it left its last one, of any
	// communicator; 0: not known.
	Enter, Exit, Before int64
	// OneOf is how many collectives this one represents, if only samples were sent; 0: only itself. If any rank did not
	// send its part as a sample, the collective represents only itself.
	OneOf int64
}

// Late is a rank that was late.
type Late struct {
	Process
	// Times is how often it was late, in Collectives that it was compared in. Held is how often others held it up. All
	// count the collectives that samples represent.
	Times, Collectives, Held int
	// First and Last are when it was late first and last: the times of entry, in nanoseconds since the Unix epoch. From
	// is when it entered the first collective that is compared.
	From, First, Last int64
	// MedianNS and MaxNS are how late it was in those cases.
	MedianNS, MaxNS float64
	// OwnNS is the median of its own time before those collectives, PeerNS that of the others before the same ones.
	OwnNS, PeerNS float64
	// LostNS is how long it delayed the collectives that it was last in, WaitedNS the sum of the others' waits: of each
	// as long as it entered before. LostShare is LostNS as a share of the time from its first to its last collective.
	LostNS, WaitedNS, LostShare float64
	// WaitedBy has WaitedNS by the nodes of those that waited.
	WaitedBy map[string]float64
	// Waiting is the number of ranks that wait for it each time, at least half as long as it is late: the median.
	Waiting int
	// Every is set if it is late in one of so many collectives; 0: not regularly.
	Every int64
	// Blamed: it was late often and at enough cost. Otherwise Why says why not.
	Blamed bool
	Why    string
}

// Result is the result of a comparison.
type Result struct {
	Ranks []Process // that took part, sorted
	Nodes int       // that took part
	// Collectives is how many were compared, Alone how many were not: fewer than Fewest ranks sent their part.
	Collectives, Alone int
	// From and To are the first and the last time in the collectives, by any clock. SpanNS is their length by one clock:
	// the median of the ranks'.
	From, To int64
	SpanNS   float64
	// UsualNS is how much the lateness of a rank usually varies, as a median absolute deviation. ThresholdNS is the
	// lateness that counts.
	UsualNS, ThresholdNS float64
	// Unjudged counts how often ranks were late, and it is not known whether on their own account.
	Unjudged int
	// ClockNS is how much clocks of ranks differ: the greatest distance from the median, in nanoseconds.
	ClockNS float64
	// Late lists the late ranks, the most costly first.
	Late []Late
	// Thin says why nobody can be blamed; empty: somebody can.
	Thin string
}

// Options of a comparison.
type Options struct {
	// Share is the share of all collectives that the spans have; 0: all. Lost times are scaled to all.
	Share float64
}

// Compare compares the ranks of a job. It does not change the spans.
func Compare(spans []Span, o Options) Result {
	c := comparison{share: o.Share, ranks: map[Process]*tally{}}
	if c.share <= 0 || c.share > 1 {
		c.share = 1
	}
	c.collect(spans)
	c.judge()
	return c.out
}

// comparison is the state of a comparison.
type comparison struct {
	share       float64
	out         Result
	collectives [][]Span
	ranks       map[Process]*tally
	list        []Process // sorted
}

// tally is the state of a rank.
type tally struct {
	Late
	lateness, own, peers, waiting []float64
	sentLate                      int                // sent collectives in which it was late
	seqs                          map[string][]int64 // by communicator
	offsets                       []float64          // of its clock
	to                            int64              // its last exit, by its clock
}

// collect groups spans by collective.
func (c *comparison) collect(spans []Span) {
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Comm, b.Comm), cmp.Compare(a.Seq, b.Seq),
			a.Process.Compare(b.Process), cmp.Compare(a.Enter, b.Enter))
	})
	sorted = once(sorted)
	nodes := map[[2]string]bool{}
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && same(sorted[0], sorted[n]) {
			n++
		}
		one := sorted[:n]
		sorted = sorted[n:]
		for _, s := range one {
			if c.ranks[s.Process] == nil {
				c.ranks[s.Process] = &tally{
					Late: Late{Process: s.Process, WaitedBy: map[string]float64{}}, seqs: map[string][]int64{},
				}
				nodes[[2]string{s.Cluster, s.Node}] = true
			}
		}
		if n < Fewest {
			c.out.Alone++
			continue
		}
		c.collectives = append(c.collectives, one)
	}
	c.out.Nodes, c.out.Collectives = len(nodes), len(c.collectives)
	for r := range c.ranks {
		c.list = append(c.list, r)
	}
	slices.SortFunc(c.list, Process.Compare)
	c.out.Ranks = c.list
}

// once joins what ranks sent of a collective twice: as a sample, and as one that was notable or in which the rank
// waited. The second one knows less of what was before, the first one not that it was no sample.
func once(sorted []Span) []Span {
	out := sorted[:0]
	for _, s := range sorted {
		if n := len(out) - 1; n >= 0 && same(out[n], s) && out[n].Process == s.Process {
			out[n].OneOf = min(max(1, out[n].OneOf), max(1, s.OneOf))
			out[n].Before = max(out[n].Before, s.Before)
			continue
		}
		out = append(out, s)
	}
	return out
}

func same(a, b Span) bool { return a.Cluster == b.Cluster && a.Comm == b.Comm && a.Seq == b.Seq }

func (c *comparison) judge() {
	if len(c.collectives) == 0 {
		c.out.Thin = "no collective was told of by 3 ranks"
		return
	}
	late := make([][]float64, len(c.collectives)) // by collective and rank
	for i, one := range c.collectives {
		late[i] = lateness(one)
		c.clocks(one)
	}
	c.out.UsualNS = c.usual(late)
	c.out.ThresholdNS = max(leastNS, sigmas*1.4826*c.out.UsualNS)
	for i, one := range c.collectives {
		c.blame(one, late[i])
	}
	if len(c.collectives) < FewestCollectives {
		c.out.Thin = "fewer than 20 collectives can be compared"
	}
	c.finish()
}

// oneOf returns how many collectives a rank's part of one represents. Ranks may differ in that. If a rank did not
// send its part as a sample, it represents only itself.
func oneOf(one []Span) func(s *Span) int {
	for i := range one {
		if one[i].OneOf <= 1 {
			return func(*Span) int { return 1 }
		}
	}
	return func(s *Span) int { return int(min(s.OneOf, math.MaxInt32)) }
}

// clocks notes how much each rank's clock differs from the median, since all ranks leave at the same moment.
func (c *comparison) clocks(one []Span) {
	exits := make([]float64, len(one))
	for i, s := range one {
		exits[i] = float64(s.Exit - one[0].Exit) // small numbers are exact
		t := c.ranks[s.Process]
		if len(t.offsets) == 0 || s.Enter < t.From {
			t.From = s.Enter
		}
		t.to = max(t.to, s.Exit)
	}
	middle := outlier.Median(exits)
	for i, s := range one {
		t := c.ranks[s.Process]
		t.offsets = append(t.offsets, exits[i]-middle)
	}
}

// blame notes who was late in a collective, and the cost.
func (c *comparison) blame(one []Span, late []float64) {
	own := make([]float64, 0, len(one))
	at := make([]int, len(one)) // index in own
	for i, s := range one {
		at[i] = -1
		if s.Before > 0 {
			at[i] = len(own)
			own = append(own, float64(max(0, s.Enter-s.Before))) // 0: it entered before it left the last one
		}
	}
	var others func(int) float64
	if len(own) >= Fewest {
		others = without(own)
	}
	last, of := 0, oneOf(one)
	for i, s := range one {
		c.ranks[s.Process].Collectives += of(&s)
		if late[i] > late[last] {
			last = i
		}
	}
	for i, s := range one {
		if late[i] < c.out.ThresholdNS {
			continue
		}
		if others == nil || at[i] < 0 || s.Before > s.Enter { // another one of its own still went on
			c.out.Unjudged += of(&s)
			continue
		}
		t, stands := c.ranks[s.Process], of(&s)
		mine, peers := own[at[i]], others(at[i])
		if mine-peers < ownShare*late[i] {
			t.Held += stands
			continue
		}
		t.Times += stands
		t.sentLate++
		if t.First == 0 || s.Enter < t.First {
			t.First = s.Enter
		}
		t.Last, t.MaxNS = max(t.Last, s.Enter), max(t.MaxNS, late[i])
		t.lateness, t.own, t.peers = append(t.lateness, late[i]), append(t.own, mine), append(t.peers, peers)
		if stands == 1 { // otherwise the distances are those of samples
			t.seqs[s.Comm] = append(t.seqs[s.Comm], s.Seq)
		}
		if weight := float64(stands) / c.share; i == last {
			t.LostNS += late[i] * weight
			t.waits(one, i, late[i], weight)
		} else {
			t.waits(one, i, late[i], 0)
		}
	}
}

// waits adds how long the others wait for the one of index i, which is late.
func (t *tally) waits(one []Span, i int, late, weight float64) {
	waiting := 0
	for k := range one {
		wait := float64(max(0, one[k].Exit-one[k].Enter) - max(0, one[i].Exit-one[i].Enter))
		if k == i || wait <= 0 {
			continue
		}
		if wait >= late/2 {
			waiting++
		}
		if weight > 0 {
			t.WaitedNS += wait * weight
			t.WaitedBy[one[k].Node] += wait * weight
		}
	}
	t.waiting = append(t.waiting, float64(waiting))
}

// finish decides who is blamed.
func (c *comparison) finish() {
	c.spans()
	for _, r := range c.list {
		t := c.ranks[r]
		if t.Times == 0 {
			continue
		}
		l := t.Late
		l.MedianNS, l.OwnNS, l.PeerNS = outlier.Median(t.lateness), outlier.Median(t.own), outlier.Median(t.peers)
		l.Waiting = int(outlier.Median(t.waiting))
		if span := float64(t.to - t.From); span > 0 {
			l.LostShare = l.LostNS / span
		}
		if c.share == 1 {
			l.Every = every(t.seqs)
		}
		switch {
		case c.out.Thin != "":
			l.Why = c.out.Thin
		case t.sentLate < fewestLate:
			l.Why = "it was late less than 3 times"
		case l.LostShare < leastLost:
			l.Why = "it cost less than 1 % of the time"
		default:
			l.Blamed = true
		}
		c.out.Late = append(c.out.Late, l)
	}
	slices.SortStableFunc(c.out.Late, func(a, b Late) int { return cmp.Compare(b.LostNS, a.LostNS) })
}

// spans sets the length of the collectives, and how much clocks differ.
func (c *comparison) spans() {
	var spans []float64
	for _, r := range c.list {
		t := c.ranks[r]
		if len(t.offsets) == 0 {
			continue
		}
		spans = append(spans, float64(t.to-t.From))
		c.out.ClockNS = max(c.out.ClockNS, math.Abs(outlier.Median(t.offsets)))
		if c.out.From == 0 || t.From < c.out.From {
			c.out.From = t.From
		}
		c.out.To = max(c.out.To, t.to)
	}
	if len(spans) > 0 {
		c.out.SpanNS = outlier.Median(spans)
	}
}
