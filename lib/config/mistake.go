package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keys are those that the file may have, for people.
const keys = "node, db and fleet; and in fleet nodes, timeout, max_clock_offset, no_tls, ca_cert, client_cert, " +
	"client_key and token_file"

// wanted words the types that values of the file have.
var wanted = map[string]string{
	"time.Duration": "a duration, like 2s", "bool": "true or false", "string": "a text", "[]string": "a list of texts",
	"config.Config": "keys with values", "config.Fleet": "keys with values",
}

// place is where the parser says that a mistake is.
var place = regexp.MustCompile(`^(?:yaml: )?(line [0-9]+): (.*)$`)

// mistakes words the parser's error without a word of the file: who reads the error need not be allowed to
// read the file, as where the program's output is logged.
func mistakes(err error) string {
	first, more := err.Error(), ""
	if e := (*yaml.TypeError)(nil); errors.As(err, &e) && len(e.Errors) > 0 {
		first = e.Errors[0]
		if n := len(e.Errors) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more mistakes)", n)
		}
	}
	at, what := "", strings.Join(strings.Fields(first), " ")
	if m := place.FindStringSubmatch(what); m != nil {
		at, what = m[1]+": ", m[2]
	}
	return at + mistake(what) + more
}

// mistake words what the parser says of one place.
func mistake(what string) string {
	switch {
	case strings.HasPrefix(what, "field ") && strings.Contains(what, " not found in type "):
		return "there is no such key; there are " + keys
	case strings.HasPrefix(what, "mapping key "), strings.HasPrefix(what, "field "):
		return "a key that is there already"
	case strings.HasPrefix(what, "cannot unmarshal "):
		kind := what[strings.LastIndexByte(what, ' ')+1:] // ours
		if w, ok := wanted[kind]; ok {
			return "the value must be " + w
		}
		return "the value has another type"
	}
	return "this is no YAML"
}
