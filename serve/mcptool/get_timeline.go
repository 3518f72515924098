package mcptool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/store"
)

type timelineIn struct {
	scope
	TID     int64 `json:"tid,omitempty" jsonschema:"default: that with most time in calls"`
	Buckets int   `json:"buckets,omitempty" jsonschema:"at most 60; default 30"`
}

type timelineOut struct {
	common
	Thread   party      `json:"thread"`
	PerStep  string     `json:"step,omitempty" jsonschema:"its calls"`
	BucketNS uint64     `json:"bucket_ns"`
	Marks    []mark     `json:"marks" jsonschema:"where it changes"`
	Columns  []string   `json:"columns" jsonschema:"at_s: begin, from the window's, up to end_s; step_ms mean; others in % of its time"`
	Buckets  []tableRow `json:"buckets"`
	EndS     float64    `json:"end_s"`
}

// mark is a time of a large change.
type mark struct {
	At   string `json:"at"`
	What string `json:"what"`
}

func (out timelineOut) rows() int { return len(out.Buckets) }

// The parts of an answer of get_timeline.
const (
	maxBuckets     = 60
	defaultBuckets = 30
	maxClasses     = 4
	leastPct       = 1.0 // the least share of a bucket for which a class of waiting is shown
)

var timelineTool = tool[timelineIn, timelineOut]{
	name:  "get_timeline",
	about: "When did it change? A thread's call rate, calls a step, step time, waits, marks.",
	run: func(ctx context.Context, s *server, in timelineIn) (out timelineOut, err error) {
		err = s.readView(ctx, in.scope, &out.common, func(v *view) error {
			v.bySecond(&out.common)
			buckets := min(cmp.Or(max(in.Buckets, 0), defaultBuckets), maxBuckets)
			t, err := recording.ReadTimeline(ctx, v, v.Window, buckets, func(t event.Thread) bool {
				return v.Wants(t.PID) && (in.TID == 0 || int64(t.TID) == in.TID)
			})
			switch {
			case err != nil:
				return err
			case t == nil && in.TID != 0:
				return errors.New("this thread makes no calls in this window; leave tid out for one that does")
			}
			out.Marks, out.Columns, out.Buckets = []mark{}, []string{}, []tableRow{}
			if t == nil {
				return nil
			}
			if out.Thread, err = v.nameThread(ctx, t.Thread); err != nil {
				return err
			}
			from, _ := v.Bounds()
			out.fill(t, from)
			return nil
		})
		return out, err
	},
}

// nameThread says who a thread is.
func (v *view) nameThread(ctx context.Context, t event.Thread) (party, error) {
	names, err := v.Names(ctx)
	if err != nil {
		return party{}, err
	}
	threads, err := store.List[store.ThreadInfo](ctx, v, store.Window{})
	for i := range threads {
		if threads[i].Thread == t {
			return partyOf(names[t.PID], t.PID, t.TID, threads[i].Comm), err
		}
	}
	return partyOf(names[t.PID], t.PID, t.TID, ""), err
}

func (out *timelineOut) fill(t *recording.Timeline, from uint64) {
	out.PerStep, out.BucketNS = t.PerStep, t.BucketNS
	for _, m := range t.Marks {
		out.Marks = append(out.Marks, mark{clock(m.At), m.What})
	}
	if n := len(t.Others); n > 0 {
		var tids []string
		for i := range min(n, maxOthers) {
			tids = append(tids, fmt.Sprint(t.Others[i].TID))
		}
		note := "one thread of several that make calls; others by tid: " + strings.Join(tids, ", ")
		out.Note = joined(out.Note, note)
	}
	shown := waitsWorthTelling(t)
	out.Columns = []string{"at_s", "calls_per_s"}
	if t.PerStep != "" {
		out.Columns = append(out.Columns, "step_ms", "calls_per_step")
	}
	out.Columns = append(out.Columns, "in_calls")
	for _, c := range shown {
		out.Columns = append(out.Columns, c.String())
	}
	out.EndS = seconds(t.End(), from)
	for i := range t.Buckets {
		b := &t.Buckets[i]
		row := tableRow{seconds(t.Begin(i), from), short(float64(b.Calls) * 1e9 / float64(max(b.SpanNS, 1)))}
		switch {
		case t.PerStep != "" && b.Steps == 0:
			row = append(row, nil, nil)
		case t.PerStep != "":
			row = append(row, short(b.StepNS()/1e6), short(float64(b.Calls)/float64(b.Steps)))
		}
		row = append(row, short(percent(b.CallNS, b.SpanNS)))
		for _, c := range shown {
			row = append(row, short(percent(b.Waits.NS[c], b.SpanNS)))
		}
		out.Buckets = append(out.Buckets, row)
	}
}

// seconds is a time in seconds from another, to the millisecond.
func seconds(at, from uint64) float64 { return math.Round(float64(at-min(from, at))/1e6) / 1e3 }

// waitsWorthTelling are the classes of waiting with at least leastPct of a bucket, most time
// first.
func waitsWorthTelling(t *recording.Timeline) []event.Class {
	var list []event.Class
	var sum event.Ledger
	for c := range event.NumClasses {
		much := func(b recording.TimeBucket) bool { return percent(b.Waits.NS[c], b.SpanNS) >= leastPct }
		if slices.ContainsFunc(t.Buckets, much) {
			list = append(list, c)
		}
	}
	for i := range t.Buckets {
		sum.Add(&t.Buckets[i].Waits)
	}
	slices.SortFunc(list, func(a, b event.Class) int { return cmp.Compare(sum.NS[b], sum.NS[a]) })
	return list[:min(len(list), maxClasses)]
}

// short is a number with three significant digits.
func short(v float64) any {
	if v == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-2)
	if unit >= 1 {
		return math.Round(v)
	}
	return math.Round(v/unit) / math.Round(1/unit)
}
