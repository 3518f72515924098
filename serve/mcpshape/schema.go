// Package mcpshape has what MCP servers of this project have in common: schemas of tools' arguments and answers that
// cost few tokens, lists in parts, and texts of others that a model takes for data. It knows no tool.
package mcpshape

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schemas are those of types that have one of their own.
type Schemas map[reflect.Type]*jsonschema.Schema

// Enum is the schema of a text that is one of values.
func Enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// Input is the schema of a tool's arguments. It panics if the type can have none.
func Input[T any](own Schemas) *jsonschema.Schema {
	s := schemaOf[T](own)
	tidy(s, true)
	return s
}

// Output is the schema of a tool's answer. Required fields are not listed, and objects below a field are described as
// text, to save tokens.
func Output[T any](own Schemas) *jsonschema.Schema {
	s := schemaOf[T](own)
	tidy(s, false)
	for _, p := range s.Properties {
		fold(p)
	}
	return s
}

func schemaOf[T any](own Schemas) *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: own})
	if err != nil {
		panic(fmt.Sprintf("mcpshape: schema of %v: %v", reflect.TypeFor[T](), err))
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

// Fields are the names of the fields of an answer that hold data: texts of the type data, and values of any kind.
func Fields(answer, data reflect.Type) []string {
	var names []string
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type, string)
	walk = func(t reflect.Type, name string) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(t.Elem(), name)
		case reflect.String, reflect.Interface:
			if (t == data || t.Kind() == reflect.Interface) && name != "" {
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
	walk(answer, "")
	slices.Sort(names)
	return slices.Compact(names)
}

// isFalse reports whether a schema allows nothing.
func isFalse(s *jsonschema.Schema) bool {
	b, err := json.Marshal(s)
	return err == nil && string(b) == "false"
}
