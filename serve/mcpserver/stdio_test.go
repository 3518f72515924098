package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/mcpserver"
	"github.com/ingero-io/ingero/serve/webserver"
)

// TestMalformedLinesAreAnswered sends what is no message. Each is answered, and the
// peer is served on.
func TestMalformedLinesAreAnswered(t *testing.T) {
	p := connect(t, newBench(t, webserver.DefaultLimits()).Server)
	const parse, invalid = -32700, -32600
	deep := strings.Repeat("[", 100_000)
	for i, c := range []struct {
		line string
		code int
		id   any
	}{
		{"GET / HTTP/1.1", parse, nil},
		{"{", parse, nil},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, parse, nil},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}}`, parse, nil},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}`, parse, nil},
		{"\x00\x01\x02", parse, nil},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}", parse, nil},
		{"\ufeff{}", parse, nil},
		{`{"id":1,"id":"x\u`, parse, nil},
		{"NaN", parse, nil},
		{deep, parse, nil},
		{deep + strings.Repeat("]", 100_000), parse, nil},
		{`[]`, invalid, nil},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, invalid, nil},
		{`"ping"`, invalid, nil},
		{`17`, invalid, nil},
		{`null`, invalid, nil},
		{`{}`, invalid, nil},
		{`{"jsonrpc":"1.0","id":"one","method":"ping"}`, invalid, "one"},
		{`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, invalid, nil},
		{`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, invalid, nil},
		{`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, invalid, json.Number("1e999")},
		{strings.Repeat("x", mcpserver.MaxMessage+1), invalid, nil},
		{`{"jsonrpc":"2.0","id":5,"method":"ping","x":"` + strings.Repeat("x", mcpserver.MaxMessage) + `"}`, invalid, nil},
	} {
		p.send("") // an empty line is nothing
		p.send(c.line)
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"after %d","method":"ping"}`, i))
		shown := c.line[:min(len(c.line), 60)]
		p.out.UseNumber()
		if r := p.next(); r.Error == nil || r.Error.Code != c.code || r.ID != c.id {
			t.Errorf("%q: answer %+v %+v, want code %d and id %v", shown, r, r.Error, c.code, c.id)
		}
		if r := p.next(); r.ID != fmt.Sprintf("after %d", i) || r.Error != nil {
			t.Fatalf("after %q: %+v %+v", shown, r, r.Error)
		}
	}
}

// TestOddRequestsAreAnswered sends messages that are well formed and make no sense.
func TestOddRequestsAreAnswered(t *testing.T) {
	p := connect(t, newBench(t, webserver.DefaultLimits()).Server)
	for i, line := range []string{
		`{"jsonrpc":"2.0","id":%d,"method":"no/such"}`,
		`{"jsonrpc":"2.0","id":%d,"method":""}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":[]}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"no_such"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"\u0000\ud800🜁","arguments":null}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"cursor":"` + strings.Repeat("A", 100_000) + `"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"9999-99-99","capabilities":{},"clientInfo":{"name":"x","version":"y"}}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"logging/setLevel","params":{"level":"loud"}}`,
	} {
		p.send(`{"jsonrpc":"2.0","id":12345,"result":{}}`) // an answer to nothing
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":[]}}}`)
		p.send(fmt.Sprintf(line, i))
		if r := p.next(); r.ID != float64(i) {
			t.Fatalf("%q: %+v %+v", line[:min(len(line), 80)], r, r.Error)
		}
	}
}

func TestIDInUseIsRefused(t *testing.T) {
	b := newBench(t, webserver.DefaultLimits())
	p := connect(t, b.Server)
	p.send(call("7", "slow"))
	<-b.began
	p.send(call("7", "echo"))
	if r := p.next(); r.ID != nil || r.Error == nil || !strings.Contains(r.Error.Message, "in use") {
		t.Errorf("second request: %+v %+v", r, r.Error)
	}
	b.release()
	if r := p.next(); r.ID != 7.0 || r.Error != nil {
		t.Errorf("first request: %+v %+v", r, r.Error)
	}
	p.send(call("7", "echo"))
	if r := p.next(); r.ID != 7.0 || r.Error != nil {
		t.Errorf("third request: %+v %+v", r, r.Error)
	}
}

// endless is one line of n bytes, and what comes after it.
type endless struct {
	n    int64
	rest io.Reader
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return e.rest.Read(p)
	}
	n := int(min(e.n, int64(len(p))))
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.n -= int64(n)
	return n, nil
}

// TestLongLineIsNotBuffered counts the memory that is allocated while 900 MB arrive.
func TestLongLineIsNotBuffered(t *testing.T) {
	b := newBench(t, webserver.DefaultLimits())
	head := hello + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`
	input := io.MultiReader(strings.NewReader(head),
		&endless{900_000_000, strings.NewReader("\"}}}\n" + call("2", "echo") + "\n")})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var got bytes.Buffer
	if err := mcpserver.Stdio(t.Context(), b.Server, input, &got); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
	if text := got.String(); !strings.Contains(text, "longer than") || !strings.Contains(text, `"id":2,"result"`) {
		t.Errorf("answers: %s", text)
	}
}

func TestRequestsBeforeTheEndAreAnswered(t *testing.T) {
	b := newBench(t, webserver.DefaultLimits())
	p := connect(t, b.Server)
	p.send(call("1", "slow"))
	<-b.began
	if _, err := io.WriteString(p.in, call("2", "echo")); err != nil { // without an end of line
		t.Fatal(err)
	}
	p.in.Close()
	if r := p.next(); r.ID != 2.0 || r.Error != nil {
		t.Errorf("last request: %+v %+v", r, r.Error)
	}
	b.release()
	if r := p.next(); r.ID != 1.0 || r.Error != nil || !bytes.Contains(r.Result, []byte("rows")) {
		t.Errorf("slow request: %+v %+v", r, r.Error)
	}
	if err := <-p.done; err != nil {
		t.Errorf("the end: %v", err)
	}
}

// TestPeerThatFloodsIsSlowedDown sends more calls than are handled at a time.
func TestPeerThatFloodsIsSlowedDown(t *testing.T) {
	const calls = 2000
	b := newBench(t, webserver.Limits{Calls: calls, PerTool: calls, Waiting: calls})
	var inside, most atomic.Int64
	b.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			n := inside.Add(1)
			defer inside.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			return next(ctx, method, req)
		}
	})
	p := connect(t, b.Server)
	go func() {
		for i := range calls {
			if _, err := io.WriteString(p.in, call(fmt.Sprint(i), "slow")+"\n"); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 32 {
		<-b.began
	}
	b.release()
	for range calls {
		if r := p.next(); r.Error != nil {
			t.Fatalf("%+v", r.Error)
		}
	}
	if n := most.Load(); n > 64 {
		t.Errorf("%d requests were taken at a time", n)
	}
}

// brokenWriter fails every write.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("nobody listens") }

func TestPeerThatIsGoneEndsTheServer(t *testing.T) {
	b := newBench(t, webserver.DefaultLimits())
	err := mcpserver.Stdio(t.Context(), b.Server, strings.NewReader(hello+"\n"), brokenWriter{})
	if err == nil || !strings.Contains(err.Error(), "nobody listens") {
		t.Errorf("error: %v", err)
	}
}

func TestStdioEndsWithItsContext(t *testing.T) {
	b := newBench(t, webserver.DefaultLimits())
	in, w := io.Pipe() // nothing ever comes, and it never ends
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mcpserver.Stdio(ctx, b.Server, in, io.Discard) }()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
