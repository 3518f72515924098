package nodes

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// plan is how a statement is asked of many nodes as if their recordings were one: the statement for
// each node, and how the answers are combined. These are in the table t, in columns c0, c1, …
// beside the column node.
type plan struct {
	node    string   // statement for each node
	final   string   // statement for the table; empty: the rows stay as they are
	sums    string   // like final, for rows with sums only; empty: impossible
	columns []string // of the answer, nil: as the nodes return them
	hidden  int      // columns at the end of the nodes' rows that are only for sorting
	grouped bool     // rows are for all nodes together
	nodeKey int      // index of the nodes' column with their name, -1 if unknown
	note    string   // why rows are each node's own, although a combined answer was wanted
}

// planOf plans a statement. If it is not simple enough, each node answers for itself, and the plan
// says so.
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

// The aggregate functions: those that can be combined from the nodes' ones, and others.
var (
	combinable = []string{"count", "sum", "total", "avg", "min", "max"}
	others     = []string{
		"group_concat", "string_agg", "json_group_array", "json_group_object", "percentile",
		"percentile_cont", "percentile_disc", "median",
	}
	// scalars are functions of single values, known not to be aggregates.
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

// aggregate reports whether an aggregate function is called at a place: min and max with several
// arguments are not.
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

// aggregates reports whether rows are made from several rows.
func (s *statement) aggregates() bool {
	if s.grouped || s.having != nil {
		return true
	}
	for _, list := range s.expressions() {
		for i := range list {
			if list[i].is("select") {
				return false // a subquery, not counted
			}
			if aggregate(list, i) {
				return true
			}
		}
	}
	return false
}

// expressions are those that may contain an aggregate.
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

// rows plans a statement whose rows are those of all nodes together: sorted, then cut.
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

// nodeOrder is the order in which each node cuts its rows.
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

// aliased is a sort expression in terms of the tables. An alias that is part of a longer expression
// is ambiguous.
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

// name quotes a name so that it can only be a name.
func name(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
