package health

import (
	"math"
	"slices"
	"time"
)

type bucket struct {
	position   uint64
	x          float32
	start, end time.Duration
	samples    int
}

// close ends the bucket that is being filled.
func (r *Rank) close(end time.Duration) {
	if !r.filling || len(r.samples) == 0 {
		r.filling = false
		return
	}
	r.filling = false
	x, n := 0.0, len(r.samples)
	if r.merge > 1 {
		x = mean(r.samples)
	} else {
		x = typical(r.samples)
	}
	r.samples = r.samples[:0]
	if r.merge > 1 {
		r.part(x, end)
		return
	}
	r.end(bucket{position: r.position, x: float32(x), start: r.start, end: end, samples: n})
}

// part adds a bucket to those that are being merged.
func (r *Rank) part(x float64, end time.Duration) {
	m := uint64(r.merge)
	if r.position%m == 0 {
		r.parts = r.parts[:0]
	}
	if uint64(len(r.parts)) != r.position%m { // one of them is missing
		return
	}
	r.parts = append(r.parts, math.Exp(x))
	if uint64(len(r.parts)) < m {
		return
	}
	sorted := slices.Clone(r.parts)
	most := mergeStall * pick(sorted, (len(sorted)-1)/2)
	sum := 0.0
	for _, v := range r.parts {
		sum += min(v, most)
	}
	x = math.Log(sum / float64(m))
	start := end - time.Duration(float64(end-r.start)*float64(m))
	if b := &r.buckets[r.newest%Kept]; r.ended > 0 && b.position == r.newest && r.newest+1 == r.position/m {
		start = b.end
	}
	r.end(bucket{position: r.position / m, x: float32(x), start: start, end: end})
}

func (r *Rank) end(b bucket) {
	if !usable(b.x) {
		return
	}
	r.buckets[b.position%Kept] = b
	r.newest = b.position
	r.ended++
	p := point{y: float64(b.x), start: b.start, end: b.end}
	if r.mode == ModeFleet || r.mode == ModeNone {
		if !r.peers.suspect() {
			r.self.follow(p)
		}
	}
}

// typical returns a bucket's value, as a log, from the logs of its samples' own work.
func typical(samples []float32) float64 {
	n := len(samples)
	switch {
	case n >= medianFrom:
		m := pick(samples, n/2)
		if n%2 == 1 {
			return float64(m)
		}
		return float64(slices.Max(samples[:n/2])+m) / 2
	case n >= trimFrom:
		sum := float32(0)
		for _, v := range samples {
			sum += v
		}
		return float64(sum-slices.Max(samples)) / float64(n-1)
	}
	return mean(samples)
}

// mean returns the log of the mean of values given as logs.
func mean(samples []float32) float64 {
	if len(samples) == 1 {
		return float64(samples[0])
	}
	sum := 0.0
	for _, v := range samples {
		sum += math.Exp(float64(v))
	}
	return math.Log(sum / float64(len(samples)))
}

// resize changes the size of buckets. It drops the buckets and keeps what was learned of the rank.
func (r *Rank) resize(width, merge uint32) {
	if width == 0 || width > MaxWidth || merge == 0 || merge > MaxMerge {
		return
	}
	if r.width > 0 {
		ratio := float64(width) * float64(merge) / (float64(r.width) * float64(r.merge))
		r.peers.resize(ratio)
		r.self.resize(ratio)
	}
	r.width, r.merge = width, merge
	r.filling, r.samples, r.parts = false, r.samples[:0], r.parts[:0]
	r.buckets = [Kept]bucket{}
	r.next, r.selfNext, r.newest, r.ended = 0, 0, 0, 0
}

// width returns how many steps of interval seconds make a bucket; if free, how many seconds.
func width(interval float64, free bool) uint32 {
	if free {
		w := FreeBucket.Seconds()
		for w < 3*interval && w < MaxWidth {
			w *= 2
		}
		return uint32(w)
	}
	return uint32(min(max(math.Round(BucketTime.Seconds()/interval), 1), MaxWidth))
}
