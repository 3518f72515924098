package gate_test

import (
	"strings"
	"testing"

	"github.com/ingero-io/ingero/echo/gate"
)

// Trees as the engine writes them, without fields that do not matter. Package storetest tests how the engine itself
// writes statements.
const one = `{"class":"CONSTANT","type":"VALUE_CONSTANT","value":{"type":{"id":"INTEGER"},"value":1}}`

func statement(node string) string { return `{"error":false,"statements":[{"node":` + node + `}]}` }

func choose(list, from string) string {
	return `{"type":"SELECT_NODE","cte_map":{"map":[]},"select_list":[` + list + `],"from_table":` + from + `}`
}

func table(name string) string {
	return `{"type":"BASE_TABLE","schema_name":"","catalog_name":"","table_name":"` + name + `"}`
}

func call(name string, args ...string) string {
	return `{"class":"FUNCTION","type":"FUNCTION","function_name":"` + name + `","schema":"","children":[` + strings.Join(args, ",") + `]}`
}

func column(name string) string {
	return `{"class":"COLUMN_REF","type":"COLUMN_REF","column_names":["` + name + `"]}`
}

func as(alias, expression string) string { return `{"alias":"` + alias + `",` + expression[1:] }

func with(name, query, rest string) string {
	return strings.Replace(rest, `"cte_map":{"map":[]}`,
		`"cte_map":{"map":[{"key":"`+name+`","value":{"query":{"node":`+query+`}}}]}`, 1)
}

func TestCheck(t *testing.T) {
	joined := func(name string, n int) string {
		args := make([]string, n)
		for i := range args {
			args[i] = column("attrs")
		}
		return call(name, args...)
	}
	inner := choose(joined("concat", 2), table("events"))
	for name, c := range map[string]struct{ tree, refused, syntax string }{
		"a constant":              {statement(choose(one, `{"type":"EMPTY"}`)), "", ""},
		"a table":                 {statement(choose(one, table("events"))), "", ""},
		"in capitals":             {statement(choose(one, table("EVENTS"))), "", ""},
		"another table":           {statement(choose(one, table("point"))), `the table "point" may not be asked`, ""},
		"of a schema":             {statement(choose(one, `{"type":"BASE_TABLE","schema_name":"main","table_name":"events"}`)), "the table main.events", ""},
		"of a catalogue":          {statement(choose(one, `{"type":"BASE_TABLE","catalog_name":"echo","table_name":"events"}`)), "the table echo.events", ""},
		"none":                    {`{"error":false,"statements":[]}`, "there are 0 statements", ""},
		"two":                     {`{"error":false,"statements":[{"node":{}},{"node":{}}]}`, "there are 2 statements", ""},
		"syntax":                  {`{"error":true,"error_type":"parser","error_message":"at or near\nLINE 1"}`, "", "at or near"},
		"no SELECT":               {`{"error":true,"error_type":"not implemented","error_message":"Only"}`, "only SELECT", ""},
		"no tree":                 {`x`, "cannot be read", ""},
		"a part not known":        {statement(choose(one, `{"type":"TABLE_FUNCTION"}`)), "table function is not allowed", ""},
		"an expression not known": {statement(choose(`{"class":"LAMBDA","type":"LAMBDA"}`, table("events"))), "lambda is not allowed", ""},
		"a function":              {statement(choose(call("Median", column("value")), table("events"))), "", ""},
		"another function":        {statement(choose(call("read_csv", one), table("events"))), "the function read_csv may not be called", ""},
		"within one":              {statement(choose(call("abs", call("getenv", one)), table("events"))), "the function getenv", ""},
		"of a catalogue, too":     {statement(choose(strings.Replace(call("abs"), `"schema":""`, `"schema":"x"`, 1), table("events"))), "the function x.abs", ""},
		"what WITH defines":       {statement(with("x", choose(one, table("events")), choose(one, table("x")))), "", ""},
		"not before":              {statement(with("meta", choose(one, table("meta")), choose(one, table("meta")))), `the table "meta"`, ""},
		"not outside": {statement(choose(one, `{"type":"JOIN","left":{"type":"SUBQUERY","subquery":{"node":`+
			with("meta", choose(one, table("events")), choose(one, table("meta")))+`}},"right":`+table("meta")+`}`)), `the table "meta"`, ""},
		"put together":         {statement(choose(joined("||", 2), table("events"))), "", ""},
		"of many":              {statement(choose(joined("concat", 33), table("events"))), "more than 32 parts", ""},
		"in many":              {statement(choose(strings.Repeat(joined("||", 2)+",", 16)+joined("||", 2), table("events"))), "more than 32 parts", ""},
		"a list of many":       {statement(choose(strings.Replace(joined("x", 33), `"class":"FUNCTION","type":"FUNCTION","function_name":"x"`, `"class":"OPERATOR","type":"ARRAY_CONSTRUCTOR"`, 1), table("events"))), "more than 32 parts", ""},
		"of constants":         {statement(choose(call("list_value", strings.Split(strings.Repeat(one+"|", 40), "|")[:40]...), table("events"))), "", ""},
		"in two SELECTs":       {statement(choose(joined("concat", 2), `{"type":"SUBQUERY","subquery":{"node":`+inner+`}}`)), "in more than one SELECT", ""},
		"of what has a name":   {statement(choose(as("a", joined("||", 2))+","+call("||", column("A"), one), table("events"))), `"A", which is put together`, ""},
		"of a name of another": {statement(choose(as("a", joined("||", 2))+","+call("||", column("b"), one), table("events"))), "", ""},
		"deep":                 {statement(choose(strings.Repeat(`[`, 1200)+strings.Repeat(`]`, 1200), table("events"))), "nested too deeply", ""},
	} {
		refused, syntax := gate.Check([]byte(c.tree))
		if !strings.Contains(refused, c.refused) || (c.refused == "") != (refused == "") || syntax != c.syntax {
			t.Errorf("%s: refused: %q, syntax: %q; want %q, %q", name, refused, syntax, c.refused, c.syntax)
		}
	}
}

// No tree makes it fail, and the result does not depend on the order in which nodes are checked.
func FuzzCheck(f *testing.F) {
	f.Add(statement(choose(call("concat", column("a"), one), table("events"))))
	f.Add(statement(with("x", choose(one, table("events")), choose(one, table("x")))))
	f.Fuzz(func(t *testing.T, tree string) {
		refused, syntax := gate.Check([]byte(tree))
		for range 5 {
			if again, too := gate.Check([]byte(tree)); (again == "") != (refused == "") || too != syntax {
				t.Fatalf("%q, %q, and then %q, %q", refused, syntax, again, too)
			}
		}
	})
}
