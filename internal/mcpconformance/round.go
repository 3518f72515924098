package mcpconformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// roundTools need more from the client before they can answer: they say what, and are
// called again with it.
var roundTools = []tool{
	{
		name: "test_input_required_result_elicitation",
		call: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if name := given(r.Params.InputResponses, "user_name", "name"); name != "" {
				return textResult("Hello, " + name + "!"), nil
			}
			return need("", mcp.InputRequestMap{"user_name": askName()}), nil
		},
	},
	{
		name: "test_input_required_result_sampling",
		call: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if answer, ok := sampled(r.Params.InputResponses, "capital_question"); ok {
				return textResult("Sampling response: " + answer), nil
			}
			return need("", mcp.InputRequestMap{"capital_question": sampling("What is the capital of France?")}), nil
		},
	},
	{
		name: "test_input_required_result_list_roots",
		call: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if n, ok := roots(r.Params.InputResponses); ok {
				return textResult(fmt.Sprintf("the client has %d roots", n)), nil
			}
			return need("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}), nil
		},
	},
	{name: "test_input_required_result_request_state", call: confirmed},
	{name: "test_input_required_result_tampered_state", call: confirmed},
	{
		name: "test_input_required_result_multiple_inputs",
		call: func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			in := r.Params.InputResponses
			name := given(in, "user_name", "name")
			greeting, greeted := sampled(in, "greeting")
			if n, ok := roots(in); ok && greeted && name != "" {
				return textResult(fmt.Sprintf("%s, %s: %d roots", greeting, name, n)), nil
			}
			return need("all", mcp.InputRequestMap{
				"user_name": askName(), "greeting": sampling("Generate a greeting"), "client_roots": &mcp.ListRootsParams{},
			}), nil
		},
	},
	{name: "test_input_required_result_multi_round", call: rounds},
	{name: "test_input_required_result_capabilities", call: capable},
}

func need(state string, requests mcp.InputRequestMap) *mcp.CallToolResult {
	return &mcp.CallToolResult{RequestState: state, InputRequests: requests}
}

// ask is a question to the user with one answer.
func ask(question, field, kind string) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Message:         question,
		RequestedSchema: object(map[string]any{field: map[string]any{"type": kind}}, field),
	}
}

func askName() *mcp.ElicitParams { return ask("What is your name?", "name", "string") }

// content is what the user accepted to tell, nil if it was not.
func content(in mcp.InputResponseMap, key string) map[string]any {
	if e, ok := in[key].(*mcp.ElicitResult); ok && e != nil && e.Action == "accept" {
		return e.Content
	}
	return nil
}

func given(in mcp.InputResponseMap, key, field string) string {
	s, _ := content(in, key)[field].(string)
	return s
}

func sampled(in mcp.InputResponseMap, key string) (string, bool) {
	m, ok := in[key].(*mcp.CreateMessageWithToolsResult)
	if !ok || m == nil {
		return "", false
	}
	for _, c := range m.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text, true
		}
	}
	return "", true
}

func roots(in mcp.InputResponseMap) (int, bool) {
	l, ok := in["client_roots"].(*mcp.ListRootsResult)
	if !ok || l == nil {
		return 0, false
	}
	return len(l.Roots), true
}

// The state that a client carries from round to round. The suite tampers with it by
// writing after it; a real server would sign it.
const confirming = "confirming"

// confirmed asks for a confirmation, and refuses a state that it did not hand out.
func confirmed(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	switch state := r.Params.RequestState; {
	case state != "" && state != confirming:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this request state is not of this server"}
	case state != "" && content(r.Params.InputResponses, "confirm") != nil:
		return textResult("state-ok: confirmed"), nil
	}
	return need(confirming, mcp.InputRequestMap{"confirm": ask("Please confirm", "ok", "boolean")}), nil
}

// rounds asks twice.
func rounds(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	const second = "second;"
	in, state := r.Params.InputResponses, r.Params.RequestState
	switch name, isSecond := strings.CutPrefix(state, second); {
	case state == "":
		return need("first", mcp.InputRequestMap{"step1": ask("Step 1: What is your name?", "name", "string")}), nil
	case !isSecond:
		return need(second+given(in, "step1", "name"),
			mcp.InputRequestMap{"step2": ask("Step 2: What is your favourite colour?", "color", "string")}), nil
	default:
		return textResult(name + " likes " + given(in, "step2", "color")), nil
	}
}

// capable asks only for what the client says that it can do.
func capable(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if len(r.Params.InputResponses) > 0 {
		return textResult("the client answered"), nil
	}
	requests := mcp.InputRequestMap{}
	if c := r.ClientCapabilities(); c != nil {
		if c.Elicitation != nil {
			requests["user_name"] = askName()
		}
		if c.Sampling != nil {
			requests["greeting"] = sampling("Generate a short greeting")
		}
		if c.RootsV2 != nil {
			requests["client_roots"] = &mcp.ListRootsParams{}
		}
	}
	if len(requests) == 0 {
		return textResult("the client can answer nothing"), nil
	}
	return need("", requests), nil
}
