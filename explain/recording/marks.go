package recording

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/event/stats"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Mark is the time of a noticeable and lasting change of a timeline.
type Mark struct {
	At   uint64 // Unix ns, to the second
	What string
}

// The minimum size of a noticeable change.
const (
	markRatio = 1.15 // of a rate or a duration, in either direction
	markCalls = 1.03 // of the calls of a step, where small changes matter
	maxMarks  = 6
)

// measure is a value that is checked for changes.
type measure struct {
	of    func(b *TimeBucket) (float64, bool) // false: not known for the bucket
	ratio float64                             // minimum change; 0: the value is a share of time
	what  func(before, after float64) string
}

// measures returns the values that marks are made from.
func (t *Timeline) measures() []measure {
	second := float64(time.Second)
	list := []measure{{
		ratio: markRatio,
		of: func(b *TimeBucket) (float64, bool) {
			return float64(b.Calls) * second / float64(max(b.SpanNS, 1)), true
		},
		what: func(x, y float64) string { return fmt.Sprintf("%.4g instead of %.4g calls a second", y, x) },
	}}
	if t.PerStep != "" {
		list = []measure{
			{
				ratio: markRatio,
				of:    func(b *TimeBucket) (float64, bool) { return b.StepNS(), b.Steps > 0 },
				what: func(x, y float64) string {
					return fmt.Sprintf("a step takes %s instead of %s", report.Duration(uint64(y)), report.Duration(uint64(x)))
				},
			},
			{
				ratio: markCalls,
				of: func(b *TimeBucket) (float64, bool) {
					return float64(b.Calls) / float64(max(b.Steps, 1)), b.Steps > 0
				},
				what: func(x, y float64) string { return fmt.Sprintf("%.4g instead of %.4g calls a step", y, x) },
			},
		}
	}
	for class := range event.NumClasses {
		list = append(list, measure{
			of: func(b *TimeBucket) (float64, bool) {
				return float64(b.Waits.NS[class]) / float64(max(b.SpanNS, 1)), true
			},
			what: func(x, y float64) string {
				return fmt.Sprintf("waits of class %s take %.0f %% instead of %.0f %% of the time", class, 100*y, 100*x)
			},
		})
	}
	return list
}

// mark finds the marks.
func (t *Timeline) mark(ctx context.Context, r timelineReader) error {
	words := map[int][]string{}
	for _, m := range t.measures() {
		var at []int
		var values []float64
		for i := range t.Buckets {
			v, known := m.of(&t.Buckets[i])
			if partly := t.Buckets[i].SpanNS < t.BucketNS/2; known && !partly {
				at, values = append(at, i), append(values, v)
			}
		}
		levels := stats.Levels(values, m.ratio)
		for i := 1; i < len(levels); i++ {
			place := at[levels[i].From]
			words[place] = append(words[place], m.what(levels[i-1].Middle, levels[i].Middle))
		}
	}
	var places []int
	for i := range words {
		places = append(places, i)
	}
	slices.SortFunc(places, func(a, b int) int {
		return cmp.Or(cmp.Compare(len(words[b]), len(words[a])), cmp.Compare(a, b))
	})
	places = places[:min(len(places), maxMarks)]
	slices.Sort(places)
	for _, i := range places {
		at, err := t.refine(ctx, r, i)
		if err != nil {
			return err
		}
		t.Marks = append(t.Marks, Mark{at, strings.Join(words[i], "; ")})
	}
	return nil
}

// refine finds the second of a change at the start of a bucket, in this bucket or the one before.
func (t *Timeline) refine(ctx context.Context, r timelineReader, i int) (uint64, error) {
	at := t.window(i).From
	if t.BucketNS <= uint64(time.Second) {
		return at, nil
	}
	w := store.Window{From: at - t.BucketNS, To: min(at+t.BucketNS, t.live[1])}
	series, err := r.OpSeries(ctx, w, 1)
	if err != nil {
		return 0, err
	}
	v := make([]float64, (w.To-w.From)/uint64(time.Second))
	for _, o := range series {
		k := (o.Second*uint64(time.Second) - min(w.From, o.Second*uint64(time.Second))) / uint64(time.Second)
		if o.Thread == t.Thread && (t.PerStep == "" || o.Op == t.steps.Op) && k < uint64(len(v)) {
			v[k] += float64(o.Calls)
		}
	}
	if k := stats.Split(v); k > 0 {
		return w.From + uint64(k)*uint64(time.Second), nil
	}
	return at, nil
}
