package store

import (
	"fmt"
	"slices"
	"strings"
)

// Suggest returns a hint for a misspelt name: the most similar one, or the list of names.
func Suggest(wrong string, names []string, kind string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if best := nearest(wrong, names); best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	if len(names) == 0 {
		return "see the tables and views with: select name from sqlite_schema"
	}
	const most = 30
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return kind + " are " + strings.Join(names, ", ")
}

// nearest is the most similar name, or one with this beginning; empty if there is none.
func nearest(wrong string, names []string) string {
	best, at := "", len(wrong)/2+1
	const beginning = 4 // minimum length of a beginning that is completed
	for _, n := range names {
		begins := len(wrong) >= beginning && len(n) > len(wrong) && strings.EqualFold(n[:len(wrong)], wrong)
		if begins && (best == "" || len(n) < len(best)) {
			best, at = n, 0
		}
	}
	for _, n := range names {
		if d := distance(strings.ToLower(wrong), strings.ToLower(n)); d < at {
			best, at = n, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete or replace between a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
