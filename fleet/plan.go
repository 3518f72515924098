package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// plan is how a statement is asked of many nodes as if their recordings were one: what
// each is asked, and what is made of the answers. Those are in the table t, in columns
// c0, c1, … beside the column node.
type plan struct {
	node    string   // what each node is asked
	final   string   // what is asked of the table; empty: the rows stay as they came
	sums    string   // like final, of rows that have sums only; empty: it cannot be asked of those
	columns []string // of the answer, nil: as the nodes say
	hidden  int      // columns at the end of the nodes' rows that are only for sorting
	grouped bool     // rows stand for all nodes together
	nodeKey int      // which of the nodes' columns is their name, -1 if none is known to be
	note    string   // why rows are each node's own, if they should not be
}

// planOf plans a statement. What is not simple enough to be sure of is answered by each
// node for itself, and the plan says so.
func planOf(sql string) *plan {
	s, err := parse(sql)
	var p *plan
	switch {
	case err != nil:
	case s.aggregates():
		p, err = s.combined()
	default:
		p, err = s.rows()
	}
	if err != nil {
		return &plan{node: sql, nodeKey: -1, note: "each node answered for itself, one after the other: " + err.Error()}
	}
	return p
}

// The aggregate functions: those that can be made of each node's, and others.
var (
	combinable = []string{"count", "sum", "total", "avg", "min", "max"}
	others     = []string{
		"group_concat", "string_agg", "json_group_array", "json_group_object", "percentile",
		"percentile_cont", "percentile_disc", "median",
	}
	// scalars are functions of single values that are known to be nothing else.
	scalars = []string{
		"abs", "round", "ceil", "ceiling", "floor", "coalesce", "ifnull", "nullif", "iif", "cast", "lower", "upper", "substr",
		"substring",
		"trim", "ltrim", "rtrim", "length", "instr", "date", "time", "datetime", "strftime", "unixepoch", "julianday",
	}
)

// call reports whether a function is called at a place, and with how many arguments.
func call(list []token, at int) (args [][]token, ok bool) {
	if list[at].kind != word || at+1 >= len(list) || !list[at+1].is("(") {
		return nil, false
	}
	return commas(list[at+2 : max(group(list, at+1)-1, at+2)]), true
}

// aggregate reports whether an aggregate function is called at a place: min and max of
// several values are none.
func aggregate(list []token, at int) bool {
	args, ok := call(list, at)
	if !ok {
		return false
	}
	switch name := list[at].text; name {
	case "min", "max":
		return len(args) == 1
	default:
		return slices.Contains(combinable, name) || slices.Contains(others, name)
	}
}

// aggregates reports whether rows are made of several.
func (s *statement) aggregates() bool {
	if s.grouped || s.having != nil {
		return true
	}
	for _, list := range s.expressions() {
		for i := range list {
			if list[i].is("select") {
				return false // its own business
			}
			if aggregate(list, i) {
				return true
			}
		}
	}
	return false
}

// expressions are those that may hold an aggregate.
func (s *statement) expressions() [][]token {
	var all [][]token
	for _, i := range s.items {
		all = append(all, i.expr)
	}
	for _, t := range s.order {
		all = append(all, t.expr)
	}
	return all
}

// rows plans a statement whose rows are all nodes' together: sorted, and then cut.
func (s *statement) rows() (*plan, error) {
	list, _ := tokens(s.sql)
	p := &plan{nodeKey: -1}
	if has(list[1:], "select") {
		p.note = "the statement has a subquery, which each node answered for itself"
	}
	if has(list, "over") {
		p.note = "the statement has a window function, which each node answered for itself"
	}
	if s.distinct {
		p.note = "rows are distinct within each node"
	}
	var columns, sort []string
	for _, i := range s.items {
		c := s.source(i.expr)
		if i.alias != "" {
			c += " as " + name(i.alias)
		}
		columns = append(columns, c)
	}
	for _, t := range s.order {
		if n, err := strconv.Atoi(s.source(t.expr)); err == nil {
			sort = append(sort, fmt.Sprintf("c%d %s", n-1, t.how))
			continue
		}
		expr, err := s.aliased(t.expr)
		if err != nil {
			return nil, err
		}
		if s.distinct {
			return nil, errors.New("it has distinct and is not sorted by numbers of columns")
		}
		columns = append(columns, fmt.Sprintf("(%s) as \"ingero order %d\"", s.source(expr), p.hidden))
		sort = append(sort, fmt.Sprintf("h%d %s", p.hidden, t.how))
		p.hidden++
	}
	p.node = "select " + strings.Join(columns, ", ") + " " + s.from
	if s.distinct {
		p.node = "select distinct" + p.node[len("select"):]
	}
	if s.limit >= 0 {
		p.node += s.nodeOrder() + fmt.Sprintf(" limit %d", s.offset+s.limit)
	}
	p.final = "select * from t"
	if len(sort) > 0 {
		p.final += " order by " + strings.Join(sort, ", ")
	}
	p.final += s.tail()
	return p, nil
}

// nodeOrder is the order by which each node cuts its rows.
func (s *statement) nodeOrder() string {
	var list []string
	for _, t := range s.order {
		list = append(list, s.source(t.expr)+" "+t.how)
	}
	if list == nil {
		return ""
	}
	return " order by " + strings.Join(list, ", ")
}

// aliased is an expression to sort by, in terms of the tables. Where an alias is part of
// a longer expression it is not known what is meant.
func (s *statement) aliased(expr []token) ([]token, error) {
	for _, i := range s.items {
		if i.alias == "" {
			continue
		}
		if len(expr) == 1 && expr[0].name() && expr[0].text == i.alias {
			return i.expr, nil
		}
		if slices.ContainsFunc(expr, func(t token) bool { return t.name() && t.text == i.alias }) {
			return nil, fmt.Errorf("it sorts by an expression of %q, which it also defines", i.alias)
		}
	}
	return expr, nil
}

// name writes a name so that it can only be one.
func name(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
