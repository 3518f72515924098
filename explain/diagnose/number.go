package diagnose

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// span formats a duration.
func span(ns uint64) string { return report.Duration(ns) }

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// printable makes a name that a process chose safe for terminals.
func printable(s string) string { return report.Printable(s) }

// called shortens the name of a function or call site for use in a sentence.
func called(s string) string { return report.ShortName(printable(s), report.NameWidth) }

// percent returns part of whole, in [0, 100].
func percent(part, whole uint64) float64 { return 100 * share(part, whole) }

// round keeps one decimal; the evidence is not more exact than that.
func round(v float64) float64 { return math.Round(v*10) / 10 }

// hundredths keeps two decimals, for ratios near 1.
func hundredths(v float64) float64 { return math.Round(v*100) / 100 }

// largest returns the n sites that held most memory, each once.
func largest(sites []event.MemorySite, n int) []event.MemorySite {
	type place struct {
		pid   uint32
		op    event.Op
		stack uint64
	}
	most := map[place]event.MemorySite{}
	for _, m := range sites {
		k := place{m.PID, m.Op, m.Stack}
		if m.LiveBytes >= most[k].LiveBytes {
			most[k] = m
		}
	}
	l := slices.Collect(maps.Values(most))
	slices.SortFunc(l, func(a, b event.MemorySite) int {
		return cmp.Or(cmp.Compare(b.LiveBytes, a.LiveBytes), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Op, b.Op),
			cmp.Compare(a.Stack, b.Stack))
	})
	return l[:min(n, len(l))]
}

// slowest returns the n calls that took longest. n is small.
func slowest(calls []event.Call, n int) []event.Call {
	faster := func(a, b *event.Call) int {
		return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Start, b.Start), cmp.Compare(a.TID, b.TID))
	}
	var top []*event.Call // in order
	for i := range calls {
		c := &calls[i]
		if len(top) >= n && (n <= 0 || faster(top[n-1], c) <= 0) {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, c, faster)
		top = slices.Insert(top, at, c)
		top = top[:min(len(top), n)]
	}
	var out []event.Call
	for _, c := range top {
		out = append(out, *c)
	}
	return out
}

// plural writes a number with the word for one or for several.
func plural(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return report.Count(uint64(max(n, 0))) + " " + several
}

func sum(v []float64) (t float64) {
	for _, x := range v {
		t += x
	}
	return t
}

// minCorrelation is the least correlation of two series that are taken to grow together. A lower
// one is enough if there are many values: minT is the least value of Student's t of the
// correlation, that is its distance from 0 in standard errors.
const (
	minCorrelation = 0.7
	minT           = 4.0
)

// goTogether reports whether two series grow together.
func goTogether(x, y []float64) bool {
	r := correlation(x, y)
	return r >= minCorrelation || len(x) > 2 && r > 0 && r*math.Sqrt(float64(len(x)-2)/(1-r*r)) >= minT
}

// correlation returns Pearson's coefficient, 0 if a series does not vary.
func correlation(x, y []float64) float64 {
	n := float64(len(x))
	if n == 0 {
		return 0
	}
	mx, my := sum(x)/n, sum(y)/n
	var xy, xx, yy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		xy, xx, yy = xy+dx*dy, xx+dx*dx, yy+dy*dy
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}
