package commands

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/ingero-io/ingero/lib/plain"
)

// WriteJSON writes a value for people and programs: indented, and without control characters.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(plain.JSONWriter{To: w})
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// IsTerminal reports whether a stream is a terminal with a movable cursor.
func IsTerminal(stream any, env func(string) string) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && env("TERM") != "dumb"
}

// Progress writes what a command is doing: on one line of a terminal, or as separate lines.
type Progress struct {
	to       io.Writer
	terminal bool
}

// NewProgress writes to a stream, as a rule standard error.
func NewProgress(to io.Writer, env func(string) string) *Progress {
	return &Progress{to: to, terminal: IsTerminal(to, env)}
}

// Show replaces what was shown before.
func (p *Progress) Show(what string) {
	if p.terminal {
		fmt.Fprintf(p.to, "\r\x1b[K%s", what)
		return
	}
	fmt.Fprintln(p.to, what)
}

// End clears the line of the terminal.
func (p *Progress) End() {
	if p.terminal {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}
