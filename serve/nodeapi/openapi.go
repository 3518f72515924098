package nodeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/ingero-io/ingero/serve/nodeapi/wire"
)

// object is a JSON object. Its keys are sorted when it is written, so that the document
// is the same each time.
type object = map[string]any

// openAPI is the document that describes the API, in OpenAPI 3.1.
func openAPI(_ context.Context, a *API, _ *input) (any, error) {
	b, err := Document(a.opts.Version)
	return plain{"application/json", b}, err
}

// Document is the OpenAPI document of this version of the API. It is generated from the list of
// routes; the types of answers are its components.
func Document(version string) ([]byte, error) {
	types := newSchemas()
	paths := object{}
	for _, rt := range routes() {
		op, err := rt.describe(types)
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", rt.path, err)
		}
		paths[rt.path] = object{strings.ToLower(rt.method): op}
	}
	components, err := types.components()
	if err != nil {
		return nil, fmt.Errorf("describe answers: %w", err)
	}
	b, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Ingero node API", "version": "1", "x-ingero-version": version,
			"description": "What a recording holds, for other nodes, browsers and scripts. Nothing can be changed. " +
				"Times are Unix nanoseconds, which a reader that has floating point only cannot hold exactly.",
		},
		"security": []object{{"token": []string{}}},
		"components": object{
			"schemas": components,
			"securitySchemes": object{"token": object{
				"type": "http", "scheme": "bearer",
				"description": "If the server was given one; a client certificate is asked for with --client-ca.",
			}},
		},
		"paths": paths,
	}, "", "  ")
	return append(b, '\n'), err
}

func (rt *route) describe(types *schemas) (object, error) {
	list := []object{}
	for _, name := range rt.params {
		p := paramNamed(name)
		schema := object{"type": p.kind}
		if len(p.values) > 0 {
			schema["enum"] = p.values
		}
		list = append(list, object{"name": p.name, "in": "query", "description": p.about, "schema": schema})
	}
	content := object{rt.kind: object{}}
	if rt.answer != nil {
		var err error
		if content, err = jsonOf(types, rt.answer); err != nil {
			return nil, err
		}
	}
	failure, err := jsonOf(types, reflect.TypeFor[wire.Failure]())
	if err != nil {
		return nil, err
	}
	op := object{
		"summary": rt.about, "parameters": list,
		"responses": object{
			"200":     object{"description": "the answer", "content": content},
			"default": object{"description": "what is wrong", "content": failure},
		},
	}
	if rt.body {
		question, err := jsonOf(types, reflect.TypeFor[wire.Question]())
		if err != nil {
			return nil, err
		}
		op["requestBody"] = object{"required": true, "content": question}
	}
	return op, nil
}

// jsonOf is content that is JSON of a type.
func jsonOf(types *schemas, t reflect.Type) (object, error) {
	s, err := types.ref(t)
	return object{"application/json": object{"schema": s}}, err
}
