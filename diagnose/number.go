package diagnose

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/report"
)

// span words a duration.
func span(ns uint64) string { return report.Duration(ns) }

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// printable replaces control characters: a process may give itself any name, and
// names end up on terminals.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}

// percent is part of whole in [0, 100].
func percent(part, whole uint64) float64 { return 100 * share(part, whole) }

// round keeps one decimal, which is more than the evidence is worth.
func round(v float64) float64 { return math.Round(v*10) / 10 }

// slowest returns the n calls that took longest.
func slowest(calls []event.Call, n int) []event.Call {
	l := slices.Clone(calls)
	slices.SortFunc(l, func(a, b event.Call) int {
		return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Start, b.Start), cmp.Compare(a.TID, b.TID))
	})
	return l[:min(n, len(l))]
}
