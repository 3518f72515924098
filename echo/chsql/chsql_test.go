package chsql_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ingero-io/ingero/echo/chsql"
)

func TestTranslate(t *testing.T) {
	for from, want := range map[string]string{
		"SELECT quantile_cont(value_double, 0.5) AS m":           "SELECT quantileExactInclusive(0.5)(value_double) AS m",
		"SELECT QUANTILE_CONT(f(a, b), 0.95), 1":                 "SELECT quantileExactInclusive(0.95)(f(a, b)), 1",
		"SELECT quantile_cont(v, [0.5, 0.9])":                    "SELECT quantilesExactInclusive(0.5, 0.9)(v)",
		"SELECT quantile_contIf(v, 0.5, a > 1)":                  "SELECT quantileExactInclusiveIf(0.5)(v, a > 1)",
		"SELECT approx_quantile(v, 0.5)":                         "SELECT quantileDD(0.01, 0.5)(v)",
		"SELECT median(quantile_cont(v, 0.5))":                   "SELECT quantileExactInclusive(0.5)(quantileExactInclusive(0.5)(v))",
		"SELECT json_extract_string(a, '$.x') FROM t":            "SELECT JSON_VALUE(a, '$.x') FROM t",
		"SELECT arg_max(a, b), arg_minIf(a, b, c)":               "SELECT argMax(a, b), argMinIf(a, b, c)",
		"SELECT 'quantile_cont(v, 0.5)', `median`(v), median":    "SELECT 'quantile_cont(v, 0.5)', `median`(v), median",
		"SELECT 'it\\'s median(v)', '''', \"median(v)\"":         "SELECT 'it\\'s median(v)', '''', \"median(v)\"",
		"SELECT quantile_cont(v, a), quantile_cont(v), median()": "SELECT quantile_cont(v, a), quantile_cont(v), median()",
		"SELECT quantile_cont(v, 0.5":                            "SELECT quantile_cont(v, 0.5",
		"":                                                       "",
	} {
		if diff := cmp.Diff(want, chsql.Translate(from)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", from, diff)
		}
	}
}

// tree returns a SELECT with the given nodes, as EXPLAIN AST writes it.
func tree(parts ...string) []string {
	lines := []string{"SelectWithUnionQuery (children 1)", " ExpressionList (children 1)", "  SelectQuery (children 2)"}
	for _, p := range parts {
		lines = append(lines, "   "+p)
	}
	return lines
}

func TestCheck(t *testing.T) {
	element := []string{"ExpressionList (children 1)", " WithElement (children 1)", "  Subquery (children 1)"}
	for name, c := range map[string]struct {
		statement string
		tree      []string
		refused   string
	}{
		"a table":          {"SELECT 1 FROM events", tree("TableExpression (children 1)", " TableIdentifier events (alias e)"), ""},
		"another table":    {"SELECT 1 FROM point", tree("TableExpression (children 1)", " TableIdentifier point"), `the table "point" may not be asked`},
		"of a database":    {"SELECT 1 FROM a.events", tree("TableExpression (children 1)", " TableIdentifier a.events"), `the table "a.events"`},
		"a function":       {"SELECT COUNT(*)", tree("Function COUNT (alias n) (children 1)", " ExpressionList (children 1)", "  Asterisk"), ""},
		"another function": {"SELECT file('x')", tree("Function file (children 1)", " ExpressionList (children 1)", "  Literal 'x'"), "the function file may not be called"},
		"a function in place of a table": {
			"SELECT 1 FROM count()", tree("TableExpression (children 1)", " Function count (children 1)", "  ExpressionList"),
			"the table function count",
		},
		"behind IN":        {"SELECT a IN b", tree("Function in (children 1)", " ExpressionList (children 2)", "  Identifier a", "  Identifier b"), "behind IN"},
		"a list behind IN": {"SELECT a IN (1, 2)", tree("Function in (children 1)", " ExpressionList (children 2)", "  Identifier a", "  Literal Tuple_(1, 2)"), ""},
		"a type":           {"SELECT a::int", tree("Function CAST (children 1)", " ExpressionList (children 2)", "  Identifier a", "  Literal 'int'"), ""},
		"a type that is put together": {
			"SELECT CAST(a, b)", tree("Function CAST (children 1)", " ExpressionList (children 2)", "  Identifier a", "  Identifier b"),
			"a type must be written as one",
		},
		"a type of states": {
			"SELECT 1", tree("Function CAST (children 1)", " ExpressionList (children 2)", "  Identifier a", "  Literal 'Array(AggregateFunction(sum, Int8))'"),
			"a state of an aggregate function",
		},
		"a part not known":     {"SELECT 1", tree("Set"), "Set is not allowed"},
		"a format":             {"SELECT 1", []string{"SelectWithUnionQuery (children 2)", " ExpressionList", " Identifier TSV"}, "FORMAT"},
		"no SELECT":            {"DROP", []string{"DropQuery"}, "only SELECT"},
		"nothing":              {"SELECT 1", nil, "cannot be read"},
		"two roots":            {"SELECT 1", []string{"SelectWithUnionQuery", "SelectWithUnionQuery"}, "cannot be read"},
		"a gap":                {"SELECT 1", []string{"SelectWithUnionQuery (children 1)", "  ExpressionList"}, "cannot be read"},
		"WITH":                 {"WITH a AS (SELECT 1) SELECT 1 FROM a", tree(append(element, "TableExpression (children 1)", " TableIdentifier a")...), ""},
		"WITH of another name": {"WITH a AS (SELECT 1) SELECT 1 FROM b", tree(append(element, "TableExpression (children 1)", " TableIdentifier b")...), `the table "b"`},
		"a table's name in WITH": {
			"WITH `system.users` AS (SELECT 1) SELECT 1 FROM `system.users`",
			tree(append(element, "TableExpression (children 1)", " TableIdentifier system.users")...), "names in WITH are words",
		},
		"a window like a name in WITH": {
			"SELECT 1 FROM p, `x` WINDOW w AS (ORDER BY 1), p AS (SELECT PARTITION BY 1)",
			tree("TableExpression (children 1)", " TableIdentifier p"), "the names in WITH",
		},
		"RECURSIVE":           {"WITH RECURSIVE a AS (SELECT 1) SELECT 1 FROM a", tree(element...), "RECURSIVE"},
		"a line in a name":    {"SELECT `a\\nb`", tree("Identifier a", "b"), "a name has characters"},
		"a line in a name, 2": {"SELECT `a\nb`", tree("Identifier a", "b"), "a name has characters"},
	} {
		if _, refused := chsql.Check(c.statement, c.tree); !strings.Contains(refused, c.refused) || (refused == "") != (c.refused == "") {
			t.Errorf("%s: refused: %q; want %q", name, refused, c.refused)
		}
	}
}

func TestBegins(t *testing.T) {
	for statement, want := range map[string]string{
		"SELECT 1": "", "(SELECT 1)": "", "WITH a AS (SELECT 1) SELECT 1": "", "": "only SELECT", "DROP TABLE x": "only SELECT",
		"EXPLAIN SELECT 1": "only SELECT", "SELECT 1 SETTINGS a = 1": "SETTINGS are not allowed", "SELECT 'SETTINGS a = 1'": "",
	} {
		if got := chsql.Begins(statement); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q; want %q", statement, got, want)
		}
	}
}

// Whatever the text, nothing fails, and a statement without renamed functions stays unchanged.
func FuzzTranslate(f *testing.F) {
	f.Add("SELECT quantile_cont(v, [0.5, 0.9]) FROM events WHERE a = 'x\\'y'", " a\n  b (children 1)")
	f.Add("WITH `a` AS (SELECT 1) SELECT \"b", "SelectWithUnionQuery")
	f.Fuzz(func(t *testing.T, statement, tree string) {
		out := chsql.Translate(statement)
		low := strings.ToLower(statement)
		if !strings.ContainsAny(low, "(") && out != statement {
			t.Errorf("%q became %q", statement, out)
		}
		if _, refused := chsql.Check(statement, strings.Split(tree, "\n")); refused == "" && !strings.HasPrefix(tree, "SelectWithUnionQuery") {
			t.Errorf("%q is let through", tree)
		}
	})
}
