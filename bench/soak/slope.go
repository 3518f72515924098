package soak

import (
	"math"
	"slices"
)

// point is a reading of the tracer: when, in minutes since the beginning, and in which of its lives. A tracer that was
// killed and started again begins at another level, which is no slope.
type point struct {
	minutes float64
	life    int
	value   float64
}

// fit is a straight line through the readings of each life, with the same slope for all.
type fit struct {
	slope  float64 // a minute
	margin float64 // the true slope is above slope+margin, or below slope-margin, in one of 100 runs each
	mean   float64
	blocks int // that it was made of
	known  bool
}

// blockMinutes is how much of the readings is averaged before the line is laid: a whole cycle of the churn. Readings
// 2 s apart are not independent (a heap grows until it is collected, a disk is full or it is not), and errors that
// treat them so are far too small.
const blockMinutes = 1

// fitLine needs two blocks of a life, and one more than there are unknowns.
func fitLine(points []point) fit {
	blocks := average(points)
	f := fit{blocks: len(blocks)}
	var xx, xy, yy float64
	lives := 0
	for _, b := range byLife(blocks) {
		var mx, my float64
		for _, p := range b {
			mx += p.minutes / float64(len(b))
			my += p.value / float64(len(b))
		}
		for _, p := range b {
			f.mean += p.value / float64(len(blocks))
			xx += (p.minutes - mx) * (p.minutes - mx)
			xy += (p.minutes - mx) * (p.value - my)
			yy += (p.value - my) * (p.value - my)
		}
		lives++
	}
	free := len(blocks) - lives - 1
	if free < 1 || xx == 0 {
		return f
	}
	f.slope = xy / xx
	rest := max(0, yy-f.slope*xy)
	f.margin = quantile(free) * math.Sqrt(rest/float64(free)/xx)
	f.known = true
	return f
}

// average makes one point of each block of a life. Blocks with less than half as many readings as the fullest are left
// out: the tracer was not there for most of it.
func average(points []point) []point {
	type block struct {
		life, n int
	}
	sums := map[block]*point{}
	counts := map[block]int{}
	most := 0
	for _, p := range points {
		b := block{p.life, int(p.minutes / blockMinutes)}
		if sums[b] == nil {
			sums[b] = &point{life: p.life}
		}
		sums[b].minutes += p.minutes
		sums[b].value += p.value
		counts[b]++
		most = max(most, counts[b])
	}
	var all []point
	for b, s := range sums {
		if n := counts[b]; 2*n >= most {
			all = append(all, point{s.minutes / float64(n), s.life, s.value / float64(n)})
		}
	}
	slices.SortFunc(all, func(a, b point) int { return compare(a.minutes, b.minutes) })
	return all
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// byLife parts the blocks. A life of one block says nothing of the slope.
func byLife(blocks []point) map[int][]point {
	lives := map[int][]point{}
	for _, b := range blocks {
		lives[b.life] = append(lives[b.life], b)
	}
	return lives
}

// student is the 99th percentile of Student's t by degrees of freedom, from 1 on.
var student = []float64{31.82, 6.96, 4.54, 3.75, 3.36, 3.14, 3.00, 2.90, 2.82, 2.76, 2.72, 2.68, 2.65, 2.62, 2.60}

// quantile is that of the next smaller number beyond the table, 2.60, until 2.46 holds at 30.
func quantile(free int) float64 {
	switch {
	case free <= len(student):
		return student[free-1]
	case free < 30:
		return student[len(student)-1]
	}
	return 2.46
}
