package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/webserver"
)

// Bound is middleware that lets calls through a gate.
func Bound(g *webserver.Gate) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			key := workOf(method, req)
			if key == "" {
				return next(ctx, method, req)
			}
			leave, err := g.Enter(ctx, key)
			if err != nil {
				return failed(req, err)
			}
			defer leave()
			return next(ctx, method, req)
		}
	}
}

// workOf is the key of a request for the gate, empty if it is cheap.
func workOf(method string, req mcp.Request) string {
	switch method {
	case "tools/call":
		if r, ok := req.(*mcp.CallToolRequest); ok && r.Params != nil {
			return "tool " + r.Params.Name
		}
		return method
	case "resources/read", "prompts/get", "completion/complete":
		return method
	}
	return ""
}

// failed returns an error as a tool result: a model reads results of tools, but not protocol
// errors.
func failed(req mcp.Request, err error) (mcp.Result, error) {
	if _, ok := req.(*mcp.CallToolRequest); ok {
		res := &mcp.CallToolResult{}
		res.SetError(err)
		return res, nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// Survive is middleware that turns a panic into an error of one call: the process may also be
// tracing.
func Survive(log *slog.Logger) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			defer func() {
				if p := recover(); p != nil {
					log.Error("a call failed inside; please report it", "method", method, "err", p, "stack", string(debug.Stack()))
					res, err = failed(req, fmt.Errorf("internal error: %v; please report it", p))
				}
			}()
			return next(ctx, method, req)
		}
	}
}
