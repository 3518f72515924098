package row

import "math"

// Distribution is the distribution of values. Unknown numbers are NaN.
type Distribution struct {
	Count    uint64
	Sum      float64
	Min, Max float64
	// P50, P90 and P99 are quantiles, estimated from the buckets.
	P50, P90, P99 float64
	// Buckets are the buckets with values, in order.
	Buckets []Bucket
}

// Bucket counts values above Lower and up to Upper. The first may begin at minus infinity, the last may end at
// infinity.
type Bucket struct {
	Lower, Upper float64
	Count        uint64
}

// Estimate sets the quantiles from the buckets, the minimum and the maximum.
func (d *Distribution) Estimate() {
	d.P50, d.P90, d.P99 = d.Quantile(0.5), d.Quantile(0.9), d.Quantile(0.99)
}

// Quantile returns the value that a share q of values does not exceed, 0 to 1; NaN: there is none. Within a bucket,
// values are assumed to be evenly spread; on a logarithmic scale if its bounds are above 0, as in exponential
// histograms.
func (d *Distribution) Quantile(q float64) float64 {
	var all uint64
	for _, b := range d.Buckets {
		all += b.Count
	}
	if all == 0 {
		return math.NaN()
	}
	rank, below := q*float64(all), 0.0
	for i, b := range d.Buckets {
		n := float64(b.Count)
		if below+n < rank && i < len(d.Buckets)-1 {
			below += n
			continue
		}
		return d.within(b, (rank-below)/n)
	}
	return math.NaN()
}

// within returns the value at a share of a bucket. The distribution's minimum and maximum narrow the bucket.
func (d *Distribution) within(b Bucket, share float64) float64 {
	lower, upper := b.Lower, b.Upper
	if d.Min > lower && d.Min <= upper { // false for NaN
		lower = d.Min
	}
	if d.Max < upper && d.Max >= lower {
		upper = d.Max
	}
	switch share = min(max(share, 0), 1); {
	case math.IsInf(lower, -1) && math.IsInf(upper, 1):
		return math.NaN()
	case math.IsInf(lower, -1):
		return upper
	case math.IsInf(upper, 1):
		return lower
	case lower > 0:
		return lower * math.Pow(upper/lower, share)
	case upper < 0:
		return upper * math.Pow(lower/upper, 1-share)
	}
	return lower + (upper-lower)*share
}
