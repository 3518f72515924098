package nodeapi

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ingero-io/ingero/explain/compare"
	"github.com/ingero-io/ingero/explain/report"
)

// componentAt is where the document has the schemas of named types.
const componentAt = "#/components/schemas/"

// renamed are types whose name is also that of another type.
var renamed = map[reflect.Type]string{
	reflect.TypeFor[report.Process](): "ReportedProcess",
	reflect.TypeFor[report.Op]():      "ReportedOp",
	reflect.TypeFor[compare.Result](): "Comparison",
	reflect.TypeFor[compare.Window](): "ComparedWindow",
	reflect.TypeFor[compare.Thread](): "ComparedThread",
	reflect.TypeFor[compare.Part]():   "ComparedPart",
	reflect.TypeFor[compare.Cause]():  "ComparedCause",
	reflect.TypeFor[compare.Kernel](): "ComparedKernel",
	reflect.TypeFor[compare.Change](): "ComparedFact",
}

// nullLists are lists that may be null in an answer. All others are empty instead.
var nullLists = map[reflect.Type][]string{
	reflect.TypeFor[report.GPUError](): {"failed_calls"},
}

// schemas describes Go types as JSON schemas that refer to each other by name.
type schemas struct {
	refs  map[reflect.Type]*jsonschema.Schema
	types map[string]reflect.Type
}

func newSchemas() *schemas {
	return &schemas{refs: map[reflect.Type]*jsonschema.Schema{}, types: map[string]reflect.Type{}}
}

// ref refers to the schema of a struct, and adds it with all types it uses.
func (s *schemas) ref(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	err := s.add(t)
	return s.refs[t], err
}

func (s *schemas) add(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return s.add(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	if s.refs[t] != nil {
		return nil
	}
	name := renamed[t]
	if name == "" {
		name = t.Name()
	}
	if other := s.types[name]; other != nil {
		return fmt.Errorf("%v and %v are both named %s: see renamed", other, t, name)
	}
	s.types[name], s.refs[t] = t, &jsonschema.Schema{Ref: componentAt + name}
	return s.addFields(t)
}

// addFields adds the types of a struct's fields. Fields of an embedded struct belong to the outer
// struct.
func (s *schemas) addFields(t reflect.Type) error {
	for f := range t.Fields() {
		add := s.add
		if f.Anonymous {
			add = s.addFields
		}
		if err := add(f.Type); err != nil {
			return err
		}
	}
	return nil
}

// components are the schemas of all types that were referred to, by name.
func (s *schemas) components() (map[string]*jsonschema.Schema, error) {
	list := map[string]*jsonschema.Schema{}
	for name, t := range s.types {
		others := maps.Clone(s.refs)
		delete(others, t)
		c, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: others})
		if err != nil {
			return nil, err
		}
		// Clients must accept fields that are added later.
		c.AdditionalProperties = nil
		for field, p := range c.Properties {
			if slices.Contains(nullLists[t], field) {
				continue
			}
			if p.Ref != "" && p.Types != nil && slices.Contains(c.Required, field) {
				return nil, fmt.Errorf("%s.%s may be null, which a reference cannot say", name, field)
			}
			if p.Ref != "" || !slices.Contains(c.Required, field) {
				notNull(p)
			}
			listsNotNull(p)
		}
		list[name] = c
	}
	return list, nil
}

// listsNotNull returns a schema, and the schemas it uses, with lists that cannot be null.
func listsNotNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Contains(s.Types, "array") {
		notNull(s)
	}
	listsNotNull(s.Items)
	listsNotNull(s.AdditionalProperties)
}

// notNull returns a schema that does not allow null.
func notNull(s *jsonschema.Schema) {
	s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type = s.Types[0]
	}
	if len(s.Types) < 2 {
		s.Types = nil
	}
}
