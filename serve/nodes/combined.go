package nodes

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// combiner splits a statement with aggregates in two: each node is asked for its groups with parts
// of the aggregates (for an average, sum and count), and the answer is computed from the sums of
// these parts. Anything it does not fully understand is an error.
type combiner struct {
	*statement
	keys  [][]token // group by columns: c0, c1, … of the table
	parts []string  // aggregates requested from nodes: the columns after the keys
}

// combined plans a statement with aggregates.
func (s *statement) combined() (*plan, error) {
	list, _ := tokens(s.sql)
	switch {
	case has(list[1:], "select"):
		return nil, errors.New("it has aggregates and a subquery")
	case has(list, "over"):
		return nil, errors.New("it has a window function")
	case s.distinct:
		return nil, errors.New("it has aggregates and distinct")
	}
	c := &combiner{statement: s}
	if err := c.readKeys(); err != nil {
		return nil, err
	}
	p := &plan{
		grouped: true,
		nodeKey: slices.IndexFunc(c.keys, func(k []token) bool { return len(k) == 1 && k[0].is(nodeColumn) }),
	}
	var columns, sums []string
	adds := false
	for _, i := range s.items {
		e, err := c.rewrite(i.expr, false)
		if err != nil {
			return nil, err
		}
		n := i.alias
		if n == "" {
			n = s.source(i.expr)
		}
		p.columns = append(p.columns, n)
		columns = append(columns, e)
		sum, other := aggregated(i.expr)
		if other {
			e = "null"
		}
		sums, adds = append(sums, e), adds || sum && !other
	}
	tail, err := c.finalTail()
	if err != nil {
		return nil, err
	}
	p.final = "select " + strings.Join(columns, ", ") + " from t" + tail
	if c.having == nil && adds {
		p.sums = "select " + strings.Join(sums, ", ") + " from t" + c.by()
	}
	p.node = c.nodeSQL()
	return p, nil
}

// aggregated reports whether an expression has sums, and whether it has other aggregates.
func aggregated(expr []token) (sum, other bool) {
	for i := range expr {
		if aggregate(expr, i) {
			adds := expr[i].is("sum") || expr[i].is("total")
			sum, other = sum || adds, other || !adds
		}
	}
	return sum, other
}

// readKeys finds the group by expressions behind numbers and aliases.
func (c *combiner) readKeys() error {
	for _, g := range c.group {
		if n, err := strconv.Atoi(c.source(g)); err == nil {
			if n < 1 || n > len(c.items) {
				return fmt.Errorf("it groups by column %d", n)
			}
			g = c.items[n-1].expr
		} else if len(g) == 1 && g[0].name() {
			var err error
			if g, err = c.behind(g); err != nil {
				return err
			}
		}
		c.keys = append(c.keys, g)
	}
	return nil
}

// behind is the expression for a name in group by. A table column of that name would take
// precedence over an alias; there may be one if the name is used elsewhere.
func (c *combiner) behind(g []token) ([]token, error) {
	for _, i := range c.items {
		if i.alias != g[0].text || same(i.expr, g) {
			continue
		}
		for _, o := range c.items {
			if slices.ContainsFunc(o.expr, func(t token) bool { return t.name() && t.text == g[0].text }) {
				return nil, fmt.Errorf("it groups by %q, which may be a column or what it defines", g[0].text)
			}
		}
		return i.expr, nil
	}
	return g, nil
}

// finalTail is what follows "from t".
func (c *combiner) finalTail() (string, error) {
	var b strings.Builder
	b.WriteString(c.by())
	if c.having != nil {
		e, err := c.rewrite(c.having, true)
		if err != nil {
			return "", err
		}
		b.WriteString(" having " + e)
	}
	for i, t := range c.order {
		e := c.source(t.expr)
		if _, err := strconv.Atoi(e); err != nil {
			if e, err = c.rewrite(t.expr, true); err != nil {
				return "", err
			}
		}
		b.WriteString([]string{", ", " order by "}[btoi(i == 0)] + e + " " + t.how)
	}
	return b.String() + c.tail(), nil
}

// by is the group by clause for the table.
func (c *combiner) by() string {
	var b strings.Builder
	for i := range c.keys {
		b.WriteString([]string{", ", " group by "}[btoi(i == 0)] + fmt.Sprintf("c%d", i))
	}
	return b.String()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// nodeSQL is the statement for each node.
func (c *combiner) nodeSQL() string {
	var columns, by []string
	for i, k := range c.keys {
		columns = append(columns, fmt.Sprintf("(%s) as c%d", c.source(k), i))
		by = append(by, strconv.Itoa(i+1))
	}
	for i, p := range c.parts {
		columns = append(columns, fmt.Sprintf("%s as c%d", p, len(c.keys)+i))
	}
	sql := "select " + strings.Join(columns, ", ") + " " + c.from
	if by != nil {
		sql += " group by " + strings.Join(by, ", ")
	}
	return sql
}

// part is the column of an aggregate requested from nodes.
func (c *combiner) part(sql string) string {
	i := slices.Index(c.parts, sql)
	if i < 0 {
		i = len(c.parts)
		c.parts = append(c.parts, sql)
	}
	return fmt.Sprintf("c%d", len(c.keys)+i)
}

// operators are the words that may be in an expression unchanged.
var operators = []string{
	"and", "or", "not", "is", "in", "like", "glob", "between", "null", "case", "when", "then", "else", "end", "as",
	"isnull", "notnull",
	"true", "false", "collate", "nocase", "binary", "integer", "int", "real", "text", "numeric",
}

// rewrite is an expression in terms of the table. With aliases, names of the answer's columns stand
// for them.
func (c *combiner) rewrite(list []token, aliases bool) (string, error) {
	var out []string
	for i := 0; i < len(list); i++ {
		t := list[i]
		if k, n := c.key(list, i); n > 0 {
			out = append(out, fmt.Sprintf("c%d", k))
			i += n - 1
			continue
		}
		if aggregate(list, i) {
			e, err := c.aggregate(list, i)
			if err != nil {
				return "", err
			}
			out = append(out, e)
			i = group(list, i+1) - 1
			continue
		}
		_, called := call(list, i)
		switch {
		case called && !slices.Contains(scalars, t.text) && t.text != "min" && t.text != "max" &&
			!slices.Contains(operators, t.text):
			return "", fmt.Errorf("it is not known whether %s() may be applied to what nodes answered", t.text)
		case called, t.kind == number, t.kind == text, t.kind == mark, t.kind == word && slices.Contains(operators, t.text):
			out = append(out, c.sql[t.begin:t.end])
		case aliases && c.alias(t.text) != nil:
			e, err := c.rewrite(c.alias(t.text), false)
			if err != nil {
				return "", err
			}
			out = append(out, "("+e+")")
		default:
			return "", fmt.Errorf("it does not group by %q, so which row that is of is any node's choice", t.text)
		}
	}
	return strings.Join(out, " "), nil
}

// key is which of the keys stands at a place, and how many tokens it has.
func (c *combiner) key(list []token, at int) (k, n int) {
	if at > 0 && list[at-1].is(".") {
		return 0, 0
	}
	for i, key := range c.keys {
		end := at + len(key)
		if len(key) <= n || end > len(list) || !same(list[at:end], key) {
			continue
		}
		if end < len(list) && (list[end].is(".") || list[end].is("(")) {
			continue
		}
		k, n = i, len(key)
	}
	return k, n
}

func (c *combiner) alias(s string) []token {
	for _, i := range c.items {
		if i.alias == s {
			return i.expr
		}
	}
	return nil
}

// aggregate combines an aggregate from those of the nodes.
func (c *combiner) aggregate(list []token, at int) (string, error) {
	name := list[at].text
	end := group(list, at+1)
	args := list[at+2 : end-1]
	whole := c.source(list[at:end])
	switch {
	case slices.Contains(others, name):
		return "", fmt.Errorf("%s() of all nodes cannot be made of %[1]s() of each", name)
	case has(args, "distinct") && name != "min" && name != "max":
		return "", fmt.Errorf("%s(distinct …) of all nodes cannot be made of that of each", name)
	case end < len(list) && list[end].is("filter"):
		return "", errors.New("it has a filter behind an aggregate")
	}
	arg := c.source(args)
	switch name {
	case "count":
		return "coalesce(sum(" + c.part(whole) + "), 0)", nil
	case "avg": // nodes' numbers of rows differ
		return fmt.Sprintf("(cast(sum(%s) as real) / sum(%s))", c.part("total("+arg+")"), c.part("count("+arg+")")), nil
	}
	return name + "(" + c.part(whole) + ")", nil // a sum of sums, the minimum of minima
}
