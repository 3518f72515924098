package mcpshape

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/ingero-io/ingero/lib/plain"
)

// quotes are added only here: they are replaced within names.
var quotes = strings.NewReplacer("«", "‹", "»", "›")

// Quoted is a name, in quotation marks that it cannot close if it has spaces: it could be read as a sentence.
func Quoted(s string) string {
	s = quotes.Replace(s)
	if !strings.ContainsFunc(s, unicode.IsSpace) {
		return s
	}
	return "«" + s + "»"
}

// Visible replaces invisible characters, and those that change the direction of text.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case plain.Odd(r) && !unicode.Is(unicode.Zs, r): // other spaces are for Quoted
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Cut shortens text to a number of characters, and says how many were removed.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return fmt.Sprintf("%s…(+%d)", string(r[:most]), len(r)-most)
}
