package nodes

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// statement is a select that is simple enough to be split into its parts.
type statement struct {
	sql      string
	distinct bool
	items    []item
	from     string // "from … where …", as written; empty if it reads no table
	grouped  bool
	group    [][]token
	having   []token
	order    []term
	limit    int // -1: none
	offset   int
}

// item is a column of the answer.
type item struct {
	expr  []token
	alias string // empty if it has none
}

// term is a part of "order by".
type term struct {
	expr []token
	how  string // collate, asc, desc, nulls first
}

// source is an expression as it was written.
func (s *statement) source(list []token) string {
	if len(list) == 0 {
		return ""
	}
	return s.sql[list[0].begin:list[len(list)-1].end]
}

// parse splits a statement into its parts. An error says why it is not simple.
func parse(sql string) (*statement, error) {
	list, ok := tokens(sql)
	if !ok {
		return nil, errors.New("it ends inside of a quotation")
	}
	for len(list) > 0 && list[len(list)-1].is(";") {
		list = list[:len(list)-1]
	}
	if len(list) == 0 || !list[0].is("select") {
		return nil, errors.New("it does not begin with select")
	}
	if !balanced(list) {
		return nil, errors.New("its parentheses do not match")
	}
	s := &statement{sql: sql, limit: -1}
	clauses, err := divide(list[1:])
	if err != nil {
		return nil, err
	}
	return s, s.fill(clauses)
}

// clauses are the parts of a select, by their first word, which they include.
type clauses map[string][]token

var keywords = []string{"from", "group", "having", "window", "order", "limit", "union", "intersect", "except"}

func divide(list []token) (clauses, error) {
	c := clauses{}
	name, from := "select", 0
	for i := 0; i < len(list); i++ {
		t := list[i]
		if t.is("(") {
			i = group(list, i) - 1
			continue
		}
		if t.kind != word || !slices.Contains(keywords, t.text) {
			continue
		}
		c[name] = list[from:i]
		name, from = t.text, i
		if _, again := c[name]; again {
			return nil, fmt.Errorf("it has %q twice", name)
		}
	}
	c[name] = list[from:]
	for _, t := range list {
		switch {
		case t.is(";"):
			return nil, errors.New("it is more than one statement")
		case t.kind == mark && strings.Contains("?:@", t.text[:1]):
			return nil, errors.New("it has parameters")
		}
	}
	for _, name := range []string{"union", "intersect", "except", "window"} {
		if c[name] != nil {
			return nil, fmt.Errorf("it has %q", name)
		}
	}
	return c, nil
}

func (s *statement) fill(c clauses) error {
	columns := c["select"]
	if len(columns) > 0 && (columns[0].is("distinct") || columns[0].is("all")) {
		s.distinct, columns = columns[0].is("distinct"), columns[1:]
	}
	for _, expr := range commas(columns) {
		s.items = append(s.items, itemOf(expr))
	}
	if len(s.items) == 0 {
		return errors.New("it selects nothing")
	}
	s.from = s.source(c["from"])
	for name, second := range map[string]string{"group": "by", "order": "by"} {
		if l := c[name]; l != nil && (len(l) < 3 || !l[1].is(second)) {
			return fmt.Errorf("what follows %q is not understood", name)
		}
	}
	if l := c["group"]; l != nil {
		s.grouped, s.group = true, commas(l[2:])
	}
	if l := c["having"]; l != nil {
		s.having = l[1:]
	}
	if l := c["order"]; l != nil {
		for _, t := range commas(l[2:]) {
			s.order = append(s.order, s.termOf(t))
		}
	}
	return s.bounds(c["limit"])
}

// itemOf finds the alias of a column: behind "as", or a name behind an expression.
func itemOf(expr []token) item {
	n := len(expr)
	switch {
	case n >= 3 && expr[n-2].is("as") && expr[n-1].name():
		return item{expr[:n-2], expr[n-1].text}
	case n >= 2 && expr[n-1].name() && !expr[n-1].is("end") && ends(expr[n-2]):
		return item{expr[:n-1], expr[n-1].text}
	}
	return item{expr, ""}
}

// ends reports whether an expression can end here.
func ends(t token) bool {
	return t.kind == number || t.kind == text || t.is(")") || t.is("end") || t.kind == quoted ||
		t.kind == word && !slices.Contains([]string{
			"and", "or", "not", "is", "like", "glob", "in", "between", "collate",
			"case", "when", "then", "else", "escape",
		}, t.text)
}

func (s *statement) termOf(t []token) term {
	n := len(t)
	for n > 1 {
		switch last := t[n-1]; {
		case last.is("asc"), last.is("desc"):
			n--
		case n > 2 && t[n-2].is("nulls"), n > 2 && t[n-2].is("collate"):
			n -= 2
		default:
			return term{t[:n], s.source(t[n:])}
		}
	}
	return term{t[:n], s.source(t[n:])}
}

// bounds reads "limit N", "limit N offset M" and "limit M, N".
func (s *statement) bounds(l []token) error {
	if l == nil {
		return nil
	}
	var n []int
	for _, i := range []int{1, 3} {
		if i < len(l) {
			v, err := strconv.Atoi(l[i].text)
			if l[i].kind != number || err != nil || v > 1<<30 {
				return errors.New("its limit is not a plain number")
			}
			n = append(n, v)
		}
	}
	switch {
	case len(l) == 2:
		s.limit = n[0]
	case len(l) == 4 && l[2].is("offset"):
		s.limit, s.offset = n[0], n[1]
	case len(l) == 4 && l[2].is(","):
		s.limit, s.offset = n[1], n[0]
	default:
		return errors.New("its limit is not understood")
	}
	return nil
}

// tail is the limit over all nodes.
func (s *statement) tail() string {
	if s.limit < 0 {
		return ""
	}
	return fmt.Sprintf(" limit %d offset %d", s.limit, s.offset)
}

// has reports whether one of the words is in a list.
func has(list []token, words ...string) bool {
	return slices.ContainsFunc(list, func(t token) bool { return t.kind == word && slices.Contains(words, t.text) })
}
