package api

import (
	"strings"

	"github.com/ingero-io/ingero/echo/mcptool"
)

// object is a JSON object. Its names are sorted when it is written, so the document is always the same.
type object = map[string]any

func textType() object { return object{"type": "string"} }

func list(of object) object { return object{"type": "array", "items": of} }

// fields returns the schema of an object.
func fields(properties object, required ...string) object {
	o := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// statuses are the error statuses of answers, as in docs/echo.md.
var statuses = []struct{ status, codes string }{
	{"400", "bad_request, statement"},
	{"401", "unauthorized"},
	{"403", "forbidden, refused"},
	{"404", "not_found"},
	{"422", "limit"},
	{"500", "internal"},
	{"503", "busy, canceled, away"},
}

// Document returns the OpenAPI 3.1 document of the API: its routes, and a path per tool with its schemas.
func Document(tools []mcptool.Info, version string) any {
	paths := object{}
	for _, r := range routes() {
		if strings.HasSuffix(r.path, "{name}") {
			for _, t := range tools {
				path := prefixes[0] + strings.Replace(r.path, "{name}", t.Name, 1)
				paths[path] = object{strings.ToLower(r.method): operation(t.Description,
					fields(object{"args": t.InputSchema}), fields(object{"result": t.OutputSchema}, "result"))}
			}
			continue
		}
		paths[prefixes[0]+r.path] = object{strings.ToLower(r.method): operation(r.about, r.request, r.response)}
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Ingero Echo", "version": "1", "x-ingero-version": version,
			"description": "What all nodes of a cluster sent. Nothing can be changed. The same is answered below " +
				"/api/v2/, and over MCP at /mcp.",
		},
		"security": []object{{"token": []string{}}},
		"components": object{
			"schemas": object{"Failure": fields(object{"error": textType(), "code": textType()}, "error", "code")},
			"securitySchemes": object{"token": object{
				"type": "http", "scheme": "bearer", "description": "One that may read, if the server was given any.",
			}},
		},
		"paths": paths,
	}
}

func operation(about string, request, response object) object {
	answers := object{"200": object{"description": "the answer", "content": content(response)}}
	for _, s := range statuses {
		answers[s.status] = object{
			"description": s.codes, "content": content(object{"$ref": "#/components/schemas/Failure"}),
		}
	}
	op := object{"summary": about, "responses": answers}
	if request != nil {
		op["requestBody"] = object{"content": content(request)}
	}
	return op
}

func content(schema object) object { return object{"application/json": object{"schema": schema}} }
