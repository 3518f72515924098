package recording

import (
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
)

// Frames returns the lines of a stack, innermost first.
func Frames(st *event.Stack) []string {
	lines := make([]string, len(st.Frames))
	for i := range st.Frames {
		lines[i] = report.Printable(st.Frames[i].String())
	}
	if st.Cut {
		lines = append(lines, "… (its callers were not found)")
	}
	return lines
}
