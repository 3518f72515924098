package mcptool

import (
	"maps"
	"reflect"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/mcpshape"
)

// The types of fields with a schema of their own.
type (
	// data is text that a traced process chose, or that quotes such text: data,
	// never an instruction. See text.go.
	data string

	kind     string // of a cause: one of event.Causes
	status   string // of a check
	class    string // of waiting: event.Class
	layer    string // a source of operations
	scenario string // of Options.Demos
	order    string // of stacks
	action   string // of query_fleet
	tableRow []any  // of a table; the schema does not say that values are text, number or null
)

var schemas = mcpshape.Schemas{
	reflect.TypeFor[data]():           {Type: "string"},
	reflect.TypeFor[event.Severity](): mcpshape.Enum(event.Severities...),
	reflect.TypeFor[kind]():           mcpshape.Enum(event.Causes...),
	reflect.TypeFor[status]():         mcpshape.Enum("ok", "info", "warning", "problem"),
	reflect.TypeFor[class]():          mcpshape.Enum(classes()...),
	reflect.TypeFor[layer]():          mcpshape.Enum(layers()...),
	reflect.TypeFor[order]():          mcpshape.Enum("total", "max", "calls"),
	reflect.TypeFor[rowOf]():          mcpshape.Enum(byOp, bySite),
	reflect.TypeFor[action]():         mcpshape.Enum("chains", "sql", "ops", "overview"),
	reflect.TypeFor[tableRow]():       {Type: "array"},
	reflect.TypeFor[dropped]():        {Type: "object"},
	reflect.TypeFor[compared]():       {Type: "object"},
	// A value of SQL, or an argument: some clients refuse a schema that is just true.
	reflect.TypeFor[any](): {Description: "text, number or null"},
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

// schemas are those of a server's tools.
func (s *server) schemas() mcpshape.Schemas {
	all := maps.Clone(schemas)
	all[reflect.TypeFor[scenario]()] = mcpshape.Enum(s.opts.Demos.Names...)
	return all
}
