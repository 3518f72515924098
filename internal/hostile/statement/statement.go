// Package statement has SQL statements that mean harm: they take memory, time or both, or reach for what is not theirs.
// All that answers SQL is tried with each of them. It is data, and knows nothing of who answers.
package statement

import (
	_ "embed"
	"strings"
)

//go:embed statements.sql
var text string

// All returns the statements. Those longer than a line are made here, the others are in statements.sql.
func All() []string {
	var list []string
	for part := range strings.SplitSeq(text, "\n\n") {
		if s := strings.TrimSpace(withoutComments(part)); s != "" {
			list = append(list, s)
		}
	}
	return append(list,
		"select '"+strings.Repeat("x", 1<<20)+"'",
		"select "+strings.Repeat("(", 5000)+"1"+strings.Repeat(")", 5000),
		"select "+strings.Repeat("printf('%.*c', 262144, 'x'), ", 90)+"1",
		"select 1 where '"+strings.Repeat("a", 5000)+"' like '"+strings.Repeat("%a", 2000)+"%b'",
		"select 1"+strings.Repeat(" union all select 1", 600),
		"select count(*) from events"+strings.Repeat(", events", 62),
		"select 1;;", "\x00", "--", "/*", "", ";;;", "select \u202e'\U000E0041'",
	)
}

// withoutComments leaves out the lines that only say something.
func withoutComments(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "-- ") {
			b.WriteString(line)
		}
	}
	return b.String()
}
