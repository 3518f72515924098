package stats

import "math"

const (
	minDrift = 8 // minimum number of values of a drift: fewer may be a change of level
	ends     = 3 // values at its end
)

// Drift is a level that grows or falls from some value on to the end of a series.
type Drift struct {
	From  int     // index of the last value at Level
	Level float64 // before the drift
	Slope float64 // from one value to the next
}

// FindDrift fits a level followed by a straight line to a series, by least squares. It returns true if that describes
// the series better than parts of different means (Segments), by the same measure. A drift costs as much as one
// change of the mean.
func FindDrift(v []float64, least int, noise float64) (Drift, bool) {
	n := len(v)
	if n < minDrift {
		return Drift{}, false
	}
	sigma := math.Max(noise, spread(v))
	all, tail := 0.0, make([]float64, n+1) // sum of v[i:]
	weighted := make([]float64, n+1)       // of i times v[i]
	for i := n - 1; i >= 0; i-- {
		tail[i], weighted[i] = tail[i+1]+v[i], weighted[i+1]+float64(i)*v[i]
	}
	mean := tail[0] / float64(n)
	for _, y := range v {
		all += (y - mean) * (y - mean)
	}
	var best Drift
	rest := math.Inf(1)
	for from := 0; from <= n-minDrift; from++ {
		m := float64(n - 1 - from)
		sx, sxx := m*(m+1)/2, m*(m+1)*(2*m+1)/6
		sxy := weighted[from] - float64(from)*tail[from] - sx*mean
		slope := sxy / (sxx - sx*sx/float64(n))
		if x := all - slope*sxy; x < rest {
			rest, best = x, Drift{From: from, Level: mean - slope*sx/float64(n), Slope: slope}
		}
	}
	cost := math.Max(0, rest)/(sigma*sigma) + penalty*math.Log(float64(n))
	_, parts := segments(v, least, noise)
	return best, cost < parts && best.grows(v)
}

// grows reports whether a drift's middle is about halfway from its begin to its end. Otherwise some bad values at the
// end look like a drift.
func (d *Drift) grows(v []float64) bool {
	n := len(v) - d.From
	all := d.Slope * float64(n-1)
	middle, end := Middle(v[d.From+n/3:d.From+2*n/3+1])-d.Level, Middle(v[len(v)-ends:])-d.Level
	return middle/all > 0.25 && middle/all < 0.75 && end/all > 0.6
}
