package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/mcpserver"
	"github.com/ingero-io/ingero/serve/webserver"
)

// bench is a server with tools that behave as the test wants.
type bench struct {
	*mcp.Server
	slow  chan struct{} // closed: slow calls return
	began chan string   // the tool, when a call begins
	audit *lines
}

type in struct {
	Text string `json:"text,omitempty"`
}

type out struct {
	Text string   `json:"text"`
	Rows []string `json:"rows"`
}

// newBench makes a server with the tools echo, slow and boom.
func newBench(t *testing.T, l webserver.Limits) *bench {
	t.Helper()
	b := &bench{
		Server: mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil),
		slow:   make(chan struct{}), began: make(chan string, 10_000), audit: &lines{},
	}
	t.Cleanup(sync.OnceFunc(b.release))
	add := func(name string, f func(context.Context, in) (out, error)) {
		mcp.AddTool(b.Server, &mcp.Tool{Name: name},
			func(ctx context.Context, _ *mcp.CallToolRequest, i in) (*mcp.CallToolResult, out, error) {
				b.began <- name
				o, err := f(ctx, i)
				return &mcp.CallToolResult{Meta: mcp.Meta{mcpserver.RowsMeta: len(o.Rows)}}, o, err
			})
	}
	add("echo", func(_ context.Context, i in) (out, error) { return out{i.Text, []string{"a", "b", "c"}}, nil })
	add("boom", func(context.Context, in) (out, error) { panic("secret of a panic") })
	add("slow", func(ctx context.Context, _ in) (out, error) {
		select {
		case <-b.slow:
		case <-ctx.Done():
		}
		return out{Rows: []string{}}, ctx.Err()
	})
	mcpserver.Protect(b.Server, b.audit, webserver.NewGate(l), nil)
	return b
}

func (b *bench) release() {
	select {
	case <-b.slow:
	default:
		close(b.slow)
	}
}

// lines is a file in memory.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// reply is what a test reads of an answer.
type reply struct {
	ID     any
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// peer is the other end of Stdio.
type peer struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *json.Decoder
	done chan error
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"9"}}}`

// connect serves a peer that has said hello.
func connect(t *testing.T, s *mcp.Server) *peer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{t: t, in: inW, out: json.NewDecoder(outR), done: make(chan error, 1)}
	go func() {
		p.done <- mcpserver.Stdio(t.Context(), s, inR, outW)
		outW.Close()
	}()
	t.Cleanup(func() { inW.Close() })
	p.send(hello)
	if r := p.next(); r.ID != "hello" || r.Error != nil {
		t.Fatalf("initialize: %+v", r)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) next() reply {
	p.t.Helper()
	var r reply
	if err := p.out.Decode(&r); err != nil {
		p.t.Fatal(err)
	}
	return r
}

// call is a request to call a tool.
func call(id, tool string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool +
		`","arguments":{"text":"private"}}}`
}
