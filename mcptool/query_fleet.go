package mcptool

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type fleetIn struct {
	Action string `json:"action" jsonschema:"chains, sql, ops or overview"`
}

type fleetOut struct {
	Nodes int    `json:"nodes"`
	Note  string `json:"note"`
}

func addQueryFleet(s *server, m *mcp.Server) {
	mcp.AddTool(m, &mcp.Tool{
		Name: "query_fleet", Description: "Ask several nodes at once.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(context.Context, *mcp.CallToolRequest, fleetIn) (*mcp.CallToolResult, fleetOut, error) {
		return nil, fleetOut{Note: "no nodes configured"}, nil
	})
}
