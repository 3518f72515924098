package nodes

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a token is.
type tokenKind uint8

const (
	word   tokenKind = iota // name or keyword
	quoted                  // "name", [name] or `name`
	text                    // 'text', also x'00'
	number
	mark // operator or punctuation
)

// token is a word of a statement of SQL, and where it stands.
type token struct {
	kind       tokenKind
	text       string // words in lower case, without quotation marks
	begin, end int    // in the statement
}

func (t token) is(s string) bool {
	return t.kind <= word && t.text == s || t.kind == mark && t.text == s
}

// name reports whether the token names something.
func (t token) name() bool { return t.kind == word || t.kind == quoted }

// tokens splits a statement into tokens; ok is false if it ends inside of one.
func tokens(sql string) (list []token, ok bool) {
	for at := 0; at < len(sql); {
		begin := at
		c := sql[at]
		switch {
		case strings.HasPrefix(sql[at:], "--"):
			if at = next(sql, at, "\n"); at < 0 {
				return list, true
			}
			continue
		case strings.HasPrefix(sql[at:], "/*"):
			if at = next(sql, at+2, "*/"); at < 0 {
				return list, true
			}
			continue
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			at++
			continue
		case c == '\'' || c == '"' || c == '`' || c == '[':
			end := closing(sql, at)
			if end < 0 {
				return nil, false
			}
			k, s := quoted, strings.ToLower(sql[at+1:end-1])
			if c == '\'' {
				k, s = text, sql[at:end]
			}
			at = end
			list = append(list, token{k, s, begin, at})
			continue
		case c >= '0' && c <= '9' || c == '.' && at+1 < len(sql) && sql[at+1] >= '0' && sql[at+1] <= '9':
			for at < len(sql) && (letter(rune(sql[at])) || sql[at] == '.' || (sql[at] == '+' || sql[at] == '-') &&
				strings.ContainsRune("eE", rune(sql[at-1])) && !strings.HasPrefix(sql[begin:], "0x")) {
				at++
			}
			list = append(list, token{number, strings.ToLower(sql[begin:at]), begin, at})
			continue
		}
		if r, n := utf8.DecodeRuneInString(sql[at:]); letter(r) {
			for at < len(sql) && letter(r) {
				at += n
				r, n = utf8.DecodeRuneInString(sql[at:])
			}
			list = append(list, token{word, strings.ToLower(sql[begin:at]), begin, at})
			continue
		}
		at++
		if at < len(sql) && strings.Contains(" <= >= <> != == || << >> -> ", " "+sql[begin:at+1]+" ") {
			at++
		}
		list = append(list, token{mark, sql[begin:at], begin, at})
	}
	return list, true
}

func letter(r rune) bool {
	return r == '_' || r == '$' || r >= 0x80 || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// next is the position after the next s, -1 if there is none.
func next(sql string, from int, s string) int {
	i := strings.Index(sql[from:], s)
	if i < 0 {
		return -1
	}
	return from + i + len(s)
}

// closing is the position after the quotation mark that closes the one at a position. A doubled
// quotation mark is part of the text.
func closing(sql string, at int) int {
	end := sql[at]
	if end == '[' {
		return next(sql, at, "]")
	}
	for i := at + 1; i < len(sql); i++ {
		if sql[i] != end {
			continue
		}
		if i+1 < len(sql) && sql[i+1] == end {
			i++
			continue
		}
		return i + 1
	}
	return -1
}

// balanced reports whether all parentheses match.
func balanced(list []token) bool {
	depth := 0
	for _, t := range list {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

// group is the position after the parenthesis that closes the one at a position, len(list) if there
// is none.
func group(list []token, at int) int {
	depth := 0
	for i := at; i < len(list); i++ {
		switch {
		case list[i].is("("):
			depth++
		case list[i].is(")"):
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(list)
}

// commas splits at the commas outside of parentheses.
func commas(list []token) [][]token {
	if len(list) == 0 {
		return nil
	}
	var parts [][]token
	from := 0
	for i := 0; i < len(list); i++ {
		switch {
		case list[i].is("("):
			i = group(list, i) - 1
		case list[i].is(","):
			parts = append(parts, list[from:i])
			from = i + 1
		}
	}
	return append(parts, list[from:])
}

// same reports whether two expressions are written alike.
func same(a, b []token) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].text != b[i].text || a[i].name() != b[i].name() {
			return false
		}
	}
	return true
}
