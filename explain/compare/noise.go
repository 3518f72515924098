package compare

import (
	"math"

	"github.com/ingero-io/ingero/explain/diagnose"
)

// leastNoise is the difference, in percent of a unit, that is never called a change: two runs of the same program on
// the same machine differ by that much even if neither varies. The page on comparing has the pairs of equal runs that
// it is from.
const leastNoise = 3

// unknownNoise is used instead if it is not known how much the durations vary.
const unknownNoise = 10

// minParts is the least number of parts of the time for a meaningful variance.
const minParts = 4

// noise returns the difference below which nothing can be concluded, in percent of a's unit. The units done in each
// second show how much their mean duration varies over time. Seconds are not independent samples, but their means
// show drift, which single units do not. The bound is that of a two-sided test on the difference of two means at 99.9
// %.
func noise(u unit, a, b *diagnose.Profile) float64 {
	ma, va, na := u.variance(a)
	_, vb, nb := u.variance(b)
	if na < minParts || nb < minParts || ma <= 0 {
		return unknownNoise
	}
	se := va/float64(na) + vb/float64(nb)
	if se == 0 {
		return leastNoise
	}
	df := se * se / (va*va/float64(na*na*(na-1)) + vb*vb/float64(nb*nb*(nb-1))) // Welch and Satterthwaite
	return math.Max(leastNoise, 100*student(df)*math.Sqrt(se)/ma)
}

// variance returns the mean and the variance of a unit's duration over the seconds in which the thread worked from
// begin to end, ns and ns², and the number of such seconds.
func (u *unit) variance(p *diagnose.Profile) (mean, variance float64, n int) {
	op, per := u.op, u.per
	if op == 0 {
		op, per = p.Steps.Op, 1
		if u.time || p.Steps.Least > 0 {
			return 0, 0, 0
		}
	}
	var list []float64
	for i := range p.Series {
		o := &p.Series[i]
		if o.Op != op || o.Calls == 0 {
			continue
		}
		begin := o.Second * 1e9
		end := begin + max(p.SeriesStep, 1)*1e9
		if begin < p.From || end > p.To {
			continue
		}
		list = append(list, float64(end-begin)*per/float64(o.Calls))
	}
	for _, v := range list {
		mean += v
	}
	if n = len(list); n < 2 {
		return 0, 0, n
	}
	mean /= float64(n)
	for _, v := range list {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(n-1), n
}

// student returns the 99.95 % quantile of Student's distribution: the bound of a two-sided test at 99.9 %. The table
// is in any textbook; between its rows the larger value is used.
func student(df float64) float64 {
	for _, row := range []struct{ df, t float64 }{
		{120, 3.37},
		{60, 3.46},
		{30, 3.65},
		{20, 3.85},
		{15, 4.07},
		{12, 4.32},
		{10, 4.59},
		{8, 5.04},
		{7, 5.41},
		{6, 5.96},
		{5, 6.87},
		{4, 8.61},
		{3, 12.92},
	} {
		if df >= row.df {
			return row.t
		}
	}
	return 31.6
}
