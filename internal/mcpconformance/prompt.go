package mcpconformance

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// described is what the suite wants each prompt to be.
const described = "A prompt for the conformance suite"

func addPrompts(s *mcp.Server) {
	s.AddPrompt(&mcp.Prompt{Description: described, Name: "test_simple_prompt"},
		said(&mcp.TextContent{Text: "This is a simple prompt for testing."}))
	s.AddPrompt(&mcp.Prompt{Description: described, Name: "test_prompt_with_image"},
		said(&mcp.ImageContent{Data: pixel, MIMEType: "image/png"},
			&mcp.TextContent{Text: "Please analyze the image above."}))
	s.AddPrompt(&mcp.Prompt{Description: described, Name: "test_prompt_with_arguments", Arguments: []*mcp.PromptArgument{
		{Name: "arg1", Description: "First test argument", Required: true},
		{Name: "arg2", Description: "Second test argument", Required: true},
	}}, func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		a := r.Params.Arguments
		return said(&mcp.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"],
			a["arg2"])})(ctx, r)
	})
	s.AddPrompt(&mcp.Prompt{
		Description: described, Name: "test_prompt_with_embedded_resource",
		Arguments: []*mcp.PromptArgument{
			{Name: "resourceUri", Description: "URI of the resource to embed", Required: true},
		},
	}, func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		res := embedded(r.Params.Arguments["resourceUri"], "Embedded resource content for testing.")
		return said(res, &mcp.TextContent{Text: "Please process the embedded resource above."})(ctx, r)
	})
	s.AddPrompt(&mcp.Prompt{Description: described, Name: "test_input_required_result_prompt"},
		func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if told := given(r.Params.InputResponses, "user_context", "context"); told != "" {
				return said(&mcp.TextContent{Text: "Context: " + told})(ctx, r)
			}
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": ask("What is it about?", "context",
				"string")}}, nil
		})
}

// said is a prompt of what the user says.
func said(content ...mcp.Content) mcp.PromptHandler {
	return func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		r := &mcp.GetPromptResult{}
		for _, c := range content {
			r.Messages = append(r.Messages, &mcp.PromptMessage{Role: "user", Content: c})
		}
		return r, nil
	}
}
