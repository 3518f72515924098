package seen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/echo/row"
	"github.com/ingero-io/ingero/echo/seen"
)

func TestDuring(t *testing.T) {
	far := make([]int64, 17)
	for i := range far {
		far[i] = int64(100 + 2*i)
	}
	const newest = 200_500_000_000
	for name, c := range map[string]struct {
		seconds []int64
		want    []string
	}{
		"none":               {nil, nil},
		"all after newest":   {[]int64{201, 300}, nil},
		"a run out of order": {[]int64{12, 10, 11}, []string{"timestamp_ns between 10000000000 and 12999999999"}},
		"two runs, one second too late": {[]int64{200, 7, 201, 8}, []string{
			"timestamp_ns between 7000000000 and 8999999999", "timestamp_ns between 200000000000 and 200999999999",
		}},
		"before 1970": {[]int64{-1}, []string{"timestamp_ns between -1000000000 and -1"}},
		"many runs": {far, []string{"timestamp_ns between 100000000000 and 132999999999 and second(timestamp_ns) in (" +
			strings.Trim(strings.Join(strings.Fields(fmt.Sprint(far)), ","), "[]") + ")"}},
	} {
		before := slices.Clone(c.seconds)
		if got := seen.During(c.seconds, newest, "second(timestamp_ns)"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if !slices.Equal(c.seconds, before) {
			t.Errorf("%s: the seconds were changed to %v", name, c.seconds)
		}
	}
}

// The conditions for very many seconds are short enough for ClickHouse, which reads statements of 256 KiB, and one of
// them is true for a row.
func TestDuringVeryManySeconds(t *testing.T) {
	const first, apart, seconds = 1_700_000_000, 15, 25_000
	list := make([]int64, seconds)
	for i := range list {
		list[i] = first + int64(i)*apart
	}
	conditions := seen.During(list, row.SecondBegins(first+seconds*apart), "second(timestamp_ns)")
	for _, condition := range conditions {
		if len(condition) > 200<<10 {
			t.Errorf("a condition has %d bytes", len(condition))
		}
	}
	const each = 5000 // seconds in a condition
	for _, i := range []int64{0, 1, each - 1, each, 2*each - 1, 2 * each, seconds - 1} {
		for key, want := range map[int64]int{0: 1, 1: 0} { // a second of the list, and the next one
			store, found := &source{rows: at(first+i*apart+key, 999_999_999)}, 0
			for _, condition := range conditions {
				found += len(store.selected(condition))
			}
			if found != want {
				t.Errorf("the row of second %d is in %d conditions, want %d", i, found, want)
			}
		}
	}
}
