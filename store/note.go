package store

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Note says what an answer's numbers cover, where they are easily misread.
type Note struct {
	Text string `json:"text"` // the full text
	Of   string `json:"of"`   // the text without exact numbers: the same on all nodes
	// Exact are rows with the columns of the answer. They have sums over everything that was
	// recorded, and null where a column is not a sum. Null if unknown.
	Exact [][]any `json:"exact,omitempty"`
}

// maxExact is the number of rows of exact numbers in a note's text.
const maxExact = 8

// NewNote writes a note. columns are those of the answer; exact is nil if the exact numbers are not
// known. The largest are shown.
func NewNote(of string, columns []string, exact [][]any) Note {
	n := Note{Text: of, Of: of, Exact: sorted(exact)}
	var shown []string // known values of a row
	for i, c := range columns {
		if len(exact) > 0 && exact[0][i] != nil {
			shown = append(shown, firstOf(c, 60))
		}
	}
	if len(shown) == 0 {
		return n
	}
	var rows []string
	for _, r := range exact[:min(len(exact), maxExact)] {
		var values []string
		for _, v := range r {
			if f, ok := v.(float64); ok {
				v = fmt.Sprintf("%.12g", f)
			}
			if v != nil {
				values = append(values, firstOf(fmt.Sprint(v), 60))
			}
		}
		rows = append(rows, strings.Join(values, " "))
	}
	n.Text += ": " + strings.Join(shown, ", ") + " = " + strings.Join(rows, "; ")
	if more := len(exact) - maxExact; more > 0 {
		n.Text += fmt.Sprintf("; %d more", more)
	}
	return n
}

// sorted returns the rows with the largest sums first. Sums come after the columns that are grouped
// by.
func sorted(rows [][]any) [][]any {
	number := func(row []any) float64 {
		for _, v := range slices.Backward(row) {
			switch v := v.(type) {
			case int64:
				return float64(v)
			case float64:
				return v
			}
		}
		return 0
	}
	slices.SortStableFunc(rows, func(a, b []any) int {
		switch x, y := number(a), number(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return rows
}

// firstOf is the beginning of a text, made printable.
func firstOf(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
