package otlp

import (
	"fmt"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/ingero-io/ingero/echo/row"
)

// points returns the number of a metric's points.
func points(m pmetric.Metric) int {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		return m.Gauge().DataPoints().Len()
	case pmetric.MetricTypeSum:
		return m.Sum().DataPoints().Len()
	case pmetric.MetricTypeHistogram:
		return m.Histogram().DataPoints().Len()
	case pmetric.MetricTypeExponentialHistogram:
		return m.ExponentialHistogram().DataPoints().Len()
	case pmetric.MetricTypeSummary:
		return m.Summary().DataPoints().Len()
	}
	return 0
}

func (c *converter) metric(m pmetric.Metric) {
	s, err := seriesOf(m)
	if err != nil {
		c.out.refuseAll(points(m), "%v", err)
		return
	}
	s.Scope = c.scoped
	c.before = beforeAttrs(c.before[:0], c.of, &s)
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		c.numbers(&s, m.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		c.numbers(&s, m.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		for _, p := range m.Histogram().DataPoints().All() {
			c.distribution(&s, p, p.Exemplars().Len(), func() (*row.Distribution, error) { return histogram(p) })
		}
	case pmetric.MetricTypeExponentialHistogram:
		for _, p := range m.ExponentialHistogram().DataPoints().All() {
			c.distribution(&s, p, p.Exemplars().Len(), func() (*row.Distribution, error) { return exponential(p) })
		}
	case pmetric.MetricTypeSummary:
		for _, p := range m.Summary().DataPoints().All() {
			d, more := summary(p)
			c.distribution(&s, p, more, func() (*row.Distribution, error) { return d, nil })
		}
	}
}

// seriesOf returns what all series of a metric have in common.
func seriesOf(m pmetric.Metric) (s row.Series, err error) {
	if s.Metric, err = named("metric's name", m.Name()); err != nil {
		return s, err
	}
	if s.Metric == "" {
		return s, fmt.Errorf("a metric has no name")
	}
	s.Unit, err = named("metric's unit", m.Unit())
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		s.Kind = row.Gauge
	case pmetric.MetricTypeSum:
		s.Kind, s.Temporality = row.Sum, temporality(m.Sum().AggregationTemporality())
		if s.Temporality == cumulative && !m.Sum().IsMonotonic() {
			s.Temporality = row.NonMonotonic
		}
	case pmetric.MetricTypeHistogram:
		s.Kind, s.Temporality = row.Histogram, temporality(m.Histogram().AggregationTemporality())
	case pmetric.MetricTypeExponentialHistogram:
		s.Kind = row.ExponentialHistogram
		s.Temporality = temporality(m.ExponentialHistogram().AggregationTemporality())
	case pmetric.MetricTypeSummary:
		s.Kind = row.Summary
	}
	return s, err
}

func temporality(t pmetric.AggregationTemporality) string {
	switch t {
	case pmetric.AggregationTemporalityDelta:
		return "delta"
	case pmetric.AggregationTemporalityCumulative:
		return cumulative
	}
	return ""
}

const cumulative = "cumulative"

// point has the common methods of histogram and summary points.
type point interface {
	Timestamp() pcommon.Timestamp
	StartTimestamp() pcommon.Timestamp
	Attributes() pcommon.Map
	Flags() pmetric.DataPointFlags
}

// row returns the row of a point, without its value.
func (c *converter) row(of *row.Series, at, start pcommon.Timestamp, attrs pcommon.Map) (r row.Row, err error) {
	if r.Timestamp, err = timed(at); err != nil {
		return r, err
	}
	if r.Series = c.visit.series(c.before, attrs); r.Series == nil {
		s := *of
		if err := c.read(&s, attrs); err != nil {
			return r, err
		}
		r.Series = row.NewSeries(s)
		c.visit.putSeries(r.Series)
	}
	r.Key, r.Received, r.Start = r.Series.Key(r.Timestamp), c.options.Received, max(0, int64(start))
	return r, nil
}

// numbers adds rows. A point marked as having no recorded value is kept without one.
func (c *converter) numbers(of *row.Series, points pmetric.NumberDataPointSlice) {
	for _, p := range points.All() {
		r, err := c.row(of, p.Timestamp(), p.StartTimestamp(), p.Attributes())
		if err != nil {
			c.out.refuse("%s: %v", of.Metric, err)
			continue
		}
		if !p.Flags().NoRecordedValue() {
			switch p.ValueType() {
			case pmetric.NumberDataPointValueTypeInt:
				r.Int, r.HasInt = p.IntValue(), true
			case pmetric.NumberDataPointValueTypeDouble:
				r.Double, r.HasDouble = p.DoubleValue(), true
			}
		}
		c.out.LeftOut += int64(p.Exemplars().Len())
		c.out.Rows = append(c.out.Rows, r)
	}
}

// distribution adds a row; without a value, as numbers does. leftOut is how many parts of the point are not kept.
func (c *converter) distribution(of *row.Series, p point, leftOut int, value func() (*row.Distribution, error)) {
	r, err := c.row(of, p.Timestamp(), p.StartTimestamp(), p.Attributes())
	if err == nil && !p.Flags().NoRecordedValue() {
		r.Distribution, err = value()
	}
	if err != nil {
		c.out.refuse("%s: %v", of.Metric, err)
		return
	}
	c.out.LeftOut += int64(leftOut)
	c.out.Rows = append(c.out.Rows, r)
}

func histogram(p pmetric.HistogramDataPoint) (*row.Distribution, error) {
	counts, bounds := p.BucketCounts(), p.ExplicitBounds()
	switch n := counts.Len(); {
	case n > MaxBuckets:
		return nil, fmt.Errorf("the histogram has %d buckets; %d are kept", n, MaxBuckets)
	case n > 0 && n != bounds.Len()+1:
		return nil, fmt.Errorf("the histogram has %d buckets and %d bounds; there is one bound between two buckets",
			n, bounds.Len())
	}
	d := &row.Distribution{Count: p.Count(), Sum: math.NaN(), Min: math.NaN(), Max: math.NaN()}
	if p.HasSum() {
		d.Sum = p.Sum()
	}
	if p.HasMin() {
		d.Min = p.Min()
	}
	if p.HasMax() {
		d.Max = p.Max()
	}
	lower := math.Inf(-1)
	for i := range counts.Len() {
		upper := math.Inf(1)
		if i < bounds.Len() {
			upper = bounds.At(i)
		}
		if !(lower < upper) {
			return nil, fmt.Errorf("the histogram's bounds do not rise: %v, %v", lower, upper)
		}
		if n := counts.At(i); n > 0 {
			d.Buckets = append(d.Buckets, row.Bucket{Lower: lower, Upper: upper, Count: n})
		}
		lower = upper
	}
	d.Estimate()
	return d, nil
}

func exponential(p pmetric.ExponentialHistogramDataPoint) (*row.Distribution, error) {
	negative, positive := p.Negative(), p.Positive()
	if n := negative.BucketCounts().Len() + positive.BucketCounts().Len(); n > MaxBuckets {
		return nil, fmt.Errorf("the histogram has %d buckets; %d are kept", n, MaxBuckets)
	}
	d := &row.Distribution{Count: p.Count(), Sum: math.NaN(), Min: math.NaN(), Max: math.NaN()}
	if p.HasSum() {
		d.Sum = p.Sum()
	}
	if p.HasMin() {
		d.Min = p.Min()
	}
	if p.HasMax() {
		d.Max = p.Max()
	}
	counts := negative.BucketCounts()
	for i := counts.Len() - 1; i >= 0; i-- {
		if n := counts.At(i); n > 0 {
			lower, upper := edges(p.Scale(), negative.Offset(), i)
			d.Buckets = append(d.Buckets, row.Bucket{Lower: -upper, Upper: -lower, Count: n})
		}
	}
	if n := p.ZeroCount(); n > 0 {
		t := math.Abs(p.ZeroThreshold())
		d.Buckets = append(d.Buckets, row.Bucket{Lower: -t, Upper: t, Count: n})
	}
	counts = positive.BucketCounts()
	for i := range counts.Len() {
		if n := counts.At(i); n > 0 {
			lower, upper := edges(p.Scale(), positive.Offset(), i)
			d.Buckets = append(d.Buckets, row.Bucket{Lower: lower, Upper: upper, Count: n})
		}
	}
	d.Estimate()
	return d, nil
}

// edges returns the bounds of a bucket: powers of 2^(2^-scale).
func edges(scale, offset int32, i int) (lower, upper float64) {
	at := float64(offset) + float64(i)
	return math.Exp2(math.Ldexp(at, -int(scale))), math.Exp2(math.Ldexp(at+1, -int(scale)))
}

// summary returns the quantiles that the sender computed, and for how many there is no column.
func summary(p pmetric.SummaryDataPoint) (d *row.Distribution, more int) {
	nan := math.NaN()
	d = &row.Distribution{Count: p.Count(), Sum: p.Sum(), Min: nan, Max: nan, P50: nan, P90: nan, P99: nan}
	for _, q := range p.QuantileValues().All() {
		more++
		for _, t := range []struct {
			q  float64
			to *float64
		}{{0, &d.Min}, {0.5, &d.P50}, {0.9, &d.P90}, {0.99, &d.P99}, {1, &d.Max}} {
			if q.Quantile() == t.q {
				*t.to = q.Value()
				more--
			}
		}
	}
	return d, more
}
