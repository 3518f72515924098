// Package gate decides which questions in SQL may be run: those whose parse tree, as the engine itself writes it, has
// nothing but what is listed here. Anything unknown is refused. The package is pure; the store asks the engine for
// the tree.
//
// It lists what is allowed because the engine's functions can read files, its settings and the machine's memory, and
// each version adds more. The engine's own limits are not enough: some functions make texts that no limit counts.
package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// MaxStatement bounds the length of a statement, in bytes.
const MaxStatement = 16 << 10

// maxDepth bounds the depth of a tree.
const maxDepth = 1000

// Tables are the tables that may be queried.
var Tables = []string{"events", "findings", "stragglers", "collectives", "health", "minutes"}

// Check returns the reason to refuse a statement, from the output of DuckDB's json_serialize_sql, or "". syntax is an
// error in the statement itself.
func Check(tree []byte) (refused, syntax string) {
	var t struct {
		Error      bool   `json:"error"`
		Type       string `json:"error_type"`
		Message    string `json:"error_message"`
		Statements []struct {
			Node any `json:"node"`
		} `json:"statements"`
	}
	if err := json.Unmarshal(tree, &t); err != nil {
		return "its tree cannot be read", ""
	}
	if t.Error {
		line, _, _ := strings.Cut(t.Message, "\n")
		if t.Type == "not implemented" {
			return "only SELECT may be run", ""
		}
		return "", line
	}
	if n := len(t.Statements); n != 1 {
		return fmt.Sprintf("there are %d statements; one may be run", n), ""
	}
	var w walker
	if err := w.walk(t.Statements[0].Node, scope{selects: &selects{}}, 0); err != nil {
		return err.Error(), ""
	}
	if err := expand(t.Statements[0].Node); err != nil {
		return err.Error(), ""
	}
	return "", ""
}

// scope is the position of a node in a statement.
type scope struct {
	tables  *names   // visible names of WITH
	selects *selects // the innermost SELECT
}

// names is a linked list that grows at its head.
type names struct {
	name  string
	value map[string]any // the definition
	made  made           // what the engine makes of it
	used  bool
	next  *names
}

// find returns the nearest definition of a name; nil: there is none.
func (n *names) find(name string) *names {
	for ; n != nil && !same(n.name, name); n = n.next {
	}
	return n
}

// same reports whether the engine takes two names for one. It ignores the case of ASCII letters only: a name that
// looks like a view of the engine must not pass for a table of WITH.
func same(a, b string) bool {
	ascii := func(s string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
	}
	return a == b || ascii(a) && ascii(b) && strings.EqualFold(a, b)
}

// walker checks all nodes of a tree.
type walker struct{ growth }

func (w *walker) walk(part any, s scope, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested too deeply")
	}
	switch p := part.(type) {
	case []any:
		for _, one := range p {
			if err := w.walk(one, s, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		return w.object(p, s, depth)
	}
	return nil
}

func (w *walker) object(p map[string]any, s scope, depth int) error {
	s, err := w.with(p, s, depth)
	if err != nil {
		return err
	}
	if err := w.allowed(p, s); err != nil {
		return err
	}
	list, isSelect := p["select_list"].([]any)
	if isSelect {
		s.selects = &selects{outer: s.selects, tables: tablesOf(p["from_table"], s.tables)}
	}
	for _, item := range list {
		before := w.arguments
		if err := w.walk(item, s, depth+1); err != nil {
			return err
		}
		if w.arguments > before || refers(item, s.selects.longer) != "" { // also one that only passes it on
			s.selects.name(item)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p)) { // of several reasons it is always the same
		if name == "cte_map" || name == "select_list" && isSelect { // checked above
			continue
		}
		if name == "type_info" { // the parts of a type
			continue
		}
		if err := w.walk(p[name], s, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// with checks the tables that a node defines in WITH. Each sees those before it, the rest of the node sees all.
func (w *walker) with(p map[string]any, s scope, depth int) (scope, error) {
	m, _ := p["cte_map"].(map[string]any)
	list, _ := m["map"].([]any)
	for _, one := range list {
		entry, _ := one.(map[string]any)
		name, _ := entry["key"].(string)
		if err := w.walk(entry["value"], s, depth+1); err != nil {
			return s, err
		}
		value, _ := entry["value"].(map[string]any)
		s.tables = &names{name: name, value: value, next: s.tables}
	}
	return s, nil
}

func (w *walker) allowed(p map[string]any, s scope) error {
	kind, _ := p["type"].(string)
	class, _ := p["class"].(string)
	function, isFunction := p["function_name"].(string)
	switch {
	case class == "COLLATE": // a copy in each comparison of the column from then on
		return fmt.Errorf("collate is not allowed; use lower")
	case class != "" && !slices.Contains(classes, class):
		return fmt.Errorf("%s is not allowed", strings.ToLower(class))
	case class == "" && kind != "" && !slices.Contains(kinds, kind):
		return fmt.Errorf("%s is not allowed", strings.ToLower(strings.ReplaceAll(kind, "_", " ")))
	case isFunction:
		return w.function(function, p, s)
	case kind == "ARRAY_CONSTRUCTOR":
		return w.grows(p, s.selects)
	case kind == "OPERATOR_UNPACK":
		return fmt.Errorf("columns may not be unpacked: there may be any number of them")
	case class == "COLUMN_REF" && s.selects.isRow(p):
		return w.put(p, 1, s.selects)
	case class == "CAST" && composed(p["child"]):
		return fmt.Errorf("a list or row that is put together may not be cast")
	case class == "CAST":
		return cast(p["cast_type"])
	case kind == "JOIN":
		return join(p)
	case kind == "BASE_TABLE":
		return table(p, s)
	}
	return nil
}

// cast checks the type that a value is cast to.
func cast(to any) error {
	p, _ := to.(map[string]any)
	name, _ := p["id"].(string)
	if name == "UNBOUND" { // of an extension, or not known
		info, _ := p["type_info"].(map[string]any)
		name, _ = info["name"].(string)
	}
	if !slices.Contains(types, strings.ToUpper(name)) {
		return fmt.Errorf("a value may not be cast to %s; there are numbers, times, varchar, boolean, uuid and json",
			strings.ToLower(name))
	}
	return nil
}

// join checks how two tables are joined.
func join(p map[string]any) error {
	if how, _ := p["ref_type"].(string); !slices.Contains(joins, how) {
		return fmt.Errorf("a join of the kind %q is not allowed", strings.ToLower(how))
	}
	return nil
}

func table(p map[string]any, s scope) error {
	name, _ := p["table_name"].(string)
	schema, _ := p["schema_name"].(string)
	catalog, _ := p["catalog_name"].(string)
	if schema != "" || catalog != "" {
		return fmt.Errorf("the table %s.%s may not be asked; there are %s", catalog+schema, name, strings.Join(Tables, ", "))
	}
	if s.tables.find(name) != nil || slices.ContainsFunc(Tables, func(t string) bool { return same(t, name) }) {
		return nil
	}
	return fmt.Errorf("the table %q may not be asked; there are %s", name, strings.Join(Tables, ", "))
}

func (w *walker) function(name string, p map[string]any, s scope) error {
	for _, where := range []string{"schema", "catalog", "schema_name", "catalog_name"} {
		if v, _ := p[where].(string); v != "" && v != "main" {
			return fmt.Errorf("the function %s.%s may not be called", v, name)
		}
	}
	name = strings.ToLower(name)
	if state, _ := p["export_state"].(bool); state {
		return fmt.Errorf("the state of %s may not be asked", name)
	}
	if slices.Contains(growing, name) {
		return w.grows(p, s.selects)
	}
	if !allowed[name] {
		return fmt.Errorf("the function %s may not be called", name)
	}
	if err := checkArguments(name, arguments(p)); err != nil {
		return err
	}
	if n := s.selects.parts(p); n > 0 {
		return w.put(p, n, s.selects)
	}
	return nil
}

var allowed = words(functions)
