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
		"not outside": {statement(choose(one, `{"type":"JOIN","ref_type":"REGULAR","left":{"type":"SUBQUERY","subquery":{"node":`+
			with("meta", choose(one, table("events")), choose(one, table("meta")))+`}},"right":`+table("meta")+`}`)), `the table "meta"`, ""},
		"a positional join": {statement(choose(one, `{"type":"JOIN","ref_type":"POSITIONAL","left":`+table("events")+
			`,"right":`+table("events")+`}`)), `a join of the kind "positional"`, ""},
		"a join of no kind": {statement(choose(one, `{"type":"JOIN","left":`+table("events")+
			`,"right":`+table("events")+`}`)), "a join of the kind", ""},
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

// What makes a text or a list many times as long as its arguments is refused, also in several steps.
func TestCheckOfWhatMultiplies(t *testing.T) {
	text := func(s string) string {
		return `{"class":"CONSTANT","type":"VALUE_CONSTANT","value":{"type":{"id":"VARCHAR"},"value":"` + s + `"}}`
	}
	cast := func(of, to string) string {
		return `{"class":"CAST","type":"OPERATOR_CAST","child":` + of + `,"cast_type":{"id":"` + to + `","type_info":null}}`
	}
	extension := func(of, to string) string {
		return strings.Replace(cast(of, "UNBOUND"), "null", `{"name":"`+to+`"}`, 1)
	}
	list := func(n int, of string) string {
		return call("list_value", strings.Split(strings.Repeat(of+"|", n), "|")[:n]...)
	}
	columns := `{"class":"STAR","type":"STAR","columns":true}`
	unpacked := `{"class":"OPERATOR","type":"OPERATOR_UNPACK","children":[` + columns + `]}`
	attrs, events := column("attrs"), table("events")
	named := func(from, alias string) string {
		return `{"type":"SUBQUERY","alias":"` + alias + `","subquery":{"node":` + from + `}}`
	}
	nested := func(n int, one func(string) string) string {
		of := attrs
		for range n {
			of = one(of)
		}
		return of
	}
	within := `{"class":"FUNCTION","type":"FUNCTION","function_name":"quantile_disc","children":[` + list(40, one) +
		`],"order_bys":{"type":"ORDER_MODIFIER","orders":[{"type":"ORDER_DEFAULT","expression":` + attrs + `}]}}`
	lower := func(of string) string { return call("lower", of) }
	for name, c := range map[string]struct{ tree, refused string }{
		"to bits":                  {choose(cast(cast(attrs, "BLOB"), "BIT"), events), "may not be cast to bit"},
		"to bytes":                 {choose(cast(attrs, "BLOB"), events), "may not be cast to blob"},
		"to a list":                {choose(cast(attrs, "LIST"), events), "may not be cast to list"},
		"to a type not known":      {choose(extension(attrs, "regclass"), events), "may not be cast to regclass"},
		"to no type":               {choose(`{"class":"CAST","type":"OPERATOR_CAST","child":`+attrs+`}`, events), "may not be cast"},
		"to a number":              {choose(cast(attrs, "DOUBLE"), events), ""},
		"to JSON":                  {choose(cast(extension(attrs, "json"), "VARCHAR"), events), ""},
		"the greatest":             {choose(call("max", attrs), events), ""},
		"many of the greatest":     {choose(call("max", attrs, one), events), "max with 2 arguments may not be called"},
		"the first":                {choose(call("arg_min", attrs, attrs), events), ""},
		"many of the first":        {choose(call("arg_min", attrs, attrs, one), events), "arg_min with 3 arguments"},
		"quantiles":                {choose(call("quantile_disc", attrs, list(32, one)), events), ""},
		"many quantiles":           {choose(call("quantile_disc", attrs, list(33, one)), events), "more than 32 parts"},
		"within a group":           {choose(within, events), "more than 32 parts"},
		"quantiles of numbers":     {choose(call("quantile_cont", attrs, list(100, one)), events), ""},
		"too many of numbers":      {choose(call("quantile_cont", attrs, list(101, one)), events), "101 quantiles; 100 are allowed"},
		"quantiles in a text":      {choose(call("quantile_disc", attrs, text("[0,0]")), events), "must be a number or a list"},
		"quantiles that are hid":   {choose(call("quantile_disc", attrs, call("coalesce", list(2, one))), events), "must be a number or a list"},
		"a half":                   {choose(call("quantile_cont", attrs, call("/", one, one)), events), ""},
		"columns as parts":         {choose(call("concat", columns), events), "COLUMNS may not be put together"},
		"columns as arguments":     {choose(call("lower", columns), events), "COLUMNS may not be where texts are made"},
		"columns, unpacked":        {choose(call("greatest", unpacked), events), "may not be unpacked"},
		"a maximum of columns":     {choose(call("max", columns), events), ""},
		"a path":                   {choose(call("->>", attrs, text("$.a")), events), ""},
		"a path that is computed":  {choose(call("->>", attrs, column("a")), events), "the path of ->> must be written out"},
		"a path to all":            {choose(call("json_extract", attrs, text("$.*")), events), ""},
		"a path to all below":      {choose(call("json_extract", attrs, text("$..*")), events), "may have no .."},
		"two paths":                {choose(call("json_extract", attrs, call("list_value", text("$.a"), text("$.b"))), events), ""},
		"many paths":               {choose(call("json_extract", attrs, list(33, text("$"))), events), "more than 32 parts"},
		"the format of a time":     {choose(call("strftime", attrs, text("%c")), events), ""},
		"one that is computed":     {choose(call("strftime", text("2020-10-20"), call("translate", attrs, attrs, attrs)), events), "the format of strftime"},
		"a long one":               {choose(call("strftime", attrs, text(strings.Repeat("%c", 51))), events), "100 bytes at most"},
		"groups":                   {choose(call("regexp_extract", attrs, text("(.)"), list(2, text("a"))), events), ""},
		"many groups":              {choose(call("regexp_extract", attrs, text("(.)"), list(33, text("a"))), events), "more than 32 parts"},
		"groups in a text":         {choose(call("regexp_extract", attrs, text("(.)"), text("[a, b]")), events), "the group of regexp_extract"},
		"JSON of JSON":             {choose(call("json_array", call("json_array", attrs)), events), ""},
		"JSON of a text of JSON":   {choose(nested(2, func(of string) string { return call("json_array", lower(of)) }), events), "of what another one became"},
		"a list of a list as text": {choose(nested(2, func(of string) string { return cast(call("coalesce", call("list_value", of)), "VARCHAR") }), events), "of what another one became"},
		"paths of a list as text":  {choose(nested(2, func(of string) string { return cast(call("json_extract_string", of, list(1, text("$"))), "VARCHAR") }), events), "of what another one became"},
		"a row of a table":         {choose(column("events"), events), ""},
		"a row, in a row":          {choose(cast(column("b"), "VARCHAR"), named(choose(cast(column("a"), "VARCHAR"), named(choose(attrs, events), "a")), "b")), "whole row"},
		"a row without a name":     {choose(column("unnamed_subquery"), named(choose(column("unnamed_subquery"), named(choose(attrs, events), "")), "")), "whole row"},
		"copies":                   {choose(nested(33, lower), events), ""},
		"many copies":              {choose(nested(34, lower), events), "more than 528 KiB of texts"},
		"many copies of a name":    {choose(strings.ReplaceAll(nested(34, lower), "attrs", "node_id"), events), ""},
		"copies of parts":          {choose(nested(20, lower)+","+call("concat", attrs, attrs, attrs, attrs, attrs, attrs, attrs, attrs, attrs, attrs, attrs, attrs, attrs), events), "more than 528 KiB of texts"},
		"a state":                  {choose(strings.Replace(call("min", attrs), `"schema"`, `"export_state":true,"schema"`, 1), events), "the state of min"},
	} {
		refused, syntax := gate.Check([]byte(statement(c.tree)))
		if !strings.Contains(refused, c.refused) || (c.refused == "") != (refused == "") || syntax != "" {
			t.Errorf("%s: refused: %q, syntax: %q; want %q", name, refused, syntax, c.refused)
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
