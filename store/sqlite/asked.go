package sqlite

import (
	"regexp"
	"slices"
	"strings"
)

// reading is a table or view that a statement reads, with its alias.
type reading struct{ name, alias string }

var (
	// noise matches text without names: strings and comments.
	noise = regexp.MustCompile(`'(?:[^']|'')*'|--[^\n]*|(?s:/\*.*?\*/)`)
	token = regexp.MustCompile(`"[^"]+"|\[[^\]]+\]|[\w.]+|[(),]`)
	// ends are the words after which a list of tables ends; between joins its parts.
	ends = []string{
		"where", "group", "order", "limit", "having", "window", "union", "except", "intersect", "select", "values",
	}
	between = []string{
		"on", "using", "left", "right", "full", "inner", "outer", "cross", "natural", "join", "indexed",
		"not",
	}
)

// readings are the tables and views that a statement names after from and join, in order. Other
// words are not names: an operation in a string often equals a view's name.
func readings(sql string) (list []reading) {
	words := token.FindAllString(noise.ReplaceAllString(sql, " "), -1)
	var expected bool                 // a name comes next
	depth, tables := 0, []bool{false} // whether a comma in these brackets is between tables
	for i := 0; i < len(words); i++ {
		switch w := strings.ToLower(words[i]); {
		case w == "(":
			depth, tables, expected = depth+1, append(tables, false), false
		case w == ")" && depth > 0:
			depth, tables = depth-1, tables[:depth]
		case w == ",":
			expected = tables[depth]
		case w == "from":
			expected, tables[depth] = true, true
		case w == "join":
			expected = true
		case slices.Contains(ends, w):
			expected, tables[depth] = false, false
		case expected && isName(w):
			r := reading{name: bare(unqualified(words[i]))}
			if i+1 < len(words) && strings.EqualFold(words[i+1], "as") {
				i++
			}
			if i+1 < len(words) && isName(words[i+1]) {
				i++
				r.alias = bare(words[i])
			}
			list, expected = append(list, r), false
		}
	}
	return list
}

// isName reports whether a word can be a table's name.
func isName(w string) bool {
	w = strings.ToLower(w)
	return !strings.ContainsAny(w, "(),") && !slices.Contains(ends, w) && !slices.Contains(between, w)
}

// bare is a name without quotes.
func bare(name string) string { return strings.Trim(name, "\"[]`") }
