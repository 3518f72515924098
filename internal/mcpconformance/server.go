// Package mcpconformance has what the public conformance suite of the Model Context
// Protocol expects to find in a server: tools, resources and prompts by the names that
// the suite calls. They are mounted on the handlers that the product serves with, so
// that the suite tries those. No part of it is in the product.
package mcpconformance

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewServer makes a server with everything the suite asks for. What it changes by
// itself it changes until ctx ends.
func NewServer(ctx context.Context) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "ingero-conformance", Version: "test"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for _, list := range [][]tool{contentTools, sessionTools, roundTools, changeTools(s)} {
		for _, t := range list {
			t.addTo(s)
		}
	}
	addResources(s)
	addPrompts(s)
	go touch(ctx, s)
	return s
}

// touch says now and then that the watched resource has changed.
func touch(ctx context.Context, s *mcp.Server) {
	for tick := time.NewTicker(3 * time.Second); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			_ = s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: watched}) // nobody may be listening
		}
	}
}

// tool is one tool of the suite's.
type tool struct {
	name   string
	call   func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)
	schema map[string]any // of the arguments; nil: any
}

func (t tool) addTo(s *mcp.Server) {
	schema := t.schema
	if schema == nil {
		schema = map[string]any{"type": "object"}
	}
	s.AddTool(&mcp.Tool{Name: t.name, Description: "A tool for the conformance suite", InputSchema: schema}, t.call)
}

// textResult is a result of words.
func textResult(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// always answers every call alike.
func always(c ...mcp.Content) func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: c}, nil
	}
}

// The smallest files of their kinds: one pixel, and no sound.
var (
	pixel   = decoded("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	silence = decoded("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func decoded(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}
