package gate

import (
	"fmt"
	"slices"
	"strings"
)

// growth keeps functions that make texts longer from making one that does not fit in memory. Each at most doubles a
// text, but a name for its result can be passed to the next function: 30 names make a gigabyte. So they may be in one
// SELECT only, and not use a result that another of them has named there. Then a text is as long as its parts.
type growth struct {
	arguments int      // number of arguments of all of them
	in        *selects // the SELECT that they are in
}

// selects is a SELECT, with the names that it gives to lengthened texts.
type selects struct{ longer []string }

// name notes the name of a result.
func (s *selects) name(item any) {
	p, _ := item.(map[string]any)
	if alias, _ := p["alias"].(string); alias != "" {
		s.longer = append(s.longer, alias)
	}
}

// grows counts a function.
func (g *growth) grows(p map[string]any, in *selects) error {
	children, _ := p["children"].([]any)
	if !slices.ContainsFunc(children, func(c any) bool { return !constant(c) }) {
		return nil // at most as long as the statement
	}
	g.arguments += max(1, len(children))
	switch {
	case g.arguments > maxGrowing:
		return fmt.Errorf("texts or lists are put together of more than %d parts", maxGrowing)
	case g.in != nil && g.in != in:
		return fmt.Errorf("texts or lists are put together in more than one SELECT")
	}
	g.in = in
	if name := refers(children, in.longer); name != "" {
		return fmt.Errorf("%q, which is put together, is put together with something again", name)
	}
	return nil
}

// composed reports whether a node is a list or row that the statement makes. As a text, it has each quote twice;
// nested in another, twice again.
func composed(part any) bool {
	p, _ := part.(map[string]any)
	name, _ := p["function_name"].(string)
	return p["type"] == "ARRAY_CONSTRUCTOR" || slices.Contains(composing, strings.ToLower(name))
}

func constant(part any) bool {
	p, _ := part.(map[string]any)
	return p["class"] == "CONSTANT"
}

// refers returns the first of the names that a tree refers to as a column.
func refers(part any, names []string) string {
	switch p := part.(type) {
	case []any:
		for _, one := range p {
			if name := refers(one, names); name != "" {
				return name
			}
		}
	case map[string]any:
		if columns, ok := p["column_names"].([]any); ok && len(columns) > 0 {
			last, _ := columns[len(columns)-1].(string)
			if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, last) }) {
				return last
			}
		}
		for _, one := range p {
			if name := refers(one, names); name != "" {
				return name
			}
		}
	}
	return ""
}
