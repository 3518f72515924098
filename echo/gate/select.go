package gate

import (
	"slices"
	"strings"
)

// selects is a SELECT.
type selects struct {
	longer []string // the names that it gives to lengthened texts
	tables []source // what it selects from
	outer  *selects // the SELECT that it is in; nil: none
}

// source is a table in a FROM.
type source struct {
	name string
	// column says that it certainly has a column of its own name, which hides its whole row.
	column bool
}

// name notes the name of a result.
func (s *selects) name(item any) {
	p, _ := item.(map[string]any)
	if alias, _ := p["alias"].(string); alias != "" {
		s.longer = append(s.longer, alias)
	}
}

// isTable reports whether a table of a SELECT, or of one that it is in, has a name.
func (s *selects) isTable(name string) bool {
	return s.some(func(t source) bool { return strings.EqualFold(t.name, name) })
}

// isRow reports whether a column may be the whole row of a table of a SELECT, or of one that it is in.
func (s *selects) isRow(p map[string]any) bool {
	parts, name := columnNames(p), last(p)
	if len(parts) > 1 && s.isTable(parts[0]) && !slices.ContainsFunc(parts[:len(parts)-1], isMain) {
		return false // a column of a table: all tables are of the schema main
	}
	row := func(t source) bool { return strings.EqualFold(t.name, name) && !(t.column && len(parts) == 1) }
	return s.some(row) || strings.HasPrefix(strings.ToLower(name), "unnamed_subquery")
}

func isMain(name string) bool { return strings.EqualFold(name, "main") }

func (s *selects) some(is func(source) bool) bool {
	for ; s != nil; s = s.outer {
		if slices.ContainsFunc(s.tables, is) {
			return true
		}
	}
	return false
}

// tablesOf returns what a SELECT selects from.
func tablesOf(from any, with *names) []source {
	p, _ := from.(map[string]any)
	if p == nil {
		return nil
	}
	list := slices.Concat(tablesOf(p["left"], with), tablesOf(p["right"], with))
	name, _ := p["alias"].(string)
	if name == "" {
		name, _ = p["table_name"].(string)
	}
	if name == "" {
		return list
	}
	return append(list, source{name, hasColumn(p, name, with)})
}

// hasColumn reports whether a table certainly has a column: a SELECT gives it the name, and nothing another one.
func hasColumn(p map[string]any, name string, with *names) bool {
	if given(p["column_name_alias"]) {
		return false
	}
	query := p["subquery"]
	if p["type"] == "BASE_TABLE" {
		table, _ := p["table_name"].(string)
		found := with.find(table)
		if found == nil || given(found.value["aliases"]) {
			return false
		}
		query = found.value["query"]
	}
	node, _ := statement(query).(map[string]any)
	list, _ := node["select_list"].([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		p, _ := item.(map[string]any)
		alias, _ := p["alias"].(string)
		if alias == "" && p["class"] == "COLUMN_REF" {
			alias = last(p)
		}
		return same(alias, name)
	})
}

// given reports whether a list has anything.
func given(list any) bool {
	l, isList := list.([]any)
	return list != nil && (!isList || len(l) > 0)
}

func columnNames(p map[string]any) []string {
	list, _ := p["column_names"].([]any)
	texts := make([]string, len(list))
	for i := range list {
		texts[i], _ = list[i].(string)
	}
	return texts
}

// last returns the last part of the name of a column.
func last(p map[string]any) string {
	list := columnNames(p)
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}
