package health

import (
	"math"
	"time"
)

// point is a bucket's value as input of the test.
type point struct {
	y          float64 // log: own work over what it is compared with, before the offset
	start, end time.Duration
	noise      float64 // of the cohort; 0: not known
	n          int     // ranks compared
	sparse     bool    // fewer than 3 samples, or merged: a hiccup may span two buckets
}

// cusum sums the evidence that a rank is slower, given its noise and offset.
type cusum struct {
	whole bool // take the offset in full and unbounded: ranks of different kinds, or the rank's own past

	seen   int
	warm   [warmBuckets]float64
	wall   [warmBuckets]float64 // seconds
	offset float64
	dev    float64 // mean |e|, scaled to a standard deviation
	square float64 // mean e²
	length float64 // usual length of a bucket in seconds

	g, h    float64
	sigma   float64
	excess  float64 // of the last bucket
	rising  bool    // the last bucket added evidence
	since   time.Duration
	alarmed bool
	quiet   time.Duration // if alarmed: how long g has been 0
	lane    lane
}

// change is the effect of a bucket on the alarm.
type change uint8

const (
	nothing change = iota
	raised
	cleared
)

// add judges a bucket, or learns from it.
func (c *cusum) add(p point) change {
	wall := max(p.end-p.start, time.Millisecond)
	if c.seen < warmBuckets {
		c.warm[c.seen], c.wall[c.seen] = p.y, wall.Seconds()
		c.seen++
		if c.seen == warmBuckets {
			c.learnFirst()
		}
		return nothing
	}
	c.seen++
	d := wall.Seconds()
	c.length += 0.02 * (min(max(d, 0.9*c.length), 1.1*c.length) - c.length)
	e := p.y - c.offset
	c.excess = e
	c.sigma = noiseFactor * max(noiseLeast, c.dev, p.noise, math.Sqrt(c.square))
	c.h = threshold(p.n)
	if c.g == 0 && !c.alarmed {
		c.since = p.start
	}
	c.g = min(max(c.g+c.credit(e, d, p.sparse), 0), c.h)
	slow := c.lane.add(e, d, c.h)
	if slow && !c.alarmed {
		c.g, c.quiet, c.since = c.h, -30*time.Second, p.end-laneFewest*laneTime
	}
	out := c.judge(wall)
	if !c.suspect() {
		c.learn(e, d)
	}
	return out
}

// credit returns the evidence in an excess e of a bucket of d seconds.
func (c *cusum) credit(e, d float64, sparse bool) float64 {
	fill := hiccupLongest.Seconds() + c.length
	if sparse {
		fill += c.length
	}
	fill = max(fill, fillLeast.Seconds())
	l := slower / (c.sigma * c.sigma) * (e - slower/2)
	l = min(l, c.h/fewestBuckets, c.h*d/fill)
	if !c.rising && e > stallFrom && c.length < stallBucket.Seconds() {
		l = min(l, stallCredit)
	}
	c.rising = l > 0
	return max(l, -c.h)
}

func (c *cusum) judge(wall time.Duration) change {
	switch {
	case !c.alarmed && c.g >= c.h-1e-9:
		c.alarmed = true
		c.quiet = min(c.quiet, 0)
		return raised
	case c.alarmed && c.g > 0:
		c.quiet = min(c.quiet, 0)
	case c.alarmed:
		if c.quiet += wall; c.quiet >= resolveAfter {
			c.alarmed, c.quiet = false, 0
			return cleared
		}
	}
	return nothing
}

// suspect reports whether the evidence is so strong that nothing may be learned.
func (c *cusum) suspect() bool {
	return c.alarmed || c.calibrated() && c.h > 0 && c.g >= suspectShare*c.h
}

func (c *cusum) calibrated() bool { return c.seen >= warmBuckets }

// learnFirst computes the offset and the noise from the first buckets. It is cautious: noise counts 1.4 times, and
// the offset shrinks with its uncertainty.
func (c *cusum) learnFirst() {
	s := c.warm
	m := median(s[:])
	for i, v := range s {
		s[i] = math.Abs(v - m)
	}
	typical := median(s[:])
	mean := 0.0
	largest, second := 0.0, 0.0
	for _, v := range s {
		mean += v
		if v > largest {
			largest, second = v, largest
		} else {
			second = max(second, v)
		}
	}
	mean = (mean - largest - second) / (warmBuckets - 2)
	c.dev = 1.4 * max(typical, mean)
	for _, v := range s {
		v = min(v, 5*c.dev)
		c.square += v * v / warmBuckets
	}
	c.square = max(c.square, c.dev*c.dev)
	w := c.wall
	c.length = median(w[:])
	if c.whole {
		c.offset = m
		return
	}
	uncertain := math.Pi / 2 * c.dev * c.dev / warmBuckets // variance of a median
	weight := offsetSpread * offsetSpread / (offsetSpread*offsetSpread + uncertain)
	c.offset = min(max(weight*m, -offsetMost), offsetMost)
}

// learn updates the noise and the offset. A single outlier moves them little.
func (c *cusum) learn(e, d float64) {
	raw := max(c.dev, 0.002)
	c.dev += (min(math.Abs(e), 3*raw)*math.Sqrt(math.Pi/2) - c.dev) / 64
	c.square += (min(e*e, 25*raw*raw) - c.square) / 128
	c.offset += min(max(e, -2*raw), 2*raw) * min(1, d/offsetLeak.Seconds())
	if !c.whole {
		c.offset = min(max(c.offset, -offsetMost), offsetMost)
	}
}

// follow updates the offset with y, without judging it.
func (c *cusum) follow(p point) {
	if !c.calibrated() {
		c.add(p)
		return
	}
	c.seen++
	e, d := p.y-c.offset, (p.end - p.start).Seconds()
	c.learn(e, d)
	c.offset += e * min(1, d/selfLeak.Seconds())
	c.excess = p.y - c.offset
	c.forget()
}

// forget drops the evidence and keeps what was learned.
func (c *cusum) forget() {
	c.g, c.alarmed, c.quiet, c.rising = 0, false, 0, false
	c.lane.g = 0
}

// resize adapts to buckets of ratio times as many steps.
func (c *cusum) resize(ratio float64) {
	if !c.calibrated() {
		c.seen = 0
		return
	}
	f := rescaled / math.Sqrt(ratio)
	c.dev *= f
	c.square *= f * f
	c.length *= ratio
	if !c.alarmed {
		c.g = 0
	}
}

// lane is the same test on means over 10 s, for ranks that are slow only now and then.
type lane struct {
	sum, time float64
	n         int
	dev, g    float64
}

func (q *lane) add(e, d, h float64) bool {
	q.sum += min(max(e, -laneClip), laneClip) * d
	q.time += d
	if q.time < laneTime.Seconds() {
		return false
	}
	m := q.sum / q.time
	q.sum, q.time = 0, 0
	q.n++
	if q.n <= laneWarm {
		q.dev = max(q.dev, math.Abs(m))
		return false
	}
	s := laneFactor * max(laneNoise, q.dev)
	l := slower / (s * s) * (m - slower/2)
	q.g = min(max(q.g+min(max(l, -h/2), h/laneFewest), 0), h)
	if q.g < suspectShare*h {
		q.dev += (min(math.Abs(m), 3*max(q.dev, 0.004))*math.Sqrt(math.Pi/2) - q.dev) / 12
	}
	return q.g >= h-1e-9
}
