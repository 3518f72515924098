package sqlite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCurrentViewsOnOlderRecordings: a query of the documents runs on recordings that were
// made before its view was there, and finds what they hold.
func TestCurrentViewsOnOlderRecordings(t *testing.T) {
	t.Parallel()
	today := query(t, fullRecording(t),
		`select v.name, group_concat('"' || c.name || '"', ', ') from sqlite_schema v, pragma_table_info(v.name) c
		where v.type = 'view' group by v.name`)
	if len(today) < 50 {
		t.Fatalf("%d views", len(today))
	}
	const graphs = "../../investigations/graph-recapture.db"
	for some := range slices.Chunk(today, 40) { // opening a recording takes longer than asking it
		var all []string
		for _, v := range some {
			all = append(all, fmt.Sprintf("(select count(*) from (select %s from %s limit 1))", v[1], v[0]))
		}
		query(t, graphs, "select "+strings.Join(all, ", "))
	}
	for sql, want := range map[string]int64{
		"select count(*) from graph_execs":      47, // as many are stored
		"select count(*) from graph_captures":   11,
		"select count(*) from io_requests":      0,
		"select count(distinct id) from events": 5406,
		"select sum(stored) from events":        1820,
		"select sum(calls) from op_seconds":     5138,
	} {
		if got := query(t, graphs, sql)[0][0]; got != want {
			t.Errorf("%s: %v, want %d", sql, got, want)
		}
	}
}
