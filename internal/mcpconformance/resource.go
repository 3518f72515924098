package mcpconformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	watched        = "test://watched-resource"
	templatePrefix = "test://template/"
	templateSuffix = "/data"
)

func addResources(s *mcp.Server) {
	for _, c := range []*mcp.ResourceContents{
		{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."},
		{URI: "test://static-binary", MIMEType: "image/png", Blob: pixel},
		{URI: watched, MIMEType: "text/plain", Text: "This resource is said to change."},
	} {
		r := &mcp.Resource{URI: c.URI, Name: strings.TrimPrefix(c.URI, "test://"), MIMEType: c.MIMEType}
		s.AddResource(r, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
		})
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "template", MIMEType: "application/json", URITemplate: templatePrefix + "{id}" + templateSuffix,
	}, filled)
}

// filled fills the template with the id it was asked for.
func filled(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, templatePrefix), templateSuffix)
	b, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": fmt.Sprintf("Data for ID: %s", id)})
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: r.Params.URI, MIMEType: "application/json",
		Text: string(b),
	}}}, nil
}
