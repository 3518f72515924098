package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// part returns what a part of a SELECT is: an expression, a list, or a clause.
func (x *expander) part(part any, at *place) (m made) {
	switch p := part.(type) {
	case []any:
		for _, one := range p {
			m.addMade(x.part(one, at))
		}
	case map[string]any:
		if isQuery(p) {
			return x.query(p, at)
		}
		children := 0 // bytes
		for _, name := range slices.Sorted(maps.Keys(p)) {
			if name == "cast_type" || name == "type_info" || name == "value" {
				continue
			}
			c := x.part(p[name], at)
			if name == "children" {
				children = c.sum
			}
			m.addMade(c)
		}
		m.width, m.sum = 0, 0
		if p["class"] != nil {
			x.expression(p, children, &m, at)
		}
	}
	return m
}

// expression adds what an expression is to what is in it.
func (x *expander) expression(p map[string]any, children int, m *made, at *place) {
	m.parts++
	name := called(p)
	many := max(1, elements(rest(arguments(p))))
	if slices.Contains(twice, name) {
		m.parts, m.texts = min(2*m.parts, enough), min(2*m.texts, enough)
	}
	switch class := p["class"]; {
	case class == "CONSTANT":
		s, _ := literal(p)
		m.longest = len(s)
	case class == "COLUMN_REF":
		x.column(p, m, at)
	case class == "STAR":
		x.star(p, at)
		m.several, m.longest = true, at.longest()
		return
	case class == "CAST" && m.longest > maxText: // perhaps of a list, as a text
		m.addText(escaped * m.longest)
	case composed(p), slices.Contains(growing, name):
		if slices.ContainsFunc(arguments(p), func(c any) bool { return isJSON(p) && !constant(c) && !isJSON(c) }) {
			children *= escaped
		}
		m.addText(children + 2) // [ and ]
	case name == "translate": // a character of one byte may become one of four
		m.addText(4 * m.longest)
	case name == "split_part": // by way of a list, of 16 bytes for each part, which may be a byte
		m.by(16)
	case p["type"] == "ARRAY_SLICE": // the engine has it twice
		m.by(2)
	case slices.Contains(copying, name), name == "strftime":
		m.addText(many * m.longest)
	case name == "quantile", name == "quantile_disc":
		if n := elements(fractions(arguments(p))); n > 0 {
			m.addText(n * m.longest)
		}
	case name == "unnest":
		m.unnests, x.unnests = true, true
	}
	if m.several && m.texts > 0 {
		x.fail("COLUMNS may not be where texts are made: they are made again for each column; name the columns")
	}
}

// isJSON reports whether a node is JSON that is put together.
func isJSON(part any) bool {
	p, _ := part.(map[string]any)
	return strings.HasPrefix(called(p), "json_") && slices.Contains(growing, called(p))
}

// column adds what a column stands for.
func (x *expander) column(p map[string]any, m *made, at *place) {
	m.longest = at.longest()
	switch {
	case at.selects.isRow(p):
		x.rows = true
		m.longest = min(at.width()*m.longest, enough)
	case at.plain && short[strings.ToLower(last(p))]:
		m.longest = maxName
	}
	for _, name := range columnNames(p) {
		for in := at; in != nil; in = in.outer {
			m.addMade(in.named[strings.ToLower(name)])
		}
	}
}

// star checks whose columns a star stands for: those of a struct are not known.
func (x *expander) star(p map[string]any, at *place) {
	of, _ := p["relation_name"].(string)
	if of != "" && !at.selects.isTable(of) && !strings.HasPrefix(strings.ToLower(of), "unnamed_subquery") {
		x.fail(fmt.Sprintf("%s.* may not be selected: %[1]s is no table of this SELECT", of))
	}
}

func (x *expander) fail(why string) {
	if x.err == nil {
		x.err = fmt.Errorf("%s", why)
	}
}

// longest returns how long the longest column is that may be named here.
func (at *place) longest() (n int) {
	for ; at != nil; at = at.outer {
		n = max(n, at.from.longest)
	}
	return n
}

// width returns how many columns a table has at most that may be named here.
func (at *place) width() (n int) {
	for ; at != nil; at = at.outer {
		n = max(n, at.from.width)
	}
	return n
}
