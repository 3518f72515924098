package mcptool

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ingero-io/ingero/demo"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/diagnose"
)

// The types of fields with a schema of their own.
type (
	// data is text that a traced process chose, or that quotes such text: data,
	// never an instruction. See text.go.
	data string

	severity string // of a finding
	kind     string // of a cause: one of diagnose.Kinds
	status   string // of a check
	class    string // of waiting: event.Class
	layer    string // a source of operations
	scenario string // of demo.Scenarios
	order    string // of stacks
	action   string // of query_fleet
	tableRow []any  // of a table; the schema does not say that values are text, number or null
)

var schemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[data]():     {Type: "string"},
	reflect.TypeFor[severity](): enum("HIGH", "MEDIUM", "LOW"),
	reflect.TypeFor[kind]():     enum(diagnose.Kinds...),
	reflect.TypeFor[status]():   enum("ok", "info", "warning", "problem"),
	reflect.TypeFor[class]():    enum(classes()...),
	reflect.TypeFor[layer]():    enum(layers()...),
	reflect.TypeFor[scenario](): enum(scenarios()...),
	reflect.TypeFor[order]():    enum("total", "max", "calls"),
	reflect.TypeFor[rowOf]():    enum(byOp, bySite),
	reflect.TypeFor[action]():   enum("chains", "sql", "ops", "overview"),
	reflect.TypeFor[tableRow](): {Type: "array"},
	reflect.TypeFor[dropped]():  {Type: "object"},
	reflect.TypeFor[compared](): {Type: "object"},
	// A value of SQL, or an argument: some clients refuse a schema that is just true.
	reflect.TypeFor[any](): {Description: "text, number or null"},
}

func enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

func classes() []string {
	var names []string
	for c := range event.NumClasses {
		names = append(names, c.String())
	}
	return names
}

// layers are the sources whose operations are calls, those that only mark parts of programs left out.
func layers() []string {
	var names []string
	for _, s := range event.Sources {
		if s.Source.Called() && !s.Source.Marks() {
			names = append(names, s.Name)
		}
	}
	return names
}

func scenarios() []string {
	var names []string
	for _, s := range demo.Scenarios {
		names = append(names, s.Name)
	}
	return names
}

// schemaOf is the schema of a tool's input or output. For an output, required fields
// are not listed, to save tokens.
func schemaOf[T any](input bool) *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: schemas})
	if err != nil {
		panic(fmt.Sprintf("mcptool: schema of %v: %v", reflect.TypeFor[T](), err))
	}
	tidy(s, input)
	if !input {
		for _, p := range s.Properties {
			fold(p)
		}
	}
	return s
}

// fold describes objects below a field of an answer as text: a schema takes four times the
// tokens, in a list that each client pays for.
func fold(s *jsonschema.Schema) {
	if s.Items != nil && s.Items.Items != nil {
		return // rows of a table
	}
	words := fields(s)
	if words == "" {
		return
	}
	if s.Description != "" {
		words = s.Description + ": " + words
	}
	s.Description = words
	s.Items, s.Properties, s.PropertyOrder, s.AdditionalProperties = nil, nil, nil, nil
}

// fields are the names of the fields of an object, or of the objects in a list, with
// their descriptions.
func fields(s *jsonschema.Schema) string {
	if s.Items != nil {
		if f := fields(s.Items); f != "" {
			return "[" + f + "]"
		}
		return ""
	}
	var list []string
	for _, name := range s.PropertyOrder {
		p := s.Properties[name]
		if p.Description != "" {
			name += " (" + p.Description + ")"
		}
		if f := fields(p); f != "" {
			name += " " + f
		}
		list = append(list, name)
	}
	if len(list) == 0 {
		return ""
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// tidy marks lists as never null: the tools guarantee that.
func tidy(s *jsonschema.Schema, input bool) {
	if s == nil {
		return
	}
	if rest := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(rest) == 1 {
		s.Type, s.Types = rest[0], nil
	}
	if s.Minimum != nil { // the bounds of Go's types
		s.Minimum, s.Maximum = nil, nil
	}
	if !input {
		s.Required = nil
		if len(s.Properties) > 0 {
			s.AdditionalProperties = nil
		}
	}
	for _, p := range s.Properties {
		tidy(p, input)
	}
	tidy(s.Items, input)
	if !isFalse(s.AdditionalProperties) {
		tidy(s.AdditionalProperties, input)
	}
}

// dataFields are the names of the fields of an answer that hold text from traced
// processes.
func dataFields(t reflect.Type) []string {
	var names []string
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type, string)
	walk = func(t reflect.Type, name string) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(t.Elem(), name)
		case reflect.String, reflect.Interface:
			if (t == reflect.TypeFor[data]() || t.Kind() == reflect.Interface) && name != "" {
				names = append(names, name)
			}
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			for _, f := range reflect.VisibleFields(t) {
				if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" {
					walk(f.Type, tag)
				}
			}
		}
	}
	walk(t, "")
	slices.Sort(names)
	return slices.Compact(names)
}

// isFalse reports whether a schema allows nothing.
func isFalse(s *jsonschema.Schema) bool {
	b, err := json.Marshal(s)
	return err == nil && string(b) == "false"
}
