package seen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/echo/row"
)

// farApart is how many runs of seconds get a condition each.
const farApart = 16

// During returns SQL conditions for a store's rows in some seconds: exactly one is true for each such row, none for
// any other. There is one for each run of consecutive seconds; if there are many runs, one for some thousand seconds.
// Seconds after the newest row are left out, since the store has no rows then; without a condition there is nothing to
// load.
//
// secondOf is the engine's expression for the second of timestamp_ns.
func During(seconds []int64, newest int64, secondOf string) []string {
	seconds = slices.DeleteFunc(slices.Clone(seconds), func(at int64) bool { return row.SecondBegins(at) > newest })
	if len(seconds) == 0 {
		return nil
	}
	slices.Sort(seconds)
	var runs []string
	for i := 0; i < len(seconds); {
		end := i + 1
		for end < len(seconds) && seconds[end] == seconds[end-1]+1 {
			end++
		}
		runs = append(runs, between(seconds[i], seconds[end-1]))
		i = end
	}
	if len(runs) <= farApart {
		return runs
	}
	var conditions []string
	for some := range slices.Chunk(seconds, atOnce) {
		list := make([]string, len(some))
		for i, at := range some {
			list[i] = strconv.FormatInt(at, 10)
		}
		conditions = append(conditions, fmt.Sprintf("%s and %s in (%s)",
			between(some[0], some[len(some)-1]), secondOf, strings.Join(list, ",")))
	}
	return conditions
}

func between(first, last int64) string {
	return fmt.Sprintf("timestamp_ns between %d and %d", row.SecondBegins(first), row.SecondBegins(last+1)-1)
}
