package tui

import (
	"slices"

	"github.com/ingero-io/ingero/explain/report"
)

// helpText is shown by the key ?: the keys, and explanations that do not fit elsewhere.
func (m *Model) helpText() []string {
	list := slices.Clone(helpLines)
	if m.latest != nil {
		list = append(list, "", report.OneLine(m.started), report.Losses(m.latest.status.Losses))
	}
	var lines []string
	for _, l := range list {
		lines = append(lines, wrapped(l, m.width)...)
	}
	return lines
}

// helpLines are the lines shown by the key ?.
var helpLines = []string{
	"1 to 5, Tab, Shift-Tab   another tab",
	"j k, arrows, PgUp PgDn   another row",
	"Enter                    details of the row",
	"Esc                      back, or no filter",
	"s                        sort by something else",
	"w                        ledger: the last second, 10 s, minute, or the run",
	"/                        only rows with a text in them",
	"p                        pause: tracing goes on, the screen stays",
	"q, Ctrl-C                stop tracing",
	"",
	"1 Calls     each operation, what its calls wait for, calls that do not return",
	"2 Ledger    where each thread's time went",
	"3 Findings  what makes the GPU wait, and why",
	"4 Memory    what processes hold, and where in their code it was allocated",
	"5 Nodes     other machines, asked only while this tab is open",
}
