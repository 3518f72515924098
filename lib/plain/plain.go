// Package plain makes text from outside safe to show. Names of processes, files, nodes and kernels, labels and values
// of SQL are chosen by others: they may hold escape codes that drive a terminal, line ends that forge lines, and
// characters that hide text or change its direction. Each outlet for people cleans what it shows with this package;
// JSON and files of data are escaped by their own rules instead, and keep all bytes.
package plain

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Odd reports whether a character is no visible one with a place of its own: a control character, one that changes
// the direction of text, is invisible, or changes the width of others. Of all spaces only the usual one is not odd.
func Odd(r rune) bool {
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Line makes any text one line in which nothing is hidden: odd characters, and bytes that are no UTF-8, are written
// as in Go, \x1b.
func Line(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, Odd) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case Odd(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Lines is Line for each line of a text, whose line ends stay.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Line(l)
	}
	return strings.Join(lines, "\n")
}

// Marked is Line for text whose length must stay as it is: each odd character becomes one question mark.
func Marked(s string) string {
	return strings.Map(func(r rune) rune {
		if Odd(r) {
			return '?'
		}
		return r
	}, s)
}

// Controls is Marked for a file that another program shows and no terminal does: only control characters go.
func Controls(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}

// colour is how the colour sequences of our own begin, and colourEnd how they end.
const colour, colourEnd = "\x1b[", 'm'

// Coloured is Line for a line of our own that is painted: sequences for colours (ESC [ digits m) stay.
func Coloured(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, colour)
		if i < 0 {
			return b.String() + Line(s)
		}
		n := i + len(colour)
		for n < len(s) && (s[n] == ';' || s[n] >= '0' && s[n] <= '9') {
			n++
		}
		if n == len(s) || s[n] != colourEnd {
			b.WriteString(Line(s[:n]))
			s = s[n:]
			continue
		}
		b.WriteString(Line(s[:i]) + s[i:n+1])
		s = s[n+1:]
	}
}

// JSON escapes odd characters of a JSON text, which stays the same value: encoding/json leaves those above 0x7e.
func JSON(b []byte) []byte {
	if !bytes.ContainsFunc(b, oddInJSON) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		switch {
		case !oddInJSON(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

// oddInJSON leaves what is between values, which has no odd characters above 0x7e.
func oddInJSON(r rune) bool { return r > 0x7e && Odd(r) }

// JSONWriter does JSON for what is written, whole values at a time, as a json.Encoder does.
type JSONWriter struct{ To io.Writer }

func (w JSONWriter) Write(b []byte) (int, error) {
	if _, err := w.To.Write(JSON(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}
