package chsql

import (
	"slices"
	"strings"
)

// renamed are functions of DuckDB that ClickHouse has with the same arguments in the same order.
var renamed = map[string]string{
	"json_extract_string": "JSON_VALUE",
	"arg_max":             "argMax", "arg_min": "argMin", "max_by": "argMax", "min_by": "argMin",
	"approx_count_distinct": "uniq",
}

// parametric are functions of DuckDB whose numbers ClickHouse takes in separate parentheses.
var parametric = map[string]struct {
	name, first string // first is an additional first number
	fixed       string // the number, if DuckDB's function has none
}{
	"quantile_cont":   {name: "quantile%ExactInclusive"},
	"approx_quantile": {name: "quantile%DD", first: "0.01"},
	"median":          {name: "quantile%ExactInclusive", fixed: "0.5"},
}

// Translate rewrites functions of the published questions, and some similar ones, for ClickHouse. The statement is in
// ClickHouse's own form. It leaves unknown functions, about which the engine then reports an error.
//
// Numbers for quantiles must be literals. The results are the same as DuckDB's: quantileExactInclusive interpolates
// as quantile_cont does, and with the store's settings JSON_VALUE of a missing value is NULL.
func Translate(statement string) string {
	list := tokens(statement)
	var b strings.Builder
	written := 0
	for i, t := range list {
		if i+1 >= len(list) || !list[i+1].is("(") || i > 0 && list[i-1].is(".") || t.from < written {
			continue
		}
		base, condition := strings.CutSuffix(t.text, "If") // from FILTER
		if name, ok := renamed[strings.ToLower(base)]; ok {
			if condition {
				name += "If"
			}
			b.WriteString(statement[written:t.from] + name)
			written = t.end()
		} else if text, end, ok := quantile(statement, list[i:], base, condition); ok {
			b.WriteString(statement[written:t.from] + text)
			written = end
		}
	}
	return b.String() + statement[written:]
}

// quantile translates the call at the begin of call, and returns where it ends in the statement.
func quantile(statement string, call []token, base string, condition bool) (text string, end int, ok bool) {
	p, ok := parametric[strings.ToLower(base)]
	if !ok {
		return "", 0, false
	}
	args, end := arguments(statement, call[1:])
	numbers := p.fixed
	if numbers == "" {
		if len(args) < 2 {
			return "", 0, false
		}
		numbers = args[1]
		args = slices.Delete(args, 1, 2)
	}
	if len(args) == 0 {
		return "", 0, false
	}
	several := ""
	if inner, isList := strings.CutPrefix(numbers, "["); isList {
		numbers, several = strings.TrimSuffix(inner, "]"), "s"
	}
	if strings.Trim(numbers, "0123456789., ") != "" {
		return "", 0, false
	}
	if p.first != "" {
		numbers = p.first + ", " + numbers
	}
	name := strings.Replace(p.name, "%", several, 1)
	if condition {
		name += "If"
	}
	for i := range args {
		args[i] = Translate(args[i])
	}
	return name + "(" + numbers + ")(" + strings.Join(args, ", ") + ")", end, true
}

// arguments returns the texts between the commas of a list in parentheses, and where it ends in the statement.
func arguments(statement string, list []token) (args []string, end int) {
	depth, from := 0, 0
	for _, t := range list {
		switch t.text {
		case "(", "[":
			depth++
			if depth == 1 {
				from = t.end()
			}
			continue
		case ")", "]":
			depth--
			if depth == 0 {
				if last := strings.TrimSpace(statement[from:t.from]); last != "" {
					args = append(args, last)
				}
				return args, t.end()
			}
		case ",":
			if depth == 1 {
				args = append(args, strings.TrimSpace(statement[from:t.from]))
				from = t.end()
			}
		}
	}
	return nil, 0 // the list does not end
}
