package label_test

import (
	"math"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/explain/label"
)

// TestValuesOfTwoRunsAreCompared has an epoch that waits longer for its data, one that is unchanged, one that only
// one run has, and two processes of the same name.
func TestValuesOfTwoRunsAreCompared(t *testing.T) {
	const second = 1_000_000_000
	row := func(value string, pid uint32, intervals int, each uint64, pipe uint64) label.Row {
		n := uint64(intervals)
		return label.Row{
			Value: value, Process: "train", PID: pid, Intervals: intervals, TimeNS: each * n, Calls: 100,
			InNS: map[string]uint64{"ioctl": 2 * second * n}, BetweenNS: map[string]uint64{"pipe": pipe * n},
		}
	}
	a := &label.Result{DB: "a.db", Key: "epoch", Source: label.Seconds, Rows: []label.Row{
		row("6", 10, 1, 30*second, second), row("7", 10, 1, 30*second, second), row("5", 10, 1, 30*second, second),
		row("6", 11, 2, 20*second, 0),
	}}
	b := &label.Result{DB: "b.db", Key: "epoch", Source: label.Seconds, Rows: []label.Row{
		row("6", 21, 1, 30*second, second), row("7", 21, 1, 51*second, 21*second), row("6", 22, 1, 20*second, 0),
		row("8", 21, 1, 9*second, 0),
	}}
	c := label.Compare(a, b)
	if len(c.Rows) != 3 || strings.Join(c.OnlyA, " ") != "5" || strings.Join(c.OnlyB, " ") != "8" {
		t.Fatalf("%+v", c)
	}
	for _, r := range c.Rows {
		sum := 0.0
		for _, p := range r.Parts {
			sum += p.NS
		}
		if math.Abs(sum-r.DifferenceNS) > 1 || r.APID+11 != r.BPID {
			t.Errorf("parts of %s add up to %g of %g; pids %d and %d", r.Value, sum, r.DifferenceNS, r.APID, r.BPID)
		}
	}
	if r := c.Rows[2]; r.Value != "7" || r.DifferenceNS != 21*second || r.SlowerPct != 70 || r.Parts[0].Class != "pipe" ||
		r.Parts[0].What != label.BetweenCalls {
		t.Errorf("%+v", r)
	}
	if c.SlowerThan(71) || !c.SlowerThan(69) {
		t.Error("the slowest is 70 % slower")
	}
	var out strings.Builder
	if err := c.WriteText(&out, 90); err != nil {
		t.Fatal(err)
	}
	want := `by epoch: 3 values on both sides
epoch  process     A     B     difference  most of it
6      train    30 s  30 s   +0 ns (+0 %)
6      train    20 s  20 s   +0 ns (+0 %)
7      train    30 s  51 s  +21 s (+70 %)  +20 s pipe between calls
only in A: 5
only in B: 8
note: exact sums of the seconds of each interval; its first and last second are rounded to
      the nearest border
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
