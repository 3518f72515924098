package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits say how many calls may run at a time. Those that are more wait for their turn.
type Limits struct {
	Calls   int // of all tools, resources and prompts together
	PerTool int // of one tool, so that many calls of a slow one do not keep others waiting
	Waiting int // calls beyond this are refused
}

// DefaultLimits leave a CPU to other calls while every call of one tool is busy.
func DefaultLimits() Limits {
	cpus := runtime.GOMAXPROCS(0)
	return Limits{Calls: min(max(2*cpus, 4), 16), PerTool: min(max(cpus-1, 1), 8), Waiting: 64}
}

// Bound is middleware that keeps calls within limits.
func Bound(l Limits) mcp.Middleware {
	g := &gate{limits: l, byKey: map[string]int{}}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			key := workOf(method, req)
			if key == "" {
				return next(ctx, method, req)
			}
			leave, err := g.enter(ctx, key)
			if err != nil {
				return failed(req, err)
			}
			defer leave()
			return next(ctx, method, req)
		}
	}
}

// workOf names what a request would occupy, empty if it costs nothing worth counting.
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

// failed is an error as its reader can use it: a model reads results of tools, and no
// errors of the protocol.
func failed(req mcp.Request, err error) (mcp.Result, error) {
	if _, ok := req.(*mcp.CallToolRequest); ok {
		res := &mcp.CallToolResult{}
		res.SetError(err)
		return res, nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

// gate lets a bounded number in, first come, first served among those it may let in.
type gate struct {
	limits Limits

	mu      sync.Mutex // guards the rest
	running int
	byKey   map[string]int // no more entries than running
	queue   []*waiter
}

type waiter struct {
	key  string
	turn chan struct{}
}

// enter waits for a place and returns how to give it back.
func (g *gate) enter(ctx context.Context, key string) (func(), error) {
	g.mu.Lock()
	if len(g.queue) >= g.limits.Waiting {
		n := g.running
		g.mu.Unlock()
		return nil, fmt.Errorf("busy: %d calls are running and %d wait; try again in some seconds", n, g.limits.Waiting)
	}
	w := &waiter{key: key, turn: make(chan struct{})}
	g.queue = append(g.queue, w)
	g.admit()
	g.mu.Unlock()
	select {
	case <-w.turn:
		return func() { g.leave(key) }, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.queue, w); i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
	} else { // its turn had come
		g.release(key)
	}
	return nil, context.Cause(ctx)
}

func (g *gate) leave(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.release(key)
}

func (g *gate) release(key string) {
	g.running--
	if g.byKey[key]--; g.byKey[key] == 0 {
		delete(g.byKey, key)
	}
	g.admit()
}

// admit gives their turn to those in the queue that there is room for.
func (g *gate) admit() {
	g.queue = slices.DeleteFunc(g.queue, func(w *waiter) bool {
		if g.running >= g.limits.Calls || g.byKey[w.key] >= g.limits.PerTool {
			return false
		}
		g.running++
		g.byKey[w.key]++
		close(w.turn)
		return true
	})
}

// Survive is middleware that turns a panic into an error of the one call: the process
// may be a tracer.
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
