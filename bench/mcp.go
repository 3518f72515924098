package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The recording has ten million calls, more than 100 MB.
const askedCalls = 10_000_000

// asked are the questions, each of which is asked many times. The server caches explanations while
// the recording does not change. A question that differs from round to round gets no cached answer.
var asked = []struct {
	name string // added to the tool's name
	tool string
	args func(round int) map[string]any
}{
	{"", "diagnose", nothing},
	{" of another window each time", "diagnose", window},
	{"", "get_trace_stats", window},
	{"", "get_causal_chains", nothing},
	{"", "get_stacks", window},
	{"", "graph_lifecycle", window},
	{"", "graph_frequency", window},
	{"", "run_sql", func(n int) map[string]any {
		return map[string]any{"sql": fmt.Sprintf("select op, sum(calls), sum(sum_ns), max(max_ns) from op_seconds where "+
			"%d group by op", n+1)}
	}},
	{"", "get_check", nothing},
	{"", "query_fleet", func(int) map[string]any { return map[string]any{"action": "overview"} }},
	{"", "run_demo", func(int) map[string]any { return map[string]any{"scenario": "incident"} }},
	{"", "get_test_report", nothing},
}

// window is the default window, or a slightly longer one.
func window(round int) map[string]any { return map[string]any{"since": fmt.Sprintf("%ds", 300+round)} }

func nothing(int) map[string]any { return map[string]any{} }

// The targets.
const (
	firstAnswer = 0.050 // seconds from starting the program
	slowest     = 0.200 // seconds, 99 of 100
)

// measureMCP asks "ingero mcp" about a generated recording, as an AI agent does.
func measureMCP(ctx context.Context, l *lab) ([]Row, error) {
	path, err := l.recording(askedCalls)
	if err != nil {
		return nil, err
	}
	var first series
	for i := range pick(l, 5, 20) {
		l.say("mcp: start %d", i+1)
		took, err := l.startAndAsk(ctx, path)
		if err != nil {
			return nil, err
		}
		first = append(first, took.Seconds())
	}
	rows := []Row{Row{
		Name: "start to first answer", Unit: Seconds, Measured: first.median(), Error: first.twoSE(),
		Target: atMost(firstAnswer),
		Detail: map[string]float64{"longest": first.quantile(1), "rounds": float64(len(first))},
	}.judge()}
	cs, stop, err := l.serve(ctx, path)
	if err != nil {
		return rows, err
	}
	defer stop()
	for _, q := range asked {
		r, err := l.ask(ctx, cs, q.tool, q.args)
		r.Name = q.tool + q.name + r.Name
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// serve starts a server for a recording and connects to it.
func (l *lab) serve(ctx context.Context, path string) (*mcp.ClientSession, func(), error) {
	cmd := exec.CommandContext(ctx, l.opts.Ingero, "mcp", "--db", path)
	cmd.Stderr = io.Discard // its log of calls
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "ingero bench"}, nil).Connect(ctx,
		&mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("start ingero mcp: %w", err)
	}
	return cs, func() { _ = cs.Close() }, nil // the server ends with its input
}

// startAndAsk is the time from starting the server to its first answer about the
// recording.
func (l *lab) startAndAsk(ctx context.Context, path string) (time.Duration, error) {
	began := time.Now()
	cs, stop, err := l.serve(ctx, path)
	if err != nil {
		return 0, err
	}
	defer stop()
	err = put(ctx, cs, "get_trace_stats", map[string]any{})
	return time.Since(began), err
}

// ask asks a question many times.
func (l *lab) ask(ctx context.Context, cs *mcp.ClientSession, tool string, args func(int) map[string]any) (Row, error) {
	var took series
	n := pick(l, 20, 100)
	for i := range n {
		if i%10 == 0 {
			l.say("mcp: %s, %d of %d", tool, i, n)
		}
		began := time.Now()
		if err := put(ctx, cs, tool, args(i)); err != nil {
			return Row{}, err
		}
		took = append(took, time.Since(began).Seconds())
	}
	return Row{
		Name: ", 99 of 100", Unit: Seconds, Measured: took.quantile(0.99), Target: atMost(slowest),
		Detail: map[string]float64{
			"median": took.median(), "longest": slices.Max(took), "first": took[0],
			"rounds": float64(n),
		},
	}.judge(), nil
}

func put(ctx context.Context, cs *mcp.ClientSession, tool string, args map[string]any) error {
	res, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return fmt.Errorf("call %s: %w", tool, err)
	}
	if res.IsError {
		b, _ := json.Marshal(res.Content) // cannot fail: it was decoded from JSON
		return fmt.Errorf("call %s: %s", tool, b)
	}
	return nil
}
