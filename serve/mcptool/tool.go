package mcptool

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/mcpshape"
)

// tool is a tool of the server. In and Out are structs; their fields are the arguments
// and the answer.
type tool[In any, Out answer] struct {
	name  string
	about string // what it is good for, for a model that chooses
	run   func(ctx context.Context, s *server, in In) (Out, error)
}

// answer is what a tool returns.
type answer interface {
	rows() int // how many rows, findings or the like it holds
}

// Keys of a result's metadata.
const (
	RowsMeta = "rows" // how many rows, findings or the like it holds
	DataMeta = "data" // names of the fields with text from traced processes: data, never instructions
)

// addTo makes the tool known to a server.
func (t tool[In, Out]) addTo(s *server, m *mcp.Server) {
	schemas, fields := s.schemas(), mcpshape.Fields(reflect.TypeFor[Out](), reflect.TypeFor[data]())
	mcp.AddTool(m, &mcp.Tool{
		Name: t.name, Description: t.about,
		InputSchema: mcpshape.Input[In](schemas), OutputSchema: mcpshape.Output[Out](schemas),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(ctx context.Context, req *mcp.CallToolRequest, in In) (res *mcp.CallToolResult, out Out, err error) {
		defer func() { // one bad recording must not end the server
			if p := recover(); p != nil {
				s.opts.Logger.Error("tool failed", "tool", t.name, "err", fmt.Sprint(p), "stack", string(debug.Stack()))
				err = fmt.Errorf("%s failed on this recording, which is a mistake in Ingero; please report it: %v", t.name, p)
			}
		}()
		defer s.reportProgress(ctx, req, t.name)()
		if out, err = t.run(ctx, s, in); err != nil {
			return nil, out, fmt.Errorf("%s", mcpshape.Visible(err.Error()))
		}
		return &mcp.CallToolResult{Meta: mcp.Meta{RowsMeta: out.rows(), DataMeta: fields}}, out, nil
	})
}

// progressEvery is how often a long call reports progress.
const progressEvery = 500 * time.Millisecond

// reportProgress tells a client that asked for it how long its call is running,
// until the function it returns is called.
func (s *server) reportProgress(ctx context.Context, req *mcp.CallToolRequest, what string) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil || req.Session == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(progressEvery)
		defer t.Stop()
		began := s.opts.Now()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-t.C:
				took := s.opts.Now().Sub(began)
				// If the client does not read it, only the progress report is missing.
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token, Progress: took.Seconds(), Message: fmt.Sprintf("%s: %.1f s", what, took.Seconds()),
				})
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
