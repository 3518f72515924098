package mcpconformance

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// step is how long tools that report on the way take between two reports.
const step = 20 * time.Millisecond

// sessionTools speak with the client while they run.
var sessionTools = []tool{
	{name: "test_tool_with_logging", call: func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, m := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: m}); err != nil {
				return nil, err
			}
			time.Sleep(step)
		}
		return textResult("logged"), nil
	}},
	{name: "test_logging_tool", call: func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "logged if asked for"})
		return textResult("logged if asked for"), err
	}},
	{
		name: "test_tool_with_progress",
		call: func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			token := r.Params.GetProgressToken()
			for _, p := range []float64{0, 50, 100} {
				err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: p, Total: 100})
				if err != nil {
					return nil, err
				}
				time.Sleep(step)
			}
			return textResult(fmt.Sprint(token)), nil
		},
	},
	{name: "test_reconnection", call: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Extra != nil && r.Extra.CloseSSEStream != nil {
			r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: step})
		}
		time.Sleep(5 * step) // for the client to come back
		return textResult("Reconnection test completed successfully."), nil
	}},
	{name: "test_sampling", schema: object(map[string]any{"prompt": map[string]any{"type": "string"}}), call: sample},
	{
		name: "test_elicitation", schema: object(map[string]any{"message": map[string]any{"type": "string"}}),
		call: elicit(object(map[string]any{"username": map[string]any{"type": "string"}}, "username")),
	},
	{name: "test_elicitation_sep1034_defaults", call: elicit(object(map[string]any{
		"name":     map[string]any{"type": "string", "default": "John Doe"},
		"age":      map[string]any{"type": "integer", "default": 30},
		"score":    map[string]any{"type": "number", "default": 95.5},
		"status":   map[string]any{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
		"verified": map[string]any{"type": "boolean", "default": true},
	}))},
	{name: "test_elicitation_sep1330_enums", call: elicit(enums())},
	{name: "test_streaming_elicitation", call: always(&mcp.TextContent{Text: "nothing was asked"})},
	{name: "test_missing_capability", call: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if c := r.ClientCapabilities(); c != nil && c.Sampling != nil {
			return textResult("the client can sample"), nil
		}
		data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
			RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}},
		})
		if err != nil {
			return nil, err
		}
		return nil,
			&jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client cannot sample", Data: data}
	}},
}

func sample(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ Prompt string }
	if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	got, err := r.Session.CreateMessage(ctx, sampling(in.Prompt))
	if err != nil {
		return nil, err
	}
	said := ""
	if t, ok := got.Content.(*mcp.TextContent); ok {
		said = t.Text
	}
	return textResult("LLM response: " + said), nil
}

// sampling asks the client's model.
func sampling(prompt string) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: prompt}}},
		MaxTokens: 100,
	}
}

// elicit asks the user and tells what came back.
func elicit(schema map[string]any) func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in := struct{ Message string }{"Please answer"}
		if len(r.Params.Arguments) > 0 {
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, fmt.Errorf("read the arguments: %w", err)
			}
		}
		got, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: in.Message, RequestedSchema: schema})
		if err != nil {
			return nil, err
		}
		content, err := json.Marshal(got.Content)
		return textResult(fmt.Sprintf("User response: action=%s, content=%s", got.Action, content)), err
	}
}

// enums has each form of an enumeration.
func enums() map[string]any {
	titled := func(prefix string, names ...string) []any {
		var l []any
		for i, n := range names {
			l = append(l, map[string]any{"const": fmt.Sprintf("%s%d", prefix, i+1), "title": n + " Option"})
		}
		return l
	}
	plain := []string{"option1", "option2", "option3"}
	list := func(items map[string]any) map[string]any { return map[string]any{"type": "array", "items": items} }
	return object(map[string]any{
		"untitledSingle": map[string]any{"type": "string", "enum": plain},
		"titledSingle":   map[string]any{"type": "string", "oneOf": titled("value", "First", "Second", "Third")},
		"legacyEnum": map[string]any{
			"type": "string", "enum": []string{"opt1", "opt2", "opt3"},
			"enumNames": []string{"Option One", "Option Two", "Option Three"},
		},
		"untitledMulti": list(map[string]any{"type": "string", "enum": plain}),
		"titledMulti":   list(map[string]any{"anyOf": titled("value", "First", "Second", "Third")}),
	})
}

// changeTools change what the server has, so that who listens is told.
func changeTools(s *mcp.Server) []tool {
	return []tool{
		{name: "test_trigger_tool_change", call: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			tool{name: "test_passing", call: always()}.addTo(s)
			return textResult("the list of tools has changed"), nil
		}},
		{name: "test_trigger_prompt_change", call: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.AddPrompt(&mcp.Prompt{Description: described, Name: "test_passing"}, said(&mcp.TextContent{Text: "Hello"}))
			return textResult("the list of prompts has changed"), nil
		}},
	}
}
