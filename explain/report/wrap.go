package report

import "strings"

// Wrapped returns s behind a label in lines of so many columns, 0 for 80, the further ones indented below
// the first.
func Wrapped(width int, label, s string) (lines []string) {
	if width == 0 {
		width = 80
	}
	indent := visible(label)
	line, n := label, indent
	for i, w := range strings.Fields(s) {
		v := visible(w)
		switch {
		case i == 0:
		case n+1+v > width && n > indent:
			lines = append(lines, line)
			line, n = strings.Repeat(" ", indent), indent
		default:
			line, n = line+" ", n+1
		}
		line, n = line+w, n+v
	}
	return append(lines, line)
}

// visible returns the number of columns of s, without colours.
func visible(s string) int {
	n, escape := 0, false
	for _, r := range s {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			n++
		}
	}
	return n
}
