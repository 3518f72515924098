package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// columnsOfTable is how many columns a table has at most.
	columnsOfTable = 40
	// partsOfTable is of how many expressions the view behind a table is, about: collectives has 35 paths of JSON.
	partsOfTable = 200
	// maxColumns bounds the columns of all SELECTs, in total. The engine has 32 KiB for each, for 2,048 rows.
	maxColumns = 64 * columnsOfTable
	// maxParts bounds the expressions of a statement. The engine binds all of them, which nothing can interrupt.
	maxParts = 20_000
	// maxText is how long a text is that is kept, in bytes: MaxText of package otlp.
	maxText = 16 << 10
	// maxName is the same of names.
	maxName = 256
	// maxTexts bounds the bytes of all texts that are made of a row, 32 that are kept and what is written in the
	// statement. The engine has those of 2,048 rows at once, in each thread, and no limit of it counts them: 1 GiB.
	maxTexts = 32*maxText + MaxStatement
	// escaped is how many bytes of JSON a byte becomes at most: \u0001.
	escaped = 6
	// enough is more than any limit, and few enough to multiply.
	enough = 1 << 30
)

// made is what the engine makes of a part of a statement. It replaces stars by columns, and names of WITH and of a
// select list by what they stand for, each time.
type made struct {
	parts   int  // expressions
	columns int  // of all SELECTs
	texts   int  // bytes of the texts that functions make of a row
	longest int  // bytes of its value, or of that of its longest column
	sum     int  // bytes of the values of a list, together
	width   int  // columns, if it is a table
	several bool // it stands for several columns
	unnests bool
}

// addMade adds what else is made. The value is that of the longest.
func (m *made) addMade(o made) {
	m.parts = min(m.parts+o.parts, enough)
	m.columns = min(m.columns+o.columns, enough)
	m.texts = min(m.texts+o.texts, enough)
	m.sum = min(m.sum+o.longest, enough)
	m.longest = max(m.longest, o.longest)
	m.several, m.unnests = m.several || o.several, m.unnests || o.unnests
}

// addText notes that a function makes a text, or a list, for each row.
func (m *made) addText(bytes int) {
	m.longest = min(bytes, enough)
	m.texts = min(m.texts+m.longest, enough)
}

// by notes that a function makes a text of the same length, and takes several times as much.
func (m *made) by(times int) {
	longest := m.longest
	m.addText(times * longest)
	m.longest = longest
}

// times makes a part as often as there are columns.
func (m *made) times(columns int) { m.parts = min(m.parts*max(1, columns), enough) }

// expander finds what the engine makes of a statement.
type expander struct {
	fields        int // of all structs that the statement has
	rows, unnests bool
	err           error
}

// place is where names are looked up.
type place struct {
	with    *names
	selects *selects
	from    made            // what a SELECT selects from
	plain   bool            // that is only tables that may be asked, and so it is in SELECTs around it
	named   map[string]made // by the lower-case names of the select list
	outer   *place
}

// expand returns why a statement may not be run that has only what is allowed.
func expand(node any) error {
	x := expander{fields: fields(node)}
	m := x.query(node, &place{plain: true})
	switch {
	case x.err != nil:
		return x.err
	case m.columns > maxColumns:
		return fmt.Errorf("its SELECTs have more than %d columns in all, with those of * and of each use of a WITH; "+
			"name the columns that you need", maxColumns)
	case m.parts > maxParts:
		return fmt.Errorf("it has more than %d expressions, with those that names stand for, each time; "+
			"use fewer names of other columns or WITHs, or ask in several statements", maxParts)
	case m.texts > maxTexts:
		return fmt.Errorf("it makes more than %d KiB of texts of a row, if each text is of %d KiB; call fewer functions "+
			"that make texts, and concat instead of several ||", maxTexts>>10, maxText>>10)
	case x.rows && x.unnests:
		return fmt.Errorf("unnest and a whole row may not be in one statement; name the columns")
	}
	return nil
}

// fields returns the number of fields of all structs of a statement.
func fields(node any) (n int) {
	anywhere(node, func(p map[string]any) bool {
		if name := called(p); name == "struct_pack" || name == "row" {
			n += len(arguments(p))
		}
		return false
	})
	return n
}

func isQuery(p map[string]any) bool {
	kind, _ := p["type"].(string)
	return p["class"] == nil && (kind == "SELECT_NODE" || kind == "SET_OPERATION_NODE" || kind == "CTE_NODE")
}

// query returns what a SELECT is, or several that are combined.
func (x *expander) query(node any, at *place) (m made) {
	p, _ := node.(map[string]any)
	if p == nil {
		return made{}
	}
	outside := at.with
	at = &place{with: outside, selects: at.selects, plain: at.plain, outer: at}
	if definitions, _ := p["cte_map"].(map[string]any); definitions != nil {
		list, _ := definitions["map"].([]any)
		for _, one := range list {
			entry, _ := one.(map[string]any)
			name, _ := entry["key"].(string)
			value, _ := entry["value"].(map[string]any)
			x.define(name, value, statement(value["query"]), at)
		}
	}
	if name, _ := p["cte_name"].(string); name != "" {
		x.define(name, p, statement(p["query"]), at)
	}
	if p["type"] == "SELECT_NODE" {
		m = x.selected(p, at)
	} else {
		m = x.combined(p, at)
	}
	for n := at.with; n != outside; n = n.next {
		if !n.used {
			m.addMade(made{parts: n.made.parts, columns: n.made.columns, texts: n.made.texts})
		}
	}
	return made{parts: m.parts, columns: m.columns, texts: m.texts, longest: m.longest, width: m.width}
}

// define adds a table of WITH.
func (x *expander) define(name string, value map[string]any, query any, at *place) {
	at.with = &names{name: name, value: value, made: x.query(query, at), next: at.with}
}

// selected returns what a SELECT is.
func (x *expander) selected(p map[string]any, at *place) (m made) {
	inner := &place{
		with: at.with, selects: &selects{outer: at.selects, tables: tablesOf(p["from_table"], at.with)},
		named: map[string]made{}, plain: at.plain && plain(p["from_table"], at.with), outer: at,
	}
	from := x.table(p["from_table"], &place{with: at.with, selects: inner.selects, plain: at.plain, outer: at})
	inner.from = from
	m.addMade(from)
	m.longest = 0
	list, _ := p["select_list"].([]any)
	for _, one := range list {
		item := x.part(one, inner)
		width := 1
		switch {
		case item.several:
			width = from.width
			item.times(width)
		case item.unnests:
			width = max(1, x.fields)
			item.times(width)
		}
		m.addMade(item)
		m.width = min(m.width+width, enough)
		inner.name(one, item)
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if name != "cte_map" && name != "select_list" && name != "from_table" {
			m.addMade(x.clause(p[name], inner, from.width))
		}
	}
	m.columns = min(m.columns+m.width, enough)
	return m
}

// clause returns what a condition, an order and the like is, of a table with some columns. It has no value.
func (x *expander) clause(part any, at *place, width int) made {
	m := x.part(part, at)
	if m.several {
		m.times(width)
	}
	return made{parts: m.parts, columns: m.columns, texts: m.texts}
}

// name notes what a name of a select list stands for; of two of the same name, the larger one.
func (at *place) name(item any, m made) {
	p, _ := item.(map[string]any)
	alias, _ := p["alias"].(string)
	if alias == "" {
		return
	}
	alias = strings.ToLower(alias)
	old := at.named[alias]
	m.parts, m.texts, m.longest = max(m.parts, old.parts), max(m.texts, old.texts), max(m.longest, old.longest)
	m.columns = max(m.columns, old.columns)
	at.named[alias] = m
}

// combined returns what a UNION and the like is.
func (x *expander) combined(p map[string]any, at *place) (m made) {
	queries, _ := p["children"].([]any)
	if p["type"] == "SET_OPERATION_NODE" {
		queries = append(slices.Clone(queries), p["left"], p["right"])
	} else {
		queries = append(slices.Clone(queries), p["child"])
	}
	kind, _ := p["setop_type"].(string)
	for _, one := range queries {
		q := x.query(one, at)
		m.addMade(q)
		if strings.Contains(kind, "BY_NAME") {
			m.width = min(m.width+q.width, enough)
		} else {
			m.width = max(m.width, q.width)
		}
	}
	m.addMade(x.clause(p["modifiers"], &place{with: at.with, selects: at.selects, from: m, outer: at}, m.width))
	m.columns = min(m.columns+m.width, enough)
	return m
}

// seeing returns the place of what also sees some tables of the FROM that it is in.
func (at *place) seeing(from made, plain bool) *place {
	return &place{with: at.with, selects: at.selects, from: from, plain: at.plain && plain, outer: at}
}

// plain reports whether a FROM has only tables that may be asked, with their own columns.
func plain(from any, with *names) bool {
	p, _ := from.(map[string]any)
	name, _ := p["table_name"].(string)
	switch p["type"] {
	case "BASE_TABLE":
		return with.find(name) == nil && !given(p["column_name_alias"])
	case "JOIN":
		return plain(p["left"], with) && plain(p["right"], with)
	}
	return false
}

// statement returns the query of a statement.
func statement(of any) any {
	p, _ := of.(map[string]any)
	if node := p["node"]; node != nil {
		return node
	}
	return of
}

// table returns what is selected from.
func (x *expander) table(from any, at *place) (m made) {
	p, _ := from.(map[string]any)
	switch p["type"] {
	case "BASE_TABLE":
		name, _ := p["table_name"].(string)
		if found := at.with.find(name); found != nil {
			found.used = true
			return found.made
		}
		return made{parts: partsOfTable, width: columnsOfTable, longest: maxText}
	case "SUBQUERY":
		return x.query(statement(p["subquery"]), at)
	case "JOIN":
		left := x.table(p["left"], at)
		right := x.table(p["right"], at.seeing(left, plain(p["left"], at.with))) // LATERAL
		m.addMade(left)
		m.addMade(right)
		m.width = min(left.width+right.width, enough)
		m.addMade(x.clause(p["condition"], at.seeing(m, plain(p, at.with)), m.width))
	case "EXPRESSION_LIST":
		m = x.part(p["values"], at)
		rows, _ := p["values"].([]any)
		for _, one := range rows {
			row, _ := one.([]any)
			m.width = max(m.width, len(row))
		}
	}
	return m
}
