package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/ingero-io/ingero/lib/commands"
)

// isTerminal reports whether a stream is a terminal with a movable cursor.
func (c *console) isTerminal(w any) bool { return commands.IsTerminal(w, c.env) }

// colour reports whether output to w is coloured (no-color.org).
func (c *console) colour(w io.Writer) bool {
	return c.isTerminal(w) && c.env("NO_COLOR") == ""
}

// width is the number of columns of w; 0 if it is not a terminal.
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
