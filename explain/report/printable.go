package report

import (
	"strings"
	"unicode"
)

// Printable replaces control characters: a process may give itself any name, and names are written
// to terminals.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}
