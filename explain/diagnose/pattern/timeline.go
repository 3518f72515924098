package pattern

import (
	"math"
	"slices"
)

// Parts is the resolution of a report's timeline.
const Parts = 40

// Timeline is the share of lost time in each of equal parts of a time.
type Timeline []float64

// Add adds ns of time lost from a time on to a timeline of the time from begin to end, Unix ns. To a
// timeline of no time it adds nothing.
func (t Timeline) Add(from, ns, begin, end uint64) {
	if end <= begin {
		return
	}
	width := float64(end-begin) / float64(len(t))
	start := float64(max(from, begin) - begin)
	stop := start + float64(ns)
	for i := int(start / width); i < len(t) && float64(i)*width < stop; i++ {
		t[i] += max(0, min(stop, float64(i+1)*width)-max(start, float64(i)*width)) / width
	}
}

// Round rounds the shares to thousandths, and limits them to 1.
func (t Timeline) Round() {
	for i, v := range t {
		t[i] = math.Round(min(v, 1)*1000) / 1000
	}
}

// Within returns the time lost from one time to another of a timeline from begin to end, ns.
func (t Timeline) Within(begin, end, from, to uint64) (ns float64) {
	width := float64(end-begin) / float64(len(t))
	for i, v := range t {
		at := float64(begin) + float64(i)*width
		ns += v * max(0, min(float64(to), at+width)-max(float64(from), at))
	}
	return ns
}

// covered returns the share of the timeline's parts that lost something, and at least the given share of
// what the largest part lost.
func (t Timeline) covered(share float64) float64 {
	n, least := 0, share*slices.Max(t)
	for _, v := range t {
		if v > 0 && v >= least {
			n++
		}
	}
	return float64(n) / float64(len(t))
}

// grows reports whether each quarter lost more than the one before, and the last at least grewBy
// times as much as the first.
func (t Timeline) grows() bool {
	var quarter [4]float64
	for i, v := range t {
		quarter[4*i/len(t)] += v
	}
	return quarter[0] < quarter[1] && quarter[1] < quarter[2] && quarter[2] < quarter[3] && quarter[3] >= grewBy*quarter[0]
}
