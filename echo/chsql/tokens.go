// Package chsql has the pure part of asking ClickHouse: which statements may be run, and how functions of the
// published questions are written in its SQL. It has no I/O; the store asks the engine for a statement's tree and
// canonical form.
package chsql

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a quoted name, a text, a number, or one other character, in a statement in ClickHouse's own form,
// which has no comments.
type token struct {
	text string // as written
	from int    // offset in the statement, in bytes
	name string // of a word, or of a quoted name without its quotes
}

// is reports whether a token is a word, in any case, or a character.
func (t token) is(text string) bool { return strings.EqualFold(t.text, text) }

func (t token) end() int { return t.from + len(t.text) }

// tokens splits a statement, without its spaces.
func tokens(statement string) []token {
	var list []token
	for at := 0; at < len(statement); {
		n := length(statement[at:])
		t := token{text: statement[at : at+n], from: at}
		switch c := t.text[0]; {
		case c == '`' || c == '"':
			t.name = t.text[1:max(1, n-1)]
		case word(rune(c)):
			t.name = t.text
		}
		if strings.TrimSpace(t.text) != "" {
			list = append(list, t)
		}
		at += n
	}
	return list
}

// length returns the length of the first token, in bytes.
func length(s string) int {
	switch s[0] {
	case '\'', '`', '"':
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case s[0]:
				return i + 1
			}
		}
		return len(s)
	}
	n := 0
	for i, r := range s {
		if !word(r) {
			break
		}
		n = i + utf8.RuneLen(r)
	}
	if n > 0 {
		return n
	}
	_, n = utf8.DecodeRuneInString(s)
	return n
}

func word(r rune) bool {
	return r == '_' || r == '$' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
