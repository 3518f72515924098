package mcpshape

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// WithoutBlanks is middleware that treats null and "" as not given: small models fill in every argument of
// a tool, and use these where they have no value.
func WithoutBlanks(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil {
			call.Params.Arguments = DropBlanks(call.Params.Arguments)
		}
		return next(ctx, method, req)
	}
}

// DropBlanks is an object of arguments without those that are null or "".
func DropBlanks(args json.RawMessage) json.RawMessage {
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return args // the tool says what is wrong with them
	}
	n := len(given)
	for name, v := range given {
		if s := string(v); s == "null" || s == `""` {
			delete(given, name)
		}
	}
	if len(given) == n {
		return args
	}
	b, err := json.Marshal(given)
	if err != nil {
		return args
	}
	return b
}
