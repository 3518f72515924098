package gate

import (
	"fmt"
	"slices"
	"strings"
)

// maxGrowing bounds the number of arguments of all functions that make texts longer, in total.
const maxGrowing = 32

// growth keeps functions that make texts longer from making one that does not fit in memory. Each at most doubles a
// text, but a name for its result can be passed to the next function: 30 names make a gigabyte. So they may be in one
// SELECT only, and not use a result that another of them has named there. Then a text is as long as its parts.
//
// Lists and rows are among them: as a text, or as JSON, they have each quote of their parts twice. So none may be made
// of a text of another.
type growth struct {
	arguments int      // number of arguments of all of them
	in        *selects // the SELECT that they are in
}

// grows counts a function of growing.
func (g *growth) grows(p map[string]any, in *selects) error {
	children := arguments(p)
	if !slices.ContainsFunc(children, func(c any) bool { return !constant(c) }) {
		return nil // at most as long as the statement
	}
	if anywhere(children, unpacked) {
		return fmt.Errorf("COLUMNS may not be put together: it has as many parts as there are columns")
	}
	return g.put(p, len(children), in)
}

// put counts what is put together of parts.
func (g *growth) put(p map[string]any, parts int, in *selects) error {
	g.arguments += max(1, parts)
	row := p["class"] == "COLUMN_REF"
	switch {
	case g.arguments > maxGrowing:
		return fmt.Errorf("texts or lists are put together of more than %d parts", maxGrowing)
	case g.in != nil && g.in != in && row:
		return fmt.Errorf("texts or lists are put together in more than one SELECT; %q is the name of a table, "+
			"and as a column its whole row", last(p))
	case g.in != nil && g.in != in:
		return fmt.Errorf("texts or lists are put together in more than one SELECT")
	}
	g.in = in
	of := append(slices.Clone(arguments(p)), p["order_bys"]) // of WITHIN GROUP
	if name := refers(of, in.longer); name != "" && !row {
		return fmt.Errorf("%q, which is put together, is put together with something again", name)
	}
	if in.parts(p) > 0 && slices.ContainsFunc(of, func(c any) bool { return in.again(p, c) }) {
		return fmt.Errorf("a list, row or JSON text is made of what another one became")
	}
	return nil
}

// again reports whether an argument of a list, row or JSON text has others in it, other than as its elements.
func (s *selects) again(of map[string]any, argument any) bool {
	if p, _ := argument.(map[string]any); composed(of) && s.parts(p) > 0 {
		return false // which is checked itself
	}
	return anywhere(argument, func(p map[string]any) bool { return s.parts(p) > 0 })
}

// parts returns of how many parts a node makes a list, row or JSON text; 0: it makes none, or one of constants.
func (s *selects) parts(p map[string]any) int {
	name, children := called(p), arguments(p)
	switch {
	case p["class"] == "COLUMN_REF":
		if s.isRow(p) {
			return 1
		}
		return 0
	case composed(p):
		if slices.ContainsFunc(children, func(c any) bool { return !constant(c) }) {
			return len(children)
		}
		return 0
	case name == "json_keys":
		return max(1, elements(children))
	case slices.Contains(withPath, name) && slices.ContainsFunc(rest(children), wildcard):
		return max(1, elements(rest(children)))
	case slices.Contains(withPath, name), name == "regexp_extract":
		return elements(rest(children))
	case name == "quantile", name == "quantile_disc": // the others have numbers only
		return elements(fractions(children))
	}
	return 0
}

// composed reports whether a node is a list or row that the statement makes. As a text, it has each quote twice;
// nested in another, twice again.
func composed(part any) bool {
	p, _ := part.(map[string]any)
	return p["type"] == "ARRAY_CONSTRUCTOR" || slices.Contains(composing, called(p))
}

// called returns the name of a function; empty: the node is none.
func called(p map[string]any) string {
	name, _ := p["function_name"].(string)
	return strings.ToLower(name)
}

func arguments(p map[string]any) []any {
	children, _ := p["children"].([]any)
	return children
}

// rest returns the arguments without the first.
func rest(children []any) []any { return children[min(1, len(children)):] }

func constant(part any) bool {
	p, _ := part.(map[string]any)
	return p["class"] == "CONSTANT"
}

// unpacked reports whether a node stands for several columns.
func unpacked(p map[string]any) bool {
	several, _ := p["columns"].(bool)
	return several || p["type"] == "OPERATOR_UNPACK"
}

// anywhere reports whether a node of a tree is what is looked for.
func anywhere(part any, is func(map[string]any) bool) bool {
	switch p := part.(type) {
	case []any:
		return slices.ContainsFunc(p, func(one any) bool { return anywhere(one, is) })
	case map[string]any:
		if is(p) {
			return true
		}
		for _, one := range p {
			if anywhere(one, is) {
				return true
			}
		}
	}
	return false
}

// refers returns the first of the names that a tree refers to as a column.
func refers(part any, names []string) string {
	found := ""
	anywhere(part, func(p map[string]any) bool {
		if name := last(p); slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			found = name
			return true
		}
		return false
	})
	return found
}
