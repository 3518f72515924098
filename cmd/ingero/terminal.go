package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// isTerminal reports whether a stream is one that a person sees and that can
// move its cursor.
func (c *console) isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && c.env("TERM") != "dumb"
}

// colour reports whether to colour what is written to w (no-color.org).
func (c *console) colour(w io.Writer) bool {
	return c.isTerminal(w) && c.env("NO_COLOR") == ""
}

// width is how many columns w has; 0 if it is no terminal.
func (c *console) width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}
