package chsql

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/ingero-io/ingero/echo/gate"
)

// node is a node of a syntax tree.
type node struct {
	kind, name string // such as Function and count
	children   []*node
}

// Check returns the reason to refuse a statement, from the lines of EXPLAIN AST, or "". The statement is in
// ClickHouse's own form (formatQuerySingleLine), and the tree is of that form. names are the tables that the
// statement defines in WITH. They are not in the tree, so the caller must refuse those that are names of tables.
//
// Everything in the tree must be listed here. What the tree leaves out is read from the text: names in WITH, and
// RECURSIVE. Quoted names that could look like lines of the tree are refused.
func Check(statement string, tree []string) (names []string, refused string) {
	list := tokens(statement)
	for _, t := range list {
		if strings.ContainsFunc(t.name, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }) {
			return nil, "a name has characters that are not allowed"
		}
	}
	names, recursive := defined(list)
	if recursive {
		return nil, "WITH RECURSIVE is not allowed"
	}
	for _, n := range names { // in the tree, a name with a dot is a table of a database
		if !plainName.MatchString(n) {
			return nil, "names in WITH are words"
		}
	}
	root, ok := parse(tree)
	if !ok {
		return nil, "its tree cannot be read"
	}
	if root.kind != "SelectWithUnionQuery" {
		return nil, "only SELECT may be run"
	}
	w := walker{names: names}
	if err := w.walk(root, nil); err != nil {
		return nil, err.Error()
	}
	if w.withs != len(names) {
		return nil, "the names in WITH cannot be found"
	}
	return names, ""
}

// Begins returns why a statement may not even be explained; empty: it may.
func Begins(statement string) (refused string) {
	list := tokens(statement)
	if len(list) == 0 || !list[0].is("SELECT") && !list[0].is("WITH") && !list[0].is("(") {
		return "only SELECT may be run"
	}
	for i := range list {
		if list[i].is("SETTINGS") && i+2 < len(list) && list[i+2].is("=") {
			return "SETTINGS are not allowed"
		}
	}
	return ""
}

// defined returns the names of WITH … AS (SELECT …).
func defined(list []token) (names []string, recursive bool) {
	for i, t := range list {
		if t.name == "" || i == 0 || i+3 >= len(list) || !list[i+1].is("AS") {
			continue
		}
		rest := list[i+2:]
		if rest[0].is("MATERIALIZED") {
			rest = rest[1:]
		}
		if len(rest) < 2 || !rest[0].is("(") || !rest[1].is("SELECT") && !rest[1].is("WITH") && !rest[1].is("(") {
			continue
		}
		switch before := list[i-1]; {
		case before.is("RECURSIVE"):
			return nil, true
		case before.is("WITH"), before.is(","):
			names = append(names, t.name)
		}
	}
	return names, false
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var (
	childrenSuffix = regexp.MustCompile(` \(children \d+\)$`)
	aliasSuffix    = regexp.MustCompile(` \(alias .*\)$`)
)

// parse builds a tree from its lines. Each is indented by one space more than its parent.
func parse(lines []string) (*node, bool) {
	var above []*node
	for _, line := range lines {
		text := strings.TrimLeft(line, " ")
		depth := len(line) - len(text)
		if text == "" || depth > len(above) || depth == 0 && len(above) > 0 {
			return nil, false
		}
		text = aliasSuffix.ReplaceAllString(childrenSuffix.ReplaceAllString(text, ""), "")
		n := &node{}
		n.kind, n.name, _ = strings.Cut(text, " ")
		if depth > 0 {
			above[depth-1].children = append(above[depth-1].children, n)
		}
		above = append(above[:depth], n)
	}
	if len(above) == 0 {
		return nil, false
	}
	return above[0], true
}

type walker struct {
	names []string
	withs int
}

func (w *walker) walk(n, parent *node) error {
	if !slices.Contains(kinds, n.kind) {
		return fmt.Errorf("%s is not allowed", n.kind)
	}
	switch n.kind {
	case "SelectWithUnionQuery":
		if len(n.children) != 1 { // FORMAT, INTO OUTFILE, SETTINGS
			return fmt.Errorf("FORMAT, INTO OUTFILE and SETTINGS are not allowed")
		}
	case "WithElement":
		w.withs++
	case "TableIdentifier":
		if !slices.Contains(gate.Tables, n.name) && !slices.Contains(w.names, n.name) {
			return fmt.Errorf("the table %q may not be asked; there are %s", n.name, strings.Join(gate.Tables, ", "))
		}
	case "Function":
		if err := function(n, parent); err != nil {
			return err
		}
	}
	for _, c := range n.children {
		if err := w.walk(c, n); err != nil {
			return err
		}
	}
	return nil
}

func function(n, parent *node) error {
	if parent != nil && parent.kind == "TableExpression" {
		if n.name != "SQLStandardValues" {
			return fmt.Errorf("the table function %s may not be called", n.name)
		}
		return nil
	}
	name := strings.ToLower(n.name)
	if !allowed[name] {
		return fmt.Errorf("the function %s may not be called", n.name)
	}
	switch second := argument(n, 1); {
	case slices.Contains(within, name) && (second == nil || second.kind == "Identifier"): // a name would be a table
		return fmt.Errorf("behind IN must be a list or (SELECT …)")
	case name == "cast" && (second == nil || second.kind != "Literal"):
		return fmt.Errorf("a type must be written as one")
	case name == "cast" && strings.Contains(strings.ToLower(second.name), "aggregatefunction"):
		return fmt.Errorf("nothing may be cast to a state of an aggregate function") // checked only when it is read
	}
	return nil
}

// argument returns the i-th argument of a function, nil if there is none.
func argument(n *node, i int) *node {
	if len(n.children) == 0 || len(n.children[0].children) <= i {
		return nil
	}
	return n.children[0].children[i]
}
