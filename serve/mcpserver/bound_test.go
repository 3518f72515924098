package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/mcpserver"
	"github.com/ingero-io/ingero/serve/webserver"
)

// TestSlowToolDoesNotBlockOthers makes many calls of a slow tool and one of another tool.
func TestSlowToolDoesNotBlockOthers(t *testing.T) {
	b := newBench(t, webserver.Limits{Calls: 3, PerTool: 2, Waiting: 50})
	p := connect(t, b.Server)
	for i := range 20 {
		p.send(call(fmt.Sprint(i), "slow"))
	}
	<-b.began
	<-b.began
	p.send(call("100", "echo"))
	if r := p.next(); r.ID != 100.0 || r.Error != nil { // while all the slow ones go on
		t.Errorf("%+v %+v", r, r.Error)
	}
	if n := len(b.began); n != 1 {
		t.Errorf("%d more calls began, not only echo", n)
	}
	b.release()
	for range 20 {
		if r := p.next(); r.Error != nil || bytes.Contains(r.Result, []byte(`"isError":true`)) {
			t.Errorf("%+v %s", r.Error, r.Result)
		}
	}
}

func TestCallsBeyondTheQueueAreRefused(t *testing.T) {
	b := newBench(t, webserver.Limits{Calls: 1, PerTool: 1, Waiting: 2})
	p := connect(t, b.Server)
	p.send(call("0", "slow"))
	<-b.began
	for i := 1; i <= 3; i++ {
		p.send(call(fmt.Sprint(i), "slow"))
	}
	r := p.next()
	if !bytes.Contains(r.Result, []byte("busy")) || !bytes.Contains(r.Result, []byte(`"isError":true`)) {
		t.Errorf("%+v %s", r, r.Result)
	}
	b.release()
	for range 3 {
		if r := p.next(); bytes.Contains(r.Result, []byte("busy")) {
			t.Errorf("%+v %s", r, r.Result)
		}
	}
}

func TestCancelledCallFreesItsPlace(t *testing.T) {
	b := newBench(t, webserver.Limits{Calls: 1, PerTool: 1, Waiting: 2})
	p := connect(t, b.Server)
	cancel := func(id int) {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	}
	p.send(call("0", "slow"))
	<-b.began
	p.send(call("1", "slow")) // waits
	p.send(call("2", "echo")) // waits behind it
	cancel(1)
	if r := p.next(); r.ID != 1.0 {
		t.Errorf("cancelled while it waited: %+v", r)
	}
	cancel(0)
	// Once 0 has left its place, its answer and that of 2 are on their way together.
	failed := map[any]bool{}
	for range 2 {
		r := p.next()
		failed[r.ID] = r.Error != nil || bytes.Contains(r.Result, []byte(`"isError":true`))
	}
	if want := map[any]bool{0.0: true, 2.0: false}; !maps.Equal(failed, want) {
		t.Errorf("0 was cancelled while it ran, and 2 then had its place: failed: %v, want %v", failed, want)
	}
}

func TestPanicFailsOneCall(t *testing.T) {
	b := newBench(t, webserver.Limits{Calls: 1, PerTool: 1, Waiting: 1})
	p := connect(t, b.Server)
	for range 3 {
		p.send(call("1", "boom"))
		if r := p.next(); !bytes.Contains(r.Result, []byte("internal error")) ||
			!bytes.Contains(r.Result, []byte(`"isError":true`)) {
			t.Fatalf("%+v %s", r, r.Result)
		}
	}
	p.send(call("2", "echo"))
	if r := p.next(); r.Error != nil || !bytes.Contains(r.Result, []byte("private")) {
		t.Errorf("%+v %s", r, r.Result)
	}
}

func TestAuditSaysWhoCalledWhatAndNoData(t *testing.T) {
	b := newBench(t, webserver.DefaultLimits())
	p := connect(t, b.Server)
	p.send(call("1", "echo"))
	p.next()
	p.send(call("2", "boom"))
	p.next()
	p.send(call("3", "evil\\n{\\\"tool\\\":\\\"forged\\\"}"+strings.Repeat("x", 1000)))
	p.next()
	text := b.audit.String()
	if strings.Contains(text, "private") || strings.Contains(text, "secret of a panic") {
		t.Errorf("data is in the log: %s", text)
	}
	type line struct {
		Time, Tool, Caller, Outcome string
		Rows                        int
		MS                          *float64
	}
	want := []line{
		{Tool: "echo", Caller: "test/9", Outcome: "ok", Rows: 3},
		{Tool: "boom", Caller: "test/9", Outcome: "error"},
		{Tool: "evil\n{\"tool\":\"forged\"}" + strings.Repeat("x", 58) + "…", Caller: "test/9", Outcome: "error"},
	}
	n := 0
	for l := range strings.Lines(text) {
		var got line
		if err := json.Unmarshal([]byte(l), &got); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		if got.Time == "" || got.MS == nil || *got.MS < 0 {
			t.Errorf("%q: no time or duration", l)
		}
		got.Time, got.MS = "", nil
		if n >= len(want) || got != want[n] {
			t.Errorf("line %d: %+v", n, got)
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d lines", n)
	}
}

// full fails every write.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestBrokenAuditLogIsReportedOnce(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"},
		func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, out, error) {
			return nil, out{Rows: []string{}}, nil
		})
	var log lines
	mcpserver.Protect(s, full{}, webserver.NewGate(webserver.DefaultLimits()), slog.New(slog.NewTextHandler(&log, nil)))
	p := connect(t, s)
	for range 3 {
		p.send(call("1", "echo"))
		if r := p.next(); r.Error != nil {
			t.Fatal(r.Error)
		}
	}
	if n := strings.Count(log.String(), "no space left"); n != 1 {
		t.Errorf("logged %d times: %s", n, log.String())
	}
}
