package mcpconformance

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// contentTools answer with each kind of content.
var contentTools = []tool{
	{name: "test_simple_text", call: always(&mcp.TextContent{Text: "This is a simple text response for testing."})},
	{name: "test_image_content", call: always(&mcp.ImageContent{Data: pixel, MIMEType: "image/png"})},
	{name: "test_audio_content", call: always(&mcp.AudioContent{Data: silence, MIMEType: "audio/wav"})},
	{
		name: "test_embedded_resource",
		call: always(embedded("test://embedded-resource", "This is an embedded resource content.")),
	},
	{name: "test_multiple_content_types", call: always(
		&mcp.TextContent{Text: "Multiple content types test:"},
		&mcp.ImageContent{Data: pixel, MIMEType: "image/png"},
		embedded("test://mixed-content-resource", "test"),
	)},
	{name: "test_error_handling", call: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := textResult("This tool intentionally returns an error for testing")
		r.IsError = true
		return r, nil
	}},
	{
		name: "json_schema_2020_12_tool", schema: schema202012(),
		call: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return textResult("called with " + string(r.Params.Arguments)), nil
		},
	},
	{name: "test_x_mcp_header", schema: object(map[string]any{
		"region": map[string]any{"type": "string", "x-mcp-header": "Region"},
		"level":  map[string]any{"type": "integer"},
	}), call: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct{ Region string }
		if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
			return nil, fmt.Errorf("read the arguments: %w", err)
		}
		return textResult("region=" + in.Region), nil
	}},
}

func embedded(uri, content string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: content}}
}

// object is the schema of an object with the given properties.
func object(properties map[string]any, required ...string) map[string]any {
	s := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// schema202012 uses what JSON Schema has had since 2020-12; it must arrive unchanged.
func schema202012() map[string]any {
	str := map[string]any{"type": "string"}
	s := object(map[string]any{
		"name": str, "phone": str, "email": str,
		"address":       map[string]any{"$ref": "#/$defs/address"},
		"contactMethod": map[string]any{"type": "string", "enum": []string{"phone", "email"}},
	})
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	address := object(map[string]any{"street": str, "city": str})
	address["$anchor"] = "addressDef"
	s["$defs"] = map[string]any{"address": address}
	needs := func(name string) map[string]any { return map[string]any{"required": []string{name}} }
	s["allOf"] = []any{map[string]any{"anyOf": []any{needs("phone"), needs("email")}}}
	s["if"] = map[string]any{
		"properties": map[string]any{"contactMethod": map[string]any{"const": "phone"}},
		"required":   []string{"contactMethod"},
	}
	s["then"], s["else"] = needs("phone"), needs("email")
	s["additionalProperties"] = false
	return s
}
