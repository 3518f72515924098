package gate

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

const (
	// maxElements bounds the number of quantiles that a call computes.
	maxElements = 100
	// maxFormat bounds the length of the format of a time, in bytes: %c is 19 bytes.
	maxFormat = 100
)

// most is how many arguments functions have at most that make a list with one more.
var most = map[string]int{"max": 1, "min": 1, "arg_max": 2, "arg_min": 2, "max_by": 2, "min_by": 2}

// withPath are the functions whose second argument is a path, or a list of paths, each of which copies the text.
var withPath = []string{
	"->", "->>", "json_extract", "json_extract_string", "json_extract_path", "json_extract_path_text", "json_type",
	"json_array_length", "json_exists", "json_keys", "json_value",
}

// quantiles are the functions whose second argument is a number, or a list of numbers.
var quantiles = []string{"quantile", "quantile_cont", "quantile_disc", "approx_quantile", "reservoir_quantile"}

// checkArguments returns why an allowed function may not be called with its arguments. Those that say how much is made
// have to be written out.
func checkArguments(name string, children []any) error {
	if n := most[name]; n > 0 && len(children) > n {
		return fmt.Errorf("%s with %d arguments may not be called: it makes a list, of as many texts as it is asked for",
			name, len(children))
	}
	switch {
	case slices.Contains(withPath, name):
		return checkPaths(name, rest(children))
	case name == "reservoir_quantile" && len(children) > 2: // no limit counts the memory of its sample
		return fmt.Errorf("reservoir_quantile may have no size of its sample; leave it out")
	case slices.Contains(quantiles, name):
		return checkFractions(name, fractions(children))
	case name == "regexp_extract" && len(children) > 2:
		if _, text := literal(children[2]); text || !writtenOut(children[2]) {
			return fmt.Errorf("the group of regexp_extract must be a number or a list of names that is written out")
		}
	case name == "strftime" && !slices.ContainsFunc(children, format):
		return fmt.Errorf("the format of strftime must be written out, without a cast, with %d bytes at most, and have "+
			"no letters or digits before its first %%; put those before it with concat", maxFormat)
	}
	return nil
}

func checkPaths(name string, paths []any) error {
	for _, path := range paths {
		if !writtenOut(path) {
			return fmt.Errorf("the path of %s must be written out", name)
		}
		if anywhere(path, recursive) {
			return fmt.Errorf("the path of %s may have no .. or **: they copy each part as often as it is nested", name)
		}
	}
	return nil
}

// fractions returns the arguments of a quantile that say which. The values are the first argument, or, in WITHIN GROUP,
// none.
func fractions(children []any) []any {
	if len(children) == 1 {
		return children
	}
	return rest(children)
}

func checkFractions(name string, fractions []any) error {
	for _, fraction := range fractions {
		if _, text := literal(fraction); text || !writtenOut(fraction) && anywhere(fraction, list) {
			return fmt.Errorf("the fraction of %s must be a number or a list of numbers that is written out", name)
		}
	}
	if n := elements(fractions); n > maxElements {
		return fmt.Errorf("%s is asked for %d quantiles; %d are allowed", name, n, maxElements)
	}
	return nil
}

// writtenOut reports whether an argument is a constant, or a list of constants.
func writtenOut(part any) bool {
	part = uncast(part)
	p, _ := part.(map[string]any)
	return constant(part) ||
		list(p) && !slices.ContainsFunc(arguments(p), func(c any) bool { return !constant(uncast(c)) })
}

// uncast returns what a constant is before it is cast.
func uncast(part any) any {
	for {
		p, _ := part.(map[string]any)
		if p["class"] != "CAST" {
			return part
		}
		part = p["child"]
	}
}

// list reports whether a node is a list that is written out.
func list(p map[string]any) bool {
	return p["type"] == "ARRAY_CONSTRUCTOR" || called(p) == "list_value"
}

// elements returns the number of elements of all lists among arguments.
func elements(children []any) int {
	n := 0
	for _, c := range children {
		if p, _ := uncast(c).(map[string]any); list(p) {
			n += len(arguments(p))
		}
	}
	return n
}

// literal returns a constant that is a text.
func literal(part any) (string, bool) {
	p, _ := uncast(part).(map[string]any)
	value, _ := p["value"].(map[string]any)
	s, ok := value["value"].(string)
	return s, ok && constant(p)
}

// format reports whether an argument of strftime is its format, which may be the first or the second one. A text that
// could be a time is none: the other argument would be the format.
func format(part any) bool {
	s, ok := literal(part)
	before, _, has := strings.Cut(s, "%")
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	return ok && constant(part) && has && len(s) <= maxFormat && !strings.ContainsFunc(before, word)
}

func recursive(p map[string]any) bool {
	s, _ := literal(p)
	return strings.Contains(s, "..") || strings.Contains(s, "**")
}

// wildcard reports whether a path, or one of a list, makes a list.
func wildcard(path any) bool {
	return anywhere(path, func(p map[string]any) bool {
		s, _ := literal(p)
		return strings.Contains(s, "*")
	})
}
