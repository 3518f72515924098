package store_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/event"
)

// columns returns the columns of each view of a store, in order.
func columns(t *testing.T, store string) map[string][]string {
	t.Helper()
	b, err := os.ReadFile(store + "/sql/views.sql")
	if err != nil {
		t.Fatal(err)
	}
	list := map[string][]string{}
	view := regexp.MustCompile(`(?s)create or replace view (\w+).*?\nselect (.*?)\nfrom `)
	for _, m := range view.FindAllStringSubmatch(string(b), -1) {
		for _, one := range outside(m[2]) {
			words := strings.Fields(one)
			list[m[1]] = append(list[m[1]], words[len(words)-1])
		}
	}
	return list
}

// outside splits a list at the commas that are outside of brackets and texts.
func outside(list string) []string {
	var out []string
	depth, begin, text := 0, 0, false
	for i, c := range list {
		switch {
		case c == '\'':
			text = !text
		case text:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			out, begin = append(out, list[begin:i]), i+1
		}
	}
	return append(out, list[begin:])
}

// Both stores publish the same columns in the same order. Each class of waiting that a late rank may have has one.
func TestColumnsOfViews(t *testing.T) {
	duckdb, clickhouse := columns(t, "duckdb"), columns(t, "clickhouse")
	for _, view := range []string{"events", "findings", "stragglers", "collectives", "health", "minutes"} {
		if !slices.Equal(duckdb[view], clickhouse[view]) || len(duckdb[view]) == 0 {
			t.Errorf("%s has the columns\n%q in DuckDB,\n%q in ClickHouse", view, duckdb[view], clickhouse[view])
		}
	}
	for class := range event.NumClasses {
		if name := "before_" + class.String() + "_ms"; !slices.Contains(duckdb["collectives"], name) {
			t.Errorf("collectives has no %s", name)
		}
	}
}
