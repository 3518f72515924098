package gate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/echo/gate"
)

// Columns and expressions are counted as the engine expands stars and names, and texts as it makes them for a row.
func TestCheckOfWhatIsExpanded(t *testing.T) {
	star, columns := `{"class":"STAR","type":"STAR","relation_name":""}`, `{"class":"STAR","type":"STAR","columns":true}`
	attrs, events := column("attrs"), table("events")
	of := func(node string) string { return `{"type":"SUBQUERY","alias":"","subquery":{"node":` + node + `}}` }
	join := func(left, right string) string {
		return `{"type":"JOIN","ref_type":"REGULAR","left":` + left + `,"right":` + right + `}`
	}
	nested := func(n int, item, from string) string {
		for range n {
			from = of(choose(item, from))
		}
		return choose(star, from)
	}
	withs := func(n int, item string, both func(a string) string) string {
		q := choose(item, table(fmt.Sprint("a", n)))
		for i := n; i > 0; i-- {
			q = with(fmt.Sprint("a", i), choose(item, both(table(fmt.Sprint("a", i-1)))), q)
		}
		return with("a0", choose(item, events), q)
	}
	aliases := func(n int, rest string) string {
		list := as("a0", one)
		for i := range n {
			name := column(fmt.Sprint("a", i))
			list += "," + as(fmt.Sprint("A", i+1), call("+", name, name))
		}
		return strings.Replace(choose(list, events), `"from_table"`, rest+`"from_table"`, 1)
	}
	null := attrs
	for range 13 {
		null = call("nullif", null, one)
	}
	slice := func(of string) string { return `{"class":"OPERATOR","type":"ARRAY_SLICE","children":[` + of + `]}` }
	slices := attrs
	for range 17 {
		slices = slice(slices)
	}
	chain := func(n int, of string) string {
		list := of
		for range n {
			list = call("||", list, of)
		}
		return list
	}
	for name, c := range map[string]struct{ tree, refused string }{
		"a star":                     {choose(star, events), ""},
		"stars of stars":             {nested(5, star, events), ""},
		"two stars":                  {nested(4, star+","+star, events), ""},
		"two stars of two stars":     {nested(5, star+","+star, events), "more than 2560 columns"},
		"WITHs twice":                {withs(3, star, func(a string) string { return join(a, a) }), ""},
		"WITHs twice, and so on":     {withs(5, star, func(a string) string { return join(a, a) }), "more than 2560 columns"},
		"tables of WITHs, and so on": {withs(7, one, func(a string) string { return join(a, a) }), "more than 20000 expressions"},
		"names of names":             {aliases(9, ""), ""},
		"names of names, and so on":  {aliases(13, ""), "more than 20000 expressions"},
		"in a condition":             {aliases(11, `"where_clause":`+call("+", column("a11"), column("a11"), column("a11"))+`,`), "more than 20000"},
		"in a SELECT in it":          {aliases(11, `"having":`+of(choose(call("+", column("a11"), column("a11"), column("a11")), events))+`,`), "more than 20000"},
		"columns and texts":          {choose(call("length", call("lower", attrs))+","+columns, events), ""},
		"columns of texts":           {choose(call("if", columns, call("lower", attrs)), events), "COLUMNS may not be where texts are made"},
		"columns in a condition":     {strings.Replace(choose(star, events), `"from_table"`, `"where_clause":`+call("if", columns, call("lower", attrs))+`,"from_table"`, 1), "COLUMNS may not be"},
		"macros of macros":           {choose(null, events), "more than 20000 expressions"},
		"a part of a text":           {choose(call("split_part", attrs, one, one)+","+call("split_part", attrs, one, one), events), ""},
		"three parts of texts":       {choose(strings.Repeat(call("split_part", attrs, one, one)+",", 2)+call("split_part", attrs, one, one), events), "more than 528 KiB"},
		"slices":                     {choose(slices, events), "more than 528 KiB of texts"},
		"a collation":                {choose(`{"class":"COLLATE","type":"COLLATE","child":`+attrs+`}`, events), "collate is not allowed; use lower"},
		"a chain":                    {choose(chain(6, attrs), events), ""},
		"a long chain":               {choose(chain(7, attrs), events), "more than 528 KiB of texts"},
		"a chain of names":           {choose(chain(15, column("node_id")), events), ""},
		"names that are texts":       {choose(chain(7, column("node_id")), of(choose(as("node_id", attrs), events))), "more than 528 KiB"},
		"a text with a name, thrice": {choose(as("a", chain(5, attrs))+","+strings.Repeat(call("length", column("a"))+",", 2)+one, events), "more than 528 KiB"},
		"a sample of quantiles":      {choose(call("reservoir_quantile", attrs, one), events), ""},
		"a large sample":             {choose(call("reservoir_quantile", attrs, one, one), events), "may have no size of its sample"},
		"columns of a struct":        {choose(strings.Replace(star, `_name":"`, `_name":"s`, 1), events), "s.* may not be selected"},
		"columns of a table":         {choose(strings.Replace(star, `_name":"`, `_name":"EVENTS`, 1), events), ""},
		"a row of many columns":      {choose(call("unnest", column("events")), events), "unnest and a whole row"},
	} {
		refused, syntax := gate.Check([]byte(statement(c.tree)))
		if !strings.Contains(refused, c.refused) || (c.refused == "") != (refused == "") || syntax != "" {
			t.Errorf("%s: refused: %q, syntax: %q; want %q", name, refused, syntax, c.refused)
		}
	}
}

// What the parser would copy is refused before it is parsed.
func TestParse(t *testing.T) {
	repeat := strings.Repeat
	for name, c := range map[string]struct{ statement, refused string }{
		"no CASE":                 {"select 1", ""},
		"a CASE":                  {"select case rank when 1 then 2 when 2 then 3 end", ""},
		"many WHEN":               {"select case" + repeat(" when a = 1 then 2", 500) + " end", ""},
		"CASE in CASE":            {"select " + repeat("case ", 5) + "a" + repeat(" when 1 then 1 when 2 then 2 end", 5), ""},
		"CASE in CASE, and so on": {"select " + repeat("CASE ", 30) + "a" + repeat(" WHEN 1 THEN 1 WHEN 2 THEN 2 END", 30), "30 CASE with an operand and 60 WHEN"},
		"of when":                 {"select " + repeat("case whenever+", 30) + "a" + repeat(" when 1 then 1 when 2 then 2 end", 30), "30 CASE with an operand"},
		"in words":                {"select 'in this case, when'" + repeat(", lower_case", 100), ""},
		"windows":                 {"select sum(a) over w, max(a) over w from b window w as (order by c)", ""},
		"many windows":            {"select 1" + repeat(", sum(a)over w", 300) + " from b window w as (order by c" + repeat(" + c", 300) + ")", "OVER 300 times"},
		"many without a name":     {"select 1" + repeat(", sum(a) over ()", 600), ""},
	} {
		if refused := gate.Parse(c.statement); !strings.Contains(refused, c.refused) || (c.refused == "") != (refused == "") {
			t.Errorf("%s: refused: %q; want %q", name, refused, c.refused)
		}
	}
}
